// Scenarios of waiting, in simulated time: facts that are announced late, end and return, wait for each other, or are overtaken by a
// delete; work that a slow device holds in flight; and a store that is slow, refuses and loses its connection. The result is always the
// same: every written row is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "sim/sim_store.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kManyRoutes = plain_or_sanitized(800'000, 100'000);

using Rows = std::map<std::string, std::string, std::less<>>;

/// GROUP rows make facts of kind "group"; a ROUTE row waits for the group that its field "group" names.
class WaitingScenario : public testing::Test, public RuntimeFixture {
 protected:
  WaitingScenario() {
    OpenOrch& groups_orch = add_groups();
    groups_orch.consume(
        "GROUP",
        [&, this](std::string_view key, const Fields&) {
          groups.emplace(key);
          groups_orch.announce({kGroup, std::string{key}});
          return Outcome::done();
        },
        [&, this](std::string_view key) {
          groups.erase(std::string{key});
          groups_orch.withdraw({kGroup, std::string{key}});
          return Outcome::done();
        });
    OpenOrch& routes = runtime.add<OpenOrch>("routes", Priority::p1);
    routes.consume(
        "ROUTE",
        [&, this](std::string_view key, const Fields& fields) {
          ++tries;
          world.clock().advance(route_cost);
          const std::string group = fields.text("group").value_or("");
          if (!routes.holds({kGroup, group})) return Outcome::wait_for({kGroup, group});
          installed[std::string{key}] = group;
          return Outcome::done();
        },
        [this](std::string_view key) {
          calls.push_back("delete " + std::string{key});
          installed.erase(std::string{key});
          return Outcome::done();
        });
    runtime.explain(kGroup, [](std::string_view key) { return FactOrigin{"GROUP", std::string{key}, {}}; });
  }
  ~WaitingScenario() override {
    EXPECT_EQ(runtime.scheduler().stats().sweep_rescues, 0U);
    EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
  }
  void set_route(const std::string& key, std::string_view group) { set("ROUTE", key, {{"group", group}}); }

  Duration route_cost = 2us;
  std::uint64_t tries = 0;
  Rows installed;
};

// --- a next-hop group that comes late, for all routes at once, while a port flaps

class PortFlapping : public WaitingScenario {
 protected:
  PortFlapping() {
    OpenOrch& ports = runtime.add<OpenOrch>("ports", Priority{40});
    ports.listen("PORT_EVENTS", [this](const Change&) {
      worst = std::max(worst, world.now() - sent.front());
      sent.pop_front();
      ++handled;
    });
  }
  void flap() {
    sent.push_back(world.now());
    ASSERT_TRUE(runtime.table("PORT_EVENTS").write(Change::event("port_state", "Ethernet0", {})).ok());
    ++flaps;
    world.after(1ms, [this] { flap(); });
  }
  std::deque<Instant> sent;
  Duration worst{0};
  int flaps = 0;
  int handled = 0;
};

TEST_F(PortFlapping, ALateGroupLetsEightHundredThousandRoutesThroughAndDelaysNoPortEvent) {
  for (int i = 0; i < kManyRoutes; ++i) set_route(std::to_string(i), "102");
  flap();
  const auto idle = [this] { return stats("ROUTE").parked == kManyRoutes; };
  ASSERT_TRUE(world.run_until(runtime.scheduler(), idle, 60s));
  EXPECT_EQ(tries, static_cast<std::uint64_t>(kManyRoutes));
  EXPECT_EQ(stats("ROUTE").parked_peak, static_cast<std::size_t>(kManyRoutes));

  const Instant late = world.now();
  set("GROUP", "102");
  ASSERT_TRUE(world.run_until(
      runtime.scheduler(), [this] { return installed.size() == kManyRoutes; }, 60s));
  EXPECT_EQ(tries, 2U * kManyRoutes) << "each was tried twice: without the group, and with it";
  EXPECT_LT(world.now() - late, 2 * kManyRoutes * route_cost) << "the work itself and little else";
  EXPECT_GT(handled, 1000 * static_cast<int>(kManyRoutes) / 800'000);
  EXPECT_GE(handled, flaps - 1);
  EXPECT_LE(worst, limits::kBatchItems * route_cost + 20us) << "one turn of the routes at most";
}

// --- a provider that goes and comes back

TEST_F(WaitingScenario, RoutesThatHadNoTurnBeforeTheGroupWentWaitForItToComeBack) {
  for (int i = 0; i < 1000; ++i) set_route(std::to_string(i), "102");
  run();
  set("GROUP", "102");
  ASSERT_TRUE(world.run_until(
      runtime.scheduler(), [this] { return installed.size() >= 500; }, 1s));
  remove("GROUP", "102");  // More urgent: handled before the next turn of the routes.
  run();
  const std::size_t before = installed.size();
  EXPECT_LT(before, 1000U);
  EXPECT_EQ(stats("ROUTE").parked, 1000 - before);
  set("GROUP", "102");
  run();
  EXPECT_EQ(installed.size(), 1000U);
}

TEST_F(WaitingScenario, AProviderOrchThatIsMadeAgainResolvesWhatWaitedMeanwhile) {
  constexpr FactKind kPeer{"peer"};
  OpenOrch& waiting = runtime.add<OpenOrch>("waiting");
  bool up = false;
  waiting.consume(
      "SESSION",
      [&](std::string_view, const Fields&) {
        return waiting.holds({kPeer, "x"}) ? Outcome::done() : Outcome::wait_for({kPeer, "x"});
      },
      [](std::string_view) { return Outcome::done(); });
  auto first = std::make_unique<OpenOrch>(runtime, "first");
  first->provide(kPeer, [&](std::string_view) { return up; });
  set("SESSION", "s");
  run();
  first.reset();
  EXPECT_FALSE(parked_facts(runtime, 1).at(0).has_provider);
  run_for(5s);
  OpenOrch second(runtime, "second");
  second.provide(kPeer, [&](std::string_view) { return up; });
  up = true;
  second.announce({kPeer, "x"});
  run();
  EXPECT_EQ(stats("SESSION").done, 1U);
}

// --- rows that wait for each other

TEST_F(WaitingScenario, ACycleIsFoundByWhyAndGoesWhenOneOfItsRowsDoes) {
  constexpr FactKind kService{"service"};
  std::set<std::string, std::less<>> up;
  OpenOrch& services = runtime.add<OpenOrch>("services");
  services.provide(kService, [&](std::string_view key) { return up.contains(key); });
  services.consume(
      "SERVICE",
      [&](std::string_view key, const Fields& fields) {
        const std::string needs = fields.text("needs").value_or("");
        if (!needs.empty() && !services.holds({kService, needs})) return Outcome::wait_for({kService, needs});
        up.emplace(key);
        services.announce({kService, std::string{key}});
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  runtime.explain(kService, [](std::string_view key) { return FactOrigin{"SERVICE", std::string{key}, {}}; });
  set("SERVICE", "a", {{"needs", "b"}});
  set("SERVICE", "b", {{"needs", "c"}});
  set("SERVICE", "c", {{"needs", "a"}});
  run_for(3s);
  EXPECT_THAT(up, IsEmpty());
  const Why why = runtime.why("SERVICE", "a");
  EXPECT_TRUE(why.cycle);
  std::vector<std::string> keys;
  for (const WhyLink& link : why.chain) keys.push_back(link.key);
  EXPECT_THAT(keys, ElementsAre("a", "b", "c", "a"));
  set("SERVICE", "c", {{"needs", ""}});  // The operator reads the report and corrects one row.
  run();
  EXPECT_THAT(up, ElementsAre("a", "b", "c"));
}

// --- deletes that meet waiting rows

TEST_F(WaitingScenario, ADeleteOfAParkedRouteRunsAtOnceAndTheRouteNeverComes) {
  set_route("r", "102");
  run();
  remove("ROUTE", "r");
  run();
  EXPECT_THAT(calls, ElementsAre("delete r"));
  EXPECT_EQ(stats("ROUTE").parked, 0U);
  EXPECT_THAT(parked_facts(runtime, 10), IsEmpty());
  set("GROUP", "102");
  run();
  EXPECT_THAT(installed, IsEmpty());
}

TEST_F(WaitingScenario, ANewGroupOfAParkedRouteIsTriedAtOnce) {
  set_route("r", "102");
  set("GROUP", "7");
  run();
  set_route("r", "7");
  run();
  EXPECT_EQ(installed["r"], "7");
  EXPECT_THAT(parked_facts(runtime, 10), IsEmpty());
}

// --- a slow device holds work in flight

class SlowDevice : public RuntimeFixture, public testing::Test {
 protected:
  SlowDevice() {
    orch.consume_batches("T", [this](Batch& batch) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        calls.push_back(call(batch[i].op(), batch[i].key()));
        const Ticket ticket = batch.stage(i);
        const Change change = batch[i];
        world.after(5ms, [this, ticket, change] { finish(ticket, change); });
      }
    });
  }
  void finish(const Ticket& ticket, const Change& change) {
    if (busy-- > 0) {
      orch.settle(ticket, Outcome::retry_after(10ms, Status{StatusCode::Unavailable, "the device is busy"}));
      return;
    }
    if (change.op() == ChangeOp::Delete) {
      device.erase(std::string{change.key()});
    } else {
      for (const Field field : change.fields())
        device[std::string{change.key()}] += std::string{field.name} + "=" + std::string{field.value} + ";";
    }
    orch.settle(ticket, Outcome::done());
  }
  int busy = 0;
  Rows device;
  OpenOrch& orch = runtime.add<OpenOrch>();
};

TEST_F(SlowDevice, SetDeleteSetWhileTheFirstIsInFlightEndsWithTheLastSetAlone) {
  set("T", "k", {{"old", "1"}});
  run();
  remove("T", "k");
  set("T", "k", {{"new", "2"}});
  run_for(3ms);
  EXPECT_THAT(calls, ElementsAre("S k")) << "one change of a key at a time";
  run_for(50ms);
  EXPECT_THAT(calls, ElementsAre("S k", "D k", "S k"));
  EXPECT_EQ(device, (Rows{{"k", "new=2;"}}));
  EXPECT_EQ(stats("T").in_flight, 0U);
}

TEST_F(SlowDevice, ADeleteThatTheDeviceRefusesForNowStaysBeforeItsSet) {
  set("T", "k", {{"old", "1"}});
  run_for(10ms);
  remove("T", "k");
  set("T", "k", {{"new", "2"}});
  busy = 2;
  run_for(100ms);
  EXPECT_THAT(calls, ElementsAre("S k", "D k", "D k", "D k", "S k"));
  EXPECT_EQ(device, (Rows{{"k", "new=2;"}}));
}

TEST_F(SlowDevice, ASetThatIsPutBackMeetsTheDeleteThatOvertookIt) {
  busy = 1;
  set("T", "k", {{"old", "1"}});
  run();
  remove("T", "k");
  run_for(100ms);
  EXPECT_THAT(calls, ElementsAre("S k", "D k"));
  EXPECT_EQ(device, Rows{});
  EXPECT_EQ(stats("T").parked_ever, 0U);
}

// --- a store that is slow, refuses, and loses its connection

/// Writes and deletes whole rows over an unreliable connection, repeatedly until each is confirmed. The handler applies them, some after a
/// wait.
class BadStore : public RuntimeFixture {
 public:
  explicit BadStore(std::uint64_t seed)
      : RuntimeFixture({},
                       [seed](Scheduler& scheduler) {
                         return std::make_unique<sim::SimStore>(scheduler, sim::SimStoreOptions{.seed = seed, .failure_chance = 0.1});
                       }),
        store(dynamic_cast<sim::SimStore&>(runtime.store())),
        random_(seed) {
    OpenOrch& provider = add_groups();
    orch_.consume(
        "T",
        [&, this](std::string_view key, const Fields& fields) {
          if (!groups.contains("open")) return Outcome::wait_for({kGroup, "open"});
          if (random_.chance(0.1)) return Outcome::retry_after(3ms, Status{StatusCode::Unavailable, "busy"});
          applied[std::string{key}] = fields.text("value").value_or("?");
          return Outcome::done();
        },
        [this](std::string_view key) {
          applied.erase(std::string{key});
          return Outcome::done();
        });
    provider_ = &provider;
  }

  void run_some() {
    for (int i = 0; i < 300; ++i) {
      write(std::to_string(random_.below(20)), random_.chance(0.3) ? std::string{} : std::to_string(i));
      if (random_.chance(0.02)) store.disconnect();
      if (random_.chance(0.05)) store.reconnect();
      if (random_.chance(0.05)) toggle_group();
      run_for(Duration{static_cast<std::int64_t>(random_.below(2'000'000))});
      write_unconfirmed();
    }
  }

  void finish() {
    store.reconnect();
    store.set_failure_chance(0);
    if (!groups.contains("open")) toggle_group();
    for (int i = 0; i < 20; ++i) {
      run_for(100ms);
      write_unconfirmed();
    }
  }

  sim::SimStore& store;
  Rows applied;
  Rows truth;
  int failed_writes = 0;

 private:
  void toggle_group() {
    if (groups.erase("open") > 0) return;
    groups.insert("open");
    provider_->announce({kGroup, "open"});
  }
  /// An empty value means a Delete.
  void write(const std::string& key, const std::string& value) {
    if (value.empty()) {
      truth.erase(key);
    } else {
      truth[key] = value;
    }
    unconfirmed_.insert(key);
    write_unconfirmed();
  }
  /// Writes each key once at a time, always with its newest state, so that the result of a lost write does not matter.
  void write_unconfirmed() {
    for (const std::string& key : std::set<std::string>{unconfirmed_}) {
      if (under_way_.contains(key)) continue;
      const auto row = truth.find(key);
      const std::vector<Field> fields{{"value", row == truth.end() ? std::string_view{} : std::string_view{row->second}}};
      Change change = row == truth.end() ? Change::remove(key) : Change::set(key, fields);
      const Status accepted = store.write("T", std::move(change), [this, key](const Status& done) {
        under_way_.erase(key);
        if (done.ok()) return;
        ++failed_writes;
        unconfirmed_.insert(key);
      });
      if (!accepted.ok()) continue;
      under_way_.insert(key);
      unconfirmed_.erase(key);
    }
  }

  Random random_;
  std::set<std::string> unconfirmed_;
  std::set<std::string> under_way_;
  OpenOrch& orch_ = runtime.add<OpenOrch>();
  OpenOrch* provider_ = nullptr;
};

TEST(BadStoreScenario, WhatWasWrittenIsDoneHoweverBadTheConnection) {
  for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    BadStore scenario(seed);
    scenario.run_some();
    scenario.finish();
    EXPECT_EQ(scenario.applied, scenario.truth);
    EXPECT_GT(scenario.failed_writes, 0) << "the connection was not bad enough";
    const ConsumerStats stats = scenario.stats("T");
    EXPECT_EQ(stats.queued + stats.parked + stats.in_flight, 0U);
    EXPECT_THAT(scenario.rejects, IsEmpty());
    EXPECT_EQ(scenario.runtime.scheduler().stats().sweep_rescues, 0U);
  }
}

}  // namespace
}  // namespace rondo
