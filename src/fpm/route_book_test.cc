// The book of routes: forward references, changes that merge, resends that write nothing, sweeps, and rows of other owners.
#include "fpm/route_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/testing/sanitized.h"
#include "fpm/fpm_kit.h"
#include "fpm/frame_reader.h"
#include "fpm/row_reader.h"
#include "orch/late_pages.h"
#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/test_source.h"

namespace rondo::fpm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class RouteBookTest : public testing::Test {
 protected:
  RouteBookTest() {
    for (const char* const table : {"ROUTE_TABLE", "NEXTHOP_GROUP_TABLE"}) EXPECT_TRUE(store_->declare({.name = table}).ok());
    routes_ = std::move(store_->subscribe("ROUTE_TABLE").value());
    groups_ = std::move(store_->subscribe("NEXTHOP_GROUP_TABLE").value());
    make();
  }
  void make(BookOptions options = {}) {
    options.device_name = [this](std::uint32_t device) { return devices_[device]; };
    options.vrf_name = [this](std::uint32_t table) { return vrfs_.contains(table) ? vrfs_[table] : std::string{}; };
    book_ = std::make_unique<RouteBook>(*store_, options);
    book_->begin_session();
  }
  /// Gives messages to the book without writing.
  void hear(std::string_view bytes) {
    netlink::MessageReader reader{std::as_bytes(std::span{bytes})};
    Decoded decoded;
    for (netlink::Message message; reader.next(message);) {
      decode(message, HopWeights::MinusOne, decoded);
      ASSERT_NE(decoded.kind, Decoded::Kind::Malformed);
      if (decoded.kind == Decoded::Kind::Route) book_->apply(decoded.route);
      if (decoded.kind == Decoded::Kind::Nexthop) book_->apply(decoded.nexthop);
      if (decoded.kind == Decoded::Kind::Skipped) book_->skip(decoded.skip);
    }
    EXPECT_FALSE(reader.is_malformed());
  }
  void hear_captured(const std::string& name) {
    const std::string stream = kit::captured(name);
    FrameReader reader;
    std::memcpy(reader.room().data(), stream.data(), stream.size());
    reader.add(stream.size());
    for (Frame frame; reader.next(frame).value();) hear({reinterpret_cast<const char*>(frame.content.data()), frame.content.size()});
  }
  static std::string name_of(int route) { return "10." + std::to_string(route) + ".0.0/16"; }
  static std::string group_of(int list) { return "fpm:10.0.0." + std::to_string(list + 1) + "@v0"; }
  /// A route that states its own next hop.
  static std::string stating(int route, int list) {
    return kit::route(name_of(route), {.paths = {{"10.0.0." + std::to_string(list + 1), 3, 0}}});
  }
  std::uint64_t full() const { return book_->figures().skipped[static_cast<std::size_t>(Skip::Full)]; }
  /// Writes, and returns the changes of the routes as text.
  std::vector<std::string> write() {
    while (book_->has_unwritten() || book_->is_sweeping()) EXPECT_TRUE(book_->write(100).refused.ok());
    EXPECT_TRUE(book_->write(100).refused.ok());
    return lines(*routes_, rows_);
  }
  std::vector<std::string> write_groups() { return lines(*groups_, group_rows_); }
  static std::vector<std::string> lines(Subscription& table, std::map<std::string, std::string>& rows) {
    std::vector<Change> changes;
    table.take(SIZE_MAX, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) {
      std::string line{change.op() == ChangeOp::Delete ? "-" : "+"};
      line.append(change.key());
      std::string row;
      for (const Field field : change.fields()) {
        if (field.name == "protocol") continue;
        row.append(row.empty() ? "" : " ").append(field.name).append("=").append(field.value);
      }
      if (!row.empty()) line.append(" ").append(row);
      if (change.op() == ChangeOp::Delete) rows.erase(std::string{change.key()});
      if (change.op() == ChangeOp::Set) rows[std::string{change.key()}] = row;
      lines.push_back(line);
    }
    return lines;
  }

  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), test::policy()};
  std::unique_ptr<LatePages> store_ = std::make_unique<LatePages>(make_memory_store(scheduler_));
  std::unique_ptr<Subscription> routes_;
  std::unique_ptr<Subscription> groups_;
  std::map<std::uint32_t, std::string> devices_{{3, "v0"}, {5, "v1"}, {7, "v2"}};
  std::map<std::uint32_t, std::string> vrfs_;
  std::map<std::string, std::string> rows_;
  std::map<std::string, std::string> group_rows_;
  std::unique_ptr<RouteBook> book_;
};

TEST_F(RouteBookTest, ARouteNamesAGroupAfterItsContent) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0"));
  EXPECT_THAT(write_groups(), ElementsAre("+fpm:10.0.0.2@v0 nexthop=10.0.0.2 ifname=v0"));
}

TEST_F(RouteBookTest, AForwardReferenceWaitsAndIsResolved) {
  hear(kit::group(72, {{66, 1}, {73, 3}}) + kit::route("10.1.0.0/16", {.nexthop = 72}) + kit::nexthop(66, "10.0.0.2", 3));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:nexthop-72"));
  EXPECT_EQ(book_->figures().waiting, 1U);
  hear(kit::nexthop(73, "10.0.1.2", 5));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0+10.0.1.2@v1*3"));
  EXPECT_THAT(write_groups(), ElementsAre("+fpm:10.0.0.2@v0+10.0.1.2@v1*3 nexthop=10.0.0.2,10.0.1.2 ifname=v0,v1 weight=1,3"));
  EXPECT_EQ(book_->figures().waiting, 0U);
}

/// Found in the swarm. zebra sends again what names the next hop.
TEST_F(RouteBookTest, AGroupFollowsAMemberThatWasDeletedAndMadeAgain) {
  const std::string users = kit::group(72, {{66, 1}}) + kit::route("10.1.0.0/16", {.nexthop = 72});
  hear(kit::nexthop(66, "10.0.0.2", 3) + users);
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0"));
  hear(kit::no_nexthop(66) + kit::nexthop(66, "10.0.1.2", 5) + users);
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.1.2@v1"));
}

TEST_F(RouteBookTest, ADeviceThatArrivesResolvesItsNextHops) {
  hear(kit::nexthop(66, "10.0.9.2", 9) + kit::route("10.1.0.0/16", {.nexthop = 66}));
  hear(kit::route("10.2.0.0/16", {.paths = {{"10.0.9.2", 9, 0}}}));
  EXPECT_THAT(write(),
              UnorderedElementsAre("+10.1.0.0/16 nexthop_group=fpm:unknown-device-9", "+10.2.0.0/16 nexthop_group=fpm:unknown-device-9"));
  devices_[9] = "v9";
  book_->devices_changed();
  EXPECT_THAT(write(), UnorderedElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.9.2@v9", "+10.2.0.0/16 nexthop_group=fpm:10.0.9.2@v9"));
}

TEST_F(RouteBookTest, RoutesThatTheDataPlaneDoesNotHaveAreCounted) {
  std::set<std::string> plane;
  const auto is_programmed = [&](std::string_view vrf, const Prefix& prefix, std::string_view group, bool blackhole, const IpAddress&) {
    return plane.contains(std::string{vrf} + prefix.to_string() + " " + std::string{group} + (blackhole ? " black" : ""));
  };
  const auto absent = [&] {
    RouteBook::Absent absent;
    while (book_->count_absent(2, is_programmed, absent)) continue;
    return absent;
  };
  hear(kit::nexthop(66, "10.0.0.2", 3));
  for (int route = 1; route <= 5; ++route) hear(kit::route(name_of(route), {.nexthop = 66}));
  hear(kit::route(name_of(6), {.type = RTN_BLACKHOLE}));
  EXPECT_EQ(absent().routes, 6U) << "none is written";
  write();
  for (int route = 2; route <= 5; ++route) plane.insert(name_of(route) + " " + group_of(1));
  plane.insert(name_of(6) + " fpm:blackhole black");
  EXPECT_EQ(absent().routes, 1U);
  EXPECT_EQ(absent().first, name_of(1));
  hear(kit::no_route(name_of(1)));
  EXPECT_EQ(absent().routes, 0U);
  hear(kit::nexthop(67, "10.0.0.3", 3) + kit::route(name_of(2), {.nexthop = 67}));
  EXPECT_EQ(absent().first, name_of(2)) << "it is not there as it was sent";
  write();
  EXPECT_EQ(absent().first, name_of(2));
  book_->begin_session();
  EXPECT_EQ(absent().routes, 0U) << "the session has sent none";
}

TEST_F(RouteBookTest, ADeletionAndANewRouteAreOneChange) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::route("10.1.0.0/16", {.nexthop = 66}));
  write();
  hear(kit::no_route("10.1.0.0/16") + kit::route("10.1.0.0/16", {.nexthop = 67}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.1.2@v1"));
  hear(kit::no_route("10.1.0.0/16") + kit::route("10.1.0.0/16", {.nexthop = 67}));
  EXPECT_THAT(write(), IsEmpty());
  hear(kit::no_route("10.1.0.0/16"));
  EXPECT_THAT(write(), ElementsAre("-10.1.0.0/16"));
  EXPECT_EQ(book_->figures().routes, 0U);
}

TEST_F(RouteBookTest, OtherNumbersAfterARestartOfZebraChangeNothing) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::route("10.1.0.0/16", {.nexthop = 66}) +
       kit::route("10.2.0.0/16", {.nexthop = 67}));
  write();
  write_groups();
  book_->begin_session();
  EXPECT_EQ(book_->figures().stale, 2U);
  hear(kit::nexthop(66, "10.0.1.2", 5));
  EXPECT_THAT(write(), IsEmpty()) << "66 has another meaning now, and no route of this session names it";
  hear(kit::route("10.2.0.0/16", {.nexthop = 66}) + kit::nexthop(67, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 67}));
  EXPECT_THAT(write(), IsEmpty());
  EXPECT_THAT(write_groups(), IsEmpty());
  EXPECT_EQ(book_->figures().stale, 0U);
}

TEST_F(RouteBookTest, ASweepRemovesWhatWasNotSentAgain) {
  hear(kit::nexthop(66, "10.0.0.2", 3));
  for (int i = 0; i < 300; ++i) {
    hear(kit::route("10.1." + std::to_string(i % 250) + "." + std::to_string(i < 250 ? 0 : 128) + "/25", {.nexthop = 66}));
  }
  write();
  book_->begin_session();
  hear(kit::nexthop(1, "10.0.0.2", 3) + kit::route("10.1.7.0/25", {.nexthop = 1}));
  EXPECT_THAT(write(), IsEmpty());
  EXPECT_EQ(book_->figures().stale, 299U);
  book_->sweep(false);
  EXPECT_EQ(write().size(), 299U);
  EXPECT_THAT(rows_, ElementsAre(Pair("10.1.7.0/25", "nexthop_group=fpm:10.0.0.2@v0")));
  EXPECT_EQ(book_->figures().stale, 0U);
}

TEST_F(RouteBookTest, AChangeOfARouteThatHasARowGoesBeforeNewRoutes) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::route("10.1.0.0/16", {.nexthop = 66}) +
       kit::route("10.2.0.0/16", {.nexthop = 66}));
  write();
  for (int i = 0; i < 200; ++i) hear(kit::route("20.0." + std::to_string(i) + ".0/24", {.nexthop = 66}));
  hear(kit::route("10.1.0.0/16", {.nexthop = 67}) + kit::no_route("10.2.0.0/16"));
  EXPECT_TRUE(book_->write(3).refused.ok());
  EXPECT_THAT(lines(*routes_, rows_),
              ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.1.2@v1", "-10.2.0.0/16", "+20.0.0.0/24 nexthop_group=fpm:10.0.0.2@v0"));
}

TEST_F(RouteBookTest, AFewRoutesOfAnotherProtocolOrFamilyDoNotWaitForATable) {
  hear(kit::nexthop(66, "10.0.0.2", 3));
  for (int i = 0; i < 200; ++i) hear(kit::route("20.0." + std::to_string(i) + ".0/24", {.nexthop = 66}));
  hear(kit::route("10.1.0.0/16", {.nexthop = 66, .protocol = 188}) + kit::route("2001:db8::/32", {.nexthop = 66}));
  EXPECT_TRUE(book_->write(6).refused.ok());
  lines(*routes_, rows_);
  EXPECT_THAT(rows_, testing::IsSupersetOf(
                         {Pair("10.1.0.0/16", "nexthop_group=fpm:10.0.0.2@v0"), Pair("2001:db8::/32", "nexthop_group=fpm:10.0.0.2@v0")}));
}

TEST_F(RouteBookTest, GroupsGoWithTheirLastRoute) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66}));
  write();
  write_groups();
  hear(kit::no_route("10.1.0.0/16") + kit::no_nexthop(66));
  write();
  EXPECT_THAT(write_groups(), ElementsAre("-fpm:10.0.0.2@v0"));
  EXPECT_EQ(book_->figures().groups, 0U);
}

/// It stayed until the next restart: zebra keeps a next hop that is a member of a group.
TEST_F(RouteBookTest, AGroupGoesWithItsLastRouteAlthoughZebraKeepsTheNextHop) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(73, "10.0.1.2", 5) + kit::group(72, {{66, 1}, {73, 1}}));
  hear(kit::route("10.1.0.0/16", {.nexthop = 66}));
  write();
  write_groups();
  hear(kit::route("10.1.0.0/16", {.nexthop = 72}));
  write();
  EXPECT_THAT(write_groups(), ElementsAre("+fpm:10.0.0.2@v0+10.0.1.2@v1 nexthop=10.0.0.2,10.0.1.2 ifname=v0,v1", "-fpm:10.0.0.2@v0"));
  EXPECT_EQ(book_->figures().groups, 1U);
  hear(kit::route("10.2.0.0/16", {.nexthop = 66}));
  write();
  EXPECT_THAT(write_groups(), ElementsAre("+fpm:10.0.0.2@v0 nexthop=10.0.0.2 ifname=v0"));
  hear(kit::no_nexthop(66) + kit::no_route("10.2.0.0/16"));
  write();
  EXPECT_THAT(write_groups(), ElementsAre("-fpm:10.0.0.2@v0"));
}

TEST_F(RouteBookTest, WaysToDropPacketsAreBlackholes) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE}) +
       kit::route("10.2.0.0/16", {.type = RTN_UNREACHABLE}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:blackhole blackhole=true",
                                   "+10.2.0.0/16 nexthop_group=fpm:unreachable blackhole=true"));
  hear(kit::route("10.1.0.0/16", {.nexthop = 66}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0 blackhole=false"));
}

TEST_F(RouteBookTest, WhatIsLeftOutIsCountedByItsReason) {
  hear(kit::nexthop(66, "", 0) + kit::route("10.1.0.0/16", {.nexthop = 66}) + kit::route("10.2.0.0/16", {.nexthop = 66, .table = 100}) +
       kit::route("10.3.0.0/16", {.protocol = 2}) + kit::no_route("10.4.0.0/16"));
  EXPECT_THAT(write(), IsEmpty());
  const BookFigures figures = book_->figures();
  for (const Skip why : {Skip::NoGateway, Skip::Table, Skip::Kernel, Skip::Unknown}) {
    EXPECT_EQ(figures.skipped[static_cast<std::size_t>(why)], 1U) << to_string(why);
  }
}

TEST_F(RouteBookTest, WhatIsLeftOutOfARouteIsCounted) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66, .mtu = 1400}));
  RouteChange route{.protocol = 186, .table = 254, .prefix = kit::prefix("10.2.0.0/16"), .hops = {}};
  for (const bool encapsulated : {false, true}) {
    route.hops.push_back(
        {.device = encapsulated ? 5U : 3U, .has_gateway = true, .encapsulated = encapsulated, .gateway = kit::address("10.0.0.3")});
  }
  book_->apply(route);
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0", "+10.2.0.0/16 nexthop_group=fpm:10.0.0.3@v0"));
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Metrics)], 1U);
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Encapsulated)], 1U);
}

TEST_F(RouteBookTest, OnlinkAndLargeWeightsAreInTheRowOfTheGroup) {
  hear(kit::nexthop(66, "169.254.0.1", 3, true) + kit::nexthop(67, "10.0.1.2", 5) + kit::group(72, {{66, 300}, {67, 900}}) +
       kit::route("10.1.0.0/16", {.nexthop = 72}) + kit::route("10.2.0.0/16", {.nexthop = 66}));
  write();
  EXPECT_THAT(
      write_groups(),
      testing::UnorderedElementsAre(
          "+fpm:10.0.1.2@v1*900+169.254.0.1@v0*300/onlink nexthop=10.0.1.2,169.254.0.1 ifname=v1,v0 weight=900,300 onlink=false,true",
          "+fpm:169.254.0.1@v0/onlink nexthop=169.254.0.1 ifname=v0 onlink=true"));
  hear(kit::route("10.2.0.0/16", {.via = {"169.254.0.1", 3}}));
  EXPECT_THAT(write(), ElementsAre("+10.2.0.0/16 nexthop_group=fpm:169.254.0.1@v0")) << "the same gateway in a subnet";
}

/// Goal: the preferred source is in the row, and a change of it alone is one.
TEST_F(RouteBookTest, APreferredSourceIsAFieldOfTheRow) {
  const auto route = [](std::string_view source) { return kit::route("10.1.0.0/16", {.nexthop = 66, .source = std::string{source}}); };
  hear(kit::nexthop(66, "10.0.0.2", 3) + route("10.1.0.32"));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0 prefsrc=10.1.0.32"));
  hear(route("10.1.0.32"));
  EXPECT_THAT(write(), IsEmpty());
  hear(route("10.1.0.33"));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0 prefsrc=10.1.0.33"));
  hear(route(""));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:10.0.0.2@v0 prefsrc="))
      << "a store may keep fields that are not written";
  hear(kit::nexthop(67, "10.0.1.2", 5) + kit::route("10.1.0.0/16", {.nexthop = 67}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 prefsrc= nexthop_group=fpm:10.0.1.2@v1")) << "as this one does";
}

TEST_F(RouteBookTest, APreferredSourceOfAnEarlierRunIsAdopted) {
  const std::string with = kit::route("10.1.0.0/16", {.nexthop = 66, .source = "10.1.0.32"});
  const std::string other = kit::route("10.2.0.0/16", {.nexthop = 66, .source = "10.1.0.33"});
  hear(kit::nexthop(66, "10.0.0.2", 3) + with + other);
  write();
  make();  // Another process.
  bool adopted = false;
  const RowReader reader{*store_, *book_, [&](const Status& status) { adopted = status.ok(); }};
  EXPECT_TRUE(world_.run_until(
      scheduler_, [&] { return adopted; }, 10s));
  book_->begin_session();
  hear(kit::nexthop(66, "10.0.0.2", 3) + with + kit::route("10.2.0.0/16", {.nexthop = 66}));
  EXPECT_THAT(write(), ElementsAre("+10.2.0.0/16 nexthop_group=fpm:10.0.0.2@v0 prefsrc="));
}

TEST_F(RouteBookTest, SourcesBeyondTheLimitAreLeftOutAndSentAgain) {
  const auto route = [](std::size_t i, std::string_view source) {
    return kit::route("10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24",
                      {.nexthop = 66, .source = std::string{source}});
  };
  const auto source = [](std::size_t i) { return "192.0." + std::to_string((i + 1) / 256) + "." + std::to_string((i + 1) % 256); };
  hear(kit::nexthop(66, "10.0.0.2", 3));
  for (std::size_t i = 0; i <= limits::kFpmSources; ++i) hear(route(i, source(i)));
  write();
  EXPECT_THAT(rows_, Contains(Pair("10.0.254.0/24", "nexthop_group=fpm:10.0.0.2@v0 prefsrc=192.0.0.255")));
  EXPECT_THAT(rows_, Contains(Pair("10.0.255.0/24", "nexthop_group=fpm:10.0.0.2@v0")));
  EXPECT_EQ(book_->figures().left_out, 1U);
  EXPECT_FALSE(book_->wants_resend());
  for (std::size_t i = 0; i < 20; ++i) hear(route(i, ""));
  write();
  EXPECT_TRUE(book_->wants_resend());
  book_->begin_session();
  hear(kit::nexthop(66, "10.0.0.2", 3) + route(limits::kFpmSources, source(limits::kFpmSources)));
  write();
  EXPECT_THAT(rows_, Contains(Pair("10.0.255.0/24", "nexthop_group=fpm:10.0.0.2@v0 prefsrc=192.0.1.0")));
}

TEST_F(RouteBookTest, ANextHopWithoutAGatewayIsTheDevice) {
  hear(kit::nexthop(66, "", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::group(72, {{66, 1}, {67, 1}}) +
       kit::route("10.1.0.0/16", {.nexthop = 66}) + kit::route("10.2.0.0/16", {.nexthop = 72}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:0.0.0.0@v0", "+10.2.0.0/16 nexthop_group=fpm:0.0.0.0@v0+10.0.1.2@v1"));
}

TEST_F(RouteBookTest, AConnectedRouteReplacesOneOfAnotherProtocol) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66}));
  write();
  hear(kit::route("10.1.0.0/16", {.protocol = 2}));
  EXPECT_THAT(write(), ElementsAre("-10.1.0.0/16"));
}

TEST_F(RouteBookTest, AnEarlierRunsRowsAreAdoptedAndOthersAreNot) {
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66}) + kit::route("10.2.0.0/16", {.nexthop = 66}) +
       kit::route("10.3.0.0/16", {.type = RTN_BLACKHOLE}));
  write();
  write_groups();
  EXPECT_TRUE(store_->write("ROUTE_TABLE", Change::set("10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "v0"}})).ok());
  write();
  make();  // Another process.
  bool adopted = false;
  const RowReader reader{*store_, *book_, [&](const Status& status) { adopted = status.ok(); }};
  EXPECT_TRUE(world_.run_until(
      scheduler_, [&] { return adopted; }, 10s));
  book_->begin_session();
  EXPECT_EQ(book_->figures().stale, 3U);
  hear(kit::nexthop(5, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 5}) + kit::route("10.3.0.0/16", {.type = RTN_BLACKHOLE}));
  EXPECT_THAT(write(), IsEmpty());
  book_->sweep(false);
  EXPECT_THAT(write(), ElementsAre("-10.2.0.0/16"));
  EXPECT_THAT(write_groups(), IsEmpty());
}

TEST_F(RouteBookTest, APrefixBeyondTheLimitIsLeftOutAndCounted) {
  make({.routes_max = 2});
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66}) + kit::route("10.2.0.0/16", {.nexthop = 66}) +
       kit::route("10.3.0.0/16", {.nexthop = 66}) + kit::route("10.2.0.0/16", {.nexthop = 66}));
  EXPECT_EQ(write().size(), 2U);
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Full)], 1U);
}

TEST_F(RouteBookTest, ANextHopBeyondTheLimitIsLeftOutAndCounted) {
  make({.nexthops_max = 1});
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::route("10.1.0.0/16", {.nexthop = 67}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:nexthop-67"));
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Full)], 1U);
}

TEST_F(RouteBookTest, CyclingThroughMoreSetsThanTheLimitRefusesNone) {
  make({.nexthops_max = 3});
  for (int round = 0; round < 40; ++round) {
    for (int route = 0; route < 3; ++route) hear(stating(route, 3 * round + route));
    write();
  }
  EXPECT_EQ(full(), 0U);
  EXPECT_EQ(book_->figures().hop_lists, 3U);
  write_groups();
  EXPECT_THAT(group_rows_, SizeIs(3));
  EXPECT_THAT(rows_, Contains(Pair("10.2.0.0/16", "nexthop_group=fpm:10.0.0.120@v0")));
}

TEST_F(RouteBookTest, ARouteBeyondTheLimitOfSetsWaitsAndIsTakenUp) {
  make({.nexthops_max = 2});
  hear(stating(1, 1) + stating(2, 1) + stating(3, 2) + stating(4, 2));
  write();
  hear(stating(2, 3) + stating(4, 3));
  EXPECT_THAT(write(), ElementsAre("+10.2.0.0/16 nexthop_group=fpm:limit", "+10.4.0.0/16 nexthop_group=fpm:limit"));
  EXPECT_EQ(book_->figures().without_room, 2U);
  EXPECT_EQ(full(), 2U);
  hear(kit::no_route("10.3.0.0/16"));
  EXPECT_THAT(write(),
              ElementsAre("-10.3.0.0/16", "+10.2.0.0/16 nexthop_group=fpm:10.0.0.4@v0", "+10.4.0.0/16 nexthop_group=fpm:10.0.0.4@v0"));
  EXPECT_EQ(book_->figures().without_room, 0U);
  EXPECT_EQ(book_->figures().waiting, 0U);
}

TEST_F(RouteBookTest, ARouteThatWaitsForRoomCanChangeItsMind) {
  make({.nexthops_max = 1});
  hear(stating(1, 1) + stating(2, 2) + stating(3, 3));
  write();
  EXPECT_EQ(book_->figures().without_room, 2U);
  hear(stating(2, 1) + kit::no_route("10.3.0.0/16"));
  write();
  EXPECT_EQ(book_->figures().without_room, 0U);
  EXPECT_THAT(rows_,
              ElementsAre(Pair("10.1.0.0/16", "nexthop_group=fpm:10.0.0.2@v0"), Pair("10.2.0.0/16", "nexthop_group=fpm:10.0.0.2@v0")));
}

TEST_F(RouteBookTest, MembersBeyondTheLimitAreNotHeldAndTheRouteWaits) {
  make({.members_max = 3});
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::group(72, {{66, 1}, {67, 1}}));
  hear(kit::route("10.1.0.0/16", {.nexthop = 72}) + stating(2, 1) + stating(3, 2));
  write();
  EXPECT_THAT(rows_, Contains(Pair("10.3.0.0/16", "nexthop_group=fpm:limit")));
  EXPECT_EQ(book_->figures().members, 3U);
  EXPECT_EQ(book_->figures().left_out, 1U);
  hear(kit::group(72, {{66, 1}, {67, 1}, {66, 2}}));
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:nexthop-72")) << "a group that grew and finds no room";
  hear(stating(3, 2) + kit::group(72, {{66, 1}}));
  write();
  EXPECT_THAT(rows_, ElementsAre(Pair("10.1.0.0/16", "nexthop_group=fpm:10.0.0.2@v0"), Pair("10.2.0.0/16", "nexthop_group=fpm:10.0.0.2@v0"),
                                 Pair("10.3.0.0/16", "nexthop_group=fpm:10.0.0.3@v0")));
  EXPECT_EQ(book_->figures().without_room, 0U);
  book_->begin_session();
  EXPECT_EQ(book_->figures().members, 0U);
  EXPECT_EQ(book_->figures().left_out, 0U);
}

TEST_F(RouteBookTest, ARouteWithTooManyNextHopsWaits) {
  hear(stating(1, 1) + kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.2.0.0/16", {.nexthop = 66}));
  write();
  RouteChange route{.protocol = 186, .table = 254, .nexthop = 0, .too_many = true, .prefix = kit::prefix("10.1.0.0/16"), .hops = {}};
  book_->apply(route);
  NexthopChange group{.too_many = true, .id = 66, .hop = {}, .members = {}};
  book_->apply(group);
  EXPECT_THAT(write(), ElementsAre("+10.1.0.0/16 nexthop_group=fpm:too-many-members", "+10.2.0.0/16 nexthop_group=fpm:too-many-members"));
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Members)], 2U);
  hear(stating(1, 1) + kit::nexthop(66, "10.0.0.2", 3));
  write();
  EXPECT_EQ(book_->figures().waiting, 0U);
}

/// Goal: the counts of references of lists. Method: random changes, sessions, sweeps and deletions of a few routes with a few lists of
/// hops, beside a model that knows which list each route of the session has.
TEST_F(RouteBookTest, ListsOfHopsAreCountedAsAModelCountsThem) {
  constexpr std::size_t kMost = 4;
  make({.nexthops_max = kMost});
  hear(kit::nexthop(66, "10.0.9.2", 5));
  std::mt19937 random{7};
  std::map<int, int> lists;  // By route; those of this session.
  std::set<int> all;
  const int rounds = plain_or_sanitized(4000, 400);
  for (int round = 0; round < rounds; ++round) {
    const int route = static_cast<int>(random() % 9);
    const int list = static_cast<int>(random() % 7);
    const auto what = static_cast<unsigned>(random() % 100);
    if (what < 60) {
      hear(stating(route, list));
      lists[route] = list;
      all.insert(route);
    } else if (what < 85) {
      hear(what < 75 ? kit::no_route(name_of(route)) : kit::route(name_of(route), {.nexthop = 66}));
      lists.erase(route);
      what < 75 ? all.erase(route) : all.insert(route).second;
    } else if (what < 98) {
      write();
    } else {
      book_->begin_session();
      lists.clear();
      hear(kit::nexthop(66, "10.0.9.2", 5));
    }
    std::set<int> distinct;
    for (const auto& [of, known] : lists) distinct.insert(known);
    ASSERT_EQ(book_->figures().hop_lists, distinct.size()) << round;
    ASSERT_EQ(book_->figures().members, distinct.size()) << round;
    if (what < 85 || what >= 98) continue;
    std::size_t waiting = 0;
    for (const auto& [of, known] : lists) {
      const std::string row = rows_.at(name_of(of));
      const bool waits = row == "nexthop_group=fpm:limit";
      waiting += waits ? 1 : 0;
      ASSERT_TRUE(waits || row == "nexthop_group=" + group_of(known)) << round << " " << row;
    }
    ASSERT_EQ(book_->figures().without_room, waiting) << round;
    ASSERT_EQ(waiting > 0, distinct.size() > kMost) << round;
  }
  hear(kit::no_nexthop(66));
  for (const int route : all) hear(kit::no_route(name_of(route)));
  write();
  write_groups();
  EXPECT_THAT(rows_, IsEmpty());
  EXPECT_THAT(group_rows_, IsEmpty());
  EXPECT_EQ(book_->figures().hop_lists + book_->figures().members + book_->figures().routes + book_->figures().groups, 0U);
}

TEST_F(RouteBookTest, RowsThatTheStoreLostAreWrittenAgainWithTheirGroups) {
  const std::string all = kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66}) +
                          kit::route("10.2.0.0/16", {.type = RTN_BLACKHOLE}) + kit::route("10.3.0.0/16", {.nexthop = 99});
  hear(all);
  write();
  write_groups();
  book_->rows_were_lost();
  EXPECT_THAT(write(), SizeIs(3));
  EXPECT_THAT(write_groups(), ElementsAre("+fpm:10.0.0.2@v0 nexthop=10.0.0.2 ifname=v0"));
  EXPECT_EQ(book_->figures().groups, 1U);
  hear(all);
  EXPECT_THAT(write(), IsEmpty());
  // A group that is not used any more is deleted also if its row is lost: its consumer has it.
  hear(kit::no_route("10.1.0.0/16"));
  book_->rows_were_lost();
  write();
  hear(kit::no_nexthop(66));
  write();
  EXPECT_THAT(write_groups(), ElementsAre("-fpm:10.0.0.2@v0"));
  EXPECT_EQ(book_->figures().groups, 0U);
}

TEST_F(RouteBookTest, AFullTableDelaysARowAndLosesNone) {
  auto small = make_memory_store(scheduler_);
  EXPECT_TRUE(small->declare({.name = "ROUTE_TABLE", .kind = TableKind::Staged, .rows_max = 1}).ok());
  EXPECT_TRUE(small->declare({.name = "NEXTHOP_GROUP_TABLE"}).ok());
  book_ = std::make_unique<RouteBook>(*small, BookOptions{});
  book_->begin_session();
  hear(kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE}) + kit::route("10.2.0.0/16", {.type = RTN_BLACKHOLE}));
  EXPECT_EQ(book_->write(10).refused.code(), StatusCode::ResourceExhausted);
  EXPECT_TRUE(book_->has_unwritten());
  EXPECT_EQ(book_->figures().written, 1U);
}

TEST_F(RouteBookTest, TheCapturedResendLeavesNoDanglingGroupAndSweepsTheDeletedRoute) {
  hear_captured("frr84_nhg_session");
  write();
  const std::size_t before = book_->figures().routes;
  book_->begin_session();
  hear_captured("frr84_nhg_reconnect_resend");
  EXPECT_THAT(write(), ElementsAre("+10.11.0.0/16 nexthop_group=fpm:10.254.0.2@v0")) << "a route that was added while nobody listened";
  EXPECT_EQ(book_->figures().stale, 1U) << "10.9.0.0/16 was deleted meanwhile";
  book_->sweep(false);
  write();
  write_groups();
  EXPECT_EQ(book_->figures().routes, before) << "one more and one fewer";
  EXPECT_EQ(book_->figures().waiting, 0U);
  for (const auto& [key, row] : rows_) {
    const std::string group =
        row.substr(row.find('=') + 1, row.find(' ') == std::string::npos ? row.npos : row.find(' ') - row.find('=') - 1);
    EXPECT_TRUE(group == "fpm:blackhole" || group == "fpm:unreachable" || group_rows_.contains(group)) << key << " " << row;
  }
}

/// Bytes of zebra 8.4.4: one table in rtm_table, and one beyond 255 in RTA_TABLE.
TEST_F(RouteBookTest, TheCapturedTablesAreRoutesOfTheirVrfs) {
  vrfs_ = {{100, "Vrf1"}, {1000, "VrfRed"}};
  hear(kit::nexthop(66, "10.0.0.2", 3));
  hear_captured("frr84_nhg_tables");
  EXPECT_THAT(write(),
              ElementsAre("+Vrf1:100.64.0.0/24 nexthop_group=fpm:10.0.0.2@v0", "+VrfRed:100.65.0.0/24 nexthop_group=fpm:10.0.0.2@v0"));
  EXPECT_THAT(write_groups(), SizeIs(1)) << "next hops are shared";
  EXPECT_EQ(book_->figures().vrfs, 2U);
  EXPECT_THAT(book_->figures().unknown_tables, IsEmpty());
}

TEST_F(RouteBookTest, TheCapturedTablesAreSkippedAndNamedWhereNoVrfHasThem) {
  hear_captured("frr84_nhg_tables");
  hear_captured("frr84_nhg_tables");
  EXPECT_THAT(write(), IsEmpty());
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Table)], 4U);
  EXPECT_THAT(book_->figures().unknown_tables, ElementsAre(Pair(100, 2), Pair(1000, 2)));
  EXPECT_FALSE(book_->vrfs_have_changed());
  vrfs_[1000] = "VrfRed";
  EXPECT_TRUE(book_->vrfs_have_changed());
}

TEST_F(RouteBookTest, APrefixIsAnotherRouteInEachVrf) {
  vrfs_ = {{1001, "Vrf1"}, {1002, "Vrf2"}};
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) + kit::route("10.1.0.0/16", {.nexthop = 66}) +
       kit::route("10.1.0.0/16", {.nexthop = 67, .table = 1001}) + kit::route("fc00::/16", {.type = RTN_BLACKHOLE, .table = 1002}));
  write();
  EXPECT_THAT(rows_,
              ElementsAre(Pair("10.1.0.0/16", "nexthop_group=fpm:10.0.0.2@v0"), Pair("Vrf1:10.1.0.0/16", "nexthop_group=fpm:10.0.1.2@v1"),
                          Pair("Vrf2:fc00::/16", "nexthop_group=fpm:blackhole blackhole=true")));
  hear(kit::no_route("10.1.0.0/16", 1001) + kit::no_route("10.1.0.0/16", 1002));
  EXPECT_THAT(write(), ElementsAre("-Vrf1:10.1.0.0/16"));
  EXPECT_EQ(book_->figures().skipped[static_cast<std::size_t>(Skip::Unknown)], 1U);
  // A connected route of the VRF ends the route of the VRF only.
  hear(kit::route("fc00::/16", {.protocol = 2, .table = 1002}) + kit::route("10.1.0.0/16", {.protocol = 2, .table = 1002}));
  EXPECT_THAT(write(), ElementsAre("-Vrf2:fc00::/16"));
  EXPECT_THAT(rows_, ElementsAre(Pair("10.1.0.0/16", "nexthop_group=fpm:10.0.0.2@v0")));
}

/// A route may leave its VRF: its next hop is on a device of another one, or of none.
TEST_F(RouteBookTest, ANextHopThatChangesMovesTheRoutesOfAllVrfs) {
  vrfs_ = {{1001, "Vrf1"}};
  hear(kit::group(72, {{66, 1}, {67, 1}}) + kit::nexthop(66, "10.0.0.2", 3) + kit::nexthop(67, "10.0.1.2", 5) +
       kit::route("10.1.0.0/16", {.nexthop = 72}) + kit::route("10.1.0.0/16", {.nexthop = 72, .table = 1001}));
  write();
  EXPECT_EQ(rows_["10.1.0.0/16"], rows_["Vrf1:10.1.0.0/16"]);
  hear(kit::nexthop(67, "10.0.2.2", 7));
  EXPECT_THAT(write(), SizeIs(2));
  EXPECT_THAT(rows_["Vrf1:10.1.0.0/16"], "nexthop_group=fpm:10.0.0.2@v0+10.0.2.2@v2");
  write_groups();
  EXPECT_THAT(group_rows_, SizeIs(1));
}

TEST_F(RouteBookTest, AProtocolThatIsSilentInAVrfKeepsItsRoutesThere) {
  vrfs_ = {{1001, "Vrf1"}};
  const std::string all = kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE}) + kit::route("10.2.0.0/16", {.type = RTN_BLACKHOLE}) +
                          kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE, .table = 1001}) +
                          kit::route("10.2.0.0/16", {.type = RTN_BLACKHOLE, .table = 1001});
  hear(all);
  write();
  book_->begin_session();
  hear(kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE}));
  EXPECT_EQ(book_->figures().stale, 3U);
  EXPECT_EQ(book_->figures().silent, 2U);
  book_->sweep(false);
  EXPECT_THAT(write(), ElementsAre("-10.2.0.0/16"));
  hear(kit::route("10.2.0.0/16", {.type = RTN_BLACKHOLE, .table = 1001}));
  book_->sweep(false);
  EXPECT_THAT(write(), ElementsAre("-Vrf1:10.1.0.0/16"));
  book_->begin_session();
  book_->sweep(true);
  EXPECT_THAT(write(), SizeIs(2));
  EXPECT_EQ(book_->figures().routes + book_->figures().vrfs, 0U);
}

TEST_F(RouteBookTest, RowsOfVrfsOfAnEarlierRunAreAdoptedBeforeTheirTablesAreKnown) {
  const Field mine[] = {{"nexthop_group", "fpm:10.0.0.2@v0"}, {"protocol", "bgp"}};
  const Field of_others[] = {{"nexthop_group", "mine"}};
  const Field group[] = {{"nexthop", "10.0.0.2"}, {"ifname", "v0"}};
  book_->read_group(Record::make("fpm:10.0.0.2@v0", group));
  book_->read_route(Record::make("Vrf1:10.1.0.0/16", mine));
  book_->read_route(Record::make("Vrf1:fc00::/16", mine));
  book_->read_route(Record::make("Vrf1:10.3.0.0/16", of_others));
  book_->read_route(Record::make("Vrf1", mine));
  book_->read_route(Record::make("Vrf1:none", mine));
  EXPECT_EQ(book_->figures().stale, 2U);
  book_->begin_session();
  vrfs_ = {{1001, "Vrf1"}};
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66, .table = 1001}));
  EXPECT_THAT(write(), IsEmpty()) << "the row is there";
  EXPECT_EQ(book_->figures().unchanged, 1U);
  book_->sweep(false);
  EXPECT_THAT(write(), ElementsAre("-Vrf1:fc00::/16"));
}

/// On a Redis the writer had its turn between the pages: it deleted the groups, and the routes got groups of other names at each restart.
TEST_F(RouteBookTest, AWriteBetweenThePagesOfAReadingDeletesNoGroupOfAnEarlierRun) {
  const Field route[] = {{"nexthop_group", "fpm:10.0.0.2@v0"}, {"protocol", "bgp"}};
  const Field group[] = {{"nexthop", "10.0.0.2"}, {"ifname", "v0"}};
  book_->begin_reading();
  book_->read_group(Record::make("fpm:10.0.0.2@v0", group));
  EXPECT_THAT(write(), IsEmpty());
  book_->read_route(Record::make("10.1.0.0/16", route));
  book_->end_reading();
  book_->begin_session();
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66, .protocol = 186}));
  EXPECT_THAT(write(), IsEmpty());
  EXPECT_THAT(write_groups(), IsEmpty());
  EXPECT_EQ(book_->figures().unchanged, 1U);
}

TEST_F(RouteBookTest, AGroupOfAnEarlierRunKeepsALongerNameThatNothingNeedsAnyMore) {
  const Field route[] = {{"nexthop_group", "fpm:10.0.0.2@v0''"}, {"protocol", "bgp"}};
  const Field group[] = {{"nexthop", "10.0.0.2"}, {"ifname", "v0"}};
  book_->begin_reading();
  book_->read_group(Record::make("fpm:10.0.0.2@v0''", group));
  book_->read_route(Record::make("10.1.0.0/16", route));
  book_->end_reading();
  book_->begin_session();
  hear(kit::nexthop(66, "10.0.0.2", 3) + kit::route("10.1.0.0/16", {.nexthop = 66, .protocol = 186}));
  EXPECT_THAT(write(), IsEmpty());
  EXPECT_THAT(write_groups(), IsEmpty());
}

/// Goal: the rows are those of the newest routes, and what a session does not name is gone. Method: random changes in five tables, of which
/// one has no VRF, over sessions with sweeps, beside a model.
TEST_F(RouteBookTest, RowsOfManyVrfsAreAsAModelHasThem) {
  vrfs_ = {{1001, "Vrf1"}, {1002, "Vrf2"}, {255, "Vrf3"}};
  constexpr std::uint32_t kTables[] = {254, 1001, 1002, 255, 77};
  std::mt19937 random{11};
  std::map<std::string, std::string> model;
  std::set<std::string> named;
  const int rounds = plain_or_sanitized(3000, 300);
  for (int round = 0; round < rounds; ++round) {
    const std::uint32_t table = kTables[random() % 5];
    const std::string prefix = name_of(static_cast<int>(random() % 5));
    const std::string key = table == 254 ? prefix : vrfs_.contains(table) ? vrfs_[table] + ":" + prefix : "";
    const auto what = static_cast<unsigned>(random() % 100);
    if (what < 55) {
      hear(kit::route(prefix, {.type = what % 2 == 0 ? RTN_BLACKHOLE : RTN_UNREACHABLE, .table = table}));
      if (!key.empty()) model[key] = what % 2 == 0 ? "fpm:blackhole" : "fpm:unreachable";
      named.insert(key);
    } else if (what < 80) {
      hear(kit::no_route(prefix, table));
      model.erase(key);
    } else if (what < 97) {
      write();
    } else {
      if (what == 98) {
        book_->sweep(true);
        std::erase_if(model, [&](const auto& row) { return !named.contains(row.first); });
      }
      write();
      book_->begin_session();
      named.clear();
    }
    if (what < 80) continue;
    ASSERT_EQ(rows_.size(), model.size()) << round;
    for (const auto& [row, group] : model) ASSERT_THAT(rows_[row], testing::StartsWith("nexthop_group=" + group)) << round << " " << row;
  }
  EXPECT_THAT(vrfs_, SizeIs(3));
}

/// Goal: without other writers a comparison changes nothing, whatever the book writes while its pages are on the way. Method: random
/// changes and comparisons whose pages arrive some changes later, beside a model.
TEST_F(RouteBookTest, RowsAreAsAModelHasThemWhilePagesAreOnTheWay) {
  store_->holds = true;
  std::mt19937 random{12};
  std::map<std::string, std::string> model;
  hear(kit::nexthop(1, "10.0.0.1", 3) + kit::nexthop(2, "10.0.0.2", 3));
  std::unique_ptr<RowReader> reader;
  bool reads = false;
  std::size_t comparisons = 0;
  const auto done = [&](const Status& status) {
    EXPECT_TRUE(status.ok());
    reads = false;
    ++comparisons;
  };
  const int rounds = plain_or_sanitized(20'000, 2'000);
  for (int round = 0; round < rounds; ++round) {
    const std::string prefix = name_of(static_cast<int>(random() % 5));
    const auto what = static_cast<unsigned>(random() % 100);
    if (what < 30) {
      const std::uint32_t hop = 1 + what % 2;
      hear(kit::route(prefix, {.nexthop = hop}));
      model[prefix] = "nexthop_group=fpm:10.0.0." + std::to_string(hop) + "@v0";
    } else if (what < 60) {
      hear(kit::no_route(prefix));
      model.erase(prefix);
    } else if (what < 80) {
      write();
      ASSERT_EQ(rows_, model) << round << ", after " << comparisons << " comparisons";
    } else if (!store_->late.empty()) {
      store_->deliver();
    } else if (reads) {
      scheduler_.turn();
    } else {
      reads = true;
      reader = std::make_unique<RowReader>(*store_, *book_, done);
    }
  }
  EXPECT_GT(comparisons, 100U);
  EXPECT_EQ(book_->figures().repaired, 0U);
  EXPECT_EQ(book_->figures().stale, 0U);
}

TEST_F(RouteBookTest, TheCapturedReplacementDeletesNothing) {
  hear_captured("frr103_bgp_update_delete");
  EXPECT_FALSE(write().empty());
  hear_captured("frr84_nonhg_session");
  write();
  EXPECT_EQ(book_->figures().waiting, 0U);
}

}  // namespace
}  // namespace rondo::fpm
