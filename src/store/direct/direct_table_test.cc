// The direct tables end to end, over real sockets: a client and a server on one scheduler. What is written arrives, merged by key, in order
// of first arrival; nothing is lost in a burst or by a slow consumer. Method: turns until the state of the world is as promised.
#include <map>

#include "store/direct/direct_world.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;

class DirectTables : public DirectWorld {};

TEST_F(DirectTables, AnEntryArrivesWithItsFields) {
  const auto server = serve();
  const auto consumer = subscribe(*server);
  const auto client = connect();
  ASSERT_TRUE(table(*client).set("10.0.0.0/24", {{"nexthop", "10.1.1.1"}, {"ifname", "eth0"}}).ok());
  ASSERT_TRUE(until([&] { return !consumer->empty(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET 10.0.0.0/24 nexthop=10.1.1.1 ifname=eth0"));
  EXPECT_EQ(server->stats().entries, 1U);
  EXPECT_EQ(server->stats().frames, 1U);
  EXPECT_TRUE(client->is_flushed());
}

}  // namespace
}  // namespace rondo::store
