// rondod with direct tables whose rows are on a Redis: the rows written there survive rondod, however it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rondod/tests/direct_producer_kit.h"
#include "rondod/tests/rondod_kit.h"
#include "store/redis/testing/server.h"

namespace rondo::daemon {
namespace {

class RondodFedDirectlyOnRedis : public RondodProcess {
 protected:
  void SetUp() override {
    RONDO_NEEDS_REDIS();
    RondodProcess::SetUp();
    server = std::make_unique<redis_kit::RedisServer>();
    endpoint = "ipc://" + file("direct");
    store = "[[store.group]]\ntables = [\"ROUTE_TABLE\", \"NEIGH_TABLE\", \"INTF_TABLE\", \"PORT_TABLE\"]\nurl = \"unix://" +
            server->socket() + "\"\n[store.group.direct]\nendpoint = \"" + endpoint + "\"\n";
  }
  json::object figures() { return call("stats").at("direct").as_array().at(0).as_object(); }
  std::size_t rows(const std::string& table) { return server->list({"KEYS", table + ":*"}).size(); }

  std::unique_ptr<redis_kit::RedisServer> server;
  std::string endpoint;
  std::string store;
};

TEST_F(RondodFedDirectlyOnRedis, AKillLosesNothingThatWasWrittenBehind) {
  start(store);
  {
    DirectProducer producer({.endpoint = endpoint});
    producer.write_all();
    EXPECT_TRUE(producer.until([this] { return has_route("192.168.0.0/16"); })) << log_text();
    EXPECT_TRUE(becomes([this] { return figures().at("behind") == 0; }));
  }
  EXPECT_EQ(server->command({"HGET", "ROUTE_TABLE:192.168.0.0/16", "nexthop"}), "10.0.0.2");
  for (const int signal : {SIGKILL, SIGTERM}) {
    end(signal);
    start(store);  // The producer sends nothing again.
    EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
    EXPECT_EQ(figures().at("rows_recovered"), 5);
    EXPECT_EQ(figures().at("left_out"), 0);
  }
  EXPECT_EQ(server->list({"KEYS", "*_KEY_SET"}).size(), 0U) << "nothing is staged where nobody pops";
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "192.168.0.0/16"}});
  EXPECT_TRUE(becomes([this] { return rows("ROUTE_TABLE") == 0; }));
  end(SIGKILL);
  start(store);
  EXPECT_TRUE(becomes([this] { return figures().at("recovered") == true && figures().at("staged") == 0; }));
  EXPECT_FALSE(has_route("192.168.0.0/16")) << "a Delete that was written behind stays one";
}

TEST_F(RondodFedDirectlyOnRedis, AnEndAsAskedWritesAllThatArrivedBehind) {
  constexpr int kRoutes = 20'000;
  start(store);
  DirectProducer producer({.endpoint = endpoint});
  for (int i = 0; i < kRoutes; ++i) {
    const std::string prefix = "20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
    ASSERT_TRUE(producer.table("ROUTE_TABLE").set(prefix, {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}}).ok());
  }
  EXPECT_TRUE(producer.until([&] { return figures().at("entries") == kRoutes; }));
  end(SIGTERM);
  EXPECT_EQ(rows("ROUTE_TABLE"), static_cast<std::size_t>(kRoutes)) << log_text();
}

TEST_F(RondodFedDirectlyOnRedis, WhileTheRowsCannotBeReadTheProducerWaits) {
  server->command({"HSET", "ROUTE_TABLE:192.168.0.0/16", "nexthop", "10.0.0.9", "ifname", "swp1"});
  server->command({"CONFIG", "SET", "save", "3600 1"});
  server->stop();
  start(store);
  DirectProducer producer({.endpoint = endpoint});
  producer.write_all();
  EXPECT_TRUE(producer.until([&] { return figures().at("connections") == 1 && producer.client().is_flushed(); }));
  EXPECT_EQ(figures().at("entries"), 0);
  EXPECT_EQ(figures().at("recovered"), false);
  server->start();
  EXPECT_TRUE(becomes([this] { return figures().at("entries") == 5 && figures().at("behind") == 0; })) << log_text();
  EXPECT_EQ(figures().at("rows_recovered"), 1);
  EXPECT_EQ(server->command({"HGET", "ROUTE_TABLE:192.168.0.0/16", "nexthop"}), "10.0.0.2") << "the newer one";
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
}

// The first read of the rows comes before the connection, at every start. The log of the server's end shows that earlier troubles are
// logged.
TEST_F(RondodFedDirectlyOnRedis, AGoodStartLogsNoTrouble) {
  start(store);
  EXPECT_TRUE(becomes([this] { return figures().at("recovered") == true; }));
  server->stop();
  EXPECT_TRUE(becomes([this] { return log_text().find("the store has trouble") != std::string::npos; }));
  EXPECT_THAT(log_text(), testing::Not(testing::HasSubstr("direct tables have trouble")));
}

}  // namespace
}  // namespace rondo::daemon
