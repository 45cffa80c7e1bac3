// autotune/store/store.cpp: the store on SQLite. The only file that includes sqlite3.h.
#include "autotune/store/store.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sqlite3.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "autotune/store/migrations.h"
#include "autotune/store/roofline_json.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

using nlohmann::json;

std::int64_t now_s() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

const char* advice(int code) {
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "Another process holds it; wait for it, or give another file with --db.";
    case SQLITE_READONLY:
        return "Make it writable, or give another file with --db.";
    case SQLITE_FULL:
        return "Free some space on its disk, or give another file with --db.";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "Move it away; the next run starts a new one.";
    case SQLITE_CANTOPEN:
        return "Check that its folder exists and may be written, or give another file with --db.";
    case SQLITE_IOERR:
        return "Check its disk, or give another file with --db.";
    default:
        return "Run `autotune db check`, or give another file with --db.";
    }
}

/// Bytes from `at` on that are one character of UTF-8; 0 where there is none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[at + k]); };
    const std::size_t bytes = byte(0) < 0x80 ? 1 : byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (bytes == 0 || byte(0) > 0xf4 || at + bytes > text.size()) return 0;
    for (std::size_t k = 1; k < bytes; ++k)
        if ((byte(k) & 0xc0) != 0x80) return 0;
    if (bytes == 3 && ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f))) return 0;
    if (bytes == 4 && ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f))) return 0;
    return bytes;
}

/// A damaged file may have any bytes in its texts: what is no UTF-8 becomes \xNN, so that it can be told.
std::string readable(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t bytes = character_bytes(text, at)) {
            out += text.substr(at, bytes);
            at += bytes;
        } else {
            constexpr char kDigits[] = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(text[at++]);
            out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
        }
    }
    return out;
}

[[noreturn]] void fail(const std::string& path, int code, const std::string& what, const char* detail) {
    throw StoreError("store " + path + ": " + what + ": " +
                         readable(detail != nullptr ? detail : sqlite3_errstr(code)) + ".",
                     advice(code));
}

/// A prepared statement that is stepped at most once through.
class Statement {
  public:
    Statement(sqlite3* db, const std::string& path, const char* sql) : db_(db), path_(path) {
        const int code = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr);
        if (code != SQLITE_OK) fail(path_, code, "a query failed", sqlite3_errmsg(db_));
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Statement& bind(const std::string& text) {
        check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
        return *this;
    }
    Statement& bind(std::int64_t value) {
        check(sqlite3_bind_int64(statement_, ++bound_, value));
        return *this;
    }
    Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
    Statement& bind(double value) {
        check(sqlite3_bind_double(statement_, ++bound_, value));
        return *this;
    }
    /// True while there is a row.
    bool step() {
        const int code = sqlite3_step(statement_);
        if (code == SQLITE_ROW) return true;
        if (code == SQLITE_DONE) return false;
        fail(path_, code, "a query failed", sqlite3_errmsg(db_));
    }
    std::string text(int column) const {
        const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        return bytes == nullptr ? std::string()
                                : readable({bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))});
    }
    std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
    double real(int column) const { return sqlite3_column_double(statement_, column); }

  private:
    void check(int code) const {
        if (code != SQLITE_OK) fail(path_, code, "a value could not be bound", sqlite3_errmsg(db_));
    }
    sqlite3* db_;
    const std::string& path_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
};

bool is_network_file_system(const std::string& path) {
    struct statfs info {};
    if (statfs(path.c_str(), &info) != 0) return false;
    switch (static_cast<unsigned long>(info.f_type) & 0xffffffffUL) {
    case 0x6969:     // NFS
    case 0x517b:     // SMB
    case 0xff534d42: // CIFS
    case 0xfe534d42: // SMB2
    case 0x5346414f: // AFS
    case 0x0bd00bd0: // Lustre
    case 0x47504653: // GPFS
    case 0x00c36400: // Ceph
    case 0x01021997: // 9p
        return true;
    default:
        return false;
    }
}

constexpr const char* kTrialColumns =
    "workload, digest, schedule, outcome, outcome_text, median_ns, runs, origin, point, created_s";
constexpr const char* kRecordColumns =
    "workload, digest, schedule, median_ns, default_ns, ratio, ratio_low, ratio_high, gbps, "
    "limit_share, reason, trials, created_s";

StoredTrial trial_of(const Statement& row, const std::string& path) {
    StoredTrial trial;
    trial.workload = row.text(0);
    trial.digest = row.text(1);
    trial.schedule = row.text(2);
    const auto kind = try_outcome_kind(row.text(3));
    if (!kind)
        throw StoreError("store " + path + ": a trial has the outcome \"" + row.text(3) + "\", which is none.",
                         "Run `autotune db check`.");
    trial.outcome = {*kind, row.text(4)};
    trial.median_ns = row.real(5);
    trial.runs = static_cast<int>(row.integer(6));
    trial.origin = row.text(7);
    trial.point = row.text(8);
    trial.created_s = row.integer(9);
    return trial;
}

StoredRecord record_of(const Statement& row, int first = 0) {
    StoredRecord record;
    record.workload = row.text(first);
    record.digest = row.text(first + 1);
    record.schedule = row.text(first + 2);
    record.median_ns = row.real(first + 3);
    record.default_ns = row.real(first + 4);
    record.ratio = row.real(first + 5);
    record.ratio_low = row.real(first + 6);
    record.ratio_high = row.real(first + 7);
    record.gbps = row.real(first + 8);
    record.limit_share = row.real(first + 9);
    record.reason = row.text(first + 10);
    record.trials = static_cast<int>(row.integer(first + 11));
    record.created_s = row.integer(first + 12);
    return record;
}

StoredWorkload workload_of(const Statement& row) {
    return {row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.integer(5)};
}

} // namespace

int store_version() {
    return static_cast<int>(store_migrations().size());
}

struct Store::Impl {
    std::string path;
    int busy_timeout_ms = 5000;
    sqlite3* db = nullptr;
    bool read_only = false;
    pid_t owner = 0;
    struct stat opened {};
    std::vector<std::string> warnings;
    mutable std::recursive_mutex mutex;

    ~Impl() {
        // A connection inherited over a fork belongs to the parent: closing it here could break the parent's locks.
        if (db != nullptr && owner == getpid()) sqlite3_close_v2(db);
    }

    void open();
    int open_for_reading();
    void migrate();
    void use_write_ahead_log() const;
    int pragma(const char* sql) const {
        Statement query(db, path, sql);
        return query.step() ? static_cast<int>(query.integer(0)) : 0;
    }
    void execute(const char* sql, const char* what = "a statement failed") const {
        char* message = nullptr;
        const int code = sqlite3_exec(db, sql, nullptr, nullptr, &message);
        if (code == SQLITE_OK) return;
        const std::string detail = message != nullptr ? message : sqlite3_errstr(code);
        sqlite3_free(message);
        fail(path, code, what, detail.c_str());
    }
    /// Opens again in a forked child; finds out when the file is gone.
    void ready() {
        if (owner != getpid()) {
            db = nullptr;
            open();
        }
        struct stat now {};
        if (::stat(path.c_str(), &now) != 0 || now.st_ino != opened.st_ino || now.st_dev != opened.st_dev)
            throw StoreError("store " + path + ": it was deleted or replaced while it was open.",
                             "Start the command again; what was learnt since is not kept.");
    }
    /// Everything in `body` in one transaction, or nothing of it.
    template <class Body> void transact(Body&& body) {
        const std::lock_guard<std::recursive_mutex> lock(mutex);
        ready();
        if (read_only) throw StoreError("store " + path + ": it may only be read.", advice(SQLITE_READONLY));
        execute("BEGIN IMMEDIATE", "it could not be locked for writing");
        try {
            body();
            execute("COMMIT", "it could not be written");
        } catch (...) {
            sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
            throw;
        }
    }
    template <class Body> auto reading(Body&& body) const {
        const std::lock_guard<std::recursive_mutex> lock(mutex);
        const_cast<Impl*>(this)->ready();
        return body();
    }

    void insert_workload(const StoredWorkload& workload);
    void insert_trial(const StoredTrial& trial, bool keep_old);
    void insert_record(const StoredRecord& record);
    bool is_measured(const std::string& workload, const std::string& digest) const;
};

void Store::Impl::open() {
    namespace fs = std::filesystem;
    owner = getpid();
    const fs::path parent = fs::absolute(path).parent_path();
    std::error_code error;
    // SQLite would wait for the other end of a pipe.
    if (struct stat found{}; ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
        throw StoreError("store " + path + ": it is " + (S_ISDIR(found.st_mode) ? "a folder" : "no regular file") + ".",
                         "Give a file with --db.");
    if (!fs::exists(parent, error)) {
        fs::create_directories(parent, error);
        if (error)
            throw StoreError("store " + path + ": its folder could not be made: " + error.message() + ".",
                             advice(SQLITE_CANTOPEN));
        fs::permissions(parent, fs::perms::owner_all, error);
    }
    if (is_network_file_system(parent.string()))
        warnings.push_back("store " + path +
                           ": it lies on a network file system, where SQLite's locks may fail. "
                           "Give a local file with --db when several machines use it at once.");
    int code =
        sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
    // SQLite falls back to reading by itself where the file, but not its folder, is protected.
    const bool writable = code == SQLITE_OK && sqlite3_db_readonly(db, "main") == 0;
    if (!writable && access(path.c_str(), R_OK) == 0) {
        sqlite3_close_v2(db);
        code = open_for_reading();
    }
    if (code != SQLITE_OK) {
        const std::string detail = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
        sqlite3_close_v2(db);
        db = nullptr;
        fail(path, code, "it could not be opened", detail.c_str());
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, busy_timeout_ms);
    // Files come from other people: no functions of the schema may run, and damage is found early.
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    read_only = sqlite3_db_readonly(db, "main") == 1;
    if (read_only) warnings.push_back("store " + path + ": it may only be read; nothing new is kept.");
    try {
        migrate();
    } catch (...) {
        sqlite3_close_v2(db);
        db = nullptr;
        throw;
    }
    if (::stat(path.c_str(), &opened) != 0)
        throw StoreError("store " + path + ": " + std::strerror(errno) + ".", advice(SQLITE_CANTOPEN));
}

/// In a folder that may not be written SQLite cannot make the file by which readers and writers of a write-ahead log
/// agree. Without a log nobody is writing, and the file is all there is; with one, SQLite says what it needs.
int Store::Impl::open_for_reading() {
    const std::string folder = std::filesystem::absolute(path).parent_path().string();
    const bool at_rest =
        faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) != 0 && access((path + "-wal").c_str(), F_OK) != 0;
    if (!at_rest) return sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, nullptr);
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(path).string()) {
        if (c == '%' || c == '?' || c == '#') {
            constexpr char kDigits[] = "0123456789ABCDEF";
            uri += {'%', kDigits[static_cast<unsigned char>(c) / 16], kDigits[static_cast<unsigned char>(c) % 16]};
        } else {
            uri += c;
        }
    }
    uri += "?immutable=1";
    return sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, nullptr);
}

/// The change of journal needs the file alone for a moment and does not wait for it by itself.
void Store::Impl::use_write_ahead_log() const {
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        const int code = sqlite3_exec(db, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
        if (code == SQLITE_OK) return;
        const bool busy = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
        if (!busy || std::chrono::steady_clock::now() - start > std::chrono::milliseconds(busy_timeout_ms))
            fail(path, code, "it could not be made", sqlite3_errmsg(db));
        ::usleep(2000);
    }
}

void Store::Impl::migrate() {
    auto refuse_foreign = [&] {
        const int application = pragma("PRAGMA application_id");
        const int version = pragma("PRAGMA user_version");
        if (application != kStoreApplicationId &&
            (application != 0 || version != 0 || pragma("SELECT count(*) FROM sqlite_master") != 0))
            throw StoreError("store " + path + ": it is a SQLite file of another program.",
                             "Give another file with --db.");
        if (version > store_version())
            throw StoreError("store " + path + ": it has layout " + std::to_string(version) +
                                 ", this release knows up to " + std::to_string(store_version()) + ".",
                             "Use the newer release, or give another file with --db.");
        return version;
    };
    // One snapshot: another process may be making the store right now, between one look and the next.
    execute("BEGIN", "it could not be read");
    int version = 0;
    try {
        version = refuse_foreign();
        execute("COMMIT", "it could not be read");
    } catch (...) {
        sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
        throw;
    }
    if (read_only) {
        if (version < store_version())
            throw StoreError("store " + path + ": it has the old layout " + std::to_string(version) +
                                 " and may only be read.",
                             advice(SQLITE_READONLY));
        return;
    }
    if (version < store_version()) {
        use_write_ahead_log();
        execute("BEGIN IMMEDIATE", "it could not be locked for writing");
        try {
            // Another process may have done it between the first look and the lock.
            const int from = refuse_foreign();
            for (int step = from; step < store_version(); ++step)
                execute(store_migrations()[static_cast<std::size_t>(step)],
                        "its layout could not be brought up to date");
            execute(("PRAGMA application_id = " + std::to_string(kStoreApplicationId)).c_str());
            execute(("PRAGMA user_version = " + std::to_string(store_version())).c_str());
            execute("COMMIT", "it could not be written");
        } catch (...) {
            sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
            throw;
        }
    }
    // NORMAL: in WAL mode a power cut may lose the last trials, never the file; a killed process loses nothing.
    execute("PRAGMA synchronous = NORMAL");
    execute("PRAGMA foreign_keys = ON");
}

void Store::Impl::insert_workload(const StoredWorkload& workload) {
    Statement insert(db, path, "INSERT INTO workloads VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING");
    insert.bind(workload.key)
        .bind(workload.family)
        .bind(workload.function)
        .bind(workload.summary)
        .bind(workload.machine);
    insert.bind(workload.created_s != 0 ? workload.created_s : now_s()).step();
}

void Store::Impl::insert_trial(const StoredTrial& trial, bool keep_old) {
    Statement insert(
        db, path,
        keep_old ? "INSERT INTO trials (workload, digest, schedule, outcome, outcome_text, median_ns, runs, origin, "
                   "point, created_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
                 : "INSERT INTO trials (workload, digest, schedule, outcome, outcome_text, median_ns, runs, origin, "
                   "point, created_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workload, digest) DO UPDATE "
                   "SET outcome = excluded.outcome, outcome_text = excluded.outcome_text, median_ns = "
                   "excluded.median_ns, runs = excluded.runs, created_s = excluded.created_s");
    insert.bind(trial.workload)
        .bind(trial.digest)
        .bind(trial.schedule)
        .bind(std::string(outcome_name(trial.outcome.kind)));
    insert.bind(trial.outcome.text).bind(trial.median_ns).bind(trial.runs).bind(trial.origin).bind(trial.point);
    insert.bind(trial.created_s != 0 ? trial.created_s : now_s()).step();
    if (keep_old || trial.outcome.kind == OutcomeKind::measured) return;
    // What failed is nobody's best: a record always has its measured trial.
    Statement drop(db, path, "DELETE FROM records WHERE workload = ? AND digest = ?");
    drop.bind(trial.workload).bind(trial.digest).step();
}

bool Store::Impl::is_measured(const std::string& workload, const std::string& digest) const {
    Statement query(db, path, "SELECT 1 FROM trials WHERE workload = ? AND digest = ? AND outcome = 'measured'");
    return query.bind(workload).bind(digest).step();
}

void Store::Impl::insert_record(const StoredRecord& record) {
    Statement insert(db, path, "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(record.workload)
        .bind(record.digest)
        .bind(record.schedule)
        .bind(record.median_ns)
        .bind(record.default_ns);
    insert.bind(record.ratio).bind(record.ratio_low).bind(record.ratio_high).bind(record.gbps).bind(record.limit_share);
    insert.bind(record.reason).bind(record.trials).bind(record.created_s != 0 ? record.created_s : now_s()).step();
}

Store::Store(const std::string& path, int busy_timeout_ms) : impl_(std::make_unique<Impl>()) {
    impl_->path = path;
    impl_->busy_timeout_ms = busy_timeout_ms;
    impl_->open();
}

Store::~Store() = default;

const std::string& Store::path() const {
    return impl_->path;
}
bool Store::read_only() const {
    return impl_->read_only;
}
std::vector<std::string> Store::warnings() const {
    return impl_->warnings;
}

void Store::put_workload(const StoredWorkload& workload) {
    impl_->transact([&] { impl_->insert_workload(workload); });
}
void Store::put_trial(const StoredTrial& trial) {
    impl_->transact([&] { impl_->insert_trial(trial, false); });
}
void Store::put_record(const StoredRecord& record) {
    impl_->transact([&] { impl_->insert_record(record); });
}
void Store::put_trial_and_record(const StoredTrial& trial, const StoredRecord& record) {
    impl_->transact([&] {
        impl_->insert_trial(trial, false);
        impl_->insert_record(record);
    });
}
void Store::put_machine(const Machine& machine) {
    impl_->transact([&] {
        Statement insert(impl_->db, impl_->path, "INSERT OR REPLACE INTO machines VALUES (?, ?, ?, ?, ?, ?)");
        insert.bind(machine.fingerprint).bind(machine.cpu_model).bind(machine.isa).bind(machine.cores);
        insert.bind(print_roofline(machine.roofline)).bind(now_s()).step();
    });
}

std::optional<StoredRecord> Store::best(const std::string& workload) const {
    return impl_->reading([&]() -> std::optional<StoredRecord> {
        const std::string sql = std::string("SELECT ") + kRecordColumns + " FROM records WHERE workload = ?";
        Statement query(impl_->db, impl_->path, sql.c_str());
        if (!query.bind(workload).step()) return std::nullopt;
        return record_of(query);
    });
}

std::optional<StoredWorkload> Store::workload(const std::string& key) const {
    return impl_->reading([&]() -> std::optional<StoredWorkload> {
        Statement query(impl_->db, impl_->path,
                        "SELECT key, family, function, summary, machine, created_s FROM workloads WHERE key = ?");
        if (!query.bind(key).step()) return std::nullopt;
        return workload_of(query);
    });
}

std::vector<StoredRecord> Store::family(const std::string& family, const std::string& machine,
                                        const std::string& except_workload) const {
    return impl_->reading([&] {
        std::vector<StoredRecord> records;
        const std::string sql =
            std::string("SELECT ") + kRecordColumns +
            " FROM records WHERE workload IN (SELECT key FROM workloads WHERE family = ? AND machine "
            "= ? AND key <> ?) ORDER BY created_s DESC LIMIT 20";
        Statement query(impl_->db, impl_->path, sql.c_str());
        query.bind(family).bind(machine).bind(except_workload);
        while (query.step())
            records.push_back(record_of(query));
        return records;
    });
}

std::vector<StoredTrial> Store::trials(const std::string& workload) const {
    return impl_->reading([&] {
        std::vector<StoredTrial> trials;
        const std::string sql = std::string("SELECT ") + kTrialColumns + " FROM trials WHERE workload = ? ORDER BY id";
        Statement query(impl_->db, impl_->path, sql.c_str());
        query.bind(workload);
        while (query.step())
            trials.push_back(trial_of(query, impl_->path));
        return trials;
    });
}

std::optional<Roofline> Store::roofline(const std::string& fingerprint) const {
    return impl_->reading([&]() -> std::optional<Roofline> {
        Statement query(impl_->db, impl_->path, "SELECT roofline FROM machines WHERE fingerprint = ?");
        if (!query.bind(fingerprint).step()) return std::nullopt;
        return try_read_roofline(query.text(0));
    });
}

std::vector<StoredSummary> Store::list() const {
    return impl_->reading([&] {
        std::vector<StoredSummary> summaries;
        Statement query(impl_->db, impl_->path,
                        "SELECT key, family, function, summary, machine, created_s, (SELECT count(*) FROM trials WHERE "
                        "workload = key), (SELECT cpu_model || ', ' || cores || ' cores' FROM machines WHERE "
                        "fingerprint = machine) FROM workloads ORDER BY created_s, key");
        while (query.step()) {
            StoredSummary summary;
            summary.workload = workload_of(query);
            summary.trials = static_cast<int>(query.integer(6));
            summary.machine = query.text(7);
            summary.record = best(summary.workload.key);
            summaries.push_back(std::move(summary));
        }
        return summaries;
    });
}

std::vector<std::string> Store::check() const {
    return impl_->reading([&] {
        std::vector<std::string> problems;
        auto collect = [&](const char* sql, const std::string& prefix) {
            try {
                Statement query(impl_->db, impl_->path, sql);
                while (query.step())
                    if (query.text(0) != "ok") problems.push_back(prefix + query.text(0));
            } catch (const StoreError& error) {
                problems.push_back(error.what());
            }
        };
        collect("PRAGMA integrity_check(20)", "file: ");
        collect("SELECT DISTINCT \"table\" || ' refers to a row of ' || parent || ' that is not there' FROM "
                "pragma_foreign_key_check",
                "rows: ");
        collect("SELECT 'trial ' || id || ' has the unknown outcome ' || outcome FROM trials WHERE outcome NOT IN "
                "('measured', 'illegal', 'build_failed', 'build_timed_out', 'run_crashed', 'run_timed_out', "
                "'wrong_answer') LIMIT 20",
                "rows: ");
        collect("SELECT 'the record of ' || workload || ' has no measured trial' FROM records r WHERE NOT EXISTS "
                "(SELECT 1 FROM "
                "trials t WHERE t.workload = r.workload AND t.digest = r.digest AND t.outcome = 'measured') LIMIT 20",
                "rows: ");
        collect("SELECT 'trial ' || id || ' was measured at ' || median_ns || ' ns' FROM trials WHERE outcome = "
                "'measured' AND "
                "NOT median_ns > 0 LIMIT 20",
                "rows: ");
        return problems;
    });
}

std::string Store::export_json() const {
    return impl_->reading([&] {
        json everything = {
            {"tilewright_store", store_version()}, {"machines", json::array()}, {"workloads", json::array()}};
        {
            Statement query(impl_->db, impl_->path,
                            "SELECT fingerprint, cpu_model, isa, cores, roofline, created_s FROM machines ORDER BY 1");
            while (query.step())
                everything["machines"].push_back({{"fingerprint", query.text(0)},
                                                  {"cpu_model", query.text(1)},
                                                  {"isa", query.text(2)},
                                                  {"cores", query.integer(3)},
                                                  {"roofline", query.text(4)},
                                                  {"created_s", query.integer(5)}});
        }
        for (const StoredSummary& summary : list()) {
            const StoredWorkload& workload = summary.workload;
            json one = {{"key", workload.key},         {"family", workload.family},   {"function", workload.function},
                        {"summary", workload.summary}, {"machine", workload.machine}, {"created_s", workload.created_s},
                        {"record", nullptr},           {"trials", json::array()}};
            if (summary.record) {
                const StoredRecord& record = *summary.record;
                one["record"] = {{"digest", record.digest},
                                 {"schedule", record.schedule},
                                 {"median_ns", record.median_ns},
                                 {"default_ns", record.default_ns},
                                 {"ratio", record.ratio},
                                 {"ratio_low", record.ratio_low},
                                 {"ratio_high", record.ratio_high},
                                 {"gbps", record.gbps},
                                 {"limit_share", record.limit_share},
                                 {"reason", record.reason},
                                 {"trials", record.trials},
                                 {"created_s", record.created_s}};
            }
            for (const StoredTrial& trial : trials(workload.key))
                one["trials"].push_back({{"digest", trial.digest},
                                         {"schedule", trial.schedule},
                                         {"outcome", outcome_name(trial.outcome.kind)},
                                         {"outcome_text", trial.outcome.text},
                                         {"median_ns", trial.median_ns},
                                         {"runs", trial.runs},
                                         {"origin", trial.origin},
                                         {"point", trial.point},
                                         {"created_s", trial.created_s}});
            everything["workloads"].push_back(std::move(one));
        }
        return everything.dump(1, ' ', false, json::error_handler_t::replace);
    });
}

void Store::export_store(const std::string& path) const {
    impl_->reading([&] {
        std::error_code error;
        if (std::filesystem::exists(path, error))
            throw StoreError("store " + impl_->path + ": export to " + path + ": a file is there already.",
                             "Remove it, or give another name.");
        Statement copy(impl_->db, impl_->path, "VACUUM INTO ?");
        copy.bind(path).step();
        return 0;
    });
}

int Store::merge(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        throw StoreError("store " + impl_->path + ": merge of " + path + ": no such file.", "Give an exported store.");
    if (std::filesystem::equivalent(path, impl_->path, error)) return 0;
    std::ifstream file(path, std::ios::binary);
    char magic[16] = {};
    file.read(magic, sizeof magic);
    std::string text;
    if (std::memcmp(magic, "SQLite format 3", sizeof magic) == 0) {
        text = Store(path, impl_->busy_timeout_ms).export_json();
    } else {
        file.clear();
        file.seekg(0);
        std::ostringstream all;
        all << file.rdbuf();
        text = all.str();
    }
    const json everything = json::parse(text, nullptr, false);
    if (everything.is_discarded() || !everything.is_object() || !everything.contains("tilewright_store"))
        throw StoreError("store " + impl_->path + ": merge of " + path + ": it is neither a store nor an exported one.",
                         "Give a file that `autotune db export` wrote.");
    int added = 0;
    try {
        if (everything["tilewright_store"].get<int>() > store_version())
            throw StoreError("store " + impl_->path + ": merge of " + path + ": it has layout " +
                                 everything["tilewright_store"].dump() + ", this release knows up to " +
                                 std::to_string(store_version()) + ".",
                             "Use the newer release.");
        impl_->transact([&] {
            for (const json& one : everything.at("machines")) {
                Statement insert(impl_->db, impl_->path,
                                 "INSERT INTO machines VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
                insert.bind(one.at("fingerprint").get<std::string>()).bind(one.at("cpu_model").get<std::string>());
                insert.bind(one.at("isa").get<std::string>()).bind(one.at("cores").get<int>());
                insert.bind(one.at("roofline").get<std::string>()).bind(one.at("created_s").get<std::int64_t>()).step();
            }
            for (const json& one : everything.at("workloads")) {
                StoredWorkload workload{one.at("key"),     one.at("family"),  one.at("function"),
                                        one.at("summary"), one.at("machine"), one.at("created_s")};
                impl_->insert_workload(workload);
                for (const json& t : one.at("trials")) {
                    StoredTrial trial;
                    trial.workload = workload.key;
                    trial.digest = t.at("digest");
                    trial.schedule = t.at("schedule");
                    const auto kind = try_outcome_kind(t.at("outcome").get<std::string>());
                    if (!kind)
                        throw StoreError("store " + impl_->path + ": merge of " + path + ": the outcome " +
                                             t.at("outcome").dump() + " is none.",
                                         "Give a file that `autotune db export` wrote.");
                    trial.outcome = {*kind, t.at("outcome_text")};
                    trial.median_ns = t.at("median_ns");
                    trial.runs = t.at("runs");
                    trial.origin = t.at("origin");
                    trial.point = t.at("point");
                    trial.created_s = t.at("created_s");
                    impl_->insert_trial(trial, true);
                    added += sqlite3_changes(impl_->db);
                }
                if (one.at("record").is_null()) continue;
                const json& r = one.at("record");
                const auto mine = best(workload.key);
                const double median_ns = r.at("median_ns");
                if (mine && mine->median_ns <= median_ns) continue;
                // It failed here, or the file lacks its trial.
                if (!impl_->is_measured(workload.key, r.at("digest").get<std::string>())) continue;
                impl_->insert_record({workload.key, r.at("digest"), r.at("schedule"), median_ns, r.at("default_ns"),
                                      r.at("ratio"), r.at("ratio_low"), r.at("ratio_high"), r.at("gbps"),
                                      r.at("limit_share"), r.at("reason"), r.at("trials"), r.at("created_s")});
            }
        });
    } catch (const json::exception& problem) {
        throw StoreError("store " + impl_->path + ": merge of " + path + ": a field is missing or of another type (" +
                             problem.what() + ").",
                         "Give a file that `autotune db export` wrote.");
    }
    return added;
}

Store::Pruned Store::prune(const PruneOptions& options) {
    Pruned pruned;
    impl_->transact([&] {
        auto count = [&] {
            Statement query(impl_->db, impl_->path,
                            "SELECT (SELECT count(*) FROM workloads), (SELECT count(*) FROM trials)");
            query.step();
            return std::pair<std::int64_t, std::int64_t>(query.integer(0), query.integer(1));
        };
        const auto before = count();
        if (options.older_than_days) {
            Statement query(
                impl_->db, impl_->path,
                "DELETE FROM workloads WHERE coalesce((SELECT max(created_s) FROM trials WHERE workload = key), "
                "created_s) < ?");
            query.bind(now_s() - static_cast<std::int64_t>(*options.older_than_days * 86400)).step();
        }
        if (options.foreign_to) {
            Statement query(impl_->db, impl_->path, "DELETE FROM workloads WHERE machine <> ?");
            query.bind(*options.foreign_to).step();
        }
        if (options.keep_trials) {
            Statement query(
                impl_->db, impl_->path,
                "DELETE FROM trials WHERE id IN (SELECT id FROM (SELECT id, digest, workload, row_number() OVER "
                "(PARTITION BY workload ORDER BY id DESC) AS age FROM trials) t WHERE age > ? AND NOT EXISTS "
                "(SELECT 1 FROM records r WHERE r.workload = t.workload AND r.digest = t.digest))");
            query.bind(*options.keep_trials).step();
        }
        const auto after = count();
        pruned.workloads = static_cast<int>(before.first - after.first);
        pruned.trials = static_cast<int>(before.second - after.second);
    });
    return pruned;
}

} // namespace tilewright::autotune
