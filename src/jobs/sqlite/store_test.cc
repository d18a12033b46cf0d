// The contract of JobStore on SQLite, and what is SQLite's own: foreign files, later versions, damage, a full disk.
#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

#include "base/testing/temporary_folder.h"
#include "jobs/family.h"
#include "jobs/planner.h"
#include "jobs/remote_runs.h"
#include "jobs/sqlite/doctor.h"
#include "jobs/store_contract.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {
namespace {

using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Sqlite, JobStoreContract,
                         ::testing::Values(StoreKind{
                             "sqlite",
                             [](const std::filesystem::path& folder) { return make_sqlite_job_store((folder / "jobs.db").string()); }}),
                         [](const auto& kind) { return kind.param.name; });

class SqliteJobStore : public ::testing::Test {
 protected:
  SqliteJobStore() { path = (folder / "jobs.db").string(); }
  void execute(const char* text) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  Status opened() const {
    const auto store = make_sqlite_job_store(path);
    return store ? Status{} : store.error();
  }
  /// A run of a new job 'a'.
  std::int64_t run_in(JobStore& store) const {
    std::vector<Plan> plans{{.job_id = store.put({.name = "a", .handler = "h"}, std::nullopt)->id,
                             .next = std::nullopt,
                             .runs = {{.scheduled = instant, .due = instant}}}};
    plans[0].runs[0].job_id = plans[0].job_id;
    EXPECT_TRUE(store.plan(plans).ok());
    return plans[0].runs[0].id;
  }

  TemporaryFolder folder;
  std::string path;
  const WallTime instant = calendar::parse_rfc3339("2026-11-01T00:00:00Z").value();
};

TEST_F(SqliteJobStore, IsReadableByItsUserAlone) {
  ASSERT_TRUE(opened().ok());
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

/// Its lock was looked for in the new folder, and it was named as removed.
TEST_F(SqliteJobStore, ARelativePathCountsFromTheFolderOfTheOpening) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const auto store = make_sqlite_job_store("jobs.db");
  std::filesystem::create_directory(folder / "other");
  std::filesystem::current_path(folder / "other");
  ASSERT_TRUE(store.has_value());
  EXPECT_TRUE((*store)->claim().ok());
  EXPECT_TRUE((*store)->put({.name = "a", .handler = "h"}, std::nullopt).has_value());
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "other"));
  EXPECT_EQ(make_sqlite_job_store(path).value()->claim().code(), StatusCode::AlreadyExists);
}

/// It called good what make_sqlite_job_store() refuses.
TEST_F(SqliteJobStore, ANoteIsCutBetweenCharacters) {
  const auto store = make_sqlite_job_store(path);
  ASSERT_TRUE(store.has_value());
  const std::int64_t run = run_in(**store);
  std::string characters;
  while (characters.size() <= limits::kRunNote) characters += "\u20ac";  // Three bytes, and the limit is no multiple of them.
  const std::vector<RunEnd> end{{.id = run, .state = RunState::Failed, .attempt = 1, .ended = instant, .note = characters}};
  ASSERT_TRUE((*store)->finish(end).ok());
  EXPECT_EQ((*store)->runs("a", INT64_MAX, 10)->front().note, characters.substr(0, limits::kRunNote - limits::kRunNote % 3));
}

/// Such a run was missing in lists, and was not known after a restart.
TEST_F(SqliteJobStore, ARunHasRoomForTheAddressesOfABroadcast) {
  const auto store = make_sqlite_job_store(path);
  ASSERT_TRUE(store.has_value());
  const std::int64_t run = run_in(**store);
  std::string addresses(255, 'a');
  for (int i = 1; i < 256; ++i) addresses += "," + std::string(255, 'a');
  ASSERT_TRUE((*store)->note_worker(run, addresses).ok());
  ASSERT_EQ((*store)->unfinished(0, 10)->size(), 1U);
  EXPECT_EQ((*store)->unfinished(0, 10)->front().worker, addresses);
}

TEST_F(SqliteJobStore, ACheckFindsAPlaceThatCanHaveNoDatabase) {
  std::filesystem::create_directory(folder / "folder.db");
  for (const std::string& wrong :
       {std::string{}, std::string{":memory:"}, (folder / "none" / "jobs.db").string(), (folder / "folder.db").string()}) {
    EXPECT_FALSE(make_sqlite_job_store(wrong).has_value()) << wrong;
    EXPECT_FALSE(check_sqlite_job_store(wrong).ok()) << wrong;
  }
  EXPECT_TRUE(check_sqlite_job_store(path).ok()) << "there is none";
  ASSERT_TRUE(opened().ok());
  EXPECT_TRUE(check_sqlite_job_store(path).ok());
}

TEST_F(SqliteJobStore, AnotherStoreThatWritesIsSeenOnceAfterTheClaim) {
  const auto store = make_sqlite_job_store(path).value();
  const auto other = make_sqlite_job_store(path).value();
  const auto edit = [](JobStore& of) { EXPECT_TRUE(of.put({.name = "a", .handler = "h"}, std::nullopt).has_value()); };
  edit(*other);
  EXPECT_EQ(store->is_changed_elsewhere().value(), false) << "nothing is claimed";
  ASSERT_TRUE(store->claim().ok());
  EXPECT_EQ(store->is_changed_elsewhere().value(), false) << "it was before the claim";
  edit(*store);
  EXPECT_EQ(store->is_changed_elsewhere().value(), false) << "it is its own";
  edit(*other);
  EXPECT_EQ(store->is_changed_elsewhere().value(), true);
  EXPECT_EQ(store->is_changed_elsewhere().value(), false);
}

TEST_F(SqliteJobStore, ADatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  execute("CREATE TABLE theirs (a)");
  EXPECT_EQ(opened().code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(opened().to_string(), HasSubstr("another program"));
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST_F(SqliteJobStore, ADatabaseOfALaterVersionIsRefused) {
  ASSERT_TRUE(opened().ok());
  execute("PRAGMA user_version = 99");
  EXPECT_THAT(opened().to_string(), HasSubstr("has the version 99"));
}

TEST_F(SqliteJobStore, AnInstantMayHaveRerunsAndARunKeepsWhatIsSetForIt) {
  auto store = std::move(*make_sqlite_job_store(path));
  const std::int64_t first = run_in(*store);
  EXPECT_FALSE(store->run(first)->parameters.has_value());
  JobRun rerun = store->run(first).value();
  rerun.band = Band::Backfill;
  rerun.parameters = "own";
  rerun.address = "http://a:1";
  rerun.rerun_of = first;
  std::vector<JobRun> reruns(2, rerun);
  reruns[1].parameters = "";
  ASSERT_TRUE(store->add_runs(reruns).ok());
  store.reset();
  store = std::move(*make_sqlite_job_store(path));
  const JobRun read = store->run(reruns[0].id).value();
  EXPECT_EQ(read.parameters, "own");
  EXPECT_EQ(read.address, "http://a:1");
  EXPECT_EQ(read.rerun_of, first);
  EXPECT_EQ(store->run(reruns[1].id)->parameters, "");
  EXPECT_EQ(store->instants(read.job_id, instant, instant + 1s, 10)->size(), 1U);
  rerun.rerun_of = 0;
  std::vector<JobRun> backfill(1, rerun);
  ASSERT_TRUE(store->add_runs(backfill).ok());
  EXPECT_EQ(backfill[0].id, 0) << "the instant has its run";
}

TEST_F(SqliteJobStore, ADatabaseOfTheFirstVersionKeepsItsJobsAndRuns) {
  execute(
      "CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, running INTEGER NOT NULL,"
      "  next INTEGER);"
      "CREATE INDEX jobs_due ON jobs (next) WHERE running = 1 AND next IS NOT NULL;"
      "CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,"
      "  scheduled INTEGER NOT NULL, due INTEGER NOT NULL, band INTEGER NOT NULL, state INTEGER NOT NULL, attempt INTEGER NOT NULL,"
      "  missed INTEGER NOT NULL, begun INTEGER, ended INTEGER, note TEXT NOT NULL);"
      "CREATE UNIQUE INDEX runs_scheduled ON runs (job, scheduled) WHERE band <> 3;"
      "CREATE INDEX runs_of_job ON runs (job, id);"
      "CREATE INDEX runs_unfinished ON runs (id) WHERE state = 0;"
      "CREATE INDEX runs_ended ON runs (ended) WHERE ended IS NOT NULL;"
      "INSERT INTO jobs VALUES (7, 'a', '{\"name\":\"a\",\"handler\":\"h\"}', 1, 30);"
      "INSERT INTO runs VALUES (9, 7, 20, 20, 0, 0, 0, 0, NULL, NULL, '');"
      "PRAGMA application_id = 1382966378; PRAGMA user_version = 1");
  auto store = std::move(*make_sqlite_job_store(path));
  EXPECT_EQ(store->find("a")->id, 7);
  ASSERT_TRUE(store->put({.name = "b", .handler = "h", .parents = {"a"}}, std::nullopt).has_value());
  EXPECT_EQ(store->children("a")->size(), 1U);
  ASSERT_EQ(store->unfinished(0, 10)->size(), 1U);
  EXPECT_TRUE(store->run(9)->parents.empty());
  EXPECT_EQ(store->run(9)->worker, kUnknownWorker) << "it may be at a worker";
}

/// The next start made a new database without jobs, and overwrote the -wal, which had nearly all of them.
TEST_F(SqliteJobStore, AFileThatIsLostOrEmptyBesideItsWalIsRefusedAndTheWalIsLeftAlone) {
  const std::string wal = path + "-wal";
  std::ofstream(wal) << "what was stored last";
  const auto expect_refused = [&](const char* what) {
    const std::string refusal = "data-loss: the database of jobs '" + path + "' is " + what + ", and '" + wal + "' is there";
    EXPECT_THAT(opened().to_string(), testing::StartsWith(refusal));
    EXPECT_THAT(check_sqlite_job_store(path).to_string(), testing::StartsWith(refusal));
    EXPECT_EQ(std::filesystem::file_size(wal), 20U);
  };
  expect_refused("lost");
  std::ofstream(path).close();
  expect_refused("empty");
  std::filesystem::remove(wal);
  EXPECT_TRUE(opened().ok());
}

TEST_F(SqliteJobStore, AFileThatIsNoDatabaseIsDataLoss) {
  std::ofstream(path) << std::string(10'000, 'x');
  EXPECT_EQ(opened().code(), StatusCode::DataLoss) << opened().to_string();
}

TEST_F(SqliteJobStore, AFolderThatDoesNotExistIsNamed) {
  path = (folder / "none" / "jobs.db").string();
  EXPECT_THAT(opened().to_string(), HasSubstr(path));
}

TEST_F(SqliteJobStore, AnErrorInTheMiddleOfAPlanUndoesAllOfIt) {
  auto store = std::move(*make_sqlite_job_store(path));
  const auto job = store->put({.name = "a", .handler = "h"}, std::nullopt).value();
  ASSERT_TRUE(store->set_running("a", true, WallTime{}, {}).ok());
  execute("CREATE TRIGGER full BEFORE INSERT ON runs WHEN NEW.scheduled = 2 BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  const WallTime next = WallTime::from_nanoseconds(3);
  std::vector<Plan> plans{{.job_id = job.id,
                           .next = next,
                           .runs = {{.job_id = job.id, .scheduled = WallTime::from_nanoseconds(1)},
                                    {.job_id = job.id, .scheduled = WallTime::from_nanoseconds(2)}}}};
  EXPECT_FALSE(store->plan(plans).ok());
  EXPECT_EQ(store->find("a")->next, WallTime{});
  EXPECT_TRUE(store->unfinished(0, 10)->empty());
  execute("DROP TRIGGER full");
  EXPECT_TRUE(store->plan(plans).ok()) << "the store goes on";
  EXPECT_EQ(store->unfinished(0, 10)->size(), 2U);
}

/// One byte that was no UTF-8 in the note of a stop made the row unreadable, and then no job was planned any more.
TEST_F(SqliteJobStore, AJobWhoseRowCannotBeReadDoesNotStopTheOthers) {
  const WallTime now = calendar::parse_rfc3339("2026-01-01T10:00:00Z").value();
  const auto store = std::move(*make_sqlite_job_store(path));
  for (const char* const name : {"a", "b"}) {
    ASSERT_TRUE(store->put({.name = name, .handler = "h", .schedule = {.when = "every 10s"}}, now).has_value());
    ASSERT_TRUE(store->set_running(name, true, now, "").ok());
  }
  execute("UPDATE jobs SET spec = CAST(X'7b226e6f7465223a22ff227d' AS TEXT) WHERE name = 'a'");  // {"note":"\xff"}
  EXPECT_THAT(store->find("a")->job.note, HasSubstr("cannot be read"));
  EXPECT_EQ(store->list("", 10)->size(), 2U);
  Planner planner{PlannerOptions{}};
  const auto cycle = planner.run(*store, now);
  ASSERT_TRUE(cycle.has_value()) << cycle.error().to_string();
  ASSERT_EQ(cycle->jobs.size(), 1U);
  EXPECT_EQ(cycle->jobs[0].job.name, "b");
  EXPECT_THAT(cycle->trouble, testing::AllOf(HasSubstr("job 'a'"), HasSubstr("cannot be read")));
  ASSERT_TRUE(planner.replan(*store, "", now).has_value());
  EXPECT_EQ(store->find("a")->next, now);
  EXPECT_EQ(store->set_running("a", false, {}, "").code(), StatusCode::DataLoss) << "that would write the row anew";
  ASSERT_TRUE(store->put({.name = "a", .handler = "h", .schedule = {.when = "every 10s"}}, now).has_value());
  EXPECT_TRUE(planner.run(*store, now)->trouble.empty());
  execute("UPDATE jobs SET spec = '' WHERE name = 'a'");
  EXPECT_TRUE(store->remove("a").ok());
}

/// Its next time was lost when the zones of the system could not be read once.
TEST_F(SqliteJobStore, AJobWhoseZoneCannotBeReadKeepsItsNextTimeAndIsNamed) {
  const WallTime now = calendar::parse_rfc3339("2026-01-01T10:00:00Z").value();
  const auto store = std::move(*make_sqlite_job_store(path));
  ASSERT_TRUE(store->put({.name = "j", .handler = "h", .schedule = {.when = "every 10s", .zone = "Nowhere/City"}}, now).has_value());
  ASSERT_TRUE(store->set_running("j", true, now, "").ok());
  Planner planner{PlannerOptions{}};
  for (int cycles = 0; cycles < 2; ++cycles) {
    const auto cycle = planner.run(*store, now);
    ASSERT_TRUE(cycle.has_value());
    EXPECT_TRUE(cycle->is_complete);
    EXPECT_THAT(cycle->trouble, testing::AllOf(HasSubstr("job 'j'"), HasSubstr("schedule.zone")));
    EXPECT_EQ(store->find("j")->next, now);
  }
  ASSERT_TRUE(store->put({.name = "j", .handler = "h", .schedule = {.when = "every 10s"}}, now).has_value());
  EXPECT_EQ(planner.run(*store, now)->jobs.size(), 1U) << "as if the zone had come back";
}

TEST_F(SqliteJobStore, ACycleEndsAfterItsLimitOfRows) {
  const WallTime now = calendar::parse_rfc3339("2026-01-01T10:00:00Z").value();
  const auto store = std::move(*make_sqlite_job_store(path));
  constexpr std::size_t kJobs = 2 * limits::kRunsOfCycle / limits::kRunsOfPlan;
  for (std::size_t i = 0; i < kJobs; ++i) {
    const std::string name = "j" + std::to_string(i);
    const WallTime hours_ago = now + Duration{-3600s};
    ASSERT_TRUE(
        store->put({.name = name, .handler = "h", .schedule = {.when = "every 1s"}, .misfire = Misfire::FireAll}, hours_ago).has_value());
    ASSERT_TRUE(store->set_running(name, true, hours_ago, "").ok());
  }
  Planner planner{PlannerOptions{}};
  std::size_t cycles = 0;
  for (bool is_complete = false; !is_complete && cycles < 100; ++cycles) {
    const auto cycle = planner.run(*store, now);
    ASSERT_TRUE(cycle.has_value());
    std::size_t rows = 0;
    for (const Plan& plan : cycle->plans) rows += plan.runs.size();
    EXPECT_LT(rows, limits::kRunsOfCycle + limits::kRunsOfPlan + limits::kMisfireRuns);
    is_complete = cycle->is_complete;
  }
  EXPECT_GT(cycles, 1U);
  EXPECT_LT(cycles, 100U);
}

TEST_F(SqliteJobStore, ACycleOfParentsThatAnotherProgramWroteIsAnError) {
  const auto store = std::move(*make_sqlite_job_store(path));
  ASSERT_TRUE(store->put({.name = "a", .handler = "h"}, {}).has_value());
  ASSERT_TRUE(store->put({.name = "b", .handler = "h", .parents = {"a"}}, {}).has_value());
  ASSERT_TRUE(store->put({.name = "a", .handler = "h", .parents = {"b"}}, {}).has_value());
  EXPECT_THAT(check_family(*store, {.name = "new", .handler = "h", .parents = {"b"}}).to_string(), HasSubstr("is above itself"));
}

}  // namespace
}  // namespace rondo::jobs
