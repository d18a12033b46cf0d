// The lease of a database on a real Redis: of several stores one consumes and the others wait, and a store that slept for longer than its
// lease changes nothing when it wakes. A store whose driver runs no turns plays a sleeping process.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "store/redis/lease_holder.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using State = RedisLease::State;

constexpr Duration kLease = 3600s;  // No test sleeps this long, however busy the machine is.

class RedisLeaseTest : public RedisTableTest {
 protected:
  /// A store that requests the lease, and its consumer of ROUTE_TABLE.
  struct Member {
    std::unique_ptr<StoreDriver> driver;
    std::unique_ptr<Subscription> routes;
    std::vector<State> heard = {};

    State state() const { return driver->store().lease().state; }
    bool becomes(State wanted) {
      return driver->run_until([&] { return state() == wanted; });
    }
  };
  std::unique_ptr<Member> join(TableKind kind = TableKind::Staged, Duration lease = kLease) {
    auto member = std::make_unique<Member>();
    RedisStoreOptions options = quick_options();
    options.lease = lease;
    options.lease_holder = new_lease_holder();  // Each member stands for a process.
    options.on_lease = [heard = &member->heard](const RedisLease& now) { heard->push_back(now.state); };
    member->driver = std::make_unique<StoreDriver>(options);
    declare(*member->driver, "ROUTE_TABLE", kind);
    member->routes = subscribe(*member->driver, "ROUTE_TABLE");
    return member;
  }
  std::unique_ptr<Member> join_as(State wanted, TableKind kind = TableKind::Staged) {
    auto member = join(kind);
    EXPECT_TRUE(member->becomes(wanted)) << to_string(member->state());
    return member;
  }
  /// Writes a row as a stock producer does.
  void produce(const std::string& key, const std::string& value) {
    server().command({"SADD", "ROUTE_TABLE_KEY_SET", key});
    server().command({"HSET", "_ROUTE_TABLE:" + key, "nexthop", value});
    server().command({"PUBLISH", "ROUTE_TABLE_CHANNEL@0", "G"});
  }
  /// The consumer takes more, and the acknowledgement of what it took before arrives.
  static void acknowledge(Member& member) {
    EXPECT_THAT(take(*member.routes), IsEmpty());
    member.driver->settle();
  }
  /// The holder text of a terminated process on this machine.
  static std::string holder_that_is_gone() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string text = new_lease_holder();
      static_cast<void>(!::write(ends[1], text.data(), text.size()));
      ::_exit(0);
    }
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);  // The process has ended, and this process has not reaped it yet.
    char text[512];
    const ssize_t size = ::read(ends[0], text, sizeof text);
    ::close(ends[0]);
    ::close(ends[1]);
    return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  }
};

TEST_F(RedisLeaseTest, OneOfTwoStoresConsumesAndTheOtherNamesIt) {
  const auto first = join_as(State::Held);
  const auto second = join_as(State::Standby);
  EXPECT_THAT(second->driver->store().lease().described, HasSubstr("pid " + std::to_string(::getpid()) + " on host "));
  EXPECT_TRUE(second->driver->run_until([&] { return second->driver->store().health().ok(); })) << "to stand by is no trouble";
  for (int i = 0; i < 100; ++i) produce(std::to_string(i), "1");
  EXPECT_THAT(take_all(*second->driver, *second->routes), IsEmpty());
  EXPECT_EQ(take_all(*first->driver, *first->routes).size(), 100U);
  EXPECT_EQ(server().info("errorstats").count("errorstat_FENCED"), 0U) << "a standby asks for nothing";
  EXPECT_THAT(first->heard, ElementsAre(State::Held));
  EXPECT_THAT(second->heard, ElementsAre(State::Standby));
}

TEST_F(RedisLeaseTest, AStandbyWritesAndReads) {
  const auto first = join_as(State::Held);
  const auto second = join_as(State::Standby);
  set(*second->driver, "ROUTE_TABLE", "10.0.0.0/8", {{"nexthop", "1"}});
  second->driver->settle();
  EXPECT_THAT(take_all(*first->driver, *first->routes), ElementsAre("SET 10.0.0.0/8 nexthop=1"));
  bool found = false;
  second->driver->store().get("ROUTE_TABLE", "10.0.0.0/8", [&](const Result<Record>& row) { found = row.has_value() && *row; });
  EXPECT_TRUE(second->driver->run_until([&] { return found; }));
}

TEST_F(RedisLeaseTest, AHolderThatSleepsForLongerThanItsLeaseIsFencedWhenItWakesUp) {
  const auto first = join(TableKind::Staged, kShortestRedisLease);
  ASSERT_TRUE(first->becomes(State::Held));
  for (int i = 0; i < 300; ++i) produce(std::to_string(i), "1");
  ASSERT_EQ(take_all(*first->driver, *first->routes, 10).size(), 300U);
  for (int i = 300; i < 400; ++i) produce(std::to_string(i), "1");
  first->driver->settle();
  EXPECT_FALSE(first->routes->empty()) << "popped and in flight, not taken";
  const auto second = join_as(State::Held);  // The first store gets no turns meanwhile.
  EXPECT_GT(second->driver->store().lease().token, first->driver->store().lease().token);
  EXPECT_EQ(take_all(*second->driver, *second->routes).size(), 400U) << "standing rows, and what was in flight";
  produce("400", "1");
  second->driver->settle();
  const std::string in_flight = server().command({"HLEN", "RONDO_INFLIGHT@ROUTE_TABLE"});
  EXPECT_THAT(take(*first->routes), IsEmpty()) << "before it has asked, too";
  EXPECT_TRUE(first->routes->empty());
  EXPECT_TRUE(first->becomes(State::Lost)) << to_string(first->state());
  produce("401", "1");
  EXPECT_FALSE(first->driver->store().health().ok());
  EXPECT_THAT(first->driver->store().health().message(), HasSubstr("lost"));
  first->driver->run_until([] { return false; }, 1500ms);
  EXPECT_THAT(take(*first->routes), IsEmpty());
  EXPECT_EQ(server().command({"HLEN", "RONDO_INFLIGHT@ROUTE_TABLE"}), in_flight) << "it acknowledged what is the other's";
  EXPECT_EQ(server().command({"SCARD", "ROUTE_TABLE_KEY_SET"}), "1") << "it popped";
  EXPECT_THAT(take_all(*second->driver, *second->routes), UnorderedElementsAre("SET 400 nexthop=1", "SET 401 nexthop=1"));
}

TEST_F(RedisLeaseTest, WhatAFencedHolderSendsChangesNothing) {
  const auto first = join_as(State::Held);
  for (int i = 0; i < 10; ++i) produce(std::to_string(i), "1");
  ASSERT_EQ(take_all(*first->driver, *first->routes).size(), 10U);
  acknowledge(*first);
  // Plays another store that took the lease just now, while the first store believes that it holds it.
  server().command({"SET", "RONDO_LEASE", "99 host 1 1 boot namespace 1", "PX", "3600000"});
  server().command({"HSET", "RONDO_EPOCH", "lease", "99", "lease_holder", "host 1 1 boot namespace 1"});
  produce("10", "1");
  EXPECT_TRUE(first->becomes(State::Lost)) << to_string(first->state());
  EXPECT_EQ(server().command({"SCARD", "ROUTE_TABLE_KEY_SET"}), "1") << "it popped";
  EXPECT_EQ(server().command({"HLEN", "RONDO_INFLIGHT@ROUTE_TABLE"}), "0");
  EXPECT_THAT(first->driver->store().lease().described, HasSubstr("pid 1 on host host"));
}

TEST_F(RedisLeaseTest, AHolderThatIsGoneIsFollowedAtOnce) {
  const std::string gone = holder_that_is_gone();
  EXPECT_TRUE(is_gone(gone)) << gone;
  ::wait(nullptr);
  EXPECT_TRUE(is_gone(gone)) << gone;
  EXPECT_FALSE(is_gone(new_lease_holder()));
  EXPECT_FALSE(is_gone("elsewhere 1 2 another-boot 4026531836 3"));
  EXPECT_FALSE(is_gone("what somebody else wrote"));
  server().command({"SET", "RONDO_LEASE", "7 " + gone, "PX", "3600000"});
  server().command({"HSET", "RONDO_EPOCH", "lease", "7", "lease_holder", gone});
  const auto next = join_as(State::Held);
  EXPECT_EQ(next->driver->store().lease().token, 8U);
}

TEST_F(RedisLeaseTest, AnOrderlyEndGivesTheLeaseToTheNext) {
  const auto first = join();  // Its lease would not end by itself.
  ASSERT_TRUE(first->becomes(State::Held));
  produce("1", "1");
  EXPECT_EQ(take_all(*first->driver, *first->routes).size(), 1U);
  const auto second = join_as(State::Standby);
  EXPECT_TRUE(first->driver->run_until([&] { return first->driver->store().release(); }));
  EXPECT_TRUE(second->becomes(State::Held));
  produce("2", "1");
  EXPECT_THAT(take_all(*second->driver, *second->routes), UnorderedElementsAre("SET 1 nexthop=1", "SET 2 nexthop=1"));
  EXPECT_TRUE(first->routes->empty());
}

TEST_F(RedisLeaseTest, ALeaseThatEndedAndWasNobodysIsTakenUpAgain) {
  const auto holder = join_as(State::Held);
  const std::uint64_t token = holder->driver->store().lease().token;
  server().command({"DEL", "RONDO_LEASE"});
  produce("1", "1");  // The pop is refused.
  EXPECT_TRUE(holder->driver->run_until([&] { return !holder->routes->empty(); }));
  EXPECT_THAT(take_all(*holder->driver, *holder->routes), ElementsAre("SET 1 nexthop=1"));
  EXPECT_EQ(holder->driver->store().lease().token, token);
  EXPECT_EQ(holder->state(), State::Held);
}

TEST_F(RedisLeaseTest, AServerThatLostEverythingIsGoneOnWith) {
  const auto holder = join_as(State::Held);
  const std::uint64_t token = holder->driver->store().lease().token;
  server().command({"FLUSHALL"});
  produce("1", "1");
  EXPECT_TRUE(holder->driver->run_until([&] { return !holder->routes->empty(); }));
  EXPECT_EQ(holder->state(), State::Held);
  EXPECT_EQ(holder->driver->store().lease().token, token + 1);
}

TEST_F(RedisLeaseTest, AServerThatRestartsIsGoneOnWith) {
  const auto holder = join_as(State::Held);
  server().restart();
  produce("1", "1");
  EXPECT_TRUE(holder->driver->run_until([&] { return !holder->routes->empty(); }));
  EXPECT_EQ(holder->state(), State::Held);
}

TEST_F(RedisLeaseTest, AUserWithoutTheRightConsumesWithoutALeaseAndSaysSo) {
  const std::string user = "ACL SETUSER old reset on >SECRET ~*ROUTE_TABLE* ~RONDO_EPOCH &* +@all";
  std::istringstream words(user);
  ASSERT_EQ(server().command({std::istream_iterator<std::string>(words), {}}), "OK");
  RedisStoreOptions options = quick_options();
  options.lease = kLease;
  options.address.user = "old";
  options.address.password = "SECRET";
  StoreDriver driver(options);
  declare(driver, "ROUTE_TABLE");
  const auto routes = subscribe(driver, "ROUTE_TABLE");
  EXPECT_TRUE(driver.run_until([&] { return driver.store().lease().state == State::Refused; }));
  produce("1", "1");
  EXPECT_THAT(take_all(driver, *routes), ElementsAre("SET 1 nexthop=1"));
  EXPECT_THAT(driver.store().lease().refused, HasSubstr("NOPERM"));
}

TEST_F(RedisLeaseTest, AForgedTokenIsNamedAndTheCountBeginsAnew) {
  for (const std::string forged : {"1.5", "9007199254740992", "99999999999999", "-3", "1e3", "nonsense", "", " 7"}) {
    SCOPED_TRACE("'" + forged + "'");
    server().command({"DEL", "RONDO_LEASE"});
    server().command({"HSET", "RONDO_EPOCH", "lease", forged, "lease_holder", "host 1 1 boot namespace 1"});
    const auto first = join_as(State::Held);
    EXPECT_EQ(first->driver->store().lease().token, 1U);
    EXPECT_EQ(first->driver->store().lease().damage, forged);
    produce("1", "1");
    EXPECT_EQ(take_all(*first->driver, *first->routes).size(), 1U) << "its own fence refuses it";
    const auto second = join_as(State::Standby);
    EXPECT_TRUE(first->driver->run_until([&] { return first->driver->store().release(); }));
    EXPECT_TRUE(second->becomes(State::Held));
    EXPECT_EQ(second->driver->store().lease().token, 2U);
    EXPECT_EQ(second->driver->store().lease().damage, "");
    EXPECT_TRUE(second->driver->run_until([&] { return second->driver->store().release(); }));
    server().command({"DEL", "ROUTE_TABLE:1", "RONDO_INFLIGHT@ROUTE_TABLE"});
  }
}

TEST_F(RedisLeaseTest, AKeyOfAnotherTypeStopsItsConsumersUntilItIsDeleted) {
  for (const std::string key : {"RONDO_LEASE", "RONDO_EPOCH"}) {
    SCOPED_TRACE(key);
    server().command({"DEL", "RONDO_LEASE", "RONDO_EPOCH"});
    server().command({key == "RONDO_LEASE" ? "HSET" : "SET", key, "a", "b"});
    if (key == "RONDO_EPOCH") server().command({"SET", key, "text"});
    const auto member = join();
    produce("1", "1");
    const auto names_it = [&] { return std::string{member->driver->store().health().message()}.find(key) != std::string::npos; };
    EXPECT_TRUE(member->driver->run_until(names_it)) << member->driver->store().health().to_string();
    if (key == "RONDO_LEASE") {
      const std::string trouble = member->driver->store().health().to_string();
      EXPECT_THAT(trouble, HasSubstr("the key RONDO_LEASE has the type hash and must be a string"));
      EXPECT_THAT(trouble, HasSubstr("until it is deleted (redis-cli -n 0 DEL"));
    }
    member->driver->run_until([] { return false; }, 1500ms);
    EXPECT_THAT(take(*member->routes), IsEmpty()) << "without the lease";
    server().command({"DEL", key});
    EXPECT_TRUE(member->becomes(State::Held)) << to_string(member->state());
    EXPECT_EQ(take_all(*member->driver, *member->routes).size(), 1U);
    EXPECT_TRUE(member->driver->run_until([&] { return member->driver->store().release(); }));
    server().command({"DEL", "ROUTE_TABLE:1", "RONDO_INFLIGHT@ROUTE_TABLE"});
  }
}

TEST_F(RedisLeaseTest, ALeaseThatCannotBeRenewedBecauseOfAKeyOfAnotherTypeIsNotHeldAfterItsEnd) {
  const auto member = join(TableKind::Staged, kShortestRedisLease);
  ASSERT_TRUE(member->becomes(State::Held));
  server().command({"SET", "RONDO_EPOCH", "text"});
  server().command({"DEL", "RONDO_LEASE"});
  EXPECT_TRUE(member->becomes(State::Asking)) << to_string(member->state());
  EXPECT_THAT(member->driver->store().health().to_string(), HasSubstr("the key RONDO_EPOCH has the type string and must be a hash"));
  produce("1", "1");
  server().command({"DEL", "RONDO_EPOCH"});
  EXPECT_TRUE(member->becomes(State::Held)) << to_string(member->state());
  EXPECT_TRUE(member->driver->store().health().ok()) << member->driver->store().health().to_string();
  EXPECT_EQ(take_all(*member->driver, *member->routes).size(), 1U);
}

TEST_F(RedisLeaseTest, AValueThatIsNoHolderIsNamedWithItsKey) {
  server().command({"SET", "RONDO_LEASE", "my backup script", "PX", "3600000"});
  const auto member = join_as(State::Standby);
  EXPECT_THAT(member->driver->store().lease().described,
              HasSubstr("another program (it has set RONDO_LEASE to 'my backup script'; delete that key)"));
}

/// Otherwise the holder would renew a value that its own fence refuses.
TEST_F(RedisLeaseTest, AForgedLeaseInTheNameOfTheHolderIsAnother) {
  for (const std::string token : {"007", "0", "99999999999999999999", "1.5"}) {
    SCOPED_TRACE(token);
    const auto holder = join_as(State::Held);
    const std::string value = server().command({"GET", "RONDO_LEASE"});
    server().command({"SET", "RONDO_LEASE", token + value.substr(value.find(' '))});
    produce("1", "1");
    EXPECT_TRUE(holder->becomes(State::Lost)) << to_string(holder->state());
    server().command({"DEL", "RONDO_LEASE", "RONDO_EPOCH", "ROUTE_TABLE_KEY_SET"});
  }
}

TEST_F(RedisLeaseTest, AHugeValueIsNotFetched) {
  server().command({"EVAL", "return redis.call('SET', KEYS[1], string.rep('x', 20000000))", "1", "RONDO_LEASE"});
  const auto before = std::stoull(server().info("stats")["total_net_output_bytes"]);
  const auto member = join_as(State::Standby);
  member->driver->run_until([] { return false; }, 1500ms);
  EXPECT_LT(std::stoull(server().info("stats")["total_net_output_bytes"]) - before, 1'000'000U);
  EXPECT_THAT(member->driver->store().lease().described, HasSubstr("20000000 bytes"));
}

TEST_F(RedisLeaseTest, StoresOfOneHolderShareTheLease) {
  RedisStoreOptions options = quick_options();
  options.lease = kLease;
  options.lease_holder = new_lease_holder();
  std::vector<std::unique_ptr<Subscription>> tables;
  std::vector<std::unique_ptr<StoreDriver>> drivers;
  for (const char* const table : {"ROUTE_TABLE", "PORT_TABLE"}) {
    drivers.push_back(std::make_unique<StoreDriver>(options));
    StoreDriver& driver = *drivers.back();
    declare(driver, table);
    tables.push_back(subscribe(driver, table));
    EXPECT_TRUE(driver.run_until([&] { return driver.store().lease().state == State::Held; }));
    EXPECT_EQ(driver.store().lease().token, 1U);
  }
  produce("1", "1");
  EXPECT_EQ(take_all(*drivers[0], *tables[0]).size(), 1U);
}

TEST_F(RedisLeaseTest, IsTakenByDefaultAndTheStoresOfAProcessAreOneHolder) {
  std::vector<std::unique_ptr<Subscription>> tables;
  std::vector<std::unique_ptr<StoreDriver>> drivers;
  for (const char* const table : {"ROUTE_TABLE", "PORT_TABLE"}) {
    RedisStoreOptions options = quick_options();
    options.lease = RedisStoreOptions{}.lease;
    drivers.push_back(std::make_unique<StoreDriver>(options));
    StoreDriver& driver = *drivers.back();
    declare(driver, table);
    tables.push_back(subscribe(driver, table));
    EXPECT_TRUE(driver.run_until([&] { return driver.store().lease().state == State::Held; })) << table;
  }
  const auto other = join_as(State::Standby);
  EXPECT_THAT(other->driver->store().report().notes, ElementsAre(HasSubstr("has the lease of the tables on")));
  EXPECT_THAT(other->driver->store().report().standby_for, HasSubstr("pid " + std::to_string(::getpid())));
  EXPECT_EQ(drivers[0]->store().report().standby_for, "");
}

TEST_F(RedisLeaseTest, TheLeaseWaitsUntilItMayBeTaken) {
  bool may = false;
  RedisStoreOptions options = quick_options();
  options.lease = kLease;
  options.may_take_lease = [&may] { return may; };
  StoreDriver driver(options);
  declare(driver, "ROUTE_TABLE");
  const auto routes = subscribe(driver, "ROUTE_TABLE");
  driver.settle();
  EXPECT_EQ(driver.store().lease().state, State::Asking);
  EXPECT_EQ(server().command({"EXISTS", "RONDO_LEASE"}), "0");
  may = true;
  EXPECT_TRUE(driver.run_until([&] { return driver.store().lease().state == State::Held; }));
}

TEST_F(RedisLeaseTest, AFunctionThatThrowsPostponesTheLeaseAndHealthSaysWhy) {
  bool throws = true;
  RedisStoreOptions options = quick_options();
  options.lease = kLease;
  options.may_take_lease = [&throws]() -> bool {
    if (throws) throw std::runtime_error("boom");
    return true;
  };
  StoreDriver driver(options);
  declare(driver, "ROUTE_TABLE");
  const auto routes = subscribe(driver, "ROUTE_TABLE");
  const auto health = [&driver] { return driver.store().health().to_string(); };
  EXPECT_TRUE(driver.run_until([&] { return health().find("RedisStoreOptions::may_take_lease threw: boom") != std::string::npos; }))
      << health();
  EXPECT_EQ(driver.store().lease().state, State::Asking);
  throws = false;
  EXPECT_TRUE(driver.run_until([&] { return driver.store().lease().state == State::Held; }));
  driver.settle();
}

TEST_F(RedisLeaseTest, AListenerThatThrowsIsLoggedAndTheStoreConsumes) {
  RedisStoreOptions options = quick_options();
  options.lease = kLease;
  options.on_lease = [](const RedisLease&) { throw std::runtime_error("boom"); };
  testing::internal::CaptureStderr();
  StoreDriver driver(options);
  declare(driver, "ROUTE_TABLE");
  const auto routes = subscribe(driver, "ROUTE_TABLE");
  EXPECT_TRUE(driver.run_until([&] { return driver.store().lease().state == State::Held; }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("a function of RedisStoreOptions threw why=\"internal: on_lease threw: boom\""));
  produce("1", "1");
  EXPECT_EQ(take_all(driver, *routes).size(), 1U);
}

TEST_F(RedisLeaseTest, AStoreWithoutConsumersTakesNone) {
  RedisStoreOptions options = quick_options();
  options.lease = kLease;
  StoreDriver driver(options);
  declare(driver, "ROUTE_TABLE");
  set(driver, "ROUTE_TABLE", "1", {{"nexthop", "1"}});
  driver.settle();
  EXPECT_EQ(server().command({"EXISTS", "RONDO_LEASE"}), "0");
}

TEST_F(RedisLeaseTest, TheRowsOfAQueueAreWrittenBehindTheFence) {
  const auto first = join_as(State::Held, TableKind::Queue);
  set(*first->driver, "ROUTE_TABLE", "1", {{"a", "1"}, {"b", "2"}});
  set(*first->driver, "ROUTE_TABLE", "2", {});
  set(*first->driver, "ROUTE_TABLE", "3", {{"a", "1"}});
  write(*first->driver, "ROUTE_TABLE", Change::remove("3"));
  std::vector<Field> many;
  std::vector<std::string> names;
  for (int i = 0; i < 2500; ++i) names.push_back(std::to_string(i));
  for (const std::string& name : names) many.push_back({name, "x"});
  write(*first->driver, "ROUTE_TABLE", Change::set("4", many));
  EXPECT_EQ(take_all(*first->driver, *first->routes).size(), 5U);
  const Rows rows = rows_in_redis("ROUTE_TABLE:");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows.at("1"), (Row{{"a", "1"}, {"b", "2"}}));
  EXPECT_TRUE(rows.at("2").empty());
  EXPECT_EQ(rows.at("4").size(), 2500U);
  acknowledge(*first);
  EXPECT_EQ(server().command({"HLEN", "RONDO_INFLIGHT@ROUTE_TABLE"}), "0");
}

/// A pop with a lease reads it within its script, and asks the server no second time.
TEST_F(RedisLeaseTest, APopCostsNoFurtherRequest) {
  constexpr int kPops = 50;
  const auto holder = join_as(State::Held);
  const auto calls = [this](const std::string& command) {
    const auto all = server().info("commandstats");
    const auto found = all.find("cmdstat_" + command);
    return found == all.end() ? 0 : std::stoi(found->second.substr(std::string{"calls="}.size()));
  };
  struct Cost {
    int scripts = 0;
    int gets = 0;
  };
  const auto cost_of_pops = [&](const std::unique_ptr<Member>& member) {
    take_all(*member->driver, *member->routes);  // The standing rows.
    server().command({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < kPops; ++i) {
      produce(std::to_string(i), "1");
      EXPECT_EQ(take_all(*member->driver, *member->routes).size(), 1U);
    }
    return Cost{.scripts = calls("eval") + calls("evalsha"), .gets = calls("get")};
  };
  const Cost with = cost_of_pops(holder);
  EXPECT_TRUE(holder->driver->run_until([&] { return holder->driver->store().release(); }));
  const Cost without = cost_of_pops(join(TableKind::Staged, Duration{}));
  // Now and then the lease is renewed, or a pop finds nothing. That is less than one request for two pops.
  EXPECT_GE(without.scripts, kPops);
  EXPECT_LT(with.scripts, without.scripts + kPops / 2);
  EXPECT_LT(with.gets, without.gets + kPops + kPops / 2);
}

}  // namespace
}  // namespace rondo::redis
