// autotune/store/store.cpp: the store on SQLite. The only file that includes sqlite3.h.
#include "autotune/store/store.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sqlite3.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "autotune/fields_json.h"
#include "autotune/store/migrations.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {

TW_FIELDS(Roofline, levels, float32_gflops, float64_gflops, float32_fma_gflops, float64_fma_gflops);

void to_json(nlohmann::json& to, const BandwidthLevel& level) {
    to = {level.bytes, level.read_gbps, level.write_gbps, level.copy_gbps};
}
void from_json(const nlohmann::json& from, BandwidthLevel& level) {
    level = {from.at(0), from.at(1), from.at(2), from.at(3)};
}

namespace {

using nlohmann::json;

/// A row of the table `machines`.
struct StoredMachine {
    std::string fingerprint, cpu_model, isa;
    int cores = 0;
    std::string roofline; ///< JSON
    std::int64_t created_s = 0;
};
TW_FIELDS(StoredMachine, fingerprint, cpu_model, isa, cores, roofline, created_s);

std::int64_t now_s() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

const char* advice(int code) {
    static const std::map<int, const char*> kAdvice = {
        {SQLITE_BUSY, "Another process holds it; wait for it, or give another file with --db."},
        {SQLITE_LOCKED, "Another process holds it; wait for it, or give another file with --db."},
        {SQLITE_READONLY, "Make it writable, or give another file with --db."},
        {SQLITE_FULL, "Free some space on its disk, or give another file with --db."},
        {SQLITE_CORRUPT, "Move it away; the next run starts a new one."},
        {SQLITE_NOTADB, "Move it away; the next run starts a new one."},
        {SQLITE_CANTOPEN, "Check that its folder exists and may be written, or give another file with --db."},
        {SQLITE_IOERR, "Check its disk, or give another file with --db."}};
    const auto known = kAdvice.find(code & 0xff);
    return known != kAdvice.end() ? known->second : "Run `autotune db check`, or give another file with --db.";
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
    Statement(sqlite3* db, const std::string& path, const std::string& sql) : db_(db), path_(path) {
        const int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr);
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
    // NFS, SMB, CIFS, SMB2, AFS, Lustre, GPFS, Ceph, 9p
    static constexpr std::uint32_t kTypes[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x5346414f,
                                               0x0bd00bd0, 0x47504653, 0x00c36400, 0x01021997};
    return std::ranges::find(kTypes, static_cast<std::uint32_t>(info.f_type)) != std::end(kTypes);
}

template <class Value> constexpr bool is_outcome = std::is_same_v<std::remove_const_t<Value>, Outcome>;

/// The columns of a struct's table, in the order of its fields.
template <class Row> std::vector<std::string> columns_of() {
    std::vector<std::string> columns;
    Row row;
    dsl::visit_fields(row, [&]<class Value>(const std::string& name, Value&) {
        columns.push_back(name);
        if constexpr (is_outcome<Value>) columns.push_back(name + "_text");
    });
    return columns;
}

/// "a, b", or what `each` makes of them.
std::string list_of(
    const std::vector<std::string>& columns,
    const std::function<std::string(const std::string&)>& each = [](const auto& name) { return name; }) {
    std::string text;
    for (const std::string& column : columns)
        text += (text.empty() ? "" : ", ") + each(column);
    return text;
}

template <class Row> std::string select() {
    return "SELECT " + list_of(columns_of<Row>());
}

template <class Row> std::string insert_into(const char* table) {
    const std::vector<std::string> columns = columns_of<Row>();
    return std::string(table) + " (" + list_of(columns) + ") VALUES (" +
           list_of(columns, [](const std::string&) { return "?"; }) + ") ";
}

/// Rows that say no time get the present one.
template <class Row> void bind_row(Statement& statement, Row row) {
    if (row.created_s == 0) row.created_s = now_s();
    dsl::visit_fields(row, [&]<class Value>(const char*, const Value& value) {
        if constexpr (is_outcome<Value>)
            statement.bind(std::string(outcome_name(value.kind))).bind(value.text);
        else
            statement.bind(value);
    });
}

/// The row that stands at columns_of<Row>().
template <class Row> Row row_of(const Statement& statement, const std::string& path) {
    Row row;
    int column = 0;
    dsl::visit_fields(row, [&]<class Value>(const char*, Value& value) {
        if constexpr (is_outcome<Value>) {
            const std::string word = statement.text(column++);
            const auto kind = try_outcome_kind(word);
            if (!kind)
                throw StoreError("store " + path + ": a trial has the outcome \"" + word + "\", which is unknown.",
                                 "Run `autotune db check`.");
            value = {*kind, statement.text(column++)};
        } else if constexpr (std::is_same_v<Value, std::string>) {
            value = statement.text(column++);
        } else if constexpr (std::is_same_v<Value, double>) {
            value = statement.real(column++);
        } else {
            value = static_cast<Value>(statement.integer(column++));
        }
    });
    return row;
}

template <class Row> json json_of(const Row& row) {
    json object;
    dsl::visit_fields(row, [&]<class Value>(const std::string& name, const Value& value) {
        if constexpr (is_outcome<Value>) {
            object[name] = outcome_name(value.kind);
            object[name + "_text"] = value.text;
        } else {
            object[name] = value;
        }
    });
    return object;
}

/// What an earlier layout has no field for keeps its default. Throws json::exception for a field that is missing or of
/// another type, StoreError for an outcome that is none.
template <class Row> Row from_json(const json& object, const std::string& what, bool is_earlier) {
    Row row;
    dsl::visit_fields(row, [&]<class Value>(const std::string& name, Value& value) {
        if (is_earlier && !object.contains(name)) return;
        if constexpr (is_outcome<Value>) {
            const auto kind = try_outcome_kind(object.at(name).get<std::string>());
            if (!kind)
                throw StoreError(what + ": the outcome " + object.at(name).dump() + " is unknown.",
                                 "Give a file that `autotune db export` wrote.");
            value = {*kind, object.at(name + "_text")};
        } else {
            object.at(name).get_to(value);
        }
    });
    return row;
}

} // namespace

std::optional<Roofline> try_read_roofline(const std::string& text) {
    try {
        const Roofline roofline = nlohmann::json::parse(text);
        return roofline.measured() ? std::optional(roofline) : std::nullopt;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

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
        all_or_nothing("BEGIN IMMEDIATE", "it could not be locked for writing", "it could not be written", body);
    }
    template <class Body>
    void all_or_nothing(const char* begin, const char* cannot_begin, const char* cannot_end, Body&& body) const {
        execute(begin, cannot_begin);
        try {
            body();
            execute("COMMIT", cannot_end);
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

    /// What a query gives behind "SELECT columns".
    template <class Row, class... Values>
    std::vector<Row> rows(const std::string& from_where, const Values&... values) const {
        return reading([&] {
            Statement query(db, path, select<Row>() + from_where);
            (query.bind(values), ...);
            std::vector<Row> found;
            while (query.step())
                found.push_back(row_of<Row>(query, path));
            return found;
        });
    }
    template <class Row, class... Values>
    std::optional<Row> row(const std::string& from_where, const Values&... values) const {
        std::vector<Row> found = rows<Row>(from_where, values...);
        if (found.empty()) return std::nullopt;
        return std::move(found.front());
    }
    /// One more row of a table; `otherwise` says what becomes of one that is there.
    template <class Row>
    void insert(const std::string& how, const char* table, const Row& row, const std::string& otherwise = "") const {
        Statement statement(db, path, how + " INTO " + insert_into<Row>(table) + otherwise);
        bind_row(statement, row);
        statement.step();
    }

    void insert_workload(const StoredWorkload& workload) {
        insert("INSERT", "workloads", workload, "ON CONFLICT (key) DO NOTHING");
    }
    void insert_trial(const StoredTrial& trial, bool keep_old);
    void insert_record(const StoredRecord& record) { insert("INSERT OR REPLACE", "records", record); }
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
    int version = 0;
    all_or_nothing("BEGIN", "it could not be read", "it could not be read", [&] { version = refuse_foreign(); });
    if (read_only) {
        if (version < store_version())
            throw StoreError("store " + path + ": it has the old layout " + std::to_string(version) +
                                 " and may only be read.",
                             advice(SQLITE_READONLY));
        return;
    }
    if (version < store_version()) {
        use_write_ahead_log();
        all_or_nothing("BEGIN IMMEDIATE", "it could not be locked for writing", "it could not be written", [&] {
            // Another process may have done it between the first look and the lock.
            const int from = refuse_foreign();
            for (int step = from; step < store_version(); ++step)
                execute(store_migrations()[static_cast<std::size_t>(step)],
                        "its layout could not be brought up to date");
            execute(("PRAGMA application_id = " + std::to_string(kStoreApplicationId)).c_str());
            execute(("PRAGMA user_version = " + std::to_string(store_version())).c_str());
        });
    }
    // NORMAL: in WAL mode a power cut may lose the last trials, never the file; a killed process loses nothing.
    execute("PRAGMA synchronous = NORMAL");
    execute("PRAGMA foreign_keys = ON");
}

void Store::Impl::insert_trial(const StoredTrial& trial, bool keep_old) {
    // Whose schedule it is and who proposed it first stays.
    std::vector<std::string> changing = columns_of<StoredTrial>();
    std::erase_if(changing, [](const std::string& column) {
        static const std::set<std::string> kStays = {"workload", "digest", "schedule", "origin", "point"};
        return kStays.count(column) != 0;
    });
    const std::string otherwise =
        keep_old ? "ON CONFLICT DO NOTHING"
                 : "ON CONFLICT (workload, digest) DO UPDATE SET " +
                       list_of(changing, [](const std::string& column) { return column + " = excluded." + column; });
    insert("INSERT", "trials", trial, otherwise);
    if (keep_old || trial.outcome.kind == OutcomeKind::measured) return;
    // What failed is nobody's best: a record always has its measured trial.
    Statement drop(db, path, "DELETE FROM records WHERE workload = ? AND digest = ?");
    drop.bind(trial.workload).bind(trial.digest).step();
}

bool Store::Impl::is_measured(const std::string& workload, const std::string& digest) const {
    Statement query(db, path, "SELECT 1 FROM trials WHERE workload = ? AND digest = ? AND outcome = 'measured'");
    return query.bind(workload).bind(digest).step();
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
void Store::put_trial(const StoredTrial& trial, const std::optional<StoredRecord>& record) {
    impl_->transact([&] {
        impl_->insert_trial(trial, false);
        if (record) impl_->insert_record(*record);
    });
}
void Store::put_record(const StoredRecord& record) {
    impl_->transact([&] { impl_->insert_record(record); });
}
void Store::put_machine(const Machine& machine) {
    const StoredMachine row{machine.fingerprint, machine.cpu_model, machine.isa, machine.cores,
                            json(machine.roofline).dump()};
    impl_->transact([&] { impl_->insert("INSERT OR REPLACE", "machines", row); });
}

std::optional<StoredRecord> Store::best(const std::string& workload) const {
    return impl_->row<StoredRecord>(" FROM records WHERE workload = ?", workload);
}

std::vector<StoredRecord> Store::family(const std::string& family, const std::string& machine,
                                        const std::string& except_workload) const {
    return impl_->rows<StoredRecord>(" FROM records WHERE workload IN (SELECT key FROM workloads WHERE family = ? AND "
                                     "machine = ? AND key <> ?) ORDER BY created_s DESC LIMIT 20",
                                     family, machine, except_workload);
}

std::vector<StoredTrial> Store::trials(const std::string& workload) const {
    return impl_->rows<StoredTrial>(" FROM trials WHERE workload = ? ORDER BY id", workload);
}

std::optional<Roofline> Store::roofline(const std::string& fingerprint) const {
    const auto machine = impl_->row<StoredMachine>(" FROM machines WHERE fingerprint = ?", fingerprint);
    return machine ? try_read_roofline(machine->roofline) : std::nullopt;
}

std::vector<StoredSummary> Store::list() const {
    return impl_->reading([&] {
        std::vector<StoredSummary> summaries;
        // Behind the columns of the workload.
        const int behind = static_cast<int>(columns_of<StoredWorkload>().size());
        Statement query(impl_->db, impl_->path,
                        select<StoredWorkload>() +
                            ", (SELECT count(*) FROM trials WHERE workload = key), (SELECT cpu_model || ', ' || cores "
                            "|| ' cores' FROM machines WHERE fingerprint = machine) FROM workloads ORDER BY created_s, "
                            "key");
        while (query.step()) {
            StoredSummary summary;
            summary.workload = row_of<StoredWorkload>(query, impl_->path);
            summary.trials = static_cast<int>(query.integer(behind));
            summary.machine = query.text(behind + 1);
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
        for (const StoredMachine& machine : impl_->rows<StoredMachine>(" FROM machines ORDER BY fingerprint"))
            everything["machines"].push_back(json_of(machine));
        for (const StoredSummary& summary : list()) {
            json one = json_of(summary.workload);
            one["record"] = nullptr;
            one["trials"] = json::array();
            auto without_key = [](json row) {
                row.erase("workload");
                return row;
            };
            if (summary.record) one["record"] = without_key(json_of(*summary.record));
            for (const StoredTrial& trial : trials(summary.workload.key))
                one["trials"].push_back(without_key(json_of(trial)));
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
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.starts_with(std::string_view("SQLite format 3", 16)))
        text = Store(path, impl_->busy_timeout_ms).export_json();
    const json everything = json::parse(text, nullptr, false);
    if (everything.is_discarded() || !everything.is_object() || !everything.contains("tilewright_store"))
        throw StoreError("store " + impl_->path + ": merge of " + path + ": it is neither a store nor an exported one.",
                         "Give a file that `autotune db export` wrote.");
    int added = 0;
    try {
        const int layout = everything["tilewright_store"].get<int>();
        const bool is_earlier = layout < store_version();
        if (layout > store_version())
            throw StoreError("store " + impl_->path + ": merge of " + path + ": it has layout " +
                                 std::to_string(layout) + ", this release knows up to " +
                                 std::to_string(store_version()) + ".",
                             "Use the newer release.");
        impl_->transact([&] {
            const std::string what = "store " + impl_->path + ": merge of " + path;
            for (const json& one : everything.at("machines"))
                impl_->insert("INSERT", "machines", from_json<StoredMachine>(one, what, is_earlier),
                              "ON CONFLICT DO NOTHING");
            for (const json& one : everything.at("workloads")) {
                const auto workload = from_json<StoredWorkload>(one, what, is_earlier);
                impl_->insert_workload(workload);
                auto with_key = [&](json row) {
                    row["workload"] = workload.key;
                    return row;
                };
                for (const json& trial : one.at("trials")) {
                    impl_->insert_trial(from_json<StoredTrial>(with_key(trial), what, is_earlier), true);
                    added += sqlite3_changes(impl_->db);
                }
                if (one.at("record").is_null()) continue;
                const json& r = one.at("record");
                const auto mine = best(workload.key);
                if (mine && mine->median_ns <= r.at("median_ns").get<double>()) continue;
                // It failed here, or the file lacks its trial.
                if (!impl_->is_measured(workload.key, r.at("digest").get<std::string>())) continue;
                impl_->insert_record(from_json<StoredRecord>(with_key(r), what, is_earlier));
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
