// The sockets at which a daemon is searched.
#include "backends/socket_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace rondo::cli {
namespace {

using testing::ElementsAre;

TEST(SocketPath, FlagThenEnvironmentThenThePlaces) {
  EXPECT_THAT(socket_candidates("/given"), ElementsAre("/given"));
  ASSERT_EQ(::setenv("RONDO_SOCKET", "/named", 1), 0);
  EXPECT_THAT(socket_candidates(""), ElementsAre("/named"));
  ASSERT_EQ(::unsetenv("RONDO_SOCKET"), 0);
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", "/user", 1), 0);
  EXPECT_THAT(socket_candidates(""), ElementsAre("/run/rondo/rondod.sock", "/user/rondo/rondod.sock"));
}

}  // namespace
}  // namespace rondo::cli
