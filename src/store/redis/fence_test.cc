// Requests of a closed connection are not executed after its successor has begun. The proxy holds what the old connection sends, lets the
// new one recover, and only then passes it on. This is the worst that a half-open link or a stopped server can do.
#include "store/redis/scripts.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RedisFence : public RedisTableTest {
 protected:
  void open(RedisStoreOptions options) {
    driver_ = std::make_unique<StoreDriver>(std::move(options));
    declare(*driver_, "T");
    declare(*driver_, "W", TableKind::Watched);
    driver_->settle();
  }
  void open_behind_proxy() {
    driver_.reset();
    proxy_ = std::make_unique<redis_kit::RedisProxy>(server().address());
    RedisStoreOptions options = quick_options();
    options.address = proxy_->address();
    open(std::move(options));
  }
  StoreDriver& driver() noexcept { return *driver_; }
  RedisStore& store() noexcept { return driver_->store(); }
  redis_kit::RedisProxy& proxy() noexcept { return *proxy_; }

  /// Closes the connections while the proxy holds at least 'bytes' of their data, and waits until new ones have recovered.
  void lose_with(std::size_t bytes) {
    ASSERT_TRUE(driver().run_until([this, bytes] { return proxy().stats().held > bytes; }));
    ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
    driver().settle();
  }
  /// Passes the held data to the server, which executes it if the connection is still open there.
  void let_it_come() {
    proxy().release();
    redis_kit::wait_until("only the new connections are left", [this] { return proxy().stats().open == 2; });
  }
  /// A write is held, sent again by the next connection, overwritten by a newer one, and then released.
  void write_late() {
    proxy().hold();
    for (const char* table : {"T", "W"}) set(driver(), table, "k", {{"n", "1"}});
    lose_with(0);
    EXPECT_EQ(server().hash("W:k")["n"], "1") << "written by the new connection";
    for (const char* table : {"T", "W"}) set(driver(), table, "k", {{"n", "2"}});
    driver().settle();
    let_it_come();
    EXPECT_EQ(server().hash("W:k")["n"], "2");
    EXPECT_EQ(server().hash("_T:k")["n"], "2");
  }

 private:
  std::unique_ptr<redis_kit::RedisProxy> proxy_;
  std::unique_ptr<StoreDriver> driver_;
};

TEST_F(RedisFence, ALateWriteDoesNotLandOnANewerOne) {
  open_behind_proxy();
  write_late();
  EXPECT_GE(store().stats().fenced, 1U);
  EXPECT_EQ(store().stats().unfenced, 0U);
}

TEST_F(RedisFence, AnAttemptThatBreaksBeforeTheOldOneIsEndedLeavesThatToTheNext) {
  for (const bool carried_out : {false, true}) {
    open_behind_proxy();
    if (carried_out) {
      proxy().lose_reply("KILL");
    } else {
      proxy().lose_request("KILL");
    }
    write_late();
    EXPECT_EQ(proxy().stats().lost, 1U);
  }
}

TEST_F(RedisFence, ALatePopStrandsNothing) {
  open_behind_proxy();
  const auto consumer = subscribe(driver(), "T");
  driver().settle();
  ASSERT_EQ(store().stats().pops, 0U) << "the next one is the late one";
  proxy().hold();
  server().command({"SADD", "T_KEY_SET", "a"});
  server().command({"HSET", "_T:a", "n", "1"});
  server().command({"PUBLISH", "T_CHANNEL@0", "G"});
  lose_with(kPopStaged.size());
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET a n=1"));
  server().command({"SADD", "T_KEY_SET", "b"});
  server().command({"HSET", "_T:b", "n", "2"});
  let_it_come();
  server().command({"PUBLISH", "T_CHANNEL@0", "G"});
  driver().run_until([&consumer] { return !consumer->empty(); }, 5s);
  EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET b n=2"));
}

// After a restart the server numbers its connections from the beginning.
TEST_F(RedisFence, NobodyIsEndedForANumberOfAnotherServer) {
  open(quick_options());
  const int numbers = std::stoi(redis_kit::RedisClient(server().address()).command({"CLIENT", "ID"}));
  server().kill9();
  ASSERT_TRUE(driver().run_until([this] { return !store().health().ok(); }));
  server().start();
  std::vector<redis_kit::RedisClient> strangers;
  do {
    strangers.emplace_back(server().address());
  } while (std::stoi(strangers.back().command({"CLIENT", "ID"})) < numbers);
  driver().settle();
  for (redis_kit::RedisClient& stranger : strangers) EXPECT_EQ(stranger.command({"PING"}), "PONG");
  EXPECT_EQ(store().stats().fenced, 0U);
}

TEST_F(RedisFence, WithoutTheRightTheStoreGoesOnAndCountsIt) {
  for (const char* missing : {"-client|kill", "-info"}) {
    SCOPED_TRACE(missing);
    server().command({"FLUSHALL"});
    ASSERT_EQ(server().command({"ACL", "SETUSER", "limited", "reset", "on", ">word", "~*", "&*", "+@all", missing}), "OK");
    RedisStoreOptions options = quick_options();
    options.address.user = "limited";
    options.address.password = "word";
    open(options);
    const auto consumer = subscribe(driver(), "T");
    set(driver(), "T", "k", {{"n", "1"}});
    EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=1"));
    const std::uint64_t before = store().stats().connects;
    server().command({"CLIENT", "KILL", "USER", "limited"});
    ASSERT_TRUE(driver().run_until([this, before] { return store().stats().connects > before; }));
    set(driver(), "T", "k", {{"n", "2"}});
    EXPECT_THAT(take_all(driver(), *consumer), ElementsAre("SET k n=2"));
    EXPECT_GE(store().stats().unfenced, 1U);
  }
}

}  // namespace
}  // namespace rondo::redis
