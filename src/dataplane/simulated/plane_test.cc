// Goal: the features that the simulated kernel has beyond a kernel: failures, capacity and time on demand, repeatable.
// (dataplane_contract_test.cc and dataplane_differential_test.cc in src/dataplane/ compare it with Linux.)
#include "rondo/dataplane/simulated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Prefix prefix(std::uint32_t number) { return {IpAddress::v4(0x14000000U + (number << 8)), 24}; }
IpAddress link_local(std::uint8_t host) { return IpAddress::v6({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host}); }

std::vector<Operation> routes(std::uint32_t count, NexthopId nexthop) {
  std::vector<Operation> ops;
  for (std::uint32_t i = 0; i < count; ++i) ops.push_back({.order = RouteSet{.prefix = prefix(i), .nexthop = nexthop}});
  return ops;
}

std::vector<std::size_t> failed(const std::vector<Operation>& ops) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!ops[i].status.ok()) indexes.push_back(i);
  }
  return indexes;
}

// One port that is up, with next hop 1.
std::unique_ptr<SimDataPlane> make(SimDataPlaneOptions options = {}) {
  auto plane = std::make_unique<SimDataPlane>(std::move(options));
  const IfIndex port = plane->add_port("swp1");
  std::vector<Operation> ops(2);
  ops[0].order = LinkSet{.port = port, .up = true};
  ops[1].order = NexthopSet{.id = NexthopId{1}, .gateway = link_local(2), .port = port};
  plane->apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre());
  return plane;
}

TEST(SimDataPlane, TheNthOrderOfAKindFailsOnceAndChangesNothing) {
  const auto plane = make();
  plane->fail_nth(OrderKind::Route, 3, ENOBUFS);
  plane->fail_nth(OrderKind::Route, 5, EINVAL);
  std::vector<Operation> ops = routes(8, NexthopId{1});
  plane->apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre(2, 4));
  EXPECT_EQ(ops[2].status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(ops[4].status.origin_errno(), EINVAL);
  EXPECT_FALSE(plane->route(prefix(2)).has_value());
  plane->apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre());
  EXPECT_EQ(plane->route_count(), 8U);
}

TEST(SimDataPlane, FailuresByChanceAreRepeatableAndOfOneKind) {
  const auto run = [](std::uint64_t seed) {
    const auto plane = make({.seed = seed, .spend = {}});
    plane->fail_by_chance(OrderKind::Route, 0.25, ENOBUFS);
    std::vector<Operation> ops = routes(1000, NexthopId{1});
    plane->apply(ops);
    std::vector<Operation> other(1);
    other[0].order = NexthopDelete{.id = NexthopId{9}};
    plane->apply(other);
    EXPECT_EQ(other[0].status.origin_errno(), ENOENT);
    return failed(ops);
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
  EXPECT_GT(run(1).size(), 180U);
  EXPECT_LT(run(1).size(), 320U);
}

TEST(SimDataPlane, AFullTableRefusesTheNextAndStillReplaces) {
  const auto plane = make({.spend = {}, .routes_max = 3, .nexthops_max = 1, .groups_max = 1});
  std::vector<Operation> ops = routes(5, NexthopId{1});
  plane->apply(ops);
  EXPECT_THAT(failed(ops), ElementsAre(3, 4));
  EXPECT_EQ(ops[3].status.code(), StatusCode::ResourceExhausted);
  std::vector<Operation> again = routes(3, NexthopId{1});
  plane->apply(again);
  EXPECT_THAT(failed(again), ElementsAre());
  std::vector<Operation> more(5);
  more[0].order = NexthopSet{.id = NexthopId{2}, .gateway = link_local(3), .port = IfIndex{1}};
  more[1].order = GroupSet{.id = NexthopId{10}, .members = {{.nexthop = NexthopId{1}}}};
  more[2].order = GroupSet{.id = NexthopId{11}, .members = {{.nexthop = NexthopId{1}}}};
  more[3].order = NexthopDelete{.id = NexthopId{10}};
  more[4].order = GroupSet{.id = NexthopId{11}, .members = {{.nexthop = NexthopId{1}}}};
  plane->apply(more);
  EXPECT_THAT(failed(more), ElementsAre(0, 2));
  EXPECT_EQ(more[0].status.origin_errno(), ENOSPC);
}

TEST(SimDataPlane, RoomComesBackWhenAPortTakesItsNexthopsWithIt) {
  const auto plane = make({.spend = {}, .nexthops_max = 1, .groups_max = 1});
  for (int round = 0; round < 3; ++round) {
    plane->set_carrier("swp1", false);
    plane->set_carrier("swp1", true);
    std::vector<Operation> ops(2);
    ops[0].order = NexthopSet{.id = NexthopId{7}, .gateway = link_local(3), .port = IfIndex{1}};
    ops[1].order = GroupSet{.id = NexthopId{10}, .members = {{.nexthop = NexthopId{7}}}};
    plane->apply(ops);
    EXPECT_THAT(failed(ops), ElementsAre()) << round;
  }
}

TEST(SimDataPlane, OrdersTakeTheirTime) {
  Duration spent{0};
  int calls = 0;
  const auto plane = make({.spend =
                               [&](Duration d) {
                                 spent += d;
                                 ++calls;
                               },
                           .route_cost = 2us,
                           .group_cost = 100us,
                           .other_cost = 5us});
  EXPECT_EQ(spent, 10us);
  std::vector<Operation> ops = routes(10, NexthopId{1});
  ops.push_back({.order = GroupSet{.id = NexthopId{10}, .members = {{.nexthop = NexthopId{1}}}}});
  plane->apply(ops);
  EXPECT_EQ(spent, 130us);
  EXPECT_EQ(calls, 2) << "one call an apply";
  EXPECT_EQ(plane->executed(), 13U);
}

TEST(SimDataPlane, CarrierLossFindsTheRoutesAmongAHundredThousand) {
  const auto plane = make();
  std::vector<Operation> ops = routes(65'536, NexthopId{1});
  ops.push_back({.order = RouteSet{.prefix = Prefix::parse("10.0.0.0/8").value(), .type = RouteType::Blackhole}});
  plane->apply(ops);
  EXPECT_EQ(plane->route_count(), 65'537U);
  plane->set_carrier("swp1", false);
  EXPECT_EQ(plane->route_count(), 1U);
  EXPECT_FALSE(plane->nexthop(NexthopId{1}).has_value());
}

TEST(SimDataPlane, AMonitorMayOutliveItAndSeesEveryChangeInOrder) {
  SystemClock clock;
  const auto reactor = make_epoll_reactor().value();
  Scheduler scheduler(clock, *reactor, make_policy(StrictPriority{}).value());
  auto plane = make();
  std::string seen;
  const auto monitor =
      plane->monitor(scheduler, Priority{50}, [&seen](const LinkEvent& event) { seen += event.removed   ? 'x'
                                                                                        : event.carrier ? 'U'
                                                                                                        : 'd'; })
          .value();
  plane->set_carrier("swp1", false);
  plane->set_carrier("swp1", false);
  plane->set_carrier("swp1", true);
  plane->remove_port("swp1");
  plane.reset();
  scheduler.run_until_idle();
  EXPECT_EQ(seen, "UdUx");
  EXPECT_FALSE(monitor->has_backlog());
}

TEST(SimDataPlane, RoomCanEndAndComeBack) {
  SimDataPlane plane;
  const auto add = [&plane](std::string_view prefix) {
    Operation op{.order = RouteSet{*Prefix::parse(prefix), NexthopId{}, kMainTable, RouteType::Blackhole}};
    plane.apply({&op, 1});
    return op.status.code();
  };
  EXPECT_EQ(add("10.0.0.0/8"), StatusCode::Ok);
  plane.set_capacity(OrderKind::Route, 1);
  EXPECT_EQ(add("11.0.0.0/8"), StatusCode::ResourceExhausted);
  EXPECT_EQ(add("10.0.0.0/8"), StatusCode::Ok) << "replacing needs no room";
  plane.set_capacity(OrderKind::Route, 2);
  EXPECT_EQ(add("11.0.0.0/8"), StatusCode::Ok);
}

}  // namespace
}  // namespace rondo
