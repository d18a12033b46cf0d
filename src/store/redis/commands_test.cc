// The buffer of requests: its content, the rest after a partial send, and that it does not grow.
#include "store/redis/commands.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::redis {
namespace {

TEST(Commands, AreWrittenAsTheProtocolWants) {
  Commands commands;
  commands.command({"SET", "", std::string_view("a\0b", 3)});
  commands.begin(3).word("GET").word("T:", "key").number(-12);
  const std::string nul(1, '\0');
  EXPECT_EQ(commands.unsent(), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\na" + nul + "b\r\n*3\r\n$3\r\nGET\r\n$5\r\nT:key\r\n$3\r\n-12\r\n");
}

TEST(Commands, WhatIsSentGoesAndTheRestStays) {
  Commands commands;
  commands.command({"PING"});
  const std::string all{commands.unsent()};
  commands.sent(3);
  EXPECT_EQ(commands.unsent(), all.substr(3));
  commands.command({"PING"});
  EXPECT_EQ(commands.unsent(), all.substr(3) + all);
  commands.sent(commands.unsent().size());
  EXPECT_EQ(commands.unsent(), "");
}

// A buffer that was cleared only when everything had been sent grew to hundreds of megabytes under a long feed. Moving them took a quarter
// of a second.
TEST(Commands, ABufferThatIsNeverEmptyDoesNotGrow) {
  Commands commands;
  std::string expected;
  const std::string value(1000, 'v');
  std::size_t sent = 0;
  for (int i = 0; i < 100'000; ++i) {
    commands.command({"SET", std::to_string(i), value});
    if (commands.unsent().size() > 100'000) {
      const std::size_t some = commands.unsent().size() / 2;
      sent += some;
      commands.sent(some);
    }
  }
  EXPECT_GT(sent, 90'000'000U);
  EXPECT_LT(commands.capacity(), 1'000'000U);
  EXPECT_TRUE(commands.unsent().ends_with(value + "\r\n"));
}

TEST(Commands, TheMemoryOfALargeValueIsGivenBack) {
  Commands commands;
  commands.command({"SET", "k", std::string(20'000'000, 'v')});
  EXPECT_GT(commands.capacity(), 20'000'000U);
  commands.sent(commands.unsent().size());
  EXPECT_LT(commands.capacity(), 1'000'000U);
  commands.command({"PING"});
  EXPECT_EQ(commands.unsent(), "*1\r\n$4\r\nPING\r\n");
}

}  // namespace
}  // namespace rondo::redis
