// The exit code of each kind of error.
#include "output/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo::cli {
namespace {

TEST(ExitCode, EveryKindOfErrorHasItsOwn) {
  EXPECT_EQ(exit_code(Code::Ok), 0);
  EXPECT_EQ(exit_code(Code::NotFound), 1);
  EXPECT_EQ(exit_code(Code::InvalidArgument), 2);
  EXPECT_EQ(exit_code(Code::Unavailable), 69);
  EXPECT_EQ(exit_code(Code::ResourceExhausted), 75);
}

}  // namespace
}  // namespace rondo::cli
