// Messages of zebra as changes, and messages that lie.
#include "fpm/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fpm/fpm_kit.h"
#include "rondo/dataplane/limits.h"

namespace rondo::fpm {
namespace {

using Kind = Decoded::Kind;

Decoded decoded(std::string_view bytes, HopWeights weights = HopWeights::MinusOne) {
  netlink::MessageReader reader{std::as_bytes(std::span{bytes})};
  netlink::Message message;
  Decoded result;
  EXPECT_TRUE(reader.next(message));
  decode(message, weights, result);
  return result;
}

TEST(FpmDecode, ARouteNamesItsNextHopByNumber) {
  const Decoded result = decoded(kit::route("10.1.0.0/16", {.nexthop = 72}));
  EXPECT_EQ(result.kind, Kind::Route);
  EXPECT_EQ(result.route.prefix, kit::prefix("10.1.0.0/16"));
  EXPECT_EQ(result.route.nexthop, 72U);
  EXPECT_EQ(result.route.table, 254U);
  EXPECT_FALSE(result.route.gone);
}

TEST(FpmDecode, ATableBeyond255IsInItsAttribute) {
  EXPECT_EQ(decoded(kit::route("10.1.0.0/16", {.nexthop = 1, .table = 4242})).route.table, 4242U);
  EXPECT_EQ(decoded(kit::no_route("2001:db8::/32", 4242)).route.table, 4242U);
}

TEST(FpmDecode, WeightsOfBothModulesAreUnderstood) {
  const std::string bytes = kit::route("10.1.0.0/16", {.paths = {{"10.0.0.2", 3, 0}, {"10.0.1.2", 5, 2}}});
  const Decoded minus_one = decoded(bytes);
  ASSERT_EQ(minus_one.route.hops.size(), 2U);
  EXPECT_EQ(minus_one.route.hops[0].weight, 1);
  EXPECT_EQ(minus_one.route.hops[1].weight, 3);
  EXPECT_EQ(minus_one.route.hops[1].gateway, kit::address("10.0.1.2"));
  EXPECT_EQ(minus_one.route.hops[1].device, 5U);
  const Decoded plain = decoded(bytes, HopWeights::Plain);
  EXPECT_EQ(plain.route.hops[0].weight, 1) << "0 is no weight";
  EXPECT_EQ(plain.route.hops[1].weight, 2);
}

/// Weights above 255 were all taken as 255, so that 300 and 900 were equal.
TEST(FpmDecode, WeightsHaveSixteenBits) {
  const Decoded group = decoded(kit::group(72, {{66, 300}, {73, 900}, {74, 65535}}));
  EXPECT_THAT(group.nexthop.members, testing::ElementsAre(NexthopMember{66, 300}, NexthopMember{73, 900}, NexthopMember{74, 65535}));
  const Decoded hops = decoded(kit::route("10.1.0.0/16", {.paths = {{"10.0.0.2", 3, 255}, {"10.0.1.2", 5, 0}}}));
  ASSERT_EQ(hops.route.hops.size(), 2U);
  EXPECT_EQ(hops.route.hops[0].weight, 256);
}

TEST(FpmDecode, OnlinkIsReadInEveryEncoding) {
  EXPECT_TRUE(decoded(kit::nexthop(66, "169.254.0.1", 3, true)).nexthop.hop.onlink);
  EXPECT_FALSE(decoded(kit::nexthop(66, "169.254.0.1", 3)).nexthop.hop.onlink);
  for (const kit::RouteSpec& spec :
       {kit::RouteSpec{.paths = {{"10.9.0.2", 3, std::uint8_t{0}}, {"10.9.0.3", 5, std::uint8_t{0}}}, .onlink = true},
        kit::RouteSpec{.via = {"10.9.0.2", 3}, .onlink = true}}) {
    const Decoded route = decoded(kit::route("10.1.0.0/16", spec));
    ASSERT_FALSE(route.route.hops.empty());
    for (const Hop& hop : route.route.hops) EXPECT_TRUE(hop.onlink) << hop.gateway.to_string();
  }
}

TEST(FpmDecode, APreferredSourceIsReadAndMetricsAreNoted) {
  const Decoded with = decoded(kit::route("10.1.0.0/16", {.nexthop = 72, .source = "10.1.0.32", .mtu = 1400}));
  EXPECT_EQ(with.route.source, kit::address("10.1.0.32"));
  EXPECT_TRUE(with.route.has_metrics);
  EXPECT_EQ(decoded(kit::route("2001:db8::/32", {.nexthop = 72, .source = "fc00:1::32"})).route.source, kit::address("fc00:1::32"));
  const Decoded without = decoded(kit::route("10.1.0.0/16", {.nexthop = 72}));
  EXPECT_EQ(without.route.source, IpAddress{});
  EXPECT_FALSE(without.route.has_metrics);
}

TEST(FpmDecode, RoutesThatDropPacketsHaveNoNextHop) {
  EXPECT_EQ(decoded(kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE})).route.way, Way::Blackhole);
  EXPECT_EQ(decoded(kit::route("10.1.0.0/16", {.type = RTN_UNREACHABLE})).route.way, Way::Unreachable);
  EXPECT_EQ(decoded(kit::route("10.1.0.0/16", {.type = RTN_PROHIBIT})).route.way, Way::Prohibit);
  const Decoded local = decoded(kit::route("10.1.0.0/16", {.type = RTN_LOCAL}));
  EXPECT_EQ(local.kind, Kind::Skipped);
  EXPECT_EQ(local.skip, Skip::RouteType);
}

TEST(FpmDecode, AGroupListsMembersWithWeights) {
  const Decoded result = decoded(kit::group(72, {{66, 1}, {73, 200}}));
  EXPECT_EQ(result.kind, Kind::Nexthop);
  EXPECT_EQ(result.nexthop.id, 72U);
  EXPECT_THAT(result.nexthop.members, testing::ElementsAre(NexthopMember{66, 1}, NexthopMember{73, 200}));
  EXPECT_TRUE(decoded(kit::no_nexthop(72)).nexthop.gone);
}

TEST(FpmDecode, MoreMembersThanAGroupMayHaveAreRefusedAsAWhole) {
  std::vector<std::pair<std::uint32_t, std::uint16_t>> members;
  kit::RouteSpec spec;
  for (std::uint32_t i = 0; i < limits::kGroupMembers; ++i) {
    members.emplace_back(i + 1, std::uint16_t{1});
    spec.paths.emplace_back("10.0.0.2", i + 1, std::uint8_t{0});
  }
  Decoded most = decoded(kit::group(72, members));
  EXPECT_FALSE(most.nexthop.too_many);
  EXPECT_EQ(most.nexthop.members.size(), limits::kGroupMembers);
  most = decoded(kit::route("10.1.0.0/16", spec));
  EXPECT_FALSE(most.route.too_many);
  EXPECT_EQ(most.route.hops.size(), limits::kGroupMembers);
  members.emplace_back(5000U, std::uint16_t{1});
  spec.paths.emplace_back("10.0.0.2", 5000U, std::uint8_t{0});
  Decoded more = decoded(kit::group(72, members));
  EXPECT_EQ(more.kind, Kind::Nexthop);
  EXPECT_TRUE(more.nexthop.too_many);
  EXPECT_TRUE(more.nexthop.members.empty());
  more = decoded(kit::route("10.1.0.0/16", spec));
  EXPECT_EQ(more.kind, Kind::Route);
  EXPECT_TRUE(more.route.too_many);
  EXPECT_TRUE(more.route.hops.empty());
}

TEST(FpmDecode, OtherFamiliesAndTypesAreSkipped) {
  rtmsg mpls{};
  mpls.rtm_family = 28;
  EXPECT_EQ(decoded(kit::message(RTM_NEWROUTE, mpls, [](auto&) {})).skip, Skip::Family);
  EXPECT_EQ(decoded(kit::message(RTM_NEWNEIGH, mpls, [](auto&) {})).skip, Skip::MessageType);
  EXPECT_EQ(decoded(kit::message(2000, mpls, [](auto&) {})).skip, Skip::MessageType);
}

/// Such a route took the place of the plain one, and its deletion deleted that.
TEST(FpmDecode, RoutesForSomeSourcesOrTypesOfServiceAreSkipped) {
  for (const std::uint16_t type : {RTM_NEWROUTE, RTM_DELROUTE}) {
    rtmsg header{};
    header.rtm_family = AF_INET6;
    header.rtm_type = RTN_BLACKHOLE;
    EXPECT_EQ(decoded(kit::message(type, header, [](auto&) {})).kind, Kind::Route);
    header.rtm_src_len = 48;
    EXPECT_EQ(decoded(kit::message(type, header, [](auto&) {})).skip, Skip::RouteType);
    header.rtm_src_len = 0;
    header.rtm_tos = 16;
    EXPECT_EQ(decoded(kit::message(type, header, [](auto&) {})).skip, Skip::RouteType);
  }
}

TEST(FpmDecode, ALengthThatLiesIsMalformed) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  const auto with = [&](std::uint8_t length, std::uint16_t type, std::size_t bytes) {
    header.rtm_dst_len = length;
    return decoded(kit::message(RTM_NEWROUTE, header,
                                [&](netlink::MessageWriter& writer) {
                                  const std::array<char, 64> data{};
                                  writer.attribute(type, data.data(), bytes);
                                }))
        .kind;
  };
  header.rtm_type = RTN_UNICAST;
  EXPECT_EQ(with(33, RTA_DST, 4), Kind::Malformed);
  EXPECT_EQ(with(24, RTA_DST, 3), Kind::Malformed);
  EXPECT_EQ(with(24, RTA_GATEWAY, 16), Kind::Malformed);
  EXPECT_EQ(with(24, RTA_NH_ID, 2), Kind::Malformed);
  EXPECT_EQ(with(24, RTA_MULTIPATH, 8), Kind::Malformed) << "a hop of length 0";
  EXPECT_EQ(decoded(kit::group(0, {{1, 1}})).kind, Kind::Malformed);
  EXPECT_EQ(decoded(kit::group(5, {{0, 1}})).kind, Kind::Malformed);
}

}  // namespace
}  // namespace rondo::fpm
