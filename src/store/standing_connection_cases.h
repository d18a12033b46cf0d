// The promises of rondo/store/store.h about standing rows and requeue() after a lost connection, run on each implementation that has a
// connection (store_contract.h). Each test's name states the promise. A header, so that parts of the store instantiate the same cases for
// theirs.
#pragma once

#include <algorithm>

#include "store/store_contract.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class StandingConnection : public BreakableStoreContract {
 protected:
  void SetUp() override { declare("T", TableKind::Staged); }
};

TEST_P(StandingConnection, EveryStandingRowComesAlthoughTheConnectionBreaks) {
  for (int i = 0; i < 3000; ++i) set("T", std::to_string(i), {{"x", "1"}});
  EXPECT_EQ(take_all(*subscribe("T", {.standing_rows = false})).size(), 3000U);
  const auto consumer = store().subscribe("T");
  ASSERT_TRUE(consumer.has_value());
  std::vector<std::string> taken;
  for (int round = 0; round < 4; ++round) {
    settle();
    for (std::string& line : take(**consumer, 200)) taken.push_back(std::move(line));
    EXPECT_FALSE((*consumer)->caught_up());
    world().disconnect();
    world().reconnect();
  }
  for (std::string& line : take_all(**consumer, 300)) taken.push_back(std::move(line));
  EXPECT_TRUE((*consumer)->caught_up());
  std::ranges::sort(taken);
  const auto repeated = std::ranges::unique(taken);
  taken.erase(repeated.begin(), repeated.end());
  EXPECT_EQ(taken.size(), 3000U);
}

TEST_P(StandingConnection, RequeueMeanwhileGivesTheRowOnceItIsBack) {
  set("T", "a", {{"x", "1"}});
  const auto consumer = subscribe("T");
  EXPECT_EQ(take_all(*consumer).size(), 1U);
  world().disconnect();
  consumer->requeue("a");
  world().write_elsewhere("T", Change::set("b", {}));
  settle();
  world().reconnect();
  EXPECT_THAT(take_all(*consumer), UnorderedElementsAre("SET a x=1", "SET b"));
}

TEST_P(StandingConnection, RequeueMeanwhileOfARowWhoseDeleteCameGivesTheDelete) {
  set("T", "a", {{"x", "1"}});
  const auto consumer = subscribe("T");
  EXPECT_EQ(take_all(*consumer).size(), 1U);
  world().disconnect();
  world().write_elsewhere("T", Change::remove("a"));
  consumer->requeue("a");
  settle();
  world().reconnect();
  EXPECT_THAT(take_all(*consumer), ElementsAre("DEL a"));
}

}  // namespace
}  // namespace rondo::store
