// An Orch with direct tables: it is written like any other; only RuntimeOptions::store differs. A producer in another process (here a
// client on a socket) sends a route before its next-hop group; the route waits, and both become rows of the store behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/testing/temporary_folder.h"
#include "orch/parked.h"
#include "rondo/base/clock.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/memory_store.h"
#include "rondo/store/zmq_client.h"
#include "rondo/store/zmq_store.h"

namespace rondo {
namespace {

using testing::ElementsAre;

constexpr FactKind kGroup{"nexthop-group"};

class Switch final : public Orch {
 public:
  explicit Switch(Runtime& runtime) : Orch(runtime, "switch", Priority::p1) {
    consume("NEXTHOP_GROUP", this, &Switch::set_group, &Switch::remove_group);
    consume("ROUTE", this, &Switch::set_route, &Switch::remove_route);
    provide(kGroup, [this](std::string_view key) { return groups_.contains(std::string{key}); });
  }
  const std::map<std::string, std::string>& routes() const { return routes_; }

 private:
  Outcome set_group(std::string_view key, const Fields& fields) {
    groups_[std::string{key}] = fields.text("nexthop").value_or("");
    announce({kGroup, std::string{key}});
    return Outcome::done();
  }
  Outcome remove_group(std::string_view key) {
    groups_.erase(std::string{key});
    return Outcome::done();
  }
  Outcome set_route(std::string_view key, const Fields& fields) {
    const Result<std::string> group = fields.text("nexthop_group");
    if (!group) return Outcome::reject(group.error());
    if (!holds({kGroup, *group})) return Outcome::wait_for({kGroup, *group});
    routes_[std::string{key}] = *group;
    return Outcome::done();
  }
  Outcome remove_route(std::string_view key) {
    routes_.erase(std::string{key});
    return Outcome::done();
  }
  std::map<std::string, std::string> groups_;
  std::map<std::string, std::string> routes_;
};

class ZmqOrch : public testing::Test {
 protected:
  const TemporaryFolder folder_;
};

TEST_F(ZmqOrch, ARouteFromASocketWaitsForItsGroupAndBothBecomeRows) {
  const std::string endpoint = "ipc://" + folder_.file("socket");
  ZmqStore* direct = nullptr;
  Runtime runtime({.store = [&](Scheduler& scheduler) -> std::unique_ptr<Store> {
    Result<std::unique_ptr<ZmqStore>> store = ZmqStore::open(
        scheduler, make_memory_store(scheduler),
        {.server = {.endpoint = endpoint,
                    .tables = {{.database = "APPL_DB", .table = "ROUTE"}, {.database = "APPL_DB", .table = "NEXTHOP_GROUP"}}}});
    EXPECT_TRUE(store.has_value());
    direct = store->get();
    return std::move(*store);
  }});
  const Switch& orch = runtime.add<Switch>();
  const std::unique_ptr<ZmqClient> client = std::move(*ZmqClient::open(runtime.scheduler(), {.endpoint = endpoint}));
  const SystemClock clock;
  const auto until = [&](const std::function<bool()>& holds) {
    const Instant deadline = clock.now() + 60s;
    while (!holds()) {
      if (clock.now() > deadline) return false;
      if (!runtime.scheduler().turn()) runtime.scheduler().wait(clock.now() + 10ms);
    }
    return true;
  };

  ZmqTable routes = *client->table("APPL_DB", "ROUTE");
  ZmqTable groups = *client->table("APPL_DB", "NEXTHOP_GROUP");
  ASSERT_TRUE(routes.set("10.0.0.0/24", {{"nexthop_group", "102"}}).ok());
  ASSERT_TRUE(until([&] { return parked_rows(runtime, "ROUTE", 10).size() == 1; }));
  EXPECT_TRUE(orch.routes().empty());
  ASSERT_TRUE(groups.set("102", {{"nexthop", "192.168.1.1"}}).ok());
  ASSERT_TRUE(until([&] { return orch.routes().size() == 1; }));
  EXPECT_THAT(orch.routes(), ElementsAre(testing::Pair("10.0.0.0/24", "102")));
  ASSERT_TRUE(until([&] { return direct->stats().written == 2; }));
  EXPECT_EQ(direct->wrapped().size("ROUTE")->rows, 1U);
  ASSERT_TRUE(routes.remove("10.0.0.0/24").ok());
  ASSERT_TRUE(until([&] { return orch.routes().empty() && direct->wrapped().size("ROUTE")->rows == 0; }));
}

}  // namespace
}  // namespace rondo
