// The ACL users of docs/guide/growing-onto-redis.md. Each line is read from the guide, and the user's task works without a refusal. Run in
// the root of the source tree, as ctest does.
#include <fstream>
#include <iterator>
#include <sstream>

#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RedisUsers : public RedisTableTest {
 protected:
  /// Runs the guide's line for 'user'.
  void make(const std::string& user) {
    std::ifstream guide("docs/guide/growing-onto-redis.md");
    const std::string head = "ACL SETUSER " + user + " ";
    for (std::string line; std::getline(guide, line);) {
      if (!line.starts_with(head)) continue;
      std::istringstream words(line);
      ASSERT_EQ(server().command({std::istream_iterator<std::string>(words), {}}), "OK") << line;
      return;
    }
    FAIL() << "the guide has no line for " << user;
  }
  std::unique_ptr<StoreDriver> open(const std::string& user) {
    RedisStoreOptions options = quick_options();
    options.address.user = user;
    options.address.password = "SECRET";
    options.lease = RedisStoreOptions{}.lease;
    auto driver = std::make_unique<StoreDriver>(options);
    EXPECT_TRUE(driver->run_until([&driver] { return driver->store().health().ok(); })) << driver->store().health().to_string();
    declare(*driver, "ROUTE_TABLE");
    return driver;
  }
  void reconnect(StoreDriver& driver, const std::string& user) {
    const std::uint64_t before = driver.store().stats().connects;
    server().command({"CLIENT", "KILL", "USER", user});
    ASSERT_TRUE(driver.run_until([&] { return driver.store().stats().connects > before; }));
  }
};

TEST_F(RedisUsers, AProducerAndAConsumerMayDoWhatTheyDo) {
  make("producer");
  make("consumer");
  const auto producer = open("producer");
  const auto consumer = open("consumer");
  const auto routes = subscribe(*consumer, "ROUTE_TABLE");
  const auto both = [&] {
    EXPECT_TRUE(producer->run_until([&] { return producer->store().unanswered() == 0; }));  // settle() would read, which this user may not.
    return take_all(*consumer, *routes);
  };
  set(*producer, "ROUTE_TABLE", "10.0.0.0/8", {{"nexthop", "1"}});
  EXPECT_THAT(both(), ElementsAre("SET 10.0.0.0/8 nexthop=1"));
  write(*producer, "ROUTE_TABLE", Change::remove("10.0.0.0/8"));
  set(*producer, "ROUTE_TABLE", "10.0.0.0/8", {{"ifname", "2"}});
  EXPECT_THAT(both(), ElementsAre("DEL 10.0.0.0/8", "SET 10.0.0.0/8 ifname=2"));
  reconnect(*producer, "producer");
  reconnect(*consumer, "consumer");
  for (int i = 0; i < 300; ++i) set(*producer, "ROUTE_TABLE", std::to_string(i), {{"n", "1"}});  // New rows, so the pop renames the hashes.
  EXPECT_GE(both().size(), 300U);
  EXPECT_EQ(rows_in_redis("ROUTE_TABLE:").size(), 301U);
  for (StoreDriver* const driver : {producer.get(), consumer.get()}) {
    EXPECT_EQ(driver->store().stats().unfenced, 0U);
    EXPECT_EQ(driver->store().stats().epoch, 1U);
  }
  EXPECT_THAT(server().list({"ACL", "LOG"}), IsEmpty()) << "nothing was refused";
}

}  // namespace
}  // namespace rondo::redis
