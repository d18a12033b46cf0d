// ZmqStore with 'recover': consumers receive all rows of the wrapped store first, and never an older state after a newer one. The tests use
// real sockets, and the embedded store, or the simulated one where a read must fail.
#include <map>

#include "rondo/store/memory_store.h"
#include "rondo/store/zmq_limits.h"
#include "rondo/store/zmq_store.h"
#include "sim/sim_store.h"
#include "store/zmq/world.h"

namespace rondo::store {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class ZmqRecovery : public ZmqWorld {
 protected:
  std::unique_ptr<ZmqStore> open(std::unique_ptr<Store> wrapped, std::size_t keys_max = limits::kZmqKeys) {
    ZmqStoreOptions options{.server = {.endpoint = endpoint_}, .retry = 1ms, .recover = true};
    options.server.tables = {{.database = "DB", .table = "T", .keys_max = keys_max}, {.database = "DB", .table = "U"}};
    options.on_trouble = [this](std::string_view table, const Status& why) {
      troubles_.push_back(std::string{table} + ": " + why.to_string());
    };
    Result<std::unique_ptr<ZmqStore>> store = ZmqStore::open(scheduler_, std::move(wrapped), std::move(options));
    EXPECT_TRUE(store.has_value()) << store.error().to_string();
    return std::move(*store);
  }
  /// The state that an earlier process left.
  static void fill(Store& store, const std::string& table, int rows) {
    ASSERT_TRUE(store.declare({.name = table, .kind = TableKind::Watched}).ok());
    for (int i = 0; i < rows; ++i) ASSERT_TRUE(store.write(table, Change::set("k" + std::to_string(i), {{"v", "old"}})).ok());
  }
  static std::unique_ptr<Subscription> consume(Store& store, std::string_view table) { return std::move(*store.subscribe(table)); }

  std::vector<std::string> troubles_;
};

TEST_F(ZmqRecovery, NothingIsReadOrWrittenBeforeTheRowsAreBack) {
  auto simulated = std::make_unique<sim::SimStore>(scheduler_, sim::SimStoreOptions{.latency_low = 10us, .latency_high = 50us});
  sim::SimStore& far = *simulated;
  fill(far.server(), "T", 1);
  far.disconnect();
  const auto store = open(std::move(simulated));
  const auto consumer = consume(*store, "T");
  const auto client = connect();
  ASSERT_TRUE(table(*client).set("k0", {{"v", "new"}}).ok());
  ASSERT_TRUE(table(*client).set("k1", {{"v", "new"}}).ok());
  ASSERT_TRUE(until([&] { return store->server().stats().connections == 1 && client->is_flushed(); }));
  EXPECT_FALSE(store->is_recovered());
  EXPECT_EQ(store->server().stats().entries, 0U);
  const Status refused = store->write("T", Change::remove("k0"));
  EXPECT_EQ(refused.code(), StatusCode::Unavailable);
  EXPECT_THAT(refused.to_string(), HasSubstr("not back yet"));

  far.reconnect();
  ASSERT_TRUE(until([&] { return store->server().stats().entries == 2; }));
  EXPECT_TRUE(store->is_recovered());
  EXPECT_THAT(take(*consumer), ElementsAre("SET k0 v=new", "SET k1 v=new")) << "the old row came first, and the new one over it";
  EXPECT_EQ(store->stats().recovered, 1U);
  EXPECT_TRUE(store->write("T", Change::remove("k0")).ok());
  EXPECT_THAT(troubles_, testing::IsEmpty()) << "the store's health() says that it was not connected, as at every start";
}

TEST_F(ZmqRecovery, ATableThatHoldsFewerKeysThanThereAreRowsIsFilledAsItIsTakenFrom) {
  auto wrapped = make_memory_store(scheduler_);
  fill(*wrapped, "T", 1000);
  fill(*wrapped, "U", 300);
  const auto store = open(std::move(wrapped), 10);
  const auto t = consume(*store, "T");
  const auto u = consume(*store, "U");
  ASSERT_TRUE(until([&] { return t->depth() == 10; }));
  EXPECT_FALSE(store->is_recovered());
  std::map<std::string, int> taken;
  ASSERT_TRUE(until([&] {
    for (const std::string& line : take(*t, 7)) ++taken[line];
    return store->is_recovered() && t->empty();
  }));
  EXPECT_EQ(taken.size(), 1000U);
  EXPECT_EQ(u->depth(), 300U);
  EXPECT_EQ(store->stats().recovered, 1300U);
  EXPECT_LE(store->stats().written + store->stats().behind + store->stats().under_way, 10U)
      << "what is there is not copied once more, but what may have met something new";
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(ZmqRecovery, AConnectionThatBreaksBetweenPagesLosesNoRowProperty) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    auto simulated =
        std::make_unique<sim::SimStore>(scheduler_, sim::SimStoreOptions{.seed = seed, .latency_low = 10us, .latency_high = 50us});
    sim::SimStore& far = *simulated;
    fill(far.server(), "T", 2000);
    const auto store = open(std::move(simulated));
    const auto consumer = consume(*store, "T");
    std::map<std::string, int> taken;
    std::uint64_t turns = 0;
    ASSERT_TRUE(until([&] {
      for (const std::string& line : take(*consumer)) ++taken[line];
      if (++turns % (5 * seed) == 0 && turns < 200) far.disconnect();
      if (turns % 7 == 0) far.reconnect();
      return store->is_recovered() && consumer->empty();
    }));
    EXPECT_EQ(taken.size(), 2000U) << "seed " << seed;
  }
  EXPECT_THAT(troubles_, Contains(HasSubstr("reading the rows that were there"))) << "a read that breaks off is reported";
}

TEST_F(ZmqRecovery, AHoldOfItsTimeOutlivesIt) {
  auto simulated = std::make_unique<sim::SimStore>(scheduler_, sim::SimStoreOptions{.latency_low = 10us, .latency_high = 50us});
  sim::SimStore& far = *simulated;
  fill(far.server(), "T", 1);
  far.disconnect();
  const auto store = open(std::move(simulated));
  const auto consumer = consume(*store, "T");
  const auto client = connect();
  ASSERT_TRUE(table(*client).set("k1", {{"v", "new"}}).ok());
  ASSERT_TRUE(until([&] { return store->server().stats().connections == 1 && client->is_flushed(); }));
  store->server().release();  // release() must not end a recovery.
  while (scheduler_.turn()) continue;
  EXPECT_EQ(store->server().stats().entries, 0U);
  store->server().hold();
  far.reconnect();
  ASSERT_TRUE(until([&] { return store->is_recovered(); }));
  while (scheduler_.turn()) continue;
  EXPECT_EQ(store->server().stats().entries, 0U);
  EXPECT_THAT(take(*consumer), ElementsAre("SET k0 v=old"));
  store->server().release();
  ASSERT_TRUE(until([&] { return store->server().stats().entries == 1; }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET k1 v=new"));
}

TEST_F(ZmqRecovery, AServerThatIsHeldReadsWhenItIsReleased) {
  const auto server = serve({.held = true});
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ASSERT_TRUE(table(*client).remove("k").ok());
  ASSERT_TRUE(until([&] { return server->stats().connections == 1 && client->is_flushed(); }));
  EXPECT_EQ(server->stats().entries, 0U);
  server->release();
  ASSERT_TRUE(until([&] { return server->stats().entries == 1; }));
  EXPECT_THAT(take(*consumer), ElementsAre("DEL k"));
}

}  // namespace
}  // namespace rondo::store
