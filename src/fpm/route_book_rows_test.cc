// Rows of FPM that others change, rows of others that FPM spares, writes that the store refuses after it accepted them, and pages of rows
// that arrive late: with a server on a simulated store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <optional>

#include "fpm/fpm_kit.h"
#include "fpm/server.h"
#include "orch/late_pages.h"
#include "rondo/sim/world.h"
#include "sim/sim_store.h"
#include "sim/test_source.h"
#include "sim/world_reactor.h"

namespace rondo::fpm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kRoutes = "ROUTE_TABLE";
constexpr const char* kGroups = "NEXTHOP_GROUP_TABLE";
constexpr const char* kGroup = "fpm:10.0.0.2@v3";

class FpmRows : public testing::Test {
 protected:
  FpmRows() {
    for (const char* const table : {kRoutes, kGroups}) {
      EXPECT_TRUE(store_.declare({.name = table}).ok());
      tables_[table] = std::move(store_.subscribe(table).value());
    }
    start();
  }
  /// Another process, with the same store.
  void start(std::size_t other_rows_max = 100) {
    open(other_rows_max);
    EXPECT_TRUE(becomes([&] { return adopted_.has_value(); }));
    EXPECT_TRUE(adopted_->ok());
  }
  void open(std::size_t other_rows_max = 100) {
    server_.reset();
    ServerOptions options;
    options.address.clear();
    options.quiet = 200ms;
    options.silence = 1s;
    options.book.device_name = [](std::uint32_t device) { return "v" + std::to_string(device); };
    options.book.other_rows_max = other_rows_max;
    server_ = std::move(Server::open(scheduler_, store_, std::move(options)).value());
    adopt();
  }
  void adopt() {
    adopted_.reset();
    server_->adopt([this](const Status& status) { adopted_ = status; });
  }
  /// Goes on until the table's page is on its way.
  void hold_page_of(const char* table) {
    store_.holds = true;
    EXPECT_TRUE(becomes(
        [&] {
          if (store_.late != table) store_.deliver();
          return store_.late == table;
        },
        61s));
  }
  void deliver_pages() {
    store_.holds = false;
    store_.deliver();
  }
  /// Another process that reads the rows: the table's page is on its way.
  void start_until_page_of(const char* table) {
    settle();
    store_.holds = true;
    open();
    hold_page_of(table);
  }
  void connect() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    zebra_ = UniqueFd{ends[0]};
    server_end_ = ends[1];
    server_->connected(UniqueFd{ends[1]}, "zebra");
  }
  void send(std::string_view message) {
    const std::string bytes = kit::frame(message);
    EXPECT_EQ(::send(zebra_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    sim::reactor_of(world_).make_ready(server_end_);
  }
  static std::string one_route(std::string_view prefix) { return kit::nexthop(66, "10.0.0.2", 3) + kit::route(prefix, {.nexthop = 66}); }
  /// zebra has one route, and its resend is over.
  void settle() {
    connect();
    send(one_route("10.1.0.0/16"));
    EXPECT_TRUE(becomes([this] { return server_->has_resynced() && figures().comparisons > 0; }));
    EXPECT_THAT(routes(), ElementsAre(Pair("10.1.0.0/16", clean())));
  }
  /// A process that has begun hears zebra's resend, with a second route.
  void settle_again() {
    connect();
    send(one_route("10.1.0.0/16") + kit::route("10.2.0.0/16", {.nexthop = 66}));
    EXPECT_TRUE(becomes([this] { return server_->has_resynced() && figures().comparisons > 0; }));
  }
  static std::string clean() { return std::string{"nexthop_group="} + kGroup + " protocol=bgp"; }

  /// The consumers of the tables take what is there, and tell the server of it if 'told_'.
  void consume() {
    for (auto& [table, subscription] : tables_) {
      std::vector<Change> changes;
      subscription->take(SIZE_MAX, changes);
      for (const Change& change : changes) {
        std::string& row = rows_[table][std::string{change.key()}];
        row.clear();
        for (const Field field : change.fields()) row.append(row.empty() ? "" : " ").append(field.name).append("=").append(field.value);
        if (change.op() == ChangeOp::Delete) rows_[table].erase(std::string{change.key()});
        if (late_)
          untold_.emplace_back(table, change);
        else if (told_)
          tell(table, change);
      }
    }
  }
  void tell(const std::string& table, const Change& change) {
    table == kRoutes ? server_->route_taken(change) : server_->group_taken(change);
  }
  /// The consumers tell the server what they have taken while 'late_' was set, one change at a time.
  void tell_late() {
    late_ = false;
    for (const auto& [table, change] : untold_) {
      tell(table, change);
      run_for(10ms);
    }
    untold_.clear();
  }
  /// zebra withdraws the route and announces it again before the consumer has taken the Delete.
  void flap(const std::string& prefix) {
    late_ = true;
    send(kit::no_route(prefix));
    EXPECT_TRUE(becomes([&] { return !routes().contains(prefix); }, 1s));
    send(kit::route(prefix, {.nexthop = 66}));
    EXPECT_TRUE(becomes([&] { return routes().contains(prefix); }, 1s));
    tell_late();
    run_for(1s);
  }
  template <class Done>
  bool becomes(const Done& done, Duration within = 20s) {
    return world_.run_until(
        scheduler_,
        [&] {
          consume();
          return done();
        },
        within);
  }
  void run_for(Duration time) {
    becomes([] { return false; }, time);
  }
  void user(const Change& change, const char* table = kRoutes) { EXPECT_TRUE(sim_.server().write(table, change).ok()); }
  /// True if the route's row comes to be as FPM writes it.
  bool becomes_clean(Duration within) {
    return becomes([this] { return routes()["10.1.0.0/16"] == clean() && groups().contains(kGroup); }, within);
  }
  std::map<std::string, std::string>& routes() { return rows_[kRoutes]; }
  std::map<std::string, std::string>& groups() { return rows_[kGroups]; }
  ServerFigures figures() const { return server_->figures(); }

  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), test::policy()};
  LatePages store_{std::make_unique<sim::SimStore>(scheduler_)};
  sim::SimStore& sim_ = static_cast<sim::SimStore&>(store_.inner());
  std::map<std::string, std::unique_ptr<Subscription>> tables_;
  std::map<std::string, std::map<std::string, std::string>> rows_;
  std::unique_ptr<Server> server_;
  std::optional<Status> adopted_;
  UniqueFd zebra_;
  int server_end_ = -1;
  bool told_ = true;
  bool late_ = false;
  std::vector<std::pair<std::string, Change>> untold_;
};

const Change kUsersRow = Change::set("10.2.0.0/16", {{"nexthop", "10.0.9.9"}, {"ifname", "v9"}});

TEST_F(FpmRows, ADeletedRowComesBack) {
  settle();
  user(Change::remove("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return !routes().contains("10.1.0.0/16"); }, 1s));
  EXPECT_TRUE(becomes_clean(1s));
  EXPECT_EQ(figures().book.repaired, 1U);
  EXPECT_EQ(figures().book.last_repaired, "10.1.0.0/16");
}

TEST_F(FpmRows, AnOwnDeleteThatArrivesLateIsNotOneOfAnotherProgram) {
  settle();
  for (int i = 0; i < 3; ++i) flap("10.1.0.0/16");
  EXPECT_EQ(figures().book.repaired, 0U);
  EXPECT_TRUE(becomes_clean(1s));
  user(Change::remove("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return !routes().contains("10.1.0.0/16"); }, 1s));
  EXPECT_TRUE(becomes_clean(1s)) << "one of another program";
  EXPECT_EQ(figures().book.repaired, 1U);
}

TEST_F(FpmRows, FieldsThatAUserAddsGo) {
  settle();
  for (const Change& change :
       {Change::set("10.1.0.0/16", {{"blackhole", "true"}}), Change::set("10.1.0.0/16", {{"nexthop", "10.0.0.9"}, {"ifname", "v9"}}),
        Change::set("10.1.0.0/16", {{"nexthop_group", "mine"}})}) {
    user(change);
    EXPECT_TRUE(becomes([this] { return routes()["10.1.0.0/16"] != clean(); }, 1s));
    EXPECT_TRUE(becomes_clean(1s));
  }
}

TEST_F(FpmRows, AGroupThatAUserDeletesOrChangesComesBack) {
  settle();
  user(Change::remove(kGroup), kGroups);
  EXPECT_TRUE(becomes([this] { return !groups().contains(kGroup); }, 1s));
  EXPECT_TRUE(becomes_clean(1s));
  user(Change::set(kGroup, {{"weight", "7"}}), kGroups);
  EXPECT_TRUE(becomes([this] { return groups()[kGroup] != "nexthop=10.0.0.2 ifname=v3"; }, 1s));
  EXPECT_TRUE(becomes([this] { return groups()[kGroup] == "nexthop=10.0.0.2 ifname=v3"; }, 1s));
}

TEST_F(FpmRows, AComparisonFindsWhatNobodyTold) {
  settle();
  told_ = false;
  user(Change::remove("10.1.0.0/16"));
  user(Change::remove(kGroup), kGroups);
  EXPECT_TRUE(becomes([this] { return routes().empty() && groups().empty(); }, 1s));
  EXPECT_TRUE(becomes_clean(61s)) << "60 s after the comparison before";
  user(Change::set("10.1.0.0/16", {{"blackhole", "true"}}));
  EXPECT_TRUE(becomes([this] { return routes()["10.1.0.0/16"] != clean(); }, 1s));
  EXPECT_TRUE(becomes_clean(61s));
}

TEST_F(FpmRows, AResendComparesTheRows) {
  settle();
  told_ = false;
  user(Change::set("10.1.0.0/16", {{"blackhole", "true"}}));
  user(Change::remove(kGroup), kGroups);
  EXPECT_TRUE(becomes([this] { return groups().empty(); }, 1s));
  connect();
  send(one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes_clean(2s));
}

TEST_F(FpmRows, AComparisonOfWhatIsAsItWasWrittenChangesNothing) {
  settle();
  const std::uint64_t before = figures().comparisons;
  EXPECT_TRUE(becomes([&] { return figures().comparisons == before + 3; }, 190s));
  EXPECT_EQ(figures().book.written, 1U);
  EXPECT_EQ(figures().book.repaired, 0U);
}

TEST_F(FpmRows, ARowOfAUserStaysWhenZebraAnnouncesAndWithdrawsItsPrefix) {
  settle();
  user(kUsersRow);
  run_for(1s);
  send(one_route("10.2.0.0/16"));
  run_for(1s);
  const std::string row = "nexthop=10.0.9.9 ifname=v9";
  EXPECT_EQ(routes()["10.2.0.0/16"], row);
  EXPECT_EQ(figures().book.conflicts, 1U);
  EXPECT_EQ(figures().book.conflict, "10.2.0.0/16");
  EXPECT_TRUE(server_->book().is_in_conflict("10.2.0.0/16"));
  EXPECT_FALSE(server_->book().is_in_conflict("10.1.0.0/16"));
  start();  // After a restart, the row is still the user's.
  settle_again();
  EXPECT_EQ(routes()["10.2.0.0/16"], row);
  EXPECT_EQ(figures().book.conflicts, 1U);
  send(kit::no_route("10.2.0.0/16"));
  run_for(1s);
  EXPECT_EQ(routes()["10.2.0.0/16"], row);
  EXPECT_EQ(figures().book.conflicts, 0U);
}

TEST_F(FpmRows, ZebrasRouteTakesThePlaceOfARowThatIsDeleted) {
  settle();
  for (const bool is_told : {true, false}) {
    user(kUsersRow);
    run_for(1s);
    send(one_route("10.2.0.0/16"));
    run_for(1s);
    EXPECT_EQ(figures().book.conflicts, 1U);
    told_ = is_told;
    user(Change::remove("10.2.0.0/16"));
    EXPECT_TRUE(becomes([this] { return routes()["10.2.0.0/16"] == clean(); }, is_told ? 1s : 61s));
    EXPECT_EQ(figures().book.conflicts + figures().book.other_rows, 0U);
    told_ = true;
    send(kit::no_route("10.2.0.0/16"));
    EXPECT_TRUE(becomes([this] { return !routes().contains("10.2.0.0/16"); }, 1s));
  }
}

TEST_F(FpmRows, RowsOfOthersBeyondTheLimitAreCounted) {
  for (int row = 0; row < 5; ++row) user(Change::set("10." + std::to_string(row) + ".0.0/16", {{"blackhole", "true"}}));
  start(3);
  EXPECT_EQ(figures().book.other_rows, 3U);
  EXPECT_EQ(figures().book.other_rows_unknown, 2U);
}

TEST_F(FpmRows, WritesThatTheStoreRefusesLaterAreRepeated) {
  settle();
  sim_.set_failure_chance(1);
  send(one_route("10.2.0.0/16") + kit::no_route("10.1.0.0/16") + kit::nexthop(67, "10.0.0.3", 3) +
       kit::route("10.3.0.0/16", {.nexthop = 67}));
  EXPECT_TRUE(becomes([this] { return figures().refuses; }, 2s));
  EXPECT_THAT(figures().book.refusal, HasSubstr("the store refused the write"));
  EXPECT_GE(figures().book.refused_later, 4U);
  run_for(10s);
  EXPECT_TRUE(figures().refuses);
  EXPECT_LT(figures().book.refused_later, 100U) << "the pause doubles";
  EXPECT_THAT(routes(), ElementsAre(Pair("10.1.0.0/16", clean())));
  sim_.set_failure_chance(0);
  EXPECT_TRUE(becomes([this] { return !figures().refuses; }, 80s));
  EXPECT_TRUE(becomes([this] { return !routes().contains("10.1.0.0/16"); }, 60s)) << "a refused Delete";
  EXPECT_THAT(routes(),
              UnorderedElementsAre(Pair("10.2.0.0/16", clean()), Pair("10.3.0.0/16", "nexthop_group=fpm:10.0.0.3@v3 protocol=bgp")));
  EXPECT_THAT(groups(),
              UnorderedElementsAre(Pair(kGroup, "nexthop=10.0.0.2 ifname=v3"), Pair("fpm:10.0.0.3@v3", "nexthop=10.0.0.3 ifname=v3")));
}

/// The first write of the route is lost with the Delete before it, and leaves the fields of the row before.
TEST_F(FpmRows, ARefusedDeleteBeforeANewRouteLeavesNoField) {
  settle();
  send(kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE}));
  EXPECT_TRUE(becomes([this] { return routes()["10.1.0.0/16"] == "nexthop_group=fpm:blackhole protocol=bgp blackhole=true"; }, 1s));
  sim_.set_failure_chance(1);
  send(kit::no_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return figures().book.refused_later > 0; }, 1s));
  sim_.set_failure_chance(0);
  send(one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes_clean(61s));
}

// --- pages that arrive late

TEST_F(FpmRows, ARowThatWasDeletedWhileItsPageWasOnTheWayIsNotTakenOver) {
  settle();
  hold_page_of(kRoutes);
  send(kit::no_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return routes().empty(); }, 1s));
  const std::uint64_t before = figures().comparisons;
  deliver_pages();
  EXPECT_TRUE(becomes([&] { return figures().comparisons > before; }, 1s));
  EXPECT_EQ(figures().book.routes, 0U);
  send(one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes_clean(1s));
  EXPECT_EQ(figures().book.repaired, 0U);
}

TEST_F(FpmRows, ARowOfAUserThatWasDeletedWhileItsPageWasOnTheWayIsNoConflict) {
  settle();
  user(kUsersRow);
  hold_page_of(kRoutes);
  user(Change::remove("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return !routes().contains("10.2.0.0/16"); }, 1s));
  run_for(10ms);
  deliver_pages();
  run_for(1s);
  EXPECT_EQ(figures().book.other_rows, 0U);
  send(one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return routes()["10.2.0.0/16"] == clean(); }, 1s));
}

TEST_F(FpmRows, ARowThatAUserTookOverWhileItsPageWasOnTheWayStays) {
  start_until_page_of(kRoutes);
  user(Change::set("10.1.0.0/16", {{"nexthop_group", "mine"}}));
  const std::string mine = "protocol=bgp nexthop_group=mine";
  EXPECT_TRUE(becomes([&] { return routes()["10.1.0.0/16"] == mine; }, 1s));
  deliver_pages();
  EXPECT_TRUE(becomes([this] { return adopted_.has_value(); }, 1s));
  settle_again();
  EXPECT_EQ(figures().book.conflict, "10.1.0.0/16");
  EXPECT_EQ(routes()["10.1.0.0/16"], mine);
}

TEST_F(FpmRows, AGroupThatWasDeletedWhileItsPageWasOnTheWayIsWritten) {
  start_until_page_of(kGroups);
  user(Change::remove("10.1.0.0/16"));
  user(Change::remove(kGroup), kGroups);
  EXPECT_TRUE(becomes([this] { return routes().empty() && groups().empty(); }, 1s));
  deliver_pages();
  EXPECT_TRUE(becomes([this] { return adopted_.has_value(); }, 1s));
  settle_again();
  EXPECT_TRUE(becomes_clean(1s));
  EXPECT_EQ(figures().book.repaired, 0U);
}

TEST_F(FpmRows, AReadingFailsIfTheStoreLosesItsRowsMeanwhile) {
  start_until_page_of(kRoutes);
  told_ = false;
  user(Change::remove("10.1.0.0/16"));
  user(Change::remove(kGroup), kGroups);
  EXPECT_TRUE(becomes([this] { return routes().empty() && groups().empty(); }, 1s));
  server_->rows_were_lost();
  deliver_pages();
  EXPECT_TRUE(becomes([this] { return adopted_.has_value(); }, 1s));
  EXPECT_EQ(adopted_->code(), StatusCode::Unavailable);
  adopt();
  EXPECT_TRUE(becomes([this] { return adopted_.has_value(); }, 1s));
  EXPECT_TRUE(adopted_->ok());
  settle_again();
  EXPECT_TRUE(becomes_clean(1s));
  EXPECT_EQ(figures().book.repaired, 0U);
}

}  // namespace
}  // namespace rondo::fpm
