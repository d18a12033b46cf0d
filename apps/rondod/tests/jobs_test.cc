// rondod with jobs on a small disk that is full, and without its database: health, the log and the commands name what and where, the log
// says it once, and after the repair each instant has a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job_store.h"
#include "rondo/base/clock.h"
#include "rondo/calendar/rfc3339.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RondodWithJobs : public RondodProcess {
 protected:
  std::string database() const { return file("disk") + "/jobs.db"; }
  void start_jobs() {
    ASSERT_NO_FATAL_FAILURE(
        start("[jobs]\nenabled = true\nwindow_ms = 2000\ngrace_ms = 5000\ncycle_ms = 100\nstore = \"" + database() + "\"\n"));
    call("job-put", {{"definition", R"({"name":"often","handler":"none","schedule":"every 50ms","misfire":"fire-all"})"}, {"start", true}});
    EXPECT_TRUE(comes_to([this] { return succeeded() > 5; }));
  }
  /// Stores a started job whose runs fail, as an earlier version did, which did not check the parameters. Before start_jobs().
  void store_failing(const std::string& name, const std::string& when) const {
    const auto store = std::move(*jobs::make_sqlite_job_store(database()));
    ASSERT_TRUE(store->put({.name = name, .handler = "table", .parameters = "nonsense", .schedule = {.when = when}}, {}).has_value());
    const auto next = when == "manual" ? std::nullopt : std::optional{SystemClock{}.wall_now()};
    ASSERT_TRUE(store->set_running(name, true, next, {}).ok());
  }
  /// The same as becomes(), but gives rondod the processor in between.
  bool comes_to(const std::function<bool()>& done) const {
    return becomes([&] {
      if (done()) return true;
      told(20);
      return false;
    });
  }
  std::int64_t succeeded() { return call("job-stats").at("succeeded").to_number<std::int64_t>(); }
  /// The exit code of --check-config.
  int check_of(const std::string& config) const {
    return WEXITSTATUS(std::system(
        (std::string{std::getenv("RONDOD")} + " --config " + config + " --check-config > /dev/null 2> " + file("log2")).c_str()));
  }
  /// The names in the folder of the database, with sizes.
  std::map<std::string, std::uintmax_t> files() const {
    std::map<std::string, std::uintmax_t> all;
    for (const auto& entry : std::filesystem::directory_iterator(file("disk"))) all[entry.path().filename()] = entry.file_size();
    return all;
  }
  bool is_healthy() { return call("health").at("healthy").as_bool(); }
  std::string health() { return json::serialize(call("health")); }
  std::size_t times_logged(const std::string& words) const {
    const std::string text = log_text();
    std::size_t times = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++times;
    return times;
  }
  /// Health, the log and an answer to a user have 'what' and the database.
  void expect_named(const std::string& what) {
    EXPECT_THAT(health(), AllOf(HasSubstr(what), HasSubstr(database())));
    EXPECT_TRUE(comes_to([&] { return times_logged("jobs have trouble, continuing") == 1; })) << log_text();
    EXPECT_THAT(log_text(), AllOf(HasSubstr(what), HasSubstr(database())));
    const auto refused = client().call("job-trigger", {{"name", "often"}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr(what), HasSubstr(database())));
    const std::int64_t planned = call("job-stats").at("planned").to_number<std::int64_t>();
    const std::int64_t before = succeeded();
    const SystemClock clock;
    const Instant until = clock.now() + 1500ms;
    EXPECT_TRUE(comes_to([&] { return clock.now() > until; }));
    EXPECT_EQ(call("job-stats").at("planned").to_number<std::int64_t>(), planned);
    EXPECT_LE(succeeded() - before, 45) << "those of the window";
    EXPECT_EQ(times_logged("jobs have trouble, continuing"), 1U) << log_text();
  }
  void expect_repaired() {
    EXPECT_TRUE(comes_to([this] { return is_healthy(); })) << health();
    EXPECT_TRUE(comes_to([this] { return times_logged("jobs are planned and stored again") == 1; })) << log_text();
    const std::int64_t before = succeeded();
    EXPECT_TRUE(comes_to([&] { return succeeded() > before + 60; }));
    const auto rows = client().call("job-runs", {{"name", "often"}, {"max", 200}});
    ASSERT_TRUE(rows.has_value()) << rows.error().to_string();
    std::set<WallTime> scheduled;
    for (const json::value& row : rows->at("rows").as_array()) {
      scheduled.insert(calendar::parse_rfc3339(row.at("scheduled").as_string().c_str()).value());
    }
    EXPECT_EQ(*scheduled.rbegin() - *scheduled.begin(), 50ms * (static_cast<std::int64_t>(scheduled.size()) - 1));
    EXPECT_EQ(end(SIGTERM), 0) << log_text();
  }
};

TEST_F(RondodWithJobs, OnAFullDiskItSaysSoOnceAndMissesNoInstant) {
  std::filesystem::create_directory(file("disk"));
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", file("disk").c_str(), "tmpfs", 0, "size=16m") != 0) {
    GTEST_SKIP() << "no right to mount: " << std::strerror(errno);
  }
  ASSERT_NO_FATAL_FAILURE(start_jobs());
  {
    std::ofstream filling(file("disk") + "/filling", std::ios::binary);
    const std::string page(4096, 'x');
    while (filling.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) continue;
  }
  EXPECT_TRUE(comes_to([this] { return !is_healthy(); }));
  expect_named("full");
  EXPECT_THAT(json::serialize(call("restart-check")), AllOf(HasSubstr("\"ready\":false"), HasSubstr("run again after a restart")));
  const auto listed = client().call("jobs", {});
  EXPECT_TRUE(listed.has_value()) << "what is stored can be read";
  std::filesystem::remove(file("disk") + "/filling");
  expect_repaired();
  EXPECT_EQ(::umount2(file("disk").c_str(), MNT_DETACH), 0);
}

TEST_F(RondodWithJobs, WithoutItsDatabaseItSaysSoOnceAndMissesNoInstantWhenItIsBack) {
  std::filesystem::create_directory(file("disk"));
  ASSERT_NO_FATAL_FAILURE(start_jobs());
  std::filesystem::rename(database(), file("away"));
  EXPECT_TRUE(comes_to([this] { return !is_healthy(); }));
  expect_named("was removed");
  const auto listed = client().call("jobs", {});
  ASSERT_FALSE(listed.has_value());
  EXPECT_THAT(listed.error().to_string(), AllOf(HasSubstr("was removed"), HasSubstr(database())));
  std::filesystem::rename(file("away"), database());
  expect_repaired();
}

TEST_F(RondodWithJobs, ANewDatabaseIsLoggedAndALinkToNowhereIsFoundByTheCheck) {
  std::filesystem::create_directory(file("disk"));
  ASSERT_NO_FATAL_FAILURE(start_jobs());
  EXPECT_THAT(log_text(), AllOf(HasSubstr("created an empty job database"), HasSubstr("file=" + database()), HasSubstr("version=")));
  EXPECT_EQ(end(SIGTERM), 0);
  ASSERT_NO_FATAL_FAILURE(start_jobs());
  EXPECT_EQ(times_logged("created an empty job database"), 1U) << log_text();
  EXPECT_EQ(end(SIGTERM), 0);
  const std::string config = file("check.toml");
  const std::string link = file("disk") + "/link.db";
  std::ofstream(config) << "[dataplane]\nkind = \"none\"\n[jobs]\nenabled = true\nstore = \"" << link << "\"\n[admin]\nsocket = \""
                        << file("x.sock") << "\"\n";
  std::filesystem::create_symlink(file("disk") + "/nowhere.db", link);
  EXPECT_EQ(check_of(config), 69);
  std::ifstream told(file("log2"));
  EXPECT_THAT(
      std::string(std::istreambuf_iterator<char>(told), {}),
      AllOf(HasSubstr("jobs.store"), HasSubstr("'" + link + "' is a link to '" + file("disk") + "/nowhere.db', which is not there")));
  std::filesystem::remove(link);
  std::filesystem::create_symlink(database(), link);
  EXPECT_EQ(check_of(config), 0);
}

TEST_F(RondodWithJobs, ACheckOfTheConfigurationReadsTheDatabaseAndChangesNothing) {
  std::filesystem::create_directory(file("disk"));
  start_jobs();
  end(SIGKILL);
  ASSERT_TRUE(files().contains("jobs.db-wal"));
  const auto before = files();
  EXPECT_EQ(check_of(file("toml")), 0);
  EXPECT_EQ(files(), before);
  start_jobs();
  end(SIGTERM);
  ASSERT_FALSE(files().contains("jobs.db-wal"));
  const auto closed = files();
  EXPECT_EQ(check_of(file("toml")), 0);
  EXPECT_EQ(files(), closed);
  std::ofstream(database()) << std::string(5000, 'x');
  EXPECT_EQ(check_of(file("toml")), 78);
}

TEST_F(RondodWithJobs, TheTablesOfRunsAreNotForCommands) {
  std::filesystem::create_directory(file("disk"));
  start_jobs();
  const json::array row{"JOB_RUN_8", "often#1", "DEL"};
  const std::vector<std::pair<std::string, json::object>> writes{
      {"del", {{"table", "JOB_RUN_8"}, {"key", "often#1"}}},
      {"set", {{"table", "JOB_RUN_8"}, {"key", "often#1"}, {"fields", json::array{json::array{"band", "ring"}}}}}};
  for (const auto& [command, arguments] : writes) {
    const auto refused = client().call(command, arguments);
    ASSERT_FALSE(refused.has_value()) << command;
    EXPECT_EQ(refused.error().code(), StatusCode::FailedPrecondition) << command;
    EXPECT_THAT(refused.error().to_string(), HasSubstr("'rondo job kill RUN' ends one")) << command;
  }
  const json::object batch = call("write", {{"rows", json::array{row}}});
  EXPECT_EQ(batch.at("accepted"), 0);
  EXPECT_THAT(json::serialize(batch), HasSubstr("'rondo job kill RUN' ends one"));
}

TEST_F(RondodWithJobs, TheLogNamesEachWriteAndNoDryRun) {
  std::filesystem::create_directory(file("disk"));
  start_jobs();
  call("job-put", {{"definition", R"({"name":"dry","handler":"none"})"}, {"dry_run", true}});
  EXPECT_FALSE(client().call("job-kill", {{"run", 987654}}).has_value());
  call("job-put", {{"definition", R"({"name":"by-user","handler":"none"})"}});
  EXPECT_TRUE(comes_to([this] { return times_logged("by-user") == 1; }));
  EXPECT_THAT(log_text(), HasSubstr("write command=job-kill what=987654"));
  EXPECT_THAT(log_text(), Not(HasSubstr("dry")));
  // More than the log writes lines: the others are counted for each user and process.
  constexpr std::size_t kCalls = 60;
  for (std::size_t i = 0; i < kCalls; ++i) call("job-trigger", {{"name", "by-user"}});
  const auto logged = [this] {
    std::size_t calls = times_logged("write command=job-trigger");
    const std::string text = log_text();
    const std::string sum = "writes command=job-trigger calls=";
    for (std::size_t at = text.find(sum); at != std::string::npos; at = text.find(sum, at + 1))
      calls += static_cast<std::size_t>(std::atoi(text.c_str() + at + sum.size()));
    return calls;
  };
  EXPECT_TRUE(comes_to([&] { return logged() == kCalls; })) << logged();
  EXPECT_THAT(log_text(), Not(HasSubstr("suppressed=")));
}

TEST_F(RondodWithJobs, AJobThatFailsEachTimeIsANoteOfHealthUntilItIsStoppedOrSucceeds) {
  std::filesystem::create_directory(file("disk"));
  store_failing("broken", "every 50ms");
  store_failing("wrong", "every 50ms");
  start_jobs();
  const auto put = [this](const char* definition) { call("job-put", {{"definition", definition}, {"start", true}}); };
  EXPECT_TRUE(comes_to([this] { return health().find("jobs: 2 jobs have failed 3 times in a row or more") != std::string::npos; }));
  EXPECT_THAT(health(), AllOf(HasSubstr("lists its runs"), HasSubstr(R"("healthy":true)")));
  call("job-stop", {{"name", "wrong"}, {"note", ""}});
  EXPECT_TRUE(comes_to([this] { return health().find("jobs: 1 job has failed") != std::string::npos; })) << health();
  EXPECT_THAT(health(), HasSubstr("(the most: broken, "));
  put(R"({"name":"broken","handler":"none","schedule":"every 50ms"})");
  EXPECT_TRUE(comes_to([this] { return health().find("in a row") == std::string::npos; })) << health();
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
}

TEST_F(RondodWithJobs, AJobWhoseLastRunsFailedIsANoteOfHealthAfterARestart) {
  std::filesystem::create_directory(file("disk"));
  store_failing("broken", "manual");
  start_jobs();
  for (std::size_t run = 1; run <= 3; ++run) {
    call("job-trigger", {{"name", "broken"}});
    ASSERT_TRUE(comes_to([&] { return times_logged("a run of a job failed job=broken") == run; })) << log_text();
  }
  ASSERT_EQ(end(SIGTERM), 0) << log_text();
  start_jobs();
  EXPECT_TRUE(comes_to([this] {
    return health().find("1 job has failed 3 times in a row or more (the most: broken, 3 runs") != std::string::npos;
  })) << health();
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
}

TEST_F(RondodWithJobs, AStartedJobThatDoesNotRunIsANoteOfHealth) {
  std::filesystem::create_directory(file("disk"));
  start_jobs();
  const auto put = [this](const char* definition) { call("job-put", {{"definition", definition}, {"start", true}}); };
  const auto notes = [this](const std::string& words) { return comes_to([&] { return health().find(words) != std::string::npos; }); };
  put(R"({"name":"clean","handler":"none","requires":["job-succeeded:nope"]})");
  EXPECT_TRUE(notes("jobs: job 'clean' is started and does not run: it requires job-succeeded:nope, and there is no job 'nope'"))
      << health();
  EXPECT_TRUE(is_healthy());
  put(R"({"name":"above","handler":"none"})");
  put(R"({"name":"below","handler":"none","parents":["above"]})");
  call("job-stop", {{"name", "above"}});
  EXPECT_TRUE(notes("job 'below' is started and does not run: the job 'above' above it is stopped (the same of 1 more)")) << health();
  ASSERT_EQ(end(SIGTERM), 0) << log_text();
  start_jobs();
  EXPECT_TRUE(notes("(the same of 1 more)")) << health();
  call("job-start", {{"name", "above"}});
  put(R"({"name":"nope","handler":"none"})");
  EXPECT_TRUE(comes_to([this] { return health().find("does not run") == std::string::npos; })) << health();
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
}

/// Each caller had the parameters of 200 jobs in memory, several times: 40 of them took more than 2 GB.
TEST_F(RondodWithJobs, ManyListsOfLargeJobsAtTheSameTimeTakeLittleMemory) {
  constexpr int kCallers = 40;
  {
    const auto store = std::move(*jobs::make_sqlite_job_store(file("large.db")));
    const Status put = store->atomically([&] {
      for (int i = 0; i < 200; ++i) {
        const jobs::Job job{.name = "j" + std::to_string(i), .handler = "none", .parameters = std::string(60'000, 'p')};
        if (const auto stored = store->put(job, {}); !stored) return stored.error();
      }
      return Status{};
    });
    ASSERT_TRUE(put.ok()) << put.to_string();
  }
  ASSERT_NO_FATAL_FAILURE(
      start("[jobs]\nenabled = true\nstore = \"" + file("large.db") + "\"\n[journal]\nfile = \"" + file("day") + "\"\n"));
  EXPECT_EQ(client().call("jobs", {})->at("rows").as_array().size(), 200U);
  const std::size_t before = most_resident();
  std::vector<std::future<std::string>> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.push_back(std::async(std::launch::async, [this] {
      const auto own = AdminClient::connect(file("socket"));
      const auto answer = own ? (*own)->call("jobs", {{"search", "zzz"}, {"count", 1}}) : failure(own.error());
      return answer ? json::serialize(*answer) : answer.error().to_string();
    }));
  }
  for (std::future<std::string>& caller : callers) EXPECT_EQ(caller.get(), R"({"rows":[]})");
  // A page of 1 MiB for each, and copies of it.
  if (kIsMeasured) {
    EXPECT_LT(most_resident() - before, std::size_t{kCallers} * 8 * 1024 * 1024);
  }
}

TEST_F(RondodWithJobs, ASecondOneIsRefusedByWhateverNameTheDatabaseHas) {
  std::filesystem::create_directory(file("disk"));
  start_jobs();
  std::filesystem::create_symlink(database(), file("symlink.db"));
  std::filesystem::create_hard_link(database(), file("link.db"));
  const auto refused = [this](const std::string& name) {
    std::ofstream(file("second")) << "[admin]\nsocket = \"" << file("socket2") << "\"\n[dataplane]\nkind = \"none\"\n"
                                  << "[jobs]\nenabled = true\nstore = \"" << name << "\"\n";
    const std::string command = std::string{std::getenv("RONDOD")} + " --config " + file("second") + " 2> " + file("log2");
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 69) << name << ": " << status;
    EXPECT_EQ(check_of(file("second")), 69) << name;
    std::ifstream said(file("log2"));
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(said), {}), AllOf(HasSubstr(name), HasSubstr("another process runs the jobs")));
  };
  EXPECT_EQ(check_of(file("toml")), 0) << "the configuration of the rondod that serves";
  refused(database());
  refused(file("symlink.db"));
  refused(file("link.db"));
  std::filesystem::remove(database() + "-lock");
  refused(database());
  EXPECT_TRUE(is_healthy());
}

}  // namespace
}  // namespace rondo::daemon
