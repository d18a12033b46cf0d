// Who may do what with a rondod, and who is told to have done it. Method: a real process with the simulated data plane; RONDOD names the
// program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rondod/config.h"
#include "rondod/rondod_kit.h"
#include "rondod/user_names.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class RondodRights : public RondodProcess {};

// A command that is not in this list and says that it writes has declared nothing: decide what it does (CommandSpec::effect).
TEST_F(RondodRights, CommandsThatWriteAreThese) {
  start("");
  const json::object commands = call("commands");
  std::vector<std::string> writing;
  for (const json::value& row : commands.at("rows").as_array()) {
    if (row.at("writes").as_bool()) writing.emplace_back(row.at("name").as_string());
  }
  EXPECT_THAT(writing, ElementsAre("del", "set", "sim-carrier"));
}

TEST(RightsConfig, TheReadGroupIsOneOfThisSystemOrANumber) {
  const auto group = [](const std::string& name) { return parse_config("[admin]\nread_group = \"" + name + "\"\n", "rondod.toml"); };
  EXPECT_EQ(group("root").value().read_group, "root");
  EXPECT_EQ(group("54321").value().read_group, "54321");
  EXPECT_EQ(group_named("54321").value(), 54321U);
  EXPECT_EQ(group_named("root").value(), 0U);
  const auto unknown = group("no-such-group");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(std::string{unknown.error().message()},
              AllOf(HasSubstr("rondod.toml:2"), HasSubstr("read_group"), HasSubstr("no group 'no-such-group'")));
}

TEST(UserNames, AreThoseOfTheMachine) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(4'000'000'123), "");
}

}  // namespace
}  // namespace rondo::daemon
