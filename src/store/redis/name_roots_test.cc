// Goal: tables that would share keys in Redis are refused, and others are not. Method: the names alone, and the store's declare().
#include "store/redis/name_roots.h"

#include <gtest/gtest.h>

#include "rondo/sched/scheduler.h"
#include "store/redis/testing/table.h"

namespace rondo::redis {
namespace {

/// Adds both in this order and in the other one. True if the second is refused with both names each time.
bool share(const TableSpec& one, const TableSpec& other, char separator = ':') {
  const auto is_refused = [&](const TableSpec& first, const TableSpec& second) {
    NameRoots roots(separator);
    EXPECT_TRUE(roots.add(first).ok());
    const Status refused = roots.add(second);
    if (refused.ok()) return false;
    EXPECT_EQ(refused.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(refused.message(), "table '" + second.name + "' would share keys of Redis with table '" + first.name +
                                     "', so that rows of one would be rows of the other: rename one of them");
    return true;
  };
  const bool shared = is_refused(one, other);
  EXPECT_EQ(is_refused(other, one), shared) << one.name << " and " << other.name;
  return shared;
}

TEST(RedisNames, ATableBelowAnotherOneOrInItsStagedRowsIsRefused) {
  EXPECT_TRUE(share({.name = "A"}, {.name = "A:b"}));
  EXPECT_TRUE(share({.name = "A"}, {.name = "A:b:c"}));
  EXPECT_TRUE(share({.name = "A"}, {.name = "_A"}));
  EXPECT_TRUE(share({.name = "A"}, {.name = "_A:b"}));
  EXPECT_TRUE(share({.name = "A:b"}, {.name = "_A"}));
  EXPECT_TRUE(share({.name = "A", .kind = TableKind::Watched}, {.name = "A:b", .kind = TableKind::Queue}));
  EXPECT_TRUE(share({.name = "A"}, {.name = "A|b"}, '|'));
}

TEST(RedisNames, OthersAreNot) {
  EXPECT_FALSE(share({.name = "A"}, {.name = "AB"}));
  EXPECT_FALSE(share({.name = "A"}, {.name = "A_b"}));
  EXPECT_FALSE(share({.name = "A"}, {.name = "A|b"}));
  EXPECT_FALSE(share({.name = "A:b"}, {.name = "A:c"}));
  EXPECT_FALSE(share({.name = "A", .kind = TableKind::Watched}, {.name = "_A", .kind = TableKind::Watched})) << "nothing is staged";
  EXPECT_FALSE(share({.name = "A"}, {.name = "A:b", .kind = TableKind::Channel})) << "events have no keys";
  EXPECT_FALSE(share({.name = "A", .kind = TableKind::Watched}, {.name = "A:b", .kind = TableKind::Watched}))
      << "who reads A sees the rows of both";
}

TEST(RedisNames, TheStoreRefusesThem) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server;
  StoreDriver driver({.address = server.address()});
  ASSERT_TRUE(driver.store().declare({.name = "A"}).ok());
  EXPECT_EQ(driver.store().declare({.name = "A:b"}).code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(driver.store().declare({.name = "A"}).ok()) << "the same again";
  EXPECT_EQ(driver.store().tables().size(), 1U);
}

}  // namespace
}  // namespace rondo::redis
