// A source that fails is quarantined once, with its name in the report, and affects no other (finding 3 of the SONiC study: a dead
// connection made Select spin).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/mailbox.h"
#include "sched/limits.h"
#include "sim/test_source.h"
#include "sim/world_reactor.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;

struct Told {
  explicit Told(Scheduler& scheduler) {
    scheduler.on_quarantine([this](const Source& source, const Status& why) {
      names.emplace_back(source.name());
      reasons.push_back(why);
    });
  }
  std::vector<std::string> names;
  std::vector<Status> reasons;
};

TEST(Quarantine, ASourceThatThrowsInRunIsSetAsideWithItsNameAndReason) {
  Simulation simulation;
  Told told(simulation.scheduler);
  WorkSource& bad = simulation.add("bad table", 50, 10);
  bad.on_run = [] { throw std::runtime_error("field 'speed' is not a number"); };
  WorkSource& good = simulation.add("good", 5, 1000);
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(good.left, 0U);
  EXPECT_EQ(told.names, std::vector<std::string>{"bad table"});
  EXPECT_EQ(bad.quarantine().message(), "source 'bad table' threw in run(): field 'speed' is not a number");
  EXPECT_EQ(simulation.scheduler.stats().quarantined, 1U);
  bad.wake();
  bad.wake_from_any_thread();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 0U);
}

TEST(Quarantine, AnythingThrownCountsEvenIfItIsNoException) {
  Simulation simulation;
  WorkSource& bad = simulation.add("bad", 5, 1);
  bad.on_run = [] { throw 7; };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(bad.quarantine().code(), StatusCode::Internal);
}

TEST(Quarantine, AnErrorOfCollectKeepsItsCodeAndGetsTheName) {
  Simulation simulation;
  WorkSource& bad = simulation.add("redis", 5);
  bad.on_collect = []() -> Result<Backlog> { return failure(StatusCode::Unavailable, "connection reset"); };
  bad.wake_from_any_thread();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(bad.quarantine().code(), StatusCode::Unavailable);
  EXPECT_EQ(bad.quarantine().message(), "source 'redis' could not collect: connection reset");
}

TEST(Quarantine, AReadySourceThatFailsToCollectLosesItsTurn) {
  Simulation simulation;
  WorkSource& bad = simulation.add("bad", 5, 10);
  bad.on_collect = []() -> Result<Backlog> { throw std::logic_error("broken"); };
  ASSERT_TRUE(bad.is_ready());
  bad.wake_from_any_thread();
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 0U);
  EXPECT_EQ(bad.quarantine().message(), "source 'bad' threw in collect(): broken");
}

TEST(Quarantine, ASourceThatRemovedItselfBeforeItThrewIsReportedToo) {
  Simulation simulation;
  Told told(simulation.scheduler);
  WorkSource& bad = simulation.add("bad", 5, 1);
  bad.on_run = [&] {
    simulation.scheduler.remove(bad);
    throw std::runtime_error("too late");
  };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(told.names, std::vector<std::string>{"bad"});
  EXPECT_EQ(bad.scheduler(), nullptr);
}

TEST(Quarantine, TheCallbackMayDestroyTheSource) {
  for (const bool in_run : {true, false}) {
    Simulation simulation;
    auto bad = std::make_unique<WorkSource>("bad", 5);
    simulation.scheduler.on_quarantine([&bad](const Source&, const Status&) { bad.reset(); });
    simulation.scheduler.add(*bad);
    ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, *bad).ok());
    bad->on_collect = [in_run]() -> Result<Backlog> {
      if (in_run) return Backlog::More;
      return failure(StatusCode::DataLoss, "truncated");
    };
    bad->on_run = [] { throw std::runtime_error("broken"); };
    sim::reactor_of(simulation.world).make_error(3);
    simulation.scheduler.run_until_idle();
    EXPECT_EQ(bad, nullptr);
    EXPECT_EQ(simulation.scheduler.stats().quarantined, 1U);
  }
}

TEST(Quarantine, RemovingAndAddingASourceGivesItAnotherChance) {
  Simulation simulation;
  WorkSource& bad = simulation.add("bad", 5, 10);
  bad.on_run = [] { throw std::runtime_error("once"); };
  simulation.scheduler.run_until_idle();
  ASSERT_FALSE(bad.quarantine().ok());
  bad.on_run = nullptr;
  simulation.scheduler.remove(bad);
  simulation.scheduler.add(bad);
  EXPECT_TRUE(bad.quarantine().ok());
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(bad.left, 0U);
}

TEST(Quarantine, ADescriptorInErrorIsForgivenWhenCollectMakesSomethingOfIt) {
  Simulation simulation;
  WorkSource& source = simulation.add("monitor", 5);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, source).ok());
  source.on_collect = []() -> Result<Backlog> { return Backlog::More; };
  sim::reactor_of(simulation.world).make_error(3);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 1U);
  EXPECT_TRUE(source.quarantine().ok());
}

TEST(Quarantine, ADescriptorInErrorIsForgivenWhenCollectTookTheErrorAway) {
  Simulation simulation;
  WorkSource& source = simulation.add("datagrams", 5);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, source).ok());
  source.on_collect = [&]() -> Result<Backlog> {
    sim::reactor_of(simulation.world).clear_error(3);  // Reading a pending socket error has the same effect.
    return Backlog::Empty;
  };
  sim::reactor_of(simulation.world).make_error(3);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 0U);
  EXPECT_TRUE(source.quarantine().ok());
}

TEST(Quarantine, ADescriptorInErrorIsForgivenWhenCollectUnwatchesIt) {
  Simulation simulation;
  WorkSource& source = simulation.add("session", 5);
  ASSERT_TRUE(simulation.world.reactor().watch(3, Interest::Read, source).ok());
  source.on_collect = [&]() -> Result<Backlog> {
    simulation.world.reactor().unwatch(3);
    return Backlog::Empty;
  };
  sim::reactor_of(simulation.world).make_error(3);
  EXPECT_EQ(simulation.scheduler.run_until_idle(), 0U);
  EXPECT_TRUE(source.quarantine().ok());
}

// With real sockets: a peer that has ended, a source that does not notice, and a local source beside it.
TEST(Quarantine, ADeadConnectionDoesNotSpinNorStarveOthers) {
  const SystemClock clock;
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(clock, *reactor, test::policy());
  Told told(scheduler);
  WorkSource dead("redis", 50);
  WorkSource local("local", 5, 128 * 100);
  scheduler.add(dead);
  scheduler.add(local);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  ASSERT_TRUE(reactor->watch(pair[0], Interest::Read, dead).ok());
  ::close(pair[1]);
  const std::uint64_t polls_before = scheduler.stats().polls;
  EXPECT_EQ(scheduler.run_until_idle(), 100U);
  EXPECT_EQ(local.left, 0U);
  EXPECT_EQ(told.names, std::vector<std::string>{"redis"});
  EXPECT_EQ(dead.collects, 1U);
  scheduler.wait(clock.now() + 20ms);
  EXPECT_EQ(dead.collects, 1U);
  EXPECT_LT(scheduler.stats().polls - polls_before, 220U);
  EXPECT_EQ(dead.quarantine().message(),
            "source 'redis' left descriptor " + std::to_string(pair[0]) + " in error or hung up: collect() found nothing to do");
  ::close(pair[0]);
}

TEST(Quarantine, AnErrorOfCollectWithoutACodeIsOneOfOurOwn) {
  Simulation simulation;
  WorkSource& bad = simulation.add("bad", 5);
  bad.on_collect = []() -> Result<Backlog> { return failure(Status{}); };
  bad.wake_from_any_thread();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(bad.quarantine().code(), StatusCode::Internal);
  EXPECT_EQ(bad.quarantine().message(), "source 'bad' returned an error without a code from collect()");
}

/// A source whose has_backlog() throws when asked to.
struct Unsure : Source {
  Unsure() : Source("unsure", Priority{5}) {}
  Turn run(const Budget&) override { return {}; }
  bool has_backlog() const override { return throws ? throw std::runtime_error("no queue") : false; }
  bool throws = false;
};

TEST(Quarantine, ASourceWhoseBacklogThrowsIsNotAdded) {
  Simulation simulation;
  Unsure unsure;
  unsure.throws = true;
  EXPECT_THROW(simulation.scheduler.add(unsure), std::runtime_error);
  EXPECT_EQ(unsure.scheduler(), nullptr);
  unsure.throws = false;
  simulation.scheduler.add(unsure);
  EXPECT_EQ(unsure.scheduler(), &simulation.scheduler);
}

TEST(Quarantine, ASourceWhoseBacklogThrowsInTheSweepIsSetAsideWithItsName) {
  Simulation simulation;
  Told told(simulation.scheduler);
  Unsure unsure;
  simulation.scheduler.add(unsure);
  WorkSource& good = simulation.add("good", 5);
  unsure.throws = true;
  simulation.scheduler.run_for(limits::kSweepPeriod);
  EXPECT_EQ(told.names, std::vector<std::string>{"unsure"});
  EXPECT_EQ(unsure.quarantine().message(), "source 'unsure' threw in has_backlog(): no queue");
  EXPECT_TRUE(good.quarantine().ok());
}

TEST(Quarantine, AMailboxWhoseHandlerThrewTakesNoMessagesUntilItIsAddedAgain) {
  Simulation simulation;
  Mailbox<int> mailbox("mail", Priority{5}, [](int&& value) {
    if (value == 2) throw std::runtime_error("two");
  });
  simulation.scheduler.add(mailbox);
  EXPECT_TRUE(mailbox.post(2).ok());
  simulation.scheduler.run_until_idle();
  const Status refused = mailbox.post(3);
  EXPECT_EQ(refused.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(refused.message(), "mailbox 'mail' is quarantined, because its handler threw, and handles no more messages");
  simulation.scheduler.remove(mailbox);
  simulation.scheduler.add(mailbox);
  EXPECT_TRUE(mailbox.post(3).ok());
}

}  // namespace
}  // namespace rondo
