// verify and pairing decide the result of the main job. Each way in which a kernel can differ from the feed must be found and counted in
// its category.
#include "rondo-demo/measurement/verify.h"

#include <gtest/gtest.h>

#include "rondo-demo/measurement/pairing.h"

namespace rondo::demo {
namespace {

class Verify : public testing::Test {
 protected:
  Verify() : plan(*feed::NextHopPlan::make()) {
    for (unsigned group = 0; group < 2; ++group) {
      routes.push_back({feed::Prefix::v4(0x14000000U + (group << 16U), 16), static_cast<std::uint16_t>(group), false});
      NexthopEntry entry;
      for (unsigned k = group * feed::kHopsPerGroup; k < (group + 1) * feed::kHopsPerGroup; ++k) {
        const feed::NextHop hop = feed::NextHopPlan::hop(k, feed::Family::V4);
        NexthopEntry single;
        single.id = NexthopId{100 + k};
        single.gateway = *IpAddress::parse(hop.address);
        single.port = IfIndex{hop.port + 1};
        kernel.nexthops.push_back(single);
        entry.members.push_back({single.id, 1});
      }
      entry.id = NexthopId{1 + group};
      kernel.nexthops.push_back(entry);
      kernel.routes.push_back({to_dataplane(routes.back().prefix), entry.id, kMainTable, RouteType::Unicast});
    }
    kernel.port_name = [this](IfIndex port) { return plan.port_name(port.value() - 1); };
  }
  Comparison judge() { return compare(routes, plan, kernel); }

  feed::NextHopPlan plan;
  std::vector<feed::Route> routes;
  KernelState kernel;
};

TEST_F(Verify, AKernelThatIsAsAskedIsEqual) {
  const Comparison result = judge();
  EXPECT_EQ(result.asked, 2U);
  EXPECT_EQ(result.equal, 2U);
  EXPECT_TRUE(result.all_equal());
}

TEST_F(Verify, AMissingRouteIsFound) {
  kernel.routes.pop_back();
  const Comparison result = judge();
  EXPECT_EQ(result.missing, 1U);
  EXPECT_EQ(result.equal, 1U);
  EXPECT_FALSE(result.all_equal());
}

TEST_F(Verify, ARouteNobodyAskedForIsFound) {
  kernel.routes.push_back({*rondo::Prefix::parse("20.9.0.0/16"), NexthopId{1}, kMainTable, RouteType::Unicast});
  const Comparison result = judge();
  EXPECT_EQ(result.unasked, 1U);
  EXPECT_FALSE(result.all_equal());
}

TEST_F(Verify, ARouteOfAnotherTypeOrTableIsNotTheOneThatWasAskedFor) {
  kernel.routes[0].type = RouteType::Blackhole;
  EXPECT_FALSE(judge().all_equal());
  kernel.routes[0].type = RouteType::Unicast;
  kernel.routes[0].table = 100;
  EXPECT_FALSE(judge().all_equal());
}

TEST_F(Verify, RoutesOnEachOthersGroupsAreFoundByTheMembers) {
  std::swap(kernel.routes[0].nexthop, kernel.routes[1].nexthop);
  const Comparison result = judge();
  EXPECT_EQ(result.wrong_members, 2U);
  EXPECT_EQ(result.equal, 0U);
}

TEST_F(Verify, TwoGroupsThatShareOneKernelGroupAreFound) {
  kernel.routes[1].nexthop = kernel.routes[0].nexthop;
  const Comparison result = judge();
  EXPECT_GT(result.wrong_group, 0U);
  EXPECT_EQ(result.equal, 0U);
}

TEST_F(Verify, AGroupWithoutOneOfItsMembersIsFound) {
  for (NexthopEntry& entry : kernel.nexthops) {
    if (entry.id == NexthopId{1}) entry.members.pop_back();
  }
  const Comparison result = judge();
  EXPECT_EQ(result.wrong_members, 1U);
  EXPECT_EQ(result.equal, 0U);
  EXPECT_FALSE(result.all_equal());
}

TEST_F(Verify, TheLastWordAboutAPrefixCounts) {
  routes.push_back({routes[0].prefix, 1, false});
  EXPECT_FALSE(judge().all_equal()) << "it moved to group 1";
  kernel.routes[0].nexthop = NexthopId{2};
  EXPECT_TRUE(judge().all_equal());
  routes.push_back({routes[0].prefix, 0, true});
  EXPECT_EQ(judge().unasked, 1U) << "it was withdrawn";
}

struct Cause {
  bool carrier;
  Instant at;
};
Instant at_ms(std::int64_t ms) { return Instant::from_nanoseconds(ms * 1'000'000); }

TEST(Pairing, EachCauseGetsTheNextEffectOfItsKind) {
  Histogram times;
  const std::vector<Cause> causes{{false, at_ms(100)}, {true, at_ms(200)}, {false, at_ms(300)}};
  EXPECT_EQ(pair_up(causes, &Cause::at, {{false, at_ms(101)}, {true, at_ms(203)}, {false, at_ms(302)}}, times), 0U);
  EXPECT_EQ(times.count(), 3U);
  EXPECT_EQ(times.max(), 3'000'000U);
}

TEST(Pairing, ACauseWithoutEffectIsUnseenAndShiftsNobody) {
  Histogram times;
  const std::vector<Cause> causes{{false, at_ms(100)}, {true, at_ms(200)}, {false, at_ms(300)}, {true, at_ms(400)}};
  EXPECT_EQ(pair_up(causes, &Cause::at, {{false, at_ms(301)}, {true, at_ms(401)}}, times), 2U);
  EXPECT_EQ(times.count(), 2U);
  EXPECT_EQ(times.max(), 1'000'000U);
}

}  // namespace
}  // namespace rondo::demo
