// examine_sqlite_job_store(): each thing that can be wrong with a database of jobs is found, a file in use is read, and none is changed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "base/unique_fd.h"
#include "jobs/sqlite/doctor.h"
#include "rondo/jobs/job_store.h"

namespace rondo::jobs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Level = JobDatabaseFinding::Level;

class JobDatabaseDoctor : public ::testing::Test {
 protected:
  JobDatabaseDoctor() { path = (folder / "jobs.db").string(); }
  void execute(const std::string& text) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  /// A database with a started job of id 1 and a stopped one of id 2.
  void make() const {
    auto store = std::move(*make_sqlite_job_store(path));
    ASSERT_TRUE(store->put({.name = "a", .handler = "h"}, std::nullopt).has_value());
    ASSERT_TRUE(store->set_running("a", true, now + 10s, {}).ok());
    ASSERT_TRUE(store->put({.name = "b", .handler = "h"}, std::nullopt).has_value());
  }
  /// A run without an end; 'parents': their ids with blanks.
  void add_run(int job, WallTime due, const std::string& parents = {}) const {
    const std::string at = std::to_string(due.nanoseconds());
    execute("INSERT INTO runs (job, scheduled, due, band, state, attempt, missed, note, parents) VALUES (" + std::to_string(job) + "," +
            at + "," + at + ",0,0,0,0,'','" + parents + "')");
  }
  std::vector<JobDatabaseFinding> findings() const {
    auto found = examine_sqlite_job_store(path, now);
    EXPECT_TRUE(found.has_value()) << found.error().to_string();
    return found ? *found : std::vector<JobDatabaseFinding>{};
  }
  JobDatabaseFinding finding(const std::string& setting) const {
    for (const JobDatabaseFinding& one : findings()) {
      if (one.setting == setting) return one;
    }
    ADD_FAILURE() << "nothing was found about '" << setting << "'";
    return {};
  }
  void expect_bad(const std::string& setting, Level level, const std::string& value) const {
    const JobDatabaseFinding found = finding(setting);
    EXPECT_EQ(found.level, level);
    EXPECT_THAT(found.value, HasSubstr(value));
    EXPECT_FALSE(found.meaning.empty());
    EXPECT_FALSE(found.remedy.empty());
  }

  TemporaryFolder folder;
  std::string path;
  const WallTime now = WallTime::from_nanoseconds(1'800'000'000'000'000'000);
};

TEST_F(JobDatabaseDoctor, AWholeDatabaseIsFineAlsoWhileItIsInUse) {
  make();
  add_run(1, now + -10s);
  const auto is_fine = [](const JobDatabaseFinding& one) { return one.level == Level::Ok; };
  EXPECT_TRUE(std::ranges::all_of(findings(), is_fine));
  EXPECT_EQ(finding("in use").value, "by no process that runs its jobs");
  EXPECT_EQ(finding("jobs").value, "2, 1 started");
  EXPECT_EQ(finding("runs").value, "1, 1 without an end");
  EXPECT_FALSE(std::filesystem::exists(path + "-lock")) << "it leaves nothing behind";
  const auto store = std::move(*make_sqlite_job_store(path));
  ASSERT_TRUE(store->put({.name = "c", .handler = "h"}, std::nullopt).has_value());
  const UniqueFd lock{::open((path + "-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_EQ(finding("in use").value, "by a process that runs its jobs");
  EXPECT_EQ(finding("jobs").value, "3, 1 started") << "what is in the log of the database counts";
}

TEST_F(JobDatabaseDoctor, JobsThatNoProcessPlansAreAProblem) {
  make();
  execute("UPDATE jobs SET next = " + std::to_string((now + -120s).nanoseconds()) + " WHERE id = 1");
  expect_bad("jobs not planned", Level::Problem, "1, the oldest is a of 2027-01-15T07:58:00Z");
}

TEST_F(JobDatabaseDoctor, RunsThatLookStuckAreNamed) {
  make();
  add_run(1, now + -7200s);
  add_run(1, now + -10'800s);
  expect_bad("runs due for an hour", Level::Advice, "2, the oldest is a#2 of ");
  add_run(2, now + -5s);
  expect_bad("runs of stopped jobs", Level::Advice, "1, the oldest is b#3 of ");
}

TEST_F(JobDatabaseDoctor, ARunWhoseParentNeverSucceedsIsNamed) {
  make();
  add_run(1, now);
  add_run(1, now + 1s);
  add_run(1, now + 2s, "1 2");
  execute("UPDATE runs SET state = 1 WHERE id = 1");  // Succeeded.
  for (const JobDatabaseFinding& one : findings()) EXPECT_NE(one.setting, "runs without a parent");
  execute("UPDATE runs SET state = 2 WHERE id = 2");  // Failed.
  expect_bad("runs without a parent", Level::Advice, "1, the oldest is a#3");
  execute("DELETE FROM runs WHERE id = 2");
  expect_bad("runs without a parent", Level::Advice, "1, the oldest is a#3");
}

TEST_F(JobDatabaseDoctor, ADefinitionThatCannotBeReadIsAProblem) {
  make();
  execute("UPDATE jobs SET spec = '{\"name\":\"b\"}' WHERE id = 2");
  expect_bad("definition", Level::Problem, "b");
}

TEST_F(JobDatabaseDoctor, AZoneThatCannotBeReadIsAProblem) {
  make();
  auto store = std::move(*make_sqlite_job_store(path));
  ASSERT_TRUE(store->put({.name = "z", .handler = "h", .schedule = {.when = "cron 0 8 * * *", .zone = "Europe/Nowhere"}}, {}).has_value());
  expect_bad("definition", Level::Problem, "z");
  EXPECT_THAT(finding("definition").meaning, HasSubstr("Europe/Nowhere"));
}

TEST_F(JobDatabaseDoctor, FamiliesThatNeverRunAreNamed) {
  make();
  auto store = std::move(*make_sqlite_job_store(path));
  const auto put = [&](const std::string& name, const std::vector<std::string>& parents) {
    ASSERT_TRUE(store->put({.name = name, .handler = "h", .parents = parents}, {}).has_value());
  };
  put("child", {"a"});
  put("grandchild", {"child", "a"});
  for (const JobDatabaseFinding& one : findings()) EXPECT_EQ(one.level, Level::Ok) << one.setting;
  put("lost", {"ghost"});
  expect_bad("parents that do not exist", Level::Problem, "'lost': there is no job 'ghost'");
  put("x", {"z", "a"});
  put("y", {"x"});
  put("z", {"y"});
  put("self", {"self"});
  expect_bad("cycles of parents", Level::Problem, "self -> self; x -> y -> z -> x");
  execute("DELETE FROM parents WHERE parent = 'a' AND child = (SELECT id FROM jobs WHERE name = 'child')");
  execute("INSERT INTO parents SELECT 'b', id FROM jobs WHERE name = 'grandchild'; INSERT INTO parents VALUES ('b', 999)");
  expect_bad("rows of parents", Level::Problem, "'child' lacks its parent 'a'");
  expect_bad("rows of parents", Level::Problem, "'grandchild' has the parent 'b' there alone");
  expect_bad("rows of parents", Level::Problem, "a child of 'b' that does not exist");
}

TEST_F(JobDatabaseDoctor, DamageIsAProblemAndEndsTheExamination) {
  make();
  for (int i = 0; i < 200; ++i) add_run(1, now + -1s * i);
  execute("PRAGMA wal_checkpoint(TRUNCATE)");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4 * 4096 + 8);
  file << std::string(3000, '\xff');
  file.close();
  expect_bad("integrity", Level::Problem, "");
  for (const JobDatabaseFinding& one : findings()) EXPECT_NE(one.setting, "runs");
  std::ofstream(path) << std::string(10'000, 'x');
  expect_bad("integrity", Level::Problem, "not a database");
}

TEST_F(JobDatabaseDoctor, AFileThatIsNotOursIsRefused) {
  EXPECT_EQ(examine_sqlite_job_store(path, now).error().code(), StatusCode::NotFound);
  EXPECT_FALSE(std::filesystem::exists(path));
  execute("CREATE TABLE theirs (a)");
  EXPECT_THAT(examine_sqlite_job_store(path, now).error().to_string(), HasSubstr("another program"));
  // An empty database, by what SQLite says. A FIFO would block.
  const std::string fifo = (folder / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& other : {std::string{"/dev/null"}, fifo, folder.string()}) {
    EXPECT_THAT(examine_sqlite_job_store(other, now).error().to_string(), HasSubstr("is no regular file")) << other;
    EXPECT_THAT(make_sqlite_job_store(other).error().to_string(), HasSubstr("is no regular file")) << other;
    EXPECT_THAT(check_sqlite_job_store(other).to_string(), HasSubstr("is no regular file")) << other;
  }
}

/// It waited for a writer of the FIFO.
TEST_F(JobDatabaseDoctor, AFifoInPlaceOfTheLockBlocksNothing) {
  make();
  const std::string lock = path + "-lock";
  std::filesystem::remove(lock);
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  const std::vector<JobDatabaseFinding> found = findings();
  EXPECT_TRUE(std::ranges::any_of(
      found, [](const JobDatabaseFinding& one) { return one.setting == "in use" && one.value == "by no process that runs its jobs"; }));
}

/// Without a number no row can be added, and SQLite says that the disk is full.
TEST_F(JobDatabaseDoctor, NumbersThatAreUsedUpAreNamed) {
  make();
  for (const JobDatabaseFinding& one : findings()) EXPECT_NE(one.setting, "numbers of rows");
  execute("UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'jobs'");
  expect_bad("numbers of rows", Level::Problem, "jobs, 9223372036854775807");
  {
    auto store = std::move(*make_sqlite_job_store(path));
    const auto added = store->put({.name = "c", .handler = "h"}, std::nullopt);
    ASSERT_FALSE(added.has_value());
    EXPECT_EQ(added.error().code(), StatusCode::Unavailable);
    EXPECT_THAT(added.error().to_string(), HasSubstr("the numbers of the table jobs are used up"));
  }
  execute("UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM jobs) WHERE name = 'jobs'");
  EXPECT_TRUE(std::move(*make_sqlite_job_store(path))->put({.name = "c", .handler = "h"}, std::nullopt).has_value());
}

TEST_F(JobDatabaseDoctor, AnOlderVersionIsNamedAndNotChanged) {
  execute("CREATE TABLE jobs (a); PRAGMA application_id = 1382966378; PRAGMA user_version = 1");
  expect_bad("schema", Level::Advice, "version 1");
  expect_bad("schema", Level::Advice, "version 1");
}

}  // namespace
}  // namespace rondo::jobs
