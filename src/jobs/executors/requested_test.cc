// Runs at executors for which someone asks: a trigger with parameters or at one executor, over a restart, too, which addresses are refused,
// and a rerun of a broadcast.
#include <gtest/gtest.h>

#include "jobs/executors/testing/executors_testbed.h"

namespace rondo::jobs::executors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class RequestedTest : public ExecutorsTest {
 protected:
  JobRun trigger_with(const TriggerOptions& with) {
    const auto run = answer<JobRun>([&](auto done) { jobs->trigger("a", with, done); });
    EXPECT_TRUE(run.has_value()) << run.error().to_string();
    return run.value_or(JobRun{});
  }
  std::string checked(const std::string& address, const std::string& handler = "executor/web/work") {
    const auto canonical = RemoteRuns(*jobs).check_address(handler, address);
    return canonical ? *canonical : canonical.error().to_string();
  }
};

TEST_F(RequestedTest, ParametersOfATriggerAreThoseOfTheOrderAndOfItsRetries) {
  define_job("a", {.parameters = "of the job", .retries = 1, .backoff = 1ms});
  add_registered(1);
  trigger_with({.parameters = "of the \"run\""});
  ASSERT_TRUE(gets_orders(1));
  report(log_id(orders()[0]), 500, "no");
  ASSERT_TRUE(gets_orders(2));
  for (const json::object& order : orders()) EXPECT_EQ(order.at("executorParams"), "of the \"run\"");
  report(log_id(orders()[1]), 200, "");
  trigger("a");
  ASSERT_TRUE(gets_orders(3));
  EXPECT_EQ(orders()[2].at("executorParams"), "of the job");
  EXPECT_EQ(orders()[2].at("executorHandler"), "work");
}

TEST_F(RequestedTest, ARunWithAnAddressGoesThereAlone) {
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 8, .route = Route::First});
  add_registered(3);
  for (int i = 0; i < 4; ++i) trigger_with({.address = peers[2]->url()});
  ASSERT_TRUE(gets_orders(4));
  EXPECT_THAT(peers[2]->orders, SizeIs(4));
  EXPECT_EQ(peers[2]->orders[0].at("broadcastTotal"), 1);
}

TEST_F(RequestedTest, ABroadcastWithAnAddressIsOneShardThere) {
  define_job("a", {.route = Route::ShardingBroadcast});
  add_registered(3);
  trigger_with({.address = peers[1]->url()});
  ASSERT_TRUE(gets_orders(1));
  EXPECT_THAT(peers[1]->orders, SizeIs(1));
  EXPECT_EQ(peers[1]->orders[0].at("broadcastTotal"), 1);
}

TEST_F(RequestedTest, ARunWithAnAddressThatIsAwayWaitsAlsoAfterARestartAndDisturbsNoOther) {
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 8});
  add_registered(2);
  const std::string address = peers[1]->url();
  const std::uint16_t port = peers[1]->port();
  says("/api/registryRemove", R"({"registryGroup":"EXECUTOR","registryKey":"web","registryValue":")" + address + "\"}");
  trigger_with({.parameters = "own", .address = address});
  ASSERT_TRUE(waits_for("executor " + address + " has taken leave"));
  trigger("a");
  ASSERT_TRUE(gets_orders(1)) << "another run goes to the other one";
  report(log_id(orders()[0]), 200, "");
  end();
  begin();
  add_registered(1);
  ASSERT_TRUE(waits_for("executor " + address + ", the only one for this run, is not registered"));
  Peer& back = add_peer(port);
  ASSERT_THAT(register_at("web", address), HasSubstr("\"code\":200"));
  ASSERT_TRUE(gets_orders(1));
  ASSERT_THAT(back.orders, SizeIs(1));
  EXPECT_EQ(back.orders[0].at("executorParams"), "own");
}

TEST_F(RequestedTest, AnAddressThatTheStoreNamesAndTheGroupDoesNotHaveIsNeverCalled) {
  define_job("a");
  add_registered(1);
  Peer& stranger = add_peer();
  trigger_with({.address = stranger.url()});
  ASSERT_TRUE(waits_for("the only one for this run, is not registered"));
  run_a_while();
  EXPECT_THAT(stranger.calls, SizeIs(0));
}

TEST_F(RequestedTest, OnlyAnAddressOfTheGroupInTheNetworksIsAccepted) {
  define_job("a");
  add_registered(1);
  const std::string known = peers[0]->url();
  EXPECT_EQ(checked(known + "/"), known);
  EXPECT_EQ(checked(known.substr(7)), known) << "without its scheme";
  for (const char* const address : {"http://169.254.169.254/latest", "http://127.0.0.1:1", "http://attacker/"})
    EXPECT_THAT(checked(address), HasSubstr("not-found: group 'web' has no executor")) << address;
  for (const std::string& address :
       std::vector<std::string>{"file:///etc/passwd", known + "/../x", "http://a@127.0.0.1:1", known + "\r\nX: y", ""})
    EXPECT_THAT(checked(address), HasSubstr("invalid-argument")) << address;
  EXPECT_THAT(checked(known, "executor/db/work"), HasSubstr("group 'db' has no executor")) << "of another group";
  EXPECT_THAT(checked(known, "none"), HasSubstr("invalid-argument: the handler 'none' runs at no executor"));
  says("/api/registryRemove", R"({"registryGroup":"EXECUTOR","registryKey":"web","registryValue":")" + known + "\"}");
  EXPECT_THAT(checked(known), HasSubstr("has no executor")) << "it has left";
}

TEST_F(RequestedTest, AManualAddressOutsideOfTheNetworksIsRefused) {
  end();
  settings.groups[0].addresses = {"http://10.9.9.9:9999"};
  begin();
  EXPECT_THAT(checked("http://10.9.9.9:9999"), HasSubstr("permission-denied: the address http://10.9.9.9:9999 is in none of the networks"));
}

TEST_F(RequestedTest, ARerunOfABroadcastSendsTheFailedShardsAloneAndAfterARestartAll) {
  define_job("a", {.route = Route::ShardingBroadcast});
  add_registered(3);
  const auto rerun = [this](std::int64_t run) { return answer<JobRun>([&](auto done) { jobs->rerun(run, done); }).value().id; };
  const std::int64_t first = trigger("a").id;
  ASSERT_TRUE(gets_orders(3));
  const std::vector<json::object> all = orders();
  report(log_id(all[0]), 200, "");
  report(log_id(all[1]), 500, "no");
  report(log_id(all[2]), 200, "");
  ASSERT_TRUE(all_ended());
  const std::int64_t second = rerun(first);
  ASSERT_TRUE(gets_orders(4));
  ASSERT_THAT(peers[1]->orders, SizeIs(2));
  EXPECT_EQ(peers[1]->orders[1].at("broadcastIndex"), all[1].at("broadcastIndex"));
  EXPECT_EQ(peers[1]->orders[1].at("broadcastTotal"), 3);
  report(log_id(peers[1]->orders[1]), 500, "no");
  ASSERT_TRUE(all_ended());
  end();
  begin();
  add_registered(2);
  rerun(second);
  ASSERT_TRUE(becomes([this] { return orders().size() >= 2; }));
  EXPECT_EQ(peers[0]->orders.front().at("broadcastIndex").as_int64() + peers[1]->orders.front().at("broadcastIndex").as_int64() > 0, true);
}

}  // namespace
}  // namespace rondo::jobs::executors
