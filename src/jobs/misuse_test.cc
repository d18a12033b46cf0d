// Goal: a call of Jobs or AsyncRun at a wrong place ends the process with a message that names the call. Method: death tests, one for each
// rule of jobs.h; beside them, the permitted uses of the other tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/testing/temporary_folder.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

constexpr Duration kPatience = 30s;
constexpr const char* kOuter = "RONDO_MISUSE_FOLDER";

/// Runs 'what' on a thread that is not the runtime's.
template <class What>
void elsewhere(const What& what) {
  std::thread(what).join();
}

class JobsMisuseDeathTest : public ::testing::Test {
 protected:
  JobsMisuseDeathTest() {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    ::setenv(kOuter, folder.c_str(), 1);
    jobs = std::make_unique<Jobs>(runtime, std::move(*make_sqlite_job_store((folder / "jobs.db").string())));
  }
  ~JobsMisuseDeathTest() override {
    begun.reset();
    jobs.reset();
    ::unsetenv(kOuter);
  }
  bool becomes(const std::function<bool()>& condition) {
    const Instant deadline = runtime.clock().now() + kPatience;
    while (!condition() && runtime.clock().now() < deadline) runtime.scheduler().run_for(1ms);
    return condition();
  }
  /// Runs the job once with this handler.
  void run_once(const std::string& handler) {
    jobs->put({.name = "a", .handler = handler});
    jobs->trigger("a");
    becomes([this] { return jobs->stats().attempts > 0 && jobs->stats().pending == 0; });
  }

  /// The process that dies makes its folder in that of the process that waits for it, which removes both.
  static std::filesystem::path outer() {
    const char* const given = std::getenv(kOuter);
    return given == nullptr ? std::filesystem::temp_directory_path() : std::filesystem::path{given};
  }

  TemporaryFolder folder{outer()};
  Runtime runtime;
  std::unique_ptr<Jobs> jobs;
  std::optional<AsyncRun> begun;
};

TEST_F(JobsMisuseDeathTest, EachFunctionIsCalledOnTheRuntimesThread) {
  const std::string other = " was called on another thread than the runtime's; use Runtime::post";
  const auto dies = [&](const std::string& call, const std::function<void()>& made) {
    EXPECT_DEATH(elsewhere(made), "Jobs::" + call + "\\(\\)" + other);
  };
  dies("define", [this] { jobs->define({.name = "a", .handler = "h"}); });
  dies("put", [this] { jobs->put({.name = "a", .handler = "h"}); });
  dies("put_all", [this] { jobs->put_all({}, false); });
  dies("trigger", [this] { jobs->trigger("a"); });
  dies("kill", [this] { static_cast<void>(jobs->kill(1)); });
  dies("start", [this] { jobs->start(); });
  dies("start", [this] { jobs->start("a"); });
  dies("stop", [this] { jobs->stop("a", ""); });
  dies("handle", [this] { jobs->handle("h", [](const JobContext&) { return Status{}; }); });
  dies("has_room", [this] { jobs->has_room("h"); });
  dies("list", [this] { jobs->list("", 1, [](const auto&) {}); });
  dies("stats", [this] { static_cast<void>(jobs->stats()); });
  dies("health", [this] { static_cast<void>(jobs->health()); });
  dies("~Jobs", [this] { jobs.reset(); });
}

TEST_F(JobsMisuseDeathTest, AHandlerOnAThreadOfAPoolMakesNoCall) {
  jobs->handle("h", [this](const JobContext&) {
    jobs->trigger("a");
    return Status{};
  });
  EXPECT_DEATH(
      {
        jobs->start();
        run_once("h");
      },
      "Jobs::trigger\\(\\) was called on another thread");
}

TEST_F(JobsMisuseDeathTest, AnOpenAttemptIsUsedOnTheRuntimesThread) {
  jobs->handle_async("away", {.begin = [this](const AsyncRun& run) { begun = run; }});
  jobs->start();
  jobs->put({.name = "a", .handler = "away"});
  jobs->trigger("a");
  ASSERT_TRUE(becomes([this] { return begun.has_value(); }));
  EXPECT_DEATH(elsewhere([this] { begun->end({}); }), "AsyncRun::end\\(\\) was called on another thread");
  EXPECT_DEATH(elsewhere([this] { begun->progress(1, "p"); }), "AsyncRun::progress\\(\\) was called on another thread");
  EXPECT_DEATH(elsewhere([this] { begun.reset(); }), "the end of the last copy of an AsyncRun was called on another thread");
  begun->end({});
  elsewhere([this] { begun.reset(); });
}

TEST_F(JobsMisuseDeathTest, ItStartsOnceAfterItsFacts) {
  EXPECT_DEATH(jobs->offer_facts(FactKind{""}), "Jobs::offer_facts\\(\\) was called for a kind without a name");
  jobs->offer_facts(FactKind{"mine"});
  jobs->start();
  EXPECT_DEATH(jobs->start(), "Jobs::start\\(\\) was called twice");
  EXPECT_DEATH(jobs->offer_facts(FactKind{"late"}), "Jobs::offer_facts\\(\\) of late was called after Jobs::start\\(\\)");
}

TEST_F(JobsMisuseDeathTest, AHandlerHasANameAndAFunction) {
  EXPECT_DEATH(jobs->handle("", [](const JobContext&) { return Status{}; }), "Jobs was given a handler with an empty name");
  EXPECT_DEATH(jobs->handle("h", {}), "Jobs was given the handler 'h' with an empty function");
  EXPECT_DEATH(jobs->handle_in_turn("h", {}), "the handler 'h' with an empty function");
  EXPECT_DEATH(jobs->handle_async("h", {}), "the handler 'h' with an empty function");
}

TEST_F(JobsMisuseDeathTest, ItIsDestroyedBeforeItsRuntime) {
  const auto turned_round = [this] {
    auto short_lived = std::make_unique<Runtime>();
    const Jobs late(*short_lived, std::move(*make_sqlite_job_store((folder / "late.db").string())));
    short_lived.reset();
  };
  EXPECT_DEATH(turned_round(), "a Runtime is destroyed before its Jobs: destroy Jobs first");
}

TEST_F(JobsMisuseDeathTest, AWrongOptionOfAPoolIsNamed) {
  const auto made = [this](const JobsOptions& options) {
    Runtime another;
    const Jobs wrong(another, std::move(*make_sqlite_job_store((folder / "wrong.db").string())), options);
  };
  EXPECT_DEATH(made({.fast = {.threads = 0, .runs_max = 1}}), "JobsOptions::fast.threads is 1 to [0-9]+, not 0");
  EXPECT_DEATH(made({.slow = {.threads = 9999, .runs_max = 1}}), "JobsOptions::slow.threads is 1 to [0-9]+, not 9999");
  EXPECT_DEATH(made({.slow = {.threads = 1, .runs_max = 0}}), "JobsOptions::slow.runs_max is at least 1, not 0");
}

TEST_F(JobsMisuseDeathTest, ItIsNotDestroyedWithinACallOfItsOwn) {
  const std::string message = "Jobs::~Jobs\\(\\) was called within a function that Jobs was calling";
  jobs->start();
  jobs->handle_in_turn("turn", [this](const JobContext&) {
    jobs.reset();
    return Status{};
  });
  EXPECT_DEATH(run_once("turn"), message);
  jobs->handle_async("begin", {.begin = [this](const AsyncRun&) { jobs.reset(); }});
  EXPECT_DEATH(run_once("begin"), message);
  jobs->handle_async("room", {.begin = [](const AsyncRun&) {},
                              .has_room =
                                  [this](std::int64_t) {
                                    jobs.reset();
                                    return false;
                                  }});
  EXPECT_DEATH(run_once("room"), message);
  const auto answered = [this] {
    jobs->put({.name = "a", .handler = "h"}, [this](const Result<StoredJob>&) { jobs.reset(); });
    becomes([this] { return jobs == nullptr; });
  };
  EXPECT_DEATH(answered(), message);
}

}  // namespace
}  // namespace rondo::jobs
