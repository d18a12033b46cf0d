// Commands of an operator about the rows of a running rondod: `show` in pages, and the arguments of `diff`, `verify` and `resync`. Method:
// a real process with the simulated data plane; RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "admin/bulk.h"
#include "admin/bulk_writer.h"
#include "rondo/admin/limits.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

class RondodRows : public RondodProcess {
 protected:
  void SetUp() override {
    RondodProcess::SetUp();
    start("");
  }
  static std::string prefix(std::size_t of, std::size_t number) {
    return std::to_string(of) + "." + std::to_string(number / 256) + "." + std::to_string(number % 256) + ".0/24";
  }
  /// Writes routes 'of'.x.y.0/24 with one field.
  void write_routes(std::size_t of, std::size_t count, const BulkField& field) {
    BulkWriter writer(client());
    ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(writer.row(BulkOp::Set, prefix(of, i), {&field, 1}).ok());
    ASSERT_TRUE(writer.end().ok());
    ASSERT_TRUE(writer.finish().has_value());
  }
  /// Returns how often each key was shown, and the rows.
  std::map<std::string, json::object> show(json::object arguments) {
    arguments["table"] = "ROUTE_TABLE";
    std::map<std::string, json::object> rows;
    const auto answer = client().call("show", arguments, [&](const json::value& row) {
      EXPECT_TRUE(rows.emplace(row.at("key").as_string(), row.as_object()).second) << "shown twice: " << json::serialize(row);
    });
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
    return rows;
  }
};

TEST_F(RondodRows, ShowTellsEachRowOnceOverManyPagesWithItsStateAndFields) {
  constexpr std::size_t kDone = 2 * limits::kAdminPageRows + 500;
  constexpr std::size_t kWaiting = limits::kAdminPageRows + 1;
  write_routes(10, kDone, {"blackhole", "true"});
  write_routes(20, kWaiting, {"nexthop_group", "7"});
  write_routes(30, 1, {"blackhole", "perhaps"});
  const auto is = [this](const std::string& key, std::string_view state) {
    return call("why", {{"table", "ROUTE_TABLE"}, {"key", key}}).at("chain").at(0).at("state").as_string() == state;
  };
  // A route is in the data plane before its answer has arrived.
  ASSERT_TRUE(becomes([&] {
    return is(prefix(10, kDone - 1), "done") && is(prefix(20, kWaiting - 1), "parked") && is(prefix(30, 0), "rejected");
  })) << log_text();
  const auto all = show({});
  ASSERT_EQ(all.size(), kDone + kWaiting + 1);
  std::map<std::string, std::size_t> states;
  for (const auto& [key, row] : all) ++states[key.substr(0, 3) + std::string{row.at("state").as_string()}];
  EXPECT_EQ(states, (std::map<std::string, std::size_t>{{"10.done", kDone}, {"20.parked", kWaiting}, {"30.rejected", 1}}));
  EXPECT_EQ(all.at(prefix(10, kDone - 1)).at("plane"), "installed");
  EXPECT_EQ(json::serialize(all.at(prefix(20, 0)).at("fields")), R"([["nexthop_group","7"]])");
  EXPECT_THAT(json::serialize(all.at(prefix(20, 0)).at("note")), HasSubstr("7"));
  EXPECT_THAT(json::serialize(all.at(prefix(30, 0)).at("note")), HasSubstr("perhaps"));

  const auto some = show({{"pattern", "20.*.7?.0/24"}});  // The matches are on several pages.
  EXPECT_EQ(some.size(), 10U * (kWaiting / 256) + 10U);
  for (const auto& [key, row] : some) EXPECT_EQ(row.at("state"), "parked") << key;
  EXPECT_EQ(show({{"count", kWaiting + 5}}).size(), kWaiting + 5) << "ends within a page";
  EXPECT_TRUE(show({{"pattern", "40.*"}}).empty());
}

TEST_F(RondodRows, AnAuditOfATableWithoutObjectsNamesTheTablesOfOperators) {
  for (const char* const command : {"diff", "verify", "resync"}) {
    const auto answer = client().call(command, {{"table", "VRF_TABLE"}});
    ASSERT_FALSE(answer.has_value()) << command;
    EXPECT_THAT(answer.error().to_string(),
                HasSubstr("'VRF_TABLE': PORT_TABLE, LAG_TABLE, VLAN_TABLE, INTF_TABLE, NEIGH_TABLE, NEXTHOP_GROUP_TABLE, ROUTE_TABLE and "
                          "FDB_TABLE"));
  }
}

}  // namespace
}  // namespace rondo::daemon
