// What is lost at the end of a rondod, and what the next one reads again.
#include "rondod/process/unflushed_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace rondo::daemon {
namespace {

using testing::HasSubstr;

TEST(UnflushedWork, AnythingThatNobodyKeepsIsALoss) {
  EXPECT_TRUE(UnflushedWork{}.lost().ok());
  EXPECT_EQ((UnflushedWork{.rows = 3}.lost().to_string()), "data-loss: 3 accepted rows that were not handled");
  EXPECT_THAT((UnflushedWork{.writes = 7, .changes = 1}.lost().to_string()), HasSubstr("7 accepted writes without an answer, 1 changes"));
}

ConsumerStats of(const char* table, std::size_t queued, std::size_t parked, std::size_t in_flight) {
  ConsumerStats stats;
  stats.table = table;
  stats.queued = queued;
  stats.parked = parked;
  stats.in_flight = in_flight;
  return stats;
}

TEST(UnflushedWork, RowsThatAStoreKeepsAreLeftForTheNextStart) {
  const std::array<ConsumerStats, 3> consumers{of("ROUTE_TABLE", 100, 7, 10), of("PORT_TABLE", 1, 0, 2), of("INTF_TABLE", 0, 5, 0)};
  Config config;
  EXPECT_EQ(unkept_rows(config, consumers), 113U) << "parked rows wait for what may never come";
  config.store_groups.push_back({.tables = {"ROUTE_TABLE"}, .place = {.url = "file:///var/lib/rondo/tables"}});
  EXPECT_EQ(unkept_rows(config, consumers), 3U);
  config.store.url = "unix:///run/redis.sock";
  EXPECT_EQ(unkept_rows(config, consumers), 0U);
  config.store_groups.front().place.url.clear();
  EXPECT_EQ(unkept_rows(config, consumers), 110U) << "the group has the embedded store";
}

}  // namespace
}  // namespace rondo::daemon
