// Jobs on a disk that is full, and on a database that is damaged, removed or cannot be written while they run: what and where the trouble
// is, nothing runs that is not stored, the scheduler does not spin, and after the repair no instant is missing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "jobs/testing/testbed.h"

namespace rondo::jobs::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

constexpr Duration kEvery = 20ms;

class JobDiskFaults : public JobsTestbed {
 protected:
  JobDiskFaults() : JobsTestbed({.window = 1s, .grace = 1s, .cycle = 50ms}) {}
  ~JobDiskFaults() override { close(); }
  void start() {
    open();
    jobs->handle_in_turn("note", [this](const JobContext& context) {
      called.insert(context.run);
      return Status{};
    });
    jobs->start();
  }
  /// A job each of whose instants gets a run.
  void start_often() {
    start();
    define({.name = "often", .handler = "note", .schedule = {.when = "every 20ms"}, .misfire = Misfire::FireAll});
    ASSERT_TRUE(becomes([this] { return called.size() >= 5; }));
  }
  bool has_trouble() {
    return becomes([this] { return !jobs->health().ok(); });
  }
  bool is_well() {
    return becomes([this] { return jobs->health().ok(); });
  }
  /// In trouble: what was planned before has run, and then nothing runs. The scheduler is at rest meanwhile.
  void expect_nothing_runs() {
    run_a_while(options.window + 200ms);
    run_a_while(200ms);  // If the machine stopped this process meanwhile, what was due runs now.
    const std::size_t before = called.size();
    const JobsStats& stats = jobs->stats();
    const std::uint64_t planned = stats.planned;
    const std::uint64_t turns = runtime->scheduler().stats().turns;
    run_a_while(500ms);
    EXPECT_EQ(called.size(), before);
    EXPECT_EQ(stats.planned, planned);
    EXPECT_LT(runtime->scheduler().stats().turns - turns, 200U) << "ten cycles, each of a few works";
  }
  /// After the repair: each instant has one row, each call has a row, and each row that succeeded was called.
  void expect_nothing_is_missing() {
    const std::size_t before = called.size();
    ASSERT_TRUE(becomes([&] { return called.size() >= before + 100; }));
    ASSERT_TRUE(stopped("often").ok());
    ASSERT_TRUE(all_ended());
    std::vector<JobRun> found = rows("often", 100'000);
    std::ranges::sort(found, {}, &JobRun::scheduled);
    std::set<std::int64_t> ids;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ids.insert(found[i].id);
      EXPECT_TRUE(found[i].state != RunState::Succeeded || called.contains(found[i].id));
      EXPECT_TRUE(i == 0 || found[i].scheduled - found[i - 1].scheduled == kEvery) << "before the run " << found[i].id;
      EXPECT_EQ(found[i].missed, 0U);
    }
    EXPECT_TRUE(std::ranges::includes(ids, called)) << "a run was called that has no row";
  }
  /// Overwrites the beginning of the database, and returns what was there.
  std::string overwrite(const std::string& with) const {
    const int file = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    std::string before(with.size(), '\0');
    EXPECT_EQ(::pread(file, before.data(), before.size(), 0), static_cast<ssize_t>(before.size()));
    EXPECT_EQ(::pwrite(file, with.data(), with.size(), 0), static_cast<ssize_t>(with.size()));
    // It is not closed: that would end the locks of the store's connection, which is in this process.
    left_open_.push_back(file);
    return before;
  }

  std::set<std::int64_t> called;

 private:
  mutable std::vector<int> left_open_;
};

/// The folder is a small disk of its own, with room for the log of the database, which has up to 1,000 pages.
class JobsOnFullDiskLinux : public JobDiskFaults {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=16m") != 0) {
      GTEST_SKIP() << "no right to mount: " << std::strerror(errno);
    }
    is_mounted_ = true;
  }
  void TearDown() override {
    close();
    if (is_mounted_) {
      EXPECT_EQ(::umount2(folder.c_str(), MNT_DETACH), 0);
    }
  }
  void fill() const {
    std::ofstream file(folder / "filling", std::ios::binary);
    const std::string page(4096, 'x');
    while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) continue;
    file.clear();
    while (file.put('x').flush()) continue;
  }
  void free() const { std::filesystem::remove(folder / "filling"); }

 private:
  bool is_mounted_ = false;
};

TEST_F(JobsOnFullDiskLinux, NothingFiresUntilThereIsRoomAndThenNoInstantIsMissing) {
  start_often();
  fill();
  ASSERT_TRUE(has_trouble());
  EXPECT_THAT(jobs->health().to_string(), AllOf(HasSubstr("full"), HasSubstr(path())));
  expect_nothing_runs();
  EXPECT_FALSE(jobs->health().ok());
  EXPECT_GT(rows("often").size(), 0U) << "what is stored can be read";
  const auto refused = answer<JobRun>([this](auto done) { jobs->trigger("often", done); });
  ASSERT_FALSE(refused.has_value()) << "a run that is not stored does not run";
  EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr("full"), HasSubstr(path())));
  free();
  ASSERT_TRUE(is_well()) << jobs->health().to_string();
  expect_nothing_is_missing();
}

TEST_F(JobsOnFullDiskLinux, HealthNamesACallThatFailedAlthoughNothingIsDue) {
  start();
  ASSERT_TRUE(jobs->health().ok());
  fill();
  const std::vector<JobEdit> edits{{.job = {.name = "manual", .handler = "note", .note = std::string(1000, 'x')}}};
  const auto put = [&] { return answer<std::vector<StoredJob>>([&](auto done) { jobs->put_all(edits, false, done); }); };
  ASSERT_TRUE(becomes([&] { return !put().has_value(); }));
  EXPECT_THAT(jobs->health().to_string(), AllOf(HasSubstr("a call failed within the last minute"), HasSubstr("full"), HasSubstr(path())));
  free();
  ASSERT_TRUE(put().has_value());
  EXPECT_TRUE(jobs->health().ok()) << jobs->health().to_string();
}

TEST_F(JobsOnFullDiskLinux, AProcessThatCannotStartOnItSaysWhyAndStartsWhenThereIsRoom) {
  start_often();
  close();
  fill();
  const auto refused = make_sqlite_job_store(path());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(), HasSubstr(path()));
  free();
  start();
  expect_nothing_is_missing();
}

TEST_F(JobDiskFaults, AnEndThatCannotBeStoredIsTroubleUntilItIsStored) {
  start();
  define({.name = "hand", .handler = "note"});
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  const auto execute = [other](const char* text) {
    while (sqlite3_exec(other, text, nullptr, nullptr, nullptr) == SQLITE_BUSY) continue;
  };
  execute("CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  trigger("hand");
  ASSERT_TRUE(has_trouble());
  for (int i = 0; i < 300; ++i) {  // Longer than five cycles.
    runtime->scheduler().run_for(1ms);
    ASSERT_FALSE(jobs->health().ok()) << "it has an end that is not stored";
  }
  EXPECT_EQ(called.size(), 1U);
  execute("DROP TRIGGER full");
  sqlite3_close(other);
  ASSERT_TRUE(is_well());
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("hand"), testing::ElementsAre("succeeded"));
}

TEST_F(JobDiskFaults, ADatabaseThatIsOverwrittenWhileItRunsIsNamedAndNothingFires) {
  start_often();
  const std::string before = overwrite(std::string(4096, 'x'));
  ASSERT_TRUE(has_trouble());
  EXPECT_EQ(jobs->health().code(), StatusCode::DataLoss);
  EXPECT_THAT(jobs->health().to_string(), AllOf(HasSubstr(path()), HasSubstr("is not a database any more")));
  expect_nothing_runs();
  EXPECT_FALSE(defined({.name = "other", .handler = "note"}).ok());
  overwrite(before);
  ASSERT_TRUE(is_well()) << jobs->health().to_string();
  expect_nothing_is_missing();
}

/// It grew again by the next checkpoint, and the next start found it damaged.
TEST_F(JobDiskFaults, ADatabaseThatIsCutWhileItRunsIsNamedAndNothingFires) {
  start_often();
  close();  // Now all of it is in the file.
  start();
  const std::size_t before = called.size();
  ASSERT_TRUE(becomes([&] { return called.size() > before; }));
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 4096);
  ASSERT_TRUE(has_trouble());
  EXPECT_EQ(jobs->health().code(), StatusCode::DataLoss);
  // SQLite itself finds the cut if it happens between the check of the size and an operation.
  EXPECT_THAT(jobs->health().to_string(), AllOf(HasSubstr(path()), AnyOf(HasSubstr("was cut to"), HasSubstr("malformed"))));
  expect_nothing_runs();
}

TEST_F(JobDiskFaults, ADatabaseThatIsRemovedWhileItRunsIsNamedAndNothingFiresUntilItIsBack) {
  start_often();
  const std::string away = (folder / "away").string();
  ASSERT_EQ(::rename(path().c_str(), away.c_str()), 0);
  ASSERT_TRUE(has_trouble());
  EXPECT_EQ(jobs->health().code(), StatusCode::Unavailable);
  EXPECT_THAT(jobs->health().to_string(), AllOf(HasSubstr(path()), HasSubstr("was removed")));
  expect_nothing_runs();
  ASSERT_EQ(::rename(away.c_str(), path().c_str()), 0);
  ASSERT_TRUE(is_well()) << jobs->health().to_string();
  expect_nothing_is_missing();
}

TEST_F(JobDiskFaults, ALogThatIsRemovedWhileItRunsIsNamedAndAnOrderlyEndLosesNothing) {
  start_often();
  ASSERT_TRUE(std::filesystem::remove(path() + "-wal"));
  ASSERT_TRUE(has_trouble());
  EXPECT_THAT(jobs->health().to_string(), AllOf(HasSubstr(path() + "-wal"), HasSubstr("was removed")));
  close();
  start();
  EXPECT_EQ(jobs->stats().planned, 0U);
  expect_nothing_is_missing();
}

TEST_F(JobDiskFaults, AFolderOrADatabaseWithoutRightsIsNamed) {
  start_often();
  close();
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  const std::string fresh = (folder / "fresh.db").string();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // As a user who has no rights here.
    constexpr unsigned kNobody = 65534;
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(1);
    const std::string said =
        make_sqlite_job_store(fresh).error().to_string() + "\n" + make_sqlite_job_store(path()).error().to_string() + "\n";
    ::_exit(::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  char text[2048];
  const ssize_t length = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const std::string said(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  EXPECT_THAT(said, AllOf(HasSubstr(fresh), HasSubstr("Permission denied"), HasSubstr("'" + path() + "'"), HasSubstr("readonly")));
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

}  // namespace
}  // namespace rondo::jobs::test
