// tests/autotune/test_store.cpp: what is kept stays kept, and every kind of bad store says what it is.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/store/store.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tw-store-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        path = name + "/a/b/tilewright.db";
    }
    void TearDown() override { fs::remove_all(folder); }

    static StoredWorkload workload(const std::string& key = "w1") {
        return {key, "family", "get_labels", "get_labels(X float64[9, 2])", "machine1", 0};
    }
    static StoredTrial trial(const std::string& digest, double ns = 100, const std::string& key = "w1") {
        StoredTrial one;
        one.workload = key;
        one.digest = digest;
        one.schedule = "schedule " + digest;
        one.median_ns = ns;
        one.runs = 5;
        one.origin = "random";
        one.point = "{}";
        return one;
    }
    static StoredRecord record(const std::string& digest, double ns = 100, const std::string& key = "w1") {
        StoredRecord one;
        one.workload = key;
        one.digest = digest;
        one.schedule = "schedule " + digest;
        one.median_ns = ns;
        one.reason = "budget";
        return one;
    }
    /// The text of the StoreError that `body` throws, or "".
    template <class Body> static std::string error_of(Body&& body) {
        try {
            body();
        } catch (const StoreError& error) {
            return error.what();
        }
        return "";
    }
    static void execute(const std::string& file, const std::string& sql) {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
        sqlite3_close(db);
    }

    std::string folder, path;
};

TEST_F(StoreTest, KeepsWorkloadsTrialsRecordsAndMachines) {
    {
        Store store(path);
        EXPECT_TRUE(store.warnings().empty());
        store.put_workload(workload());
        store.put_trial(trial("d1"));
        StoredTrial failed = trial("d2", 0);
        failed.outcome = {OutcomeKind::wrong_answer, "labels[3] is 1, NumPy gives 0 — \"quoted\"\n"};
        store.put_trial(failed);
        store.put_trial(trial("d3", 50), record("d3", 50));
        Machine machine;
        machine.fingerprint = "machine1";
        machine.roofline.levels = {{1 << 20, 1, 2, 3}};
        store.put_machine(machine);
    }
    Store store(path);
    const auto trials = store.trials("w1");
    ASSERT_EQ(trials.size(), 3u);
    EXPECT_EQ(trials[0].digest, "d1");
    EXPECT_EQ(trials[0].runs, 5);
    EXPECT_EQ(trials[1].outcome.kind, OutcomeKind::wrong_answer);
    EXPECT_EQ(trials[1].outcome.text, "labels[3] is 1, NumPy gives 0 — \"quoted\"\n");
    ASSERT_TRUE(store.best("w1"));
    EXPECT_EQ(store.best("w1")->median_ns, 50);
    EXPECT_FALSE(store.best("w2"));
    EXPECT_EQ(store.roofline("machine1")->levels[0].copy_gbps, 3);
    EXPECT_FALSE(store.roofline("machine2"));
    EXPECT_FALSE(try_read_roofline(R"({"float32_gflops": 69, "float64_gflops": 35, "levels": [[4194304, 9, 9, 9]]})"))
        << "limits without fused multiply-add are measured again";
    EXPECT_TRUE(store.check().empty());
    EXPECT_EQ(store.list().at(0).trials, 3);
}

TEST_F(StoreTest, ATrialMeasuredAgainReplacesItsTimeOnly) {
    Store store(path);
    store.put_workload(workload());
    store.put_trial(trial("d1", 100));
    StoredTrial again = trial("d1", 80);
    again.origin = "stored best";
    again.point = "";
    store.put_trial(again);
    const auto trials = store.trials("w1");
    ASSERT_EQ(trials.size(), 1u);
    EXPECT_EQ(trials[0].median_ns, 80);
    EXPECT_EQ(trials[0].origin, "random");
    EXPECT_EQ(trials[0].point, "{}");
}

TEST_F(StoreTest, ARecordWhoseScheduleFailsLaterIsNone) {
    Store store(path);
    store.put_workload(workload());
    store.put_trial(trial("d1", 70));
    store.put_trial(trial("d2", 50), record("d2", 50));
    StoredTrial other = trial("d1", 0);
    other.outcome = {OutcomeKind::run_crashed, "SIGSEGV"};
    store.put_trial(other);
    ASSERT_TRUE(store.best("w1")) << "another one's failure";
    StoredTrial failed = trial("d2", 0);
    failed.outcome = {OutcomeKind::run_crashed, "SIGSEGV"};
    store.put_trial(failed);
    EXPECT_FALSE(store.best("w1"));
    EXPECT_TRUE(store.check().empty());
    store.put_trial(trial("d3", 60), record("d3", 60));
    EXPECT_EQ(store.best("w1")->digest, "d3");
    EXPECT_TRUE(store.check().empty());
}

TEST_F(StoreTest, AMergedRecordWhoseScheduleFailedHereIsLeftOut) {
    Store store(path);
    store.put_workload(workload());
    StoredTrial failed = trial("d2", 0);
    failed.outcome = {OutcomeKind::wrong_answer, "labels[0] is 1, NumPy gives 0"};
    store.put_trial(failed);
    const std::string other_path = folder + "/other.db";
    {
        Store other(other_path);
        other.put_workload(workload());
        other.put_trial(trial("d2", 50), record("d2", 50));
    }
    store.merge(other_path);
    EXPECT_FALSE(store.best("w1"));
    EXPECT_TRUE(store.check().empty());
}

TEST_F(StoreTest, BytesThatAreNoTextAreShownAsNumbers) {
    {
        Store store(path);
        store.put_workload(workload());
        store.put_trial(trial("d1"));
        store.put_trial(trial("d2"));
    }
    execute(path, "UPDATE trials SET outcome_text = CAST(x'61ff62c0ed9f80eda080f4908080f09f9880c3' AS TEXT) WHERE "
                  "digest = 'd1'");
    execute(path, "UPDATE trials SET outcome = CAST(x'6dff' AS TEXT) WHERE digest = 'd2'");
    Store store(path);
    EXPECT_EQ(error_of([&] { store.trials("w1"); }),
              "store " + path + ": a trial has the outcome \"m\\xff\", which is unknown. Run `autotune db check`.");
    execute(path, "UPDATE trials SET outcome = 'measured' WHERE digest = 'd2'");
    EXPECT_EQ(store.trials("w1").at(0).outcome.text,
              "a\\xffb\\xc0\xed\x9f\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\xf0\x9f\x98\x80\\xc3");
}

TEST_F(StoreTest, FamilyGivesOtherSizesOnThisMachineOnly) {
    Store store(path);
    StoredWorkload other = workload("w2"), foreign = workload("w3"), stranger = workload("w4");
    foreign.machine = "machine2";
    stranger.family = "another";
    for (const auto& w : {workload(), other, foreign, stranger})
        store.put_workload(w);
    for (const char* key : {"w1", "w2", "w3", "w4"})
        store.put_trial(trial("d", 1, key), record("d", 1, key));
    const auto records = store.family("family", "machine1", "w1");
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].workload, "w2");
}

TEST_F(StoreTest, NothingOfAFailedTransactionStays) {
    Store store(path);
    store.put_workload(workload());
    // The record's workload does not exist: the foreign key refuses it, and the trial goes with it.
    EXPECT_NE(error_of([&] { store.put_trial(trial("d1"), record("d1", 1, "nowhere")); }), "");
    EXPECT_TRUE(store.trials("w1").empty());
    store.put_trial(trial("d2"));
    EXPECT_EQ(store.trials("w1").size(), 1u);
}

TEST_F(StoreTest, ALockedStoreIsAnErrorAfterTheTimeout) {
    Store store(path, 100);
    store.put_workload(workload());
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    const std::string error = error_of([&] { store.put_trial(trial("d1")); });
    EXPECT_EQ(error, "store " + path +
                         ": it could not be locked for writing: database is locked. Another process holds it; wait for "
                         "it, or give another file with --db.");
    EXPECT_TRUE(store.trials("w1").empty()) << "reading goes on beside a writer";
    sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_close(other);
    store.put_trial(trial("d1"));
    EXPECT_EQ(store.trials("w1").size(), 1u);
}

TEST_F(StoreTest, TwoProcessesCreateAndWriteAtOnce) {
    // Forked before the store exists: both race to make it.
    std::vector<pid_t> children;
    for (int child = 0; child < 4; ++child) {
        const pid_t pid = fork();
        if (pid == 0) {
            int failed = 0;
            try {
                Store store(path, 20000);
                store.put_workload(workload());
                for (int i = 0; i < 50; ++i)
                    store.put_trial(trial("d" + std::to_string(child) + "." + std::to_string(i)));
            } catch (const std::exception& error) {
                std::fprintf(stderr, "child %d: %s\n", child, error.what());
                failed = 1;
            }
            _exit(failed);
        }
        children.push_back(pid);
    }
    for (pid_t pid : children) {
        int status = 0;
        waitpid(pid, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(Store(path).trials("w1").size(), 200u);
}

TEST_F(StoreTest, IsOpenedAgainInAForkedChild) {
    Store store(path);
    store.put_workload(workload());
    const pid_t pid = fork();
    if (pid == 0) {
        int failed = 1;
        try {
            store.put_trial(trial("child"));
            failed = 0;
        } catch (...) {
        }
        _exit(failed);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    store.put_trial(trial("parent"));
    EXPECT_EQ(store.trials("w1").size(), 2u);
    EXPECT_TRUE(store.check().empty());
}

TEST_F(StoreTest, AKilledWriterLosesNothingThatWasPut) {
    const pid_t pid = fork();
    if (pid == 0) {
        Store store(path);
        store.put_workload(workload());
        for (int i = 0; i < 20; ++i)
            store.put_trial(trial("d" + std::to_string(i)));
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    Store store(path);
    EXPECT_EQ(store.trials("w1").size(), 20u);
    EXPECT_TRUE(store.check().empty());
}

TEST_F(StoreTest, AStoreThatMayOnlyBeReadIsReadWithOneWarning) {
    {
        Store store(path);
        store.put_workload(workload());
        store.put_trial(trial("d1"));
    }
    fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    fs::permissions(fs::path(path).parent_path(), fs::perms::all);
    const bool root = geteuid() == 0;
    // Root may write anything: the test becomes an ordinary user for a moment.
    fs::permissions(folder, fs::perms::all);
    fs::permissions(folder + "/a", fs::perms::all);
    if (root) {
        ASSERT_EQ(seteuid(65534), 0);
    }
    {
        Store store(path);
        EXPECT_TRUE(store.read_only());
        ASSERT_EQ(store.warnings().size(), 1u);
        EXPECT_EQ(store.warnings()[0], "store " + path + ": it may only be read; nothing new is kept.");
        EXPECT_EQ(store.trials("w1").size(), 1u);
        EXPECT_EQ(error_of([&] { store.put_trial(trial("d2")); }),
                  "store " + path + ": it may only be read. Make it writable, or give another file with --db.");
    }
    if (root) {
        ASSERT_EQ(seteuid(0), 0);
    }
}

TEST_F(StoreTest, AStoreInAFolderThatMayNotBeWrittenIsRead) {
    // As on a read-only file system; the name holds what a URI gives another meaning.
    path = folder + "/a/50% of #1?.db";
    {
        Store store(path);
        store.put_workload(workload());
        store.put_trial(trial("d1"));
        store.put_record(record("d1"));
    }
    ASSERT_FALSE(fs::exists(path + "-wal")) << "closing folds the log into the file";
    const auto read_only = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
    const auto enter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    fs::permissions(path, read_only);
    fs::permissions(folder + "/a", read_only | enter);
    fs::permissions(folder, read_only | enter);
    const bool root = geteuid() == 0;
    if (root) {
        ASSERT_EQ(seteuid(65534), 0);
    }
    const std::string error = error_of([&] {
        Store store(path);
        EXPECT_TRUE(store.read_only());
        EXPECT_EQ(store.warnings().size(), 1u);
        EXPECT_EQ(store.list().size(), 1u);
        EXPECT_EQ(store.best("w1")->digest, "d1");
        EXPECT_TRUE(store.check().empty());
    });
    if (root) {
        ASSERT_EQ(seteuid(0), 0);
    }
    fs::permissions(folder, fs::perms::owner_all);
    fs::permissions(folder + "/a", fs::perms::owner_all);
    EXPECT_EQ(error, "");
}

TEST_F(StoreTest, AFolderThatCannotBeMadeIsNamed) {
    const std::string error = error_of([] { Store store("/proc/tilewright/x.db"); });
    EXPECT_NE(error.find("store /proc/tilewright/x.db: its folder could not be made"), std::string::npos) << error;
}

TEST_F(StoreTest, AFullDiskIsAnErrorAndNotADamagedFile) {
    {
        Store store(path);
        store.put_workload(workload());
        store.put_trial(trial("d1"));
    }
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        Store store(path);
        const rlimit limit{200 * 1024, 200 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        StoredTrial big = trial("big");
        big.schedule = std::string(1 << 20, 'x');
        const std::string error = error_of([&] { store.put_trial(big); });
        const bool as_expected = error.rfind("store " + path, 0) == 0;
        if (!as_expected) std::fprintf(stderr, "%s\n", error.c_str());
        _exit(as_expected ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    Store store(path);
    EXPECT_EQ(store.trials("w1").size(), 1u);
    EXPECT_TRUE(store.check().empty());
}

TEST_F(StoreTest, AStoreDeletedWhileOpenIsNoticed) {
    Store store(path);
    store.put_workload(workload());
    fs::remove(path);
    const std::string error = error_of([&] { store.put_trial(trial("d1")); });
    EXPECT_EQ(error,
              "store " + path +
                  ": it was deleted or replaced while it was open. Start the command again; what was learnt since is "
                  "not kept.");
}

TEST_F(StoreTest, ANewerStoreIsRefusedUntouched) {
    { Store store(path); }
    execute(path, "PRAGMA user_version = 99");
    EXPECT_EQ(error_of([&] { Store store(path); }), "store " + path + ": it has layout 99, this release knows up to " +
                                                        std::to_string(store_version()) +
                                                        ". Use the newer release, or give another file with --db.");
}

TEST_F(StoreTest, AnotherProgramsDatabaseIsRefusedUntouched) {
    fs::create_directories(fs::path(path).parent_path());
    execute(path, "CREATE TABLE bookmarks (url TEXT)");
    EXPECT_EQ(error_of([&] { Store store(path); }),
              "store " + path + ": it is a SQLite file of another program. Give another file with --db.");
}

TEST_F(StoreTest, DamageIsAnErrorWhateverBytesAreHit) {
    {
        Store store(path);
        store.put_workload(workload());
        for (int i = 0; i < 100; ++i)
            store.put_trial(trial("d" + std::to_string(i)));
        // Closing folds the log into the file.
    }
    std::ifstream in(path, std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(in)), {});
    ASSERT_GT(good.size(), 16384u);
    std::srand(7);
    for (int round = 0; round < 60; ++round) {
        std::string bad = good;
        if (round == 0)
            bad = "this is no database, only text that stands where one should be";
        else if (round == 1)
            bad.resize(bad.size() / 2);
        else
            for (int i = 0; i < 200; ++i)
                bad[static_cast<std::size_t>(std::rand()) % bad.size()] = static_cast<char>(std::rand());
        const std::string file = folder + "/bad" + std::to_string(round) + ".db";
        std::ofstream(file, std::ios::binary) << bad;
        // Whatever it does, it must be StoreError or work, and never crash.
        try {
            Store store(file);
            store.put_workload(workload("w9"));
            for (const StoredSummary& summary : store.list())
                store.trials(summary.workload.key);
            store.check();
            store.export_json();
        } catch (const StoreError& error) {
            EXPECT_EQ(std::string(error.what()).rfind("store " + file, 0), 0u) << error.what();
        }
    }
    EXPECT_NE(error_of([&] { Store store(folder + "/bad0.db"); }).find("Move it away"), std::string::npos);
}

TEST_F(StoreTest, CheckNamesRowsThatContradict) {
    {
        Store store(path);
        store.put_workload(workload());
        store.put_trial(trial("d1"));
        store.put_record(record("never measured"));
    }
    const auto problems = Store(path).check();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0], "rows: the record of w1 has no measured trial");
}

TEST_F(StoreTest, ExportsAndMergesBothWays) {
    Store store(path);
    store.put_workload(workload());
    store.put_trial(trial("d1", 100));
    store.put_trial(trial("d2", 50), record("d2", 50));
    const std::string copy = folder + "/copy.db", text = folder + "/copy.json";
    store.export_store(copy);
    std::ofstream(text) << store.export_json();
    EXPECT_NE(error_of([&] { store.export_store(copy); }).find("a file is there already"), std::string::npos);

    for (const std::string& from : {copy, text}) {
        Store other(folder + "/other" + std::to_string(from == copy) + ".db");
        other.put_workload(workload());
        other.put_trial(trial("d3", 70), record("d3", 70));
        EXPECT_EQ(other.merge(from), 2);
        EXPECT_EQ(other.merge(from), 0) << "a second time adds nothing";
        EXPECT_EQ(other.trials("w1").size(), 3u);
        EXPECT_EQ(other.best("w1")->digest, "d2") << "the faster record stays";
        EXPECT_TRUE(other.check().empty());
    }
    EXPECT_EQ(store.merge(path), 0);
    std::ofstream(folder + "/nonsense") << "{\"a\": 1}";
    EXPECT_NE(error_of([&] { store.merge(folder + "/nonsense"); }).find("neither a store nor an exported one"),
              std::string::npos);
    std::ofstream(folder + "/partial") << R"({"tilewright_store": 1, "machines": [], "workloads": [{"key": "w7"}]})";
    EXPECT_NE(error_of([&] { store.merge(folder + "/partial"); }).find("a field is missing"), std::string::npos);
    const auto has_w7 = [&] {
        return std::ranges::any_of(store.list(), [](const auto& one) { return one.workload.key == "w7"; });
    };
    EXPECT_FALSE(has_w7());
    std::ofstream(folder + "/earlier") << R"({"tilewright_store": 0, "machines": [], "workloads": [
        {"key": "w7", "machine": "m7", "trials": [], "record": null}]})";
    EXPECT_EQ(store.merge(folder + "/earlier"), 0);
    EXPECT_TRUE(has_w7()) << "fields that an earlier layout had not keep their defaults";
    EXPECT_NE(error_of([&] { store.merge(folder + "/absent"); }).find("no such file"), std::string::npos);
}

TEST_F(StoreTest, PrunesByMachineAgeAndCount) {
    Store store(path);
    StoredWorkload foreign = workload("w2"), old = workload("w3");
    foreign.machine = "machine2";
    old.created_s = 1000;
    for (const auto& w : {workload(), foreign, old})
        store.put_workload(w);
    for (int i = 0; i < 10; ++i)
        store.put_trial(trial("d" + std::to_string(i)));
    store.put_record(record("d0"));
    store.put_trial(trial("f", 1, "w2"));
    StoredTrial ancient = trial("o", 1, "w3");
    ancient.created_s = 1000;
    store.put_trial(ancient);

    PruneOptions by_machine;
    by_machine.foreign_to = "machine1";
    auto pruned = store.prune(by_machine);
    EXPECT_EQ(pruned.workloads, 1);
    EXPECT_EQ(pruned.trials, 1);
    PruneOptions by_age;
    by_age.older_than_days = 30;
    EXPECT_EQ(store.prune(by_age).workloads, 1);
    PruneOptions by_count;
    by_count.keep_trials = 3;
    EXPECT_EQ(store.prune(by_count).trials, 6) << "the newest three stay, and the record's";
    EXPECT_EQ(store.trials("w1").size(), 4u);
    EXPECT_TRUE(store.check().empty());
}

} // namespace
} // namespace tilewright::autotune
