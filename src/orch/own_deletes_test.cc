// The Deletes that the owner has written and that have not been taken: each is found once, old ones are forgotten, the limit holds.
#include "orch/own_deletes.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo {
namespace {

Instant at(int seconds) { return Instant{} + std::chrono::seconds{seconds}; }

TEST(OwnDeletes, EachIsTakenOnce) {
  OwnDeletes deletes;
  deletes.note("a", at(1));
  deletes.note("a", at(1));
  EXPECT_TRUE(deletes.take("a", at(2)));
  EXPECT_TRUE(deletes.take("a", at(2)));
  EXPECT_FALSE(deletes.take("a", at(2))) << "one of another program";
  EXPECT_FALSE(deletes.take("b", at(2)));
}

TEST(OwnDeletes, OneThatTheStoreHasMergedIsForgotten) {
  OwnDeletes deletes;
  deletes.note("taken", at(0));
  deletes.note("old", at(0));
  deletes.note("new", at(9));
  EXPECT_FALSE(deletes.take("taken", at(11))) << "one of another program";
  deletes.forget_old(at(11));
  EXPECT_FALSE(deletes.take("old", at(0)));
  EXPECT_TRUE(deletes.take("new", at(11)));
}

TEST(OwnDeletes, BeyondTheLimitTheyCountAsThoseOfOthers) {
  OwnDeletes deletes;
  for (std::size_t i = 0; i < limits::kOwnDeletes; ++i) deletes.note(std::to_string(i), at(0));
  deletes.note("one more", at(0));
  EXPECT_FALSE(deletes.take("one more", at(0)));
  EXPECT_TRUE(deletes.take("0", at(0)));
}

}  // namespace
}  // namespace rondo
