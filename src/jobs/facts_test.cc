// Jobs and rows wait for each other: a job requires facts of the runtime, and a row of a table waits for the success of a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/jobs_view.h"
#include "jobs/testing/testbed.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr FactKind kPort{"port"};

/// Ports that go up and down, and a table whose rows wait for the job of their key.
class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority{20}) {
    provide(kPort, [this](std::string_view) { return is_up_; });
    consume(
        "AFTER", [this](std::string_view key, const Fields&) { return wait(key); }, [](std::string_view) { return Outcome::done(); });
    runtime.explain(kPort, [](std::string_view port) { return FactOrigin{"PORT", std::string{port}, "the port is down"}; });
  }
  void set_up(bool up) {
    is_up_ = up;
    up ? announce({kPort, "Ethernet0"}) : withdraw({kPort, "Ethernet0"});
  }
  const std::vector<std::string>& done() const { return done_; }

 private:
  Outcome wait(std::string_view job) {
    if (!holds({kJobSucceeded, std::string{job}})) return Outcome::wait_for({kJobSucceeded, std::string{job}});
    done_.emplace_back(job);
    return Outcome::done();
  }
  bool is_up_ = false;
  std::vector<std::string> done_;
};

class JobFacts : public test::JobsTestbed {
 protected:
  JobFacts() { open(); }
  ~JobFacts() override { close(); }  // Its handler uses the members below.
  void open() {
    JobsTestbed::open();
    ports = &runtime->add<Ports>();
    jobs->handle_in_turn("work", [this](const JobContext& context) {
      called.push_back(context.job);
      return result;
    });
    jobs->offer_facts(kPort);
    jobs->start();
  }
  void add_row(const std::string& key) { ASSERT_TRUE(runtime->table("AFTER").set(key, {{"version", std::to_string(++rows)}}).ok()); }

  Status result;
  int rows = 0;
  std::vector<std::string> called;
  Ports* ports = nullptr;
};

/// They went on waiting for what the job does not require any more, or for a turn that is free now.
TEST_F(JobFacts, AnEditOfTheFactsOrTheOverlapHoldsForTheRunsThatWait) {
  ASSERT_TRUE(defined({.name = "collect", .handler = "work", .required_facts = {"port:Ethernet0"}}).ok());
  trigger("collect");
  run_a_while();
  EXPECT_THAT(called, IsEmpty());
  ASSERT_TRUE(defined({.name = "collect", .handler = "work"}).ok());
  ASSERT_TRUE(becomes([&] { return called.size() == 1; }));
  std::vector<AsyncRun> begun;
  jobs->handle_async("away", {.begin = [&begun](const AsyncRun& run) { begun.push_back(run); }});
  ASSERT_TRUE(defined({.name = "copy", .handler = "away"}).ok());
  for (int i = 0; i < 4; ++i) trigger("copy");
  run_a_while();
  EXPECT_EQ(begun.size(), 1U);
  ASSERT_TRUE(defined({.name = "copy", .handler = "away", .overlap = Overlap::Concurrent, .concurrency = 3}).ok());
  ASSERT_TRUE(becomes([&] { return begun.size() == 3; }));
  ASSERT_TRUE(defined({.name = "copy", .handler = "away"}).ok());
  begun[0].end({});
  run_a_while();
  EXPECT_EQ(begun.size(), 3U) << "two are still running";
  begun[1].end({});
  begun[2].end({});
  ASSERT_TRUE(becomes([&] { return begun.size() == 4; }));
  begun[3].end({});
}

/// The run that waited for room lost its turn to the one behind it.
TEST_F(JobFacts, AnEditLeavesTheOrderOfTheRunsThatWait) {
  bool has_room = false;
  std::vector<AsyncRun> begun;
  jobs->handle_async("away", {.begin = [&begun](const AsyncRun& run) { begun.push_back(run); },
                              .has_room = [&has_room](std::int64_t) { return has_room; }});
  ASSERT_TRUE(defined({.name = "copy", .handler = "away"}).ok());
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 3; ++i) {
    expected.push_back(trigger("copy").id);
    run_a_while();
  }
  ASSERT_TRUE(defined({.name = "copy", .handler = "away", .required_facts = {"port:Ethernet0"}}).ok());
  run_a_while();
  ports->set_up(true);
  has_room = true;
  jobs->has_room("away");
  std::vector<std::int64_t> order;
  for (std::size_t i = 1; i <= expected.size(); ++i) {
    ASSERT_TRUE(becomes([&] { return begun.size() == i; }));
    order.push_back(begun.back().run());
    begun.back().end({});
  }
  EXPECT_EQ(order, expected);
}

/// It stood behind all later runs of the job.
TEST_F(JobFacts, AFurtherAttemptIsTheFirstOfTheRunsThatWaitForTheirTurn) {
  std::vector<AsyncRun> begun;
  jobs->handle_async("away", {.begin = [&begun](const AsyncRun& run) { begun.push_back(run); }});
  ASSERT_TRUE(defined({.name = "copy", .handler = "away", .retries = 1, .backoff = 1ms}).ok());
  const std::int64_t first = trigger("copy").id;
  ASSERT_TRUE(becomes([&] { return begun.size() == 1; }));
  const std::int64_t second = trigger("copy").id;
  const std::int64_t third = trigger("copy").id;
  run_a_while();
  begun[0].end({StatusCode::Unavailable, "not now"});
  ASSERT_TRUE(becomes([&] { return begun.size() == 2; }));
  EXPECT_EQ(begun[1].run(), second) << "the first one waits for the time of its next attempt";
  const std::string waits = "waits for run " + std::to_string(second) + " of the job";
  ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(first).value_or(RunActivity{}).text == waits; }));
  std::vector<std::int64_t> order;
  for (std::size_t i = 2; i <= 4; ++i) {
    ASSERT_TRUE(becomes([&] { return begun.size() == i; }));
    order.push_back(begun.back().run());
    begun.back().end({});
  }
  EXPECT_THAT(order, ElementsAre(second, first, third));
}

/// A fact was asked for only before the run stood in the line.
TEST_F(JobFacts, ARunThatGetsItsPlaceWhenAFactHasEndedWaitsForTheFact) {
  bool has_room = false;
  std::vector<AsyncRun> begun;
  jobs->handle_async("away", {.begin = [&begun](const AsyncRun& run) { begun.push_back(run); },
                              .has_room = [&has_room](std::int64_t) { return has_room; }});
  ports->set_up(true);
  ASSERT_TRUE(defined({.name = "collect", .handler = "away", .required_facts = {"port:Ethernet0"}}).ok());
  const JobRun run = trigger("collect");
  const auto does = [&] { return JobsView(*jobs).activity(run.id).value_or(RunActivity{}).text; };
  ASSERT_TRUE(becomes([&] { return does() == "waits for room at the handler away"; }));
  ports->set_up(false);
  has_room = true;
  jobs->has_room("away");
  ASSERT_TRUE(becomes([&] { return does() == "waits for port:Ethernet0"; })) << does();
  EXPECT_THAT(begun, IsEmpty());
  ports->set_up(true);
  ASSERT_TRUE(becomes([&] { return begun.size() == 1; }));
  begun[0].end({});
}

/// The same for a place in a pool.
TEST_F(JobFacts, ARunThatGetsItsThreadWhenAFactHasEndedWaitsForTheFact) {
  std::atomic<bool> is_open = false;
  std::atomic<int> calls = 0;
  jobs->handle("slow", [&](const JobContext&) {
    ++calls;
    is_open.wait(false);
    return Status{};
  });
  ports->set_up(true);
  ASSERT_TRUE(defined({.name = "first", .handler = "slow", .overlap = Overlap::Concurrent, .concurrency = 64}).ok());
  ASSERT_TRUE(defined({.name = "collect", .handler = "slow", .required_facts = {"port:Ethernet0"}}).ok());
  const std::size_t places = options.fast.runs_max;
  for (std::size_t i = 0; i < places; ++i) trigger("first");
  const JobRun run = trigger("collect");
  const auto does = [&] { return JobsView(*jobs).activity(run.id).value_or(RunActivity{}).text; };
  ASSERT_TRUE(becomes([&] { return does() == "waits for a place in its pool"; })) << does();
  ports->set_up(false);
  is_open = true;
  is_open.notify_all();
  ASSERT_TRUE(becomes([&] { return does() == "waits for port:Ethernet0"; })) << does();
  ASSERT_TRUE(becomes([&] { return calls == static_cast<int>(places); }));
  ports->set_up(true);
  ASSERT_TRUE(becomes([&] { return calls == static_cast<int>(places) + 1; }));
  ASSERT_TRUE(all_ended()) << "each handler reads a variable of this test";
}

TEST_F(JobFacts, ARunBeginsWhenTheFactsThatItsJobRequiresHold) {
  ASSERT_TRUE(defined({.name = "collect", .handler = "work", .required_facts = {"port:Ethernet0"}}).ok());
  const JobRun run = trigger("collect");
  run_a_while();
  EXPECT_THAT(called, IsEmpty());
  const Why why = runtime->why("JOB_RUN_8", "collect#" + std::to_string(run.id));
  ASSERT_EQ(why.chain.size(), 2U);
  EXPECT_EQ(why.chain[1].table, "PORT");
  EXPECT_EQ(why.chain[1].key, "Ethernet0");
  EXPECT_EQ(why.chain[1].origin_note, "the port is down");
  ports->set_up(true);
  ASSERT_TRUE(becomes([&] { return called.size() == 1; }));
  ports->set_up(false);
  trigger("collect");
  run_a_while();
  EXPECT_EQ(called.size(), 1U) << "the port is down again";
}

TEST_F(JobFacts, AnUnknownKindIsRefusedAndTheKnownOnesAreNamed) {
  const Status refused = defined({.name = "collect", .handler = "work", .required_facts = {"prot:Ethernet0"}});
  EXPECT_EQ(refused.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(refused.message(),
            "job 'collect': required_facts: 'prot:Ethernet0' has an unknown kind of fact; known are job-succeeded, port");
}

TEST_F(JobFacts, ARowWaitsForTheSuccessOfAJob) {
  ASSERT_TRUE(defined({.name = "backup", .handler = "work"}).ok());
  add_row("backup");
  run_a_while();
  EXPECT_THAT(ports->done(), IsEmpty());
  EXPECT_THAT(runtime->why("AFTER", "backup").chain.back().note, HasSubstr("no run of the job 'backup' is under way"));
  result = {StatusCode::Unavailable, "no disk"};
  trigger("backup");
  ASSERT_TRUE(becomes([&] { return jobs->stats().failed == 1 && jobs->stats().pending == 0; }));
  EXPECT_THAT(ports->done(), IsEmpty());
  result = {};
  trigger("backup");
  ASSERT_TRUE(becomes([&] { return !ports->done().empty(); }));
  EXPECT_THAT(ports->done(), ElementsAre("backup"));
}

TEST_F(JobFacts, TheSuccessOfAJobHoldsAfterARestartAndEndsWithAFailureOrARemoval) {
  ASSERT_TRUE(defined({.name = "backup", .handler = "work"}).ok());
  trigger("backup");
  ASSERT_TRUE(becomes([&] { return jobs->stats().succeeded == 1 && jobs->stats().pending == 0; }));
  close();
  open();
  add_row("backup");
  ASSERT_TRUE(becomes([&] { return ports->done().size() == 1; }));
  result = {StatusCode::Unavailable, "no disk"};
  trigger("backup");
  ASSERT_TRUE(becomes([&] { return jobs->stats().failed == 1 && jobs->stats().pending == 0; }));
  add_row("backup");
  run_a_while();
  EXPECT_EQ(ports->done().size(), 1U) << "the last run failed";
}

/// After a restart the killed run decided: the store looked for the newest run.
TEST_F(JobFacts, ARunThatDidNotBeginDoesNotEndTheSuccessOfItsJob) {
  ASSERT_TRUE(defined({.name = "backup", .handler = "work", .required_facts = {"port:Ethernet0"}}).ok());
  ports->set_up(true);
  trigger("backup");
  ASSERT_TRUE(becomes([&] { return jobs->stats().succeeded == 1 && jobs->stats().pending == 0; }));
  add_row("backup");
  ASSERT_TRUE(becomes([&] { return ports->done().size() == 1; }));
  ports->set_up(false);
  const JobRun run = trigger("backup");
  ASSERT_TRUE(jobs->kill(run.id).ok());
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("backup"), ElementsAre("succeeded", HasSubstr("killed")));
  add_row("backup");
  ASSERT_TRUE(becomes([&] { return ports->done().size() == 2; })) << "the fact still holds";
  close();
  open();
  add_row("backup");
  EXPECT_TRUE(becomes([&] { return ports->done().size() == 1; })) << "and it does so after a restart";
}

/// After a restart the newest run decided.
TEST_F(JobFacts, OfTwoRunsTheOneThatEndedLastDecides) {
  std::vector<AsyncRun> begun;
  jobs->handle_async("later", {.begin = [&](const AsyncRun& run) { begun.push_back(run); }});
  ASSERT_TRUE(defined({.name = "backup", .handler = "later", .overlap = Overlap::Concurrent, .concurrency = 2}).ok());
  trigger("backup");
  trigger("backup");
  ASSERT_TRUE(becomes([&] { return begun.size() == 2; }));
  const bool is_in_order = begun[0].run() < begun[1].run();
  begun[is_in_order ? 1 : 0].end({StatusCode::Unavailable, "no disk"});
  ASSERT_TRUE(becomes([&] { return jobs->stats().pending == 1; }));
  begun[is_in_order ? 0 : 1].end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("backup"), ElementsAre("succeeded", HasSubstr("failed")));
  begun.clear();
  close();
  open();
  add_row("backup");
  EXPECT_TRUE(becomes([&] { return ports->done().size() == 1; }));
}

TEST_F(JobFacts, AJobWaitsForAnotherThatIsNotItsParentAndWhyWalksThroughBoth) {
  ASSERT_TRUE(defined({.name = "backup", .handler = "work", .required_facts = {"port:Ethernet0"}}).ok());
  ASSERT_TRUE(defined({.name = "clean", .handler = "work", .required_facts = {"job-succeeded:backup"}}).ok());
  const JobRun clean = trigger("clean");
  trigger("backup");
  run_a_while();
  const Why why = runtime->why("JOB_RUN_8", "clean#" + std::to_string(clean.id));
  ASSERT_EQ(why.chain.size(), 3U);
  EXPECT_EQ(why.chain[2].table, "PORT");
  ports->set_up(true);
  ASSERT_TRUE(becomes([&] { return called.size() == 2; }));
  EXPECT_THAT(called, ElementsAre("backup", "clean"));
}

}  // namespace
}  // namespace rondo::jobs
