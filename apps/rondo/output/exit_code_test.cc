// The exit code of each kind of error.
#include "output/exit_code.h"

#include <gtest/gtest.h>

namespace rondo::cli {
namespace {

TEST(ExitCode, EveryKindOfErrorHasItsOwn) {
  EXPECT_EQ(exit_code(StatusCode::Ok), 0);
  EXPECT_EQ(exit_code(StatusCode::NotFound), 1);
  EXPECT_EQ(exit_code(StatusCode::InvalidArgument), 2);
  EXPECT_EQ(exit_code(StatusCode::Unavailable), 69);
  EXPECT_EQ(exit_code(StatusCode::ResourceExhausted), 75);
}

}  // namespace
}  // namespace rondo::cli
