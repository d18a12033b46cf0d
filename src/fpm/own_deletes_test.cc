// The Deletes that the server has written and that have not been taken: each is found once, a reading forgets old ones, the limit holds.
#include "fpm/own_deletes.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::fpm {
namespace {

TEST(OwnDeletes, EachIsTakenOnce) {
  OwnDeletes deletes;
  deletes.note("a", 1);
  deletes.note("a", 1);
  EXPECT_TRUE(deletes.take("a"));
  EXPECT_TRUE(deletes.take("a"));
  EXPECT_FALSE(deletes.take("a")) << "one of another program";
  EXPECT_FALSE(deletes.take("b"));
}

TEST(OwnDeletes, AReadingForgetsThoseOfBefore) {
  OwnDeletes deletes;
  deletes.note("before", 1);
  deletes.note("since", 2);
  deletes.forget_before(2);
  EXPECT_FALSE(deletes.take("before"));
  EXPECT_TRUE(deletes.take("since"));
}

TEST(OwnDeletes, BeyondTheLimitTheyCountAsThoseOfOthers) {
  OwnDeletes deletes;
  for (std::size_t i = 0; i < limits::kFpmOwnDeletes; ++i) deletes.note(std::to_string(i), 1);
  deletes.note("one more", 1);
  EXPECT_FALSE(deletes.take("one more"));
  EXPECT_TRUE(deletes.take("0"));
}

}  // namespace
}  // namespace rondo::fpm
