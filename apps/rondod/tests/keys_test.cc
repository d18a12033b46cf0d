// One key, one row, however the keys of commands spell an address or a prefix. Method: a real process with the simulated data plane;
// RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "admin/bulk.h"
#include "admin/bulk_writer.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RondodKeys : public RondodProcess {
 protected:
  void SetUp() override {
    RondodProcess::SetUp();
    start("");
  }
  static json::object row(const char* key) { return {{"table", "ROUTE_TABLE"}, {"key", key}}; }
  void set_blackhole(const char* key) {
    json::object set = row(key);
    set["fields"] = json::array{json::array{"blackhole", "true"}};
    call("set", set);
  }
  std::vector<std::string> keys(const char* command, json::object arguments) {
    std::vector<std::string> keys;
    arguments["table"] = "ROUTE_TABLE";
    const auto answer = client().call(command, arguments, [&](const json::value& one) { keys.emplace_back(one.at("key").as_string()); });
    EXPECT_TRUE(answer.has_value());
    return keys;
  }
};

TEST_F(RondodKeys, CommandsMeanOneRowHoweverTheySpellItsKey) {
  set_blackhole("2001:DB8:7::/48");
  set_blackhole("2001:0db8:7::/48");
  ASSERT_TRUE(becomes([this] { return has_route("2001:db8:7::/48"); }));
  EXPECT_THAT(keys("keys", {}), ElementsAre("2001:db8:7::/48"));
  EXPECT_EQ(call("get", row("2001:DB8:7::/48")).at("key"), "2001:db8:7::/48");
  EXPECT_EQ(call("why", row("2001:DB8:7::/48")).at("chain").at(0).at("key"), "2001:db8:7::/48");
  EXPECT_TRUE(becomes([this] { return call("why", row("2001:DB8:7::/48")).at("chain").at(0).at("state") == "done"; }));
  EXPECT_THAT(keys("show", {{"pattern", "2001:DB8:7::/48"}}), ElementsAre("2001:db8:7::/48"));
  call("del", row("2001:DB8:7:0::/48"));
  EXPECT_TRUE(becomes([this] { return !has_route("2001:db8:7::/48"); }));
  EXPECT_THAT(keys("keys", {}), IsEmpty());
}

TEST_F(RondodKeys, RowsOfALoadAreWrittenUnderTheirCanonicalKeys) {
  BulkWriter writer(client());
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  const BulkField blackhole{"blackhole", "true"};
  for (const char* const key : {"10.0.0.1", "2001:DB8::/32", "10.0.0.1/32", "2001:db8::/32"})
    ASSERT_TRUE(writer.row(BulkOp::Set, key, {&blackhole, 1}).ok());
  ASSERT_TRUE(writer.end().ok());
  ASSERT_TRUE(writer.finish().has_value());
  EXPECT_TRUE(becomes([this] { return has_route("10.0.0.1/32") && has_route("2001:db8::/32"); }));
  EXPECT_THAT(keys("keys", {}), testing::UnorderedElementsAre("10.0.0.1/32", "2001:db8::/32"));
}

}  // namespace
}  // namespace rondo::daemon
