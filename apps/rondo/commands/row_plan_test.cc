// The difference that a file of rows makes, against a daemon that is a map: what is read, written, printed and refused.
#include "commands/row_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "admin/bulk_writer.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MapBackend final : public Backend {
 public:
  Result<json::object> call(const std::string& command, const json::object& arguments, const OnRow& on_row) override {
    calls.push_back(command);
    if (command == "version") return json::object{{"name", name}, {"version", "1"}};
    if (command == "tables") {
      for (const auto& [table, all] : rows) on_row(json::object{{"table", table}});
      return json::object{};
    }
    if (command == "write") {
      written = json::serialize(arguments.at("rows"));
      return write_answer;
    }
    static const std::map<std::string, RowFields> kNone;
    const auto found = rows.find(unescape_text(arguments.at("table").as_string()));
    const auto& table = found == rows.end() ? kNone : found->second;
    if (command == "show") {
      for (const auto& [key, fields] : table) on_row(row_of(key, fields));
      return json::object{};
    }
    const auto row = table.find(unescape_text(arguments.at("key").as_string()));
    if (row == table.end()) return failure(StatusCode::NotFound, "no row");
    return row_of(row->first, row->second);
  }
  Result<BulkTotals> write(const std::function<Status(BulkSink&)>&, const std::function<void(const BulkTotals&)>&) override {
    return BulkTotals{};
  }

  static json::object row_of(const std::string& key, const RowFields& fields) {
    json::array list;
    for (const auto& [field, value] : fields) list.push_back(json::array{escape_text(field), escape_text(value)});
    return {{"key", escape_text(key)}, {"fields", std::move(list)}};
  }
  std::map<std::string, std::map<std::string, RowFields>> rows;
  std::vector<std::string> calls;
  std::string name = "rondod";
  std::string written;
  json::object write_answer;
};

class LineSink final : public BulkSink {
 public:
  Status begin(std::string_view table) override { return table_ = table, Status{}; }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    std::string line = (op == BulkOp::Delete ? "del " : "set ") + table_ + ":" + std::string{key};
    for (const BulkField& field : fields) line.append(" ").append(field.name).append("=").append(field.value);
    lines.push_back(line);
    return {};
  }
  Status end() override { return {}; }
  std::vector<std::string> lines;

 private:
  std::string table_;
};

class RowPlan : public testing::Test {
 protected:
  RowPlan() {
    daemon.rows["PORT_TABLE"]["swp1"] = {{"mtu", "9100"}, {"admin_status", "up"}};
    daemon.rows["PORT_TABLE"]["swp2"] = {{"mtu", "9100"}};
    daemon.rows["PORT_TABLE"]["swp3"] = {{"mtu", "1500"}};
    daemon.rows["ROUTE_TABLE"]["2001:db8::/48"] = {{"blackhole", "true"}};
  }
  std::vector<PlannedRow> plan(const std::string& file, bool replace = false) {
    const auto rows = parse_load(file, "f");
    EXPECT_TRUE(rows.has_value()) << rows.error().to_string();
    auto planned = plan_rows(daemon, *rows, replace);
    EXPECT_TRUE(planned.has_value()) << planned.error().to_string();
    return std::move(*planned);
  }
  static std::vector<std::string> written(const std::vector<PlannedRow>& plan) {
    LineSink sink;
    std::vector<std::size_t> offsets;
    EXPECT_TRUE(write_plan(plan, sink, offsets).ok());
    EXPECT_EQ(offsets.size(), sink.lines.size());
    return sink.lines;
  }
  std::string refused(const std::string& file) {
    const auto found = first_refused(daemon, plan(file));
    EXPECT_TRUE(found.has_value());
    return *found ? (**found).why.to_string() : std::string{};
  }
  MapBackend daemon;
};

TEST_F(RowPlan, OnlyWhatDiffersIsWrittenAndTold) {
  const auto rows = plan(R"([{"PORT_TABLE:swp1": {"mtu": "9000", "admin_status": "up"}, "OP": "SET"},
                             {"PORT_TABLE:swp2": {"mtu": "9100"}, "OP": "SET"}, {"PORT_TABLE:swp3": {}, "OP": "DEL"},
                             {"PORT_TABLE:swp4": {"mtu": "1500"}, "OP": "SET"}, {"PORT_TABLE:swp9": {}, "OP": "DEL"}])");
  EXPECT_THAT(written(rows), ElementsAre("set PORT_TABLE:swp1 mtu=9000", "del PORT_TABLE:swp3", "set PORT_TABLE:swp4 mtu=1500"));
  EXPECT_EQ(
      diff_text(rows),
      "~ PORT_TABLE:swp1 mtu=9100 -> 9000\n- PORT_TABLE:swp3\n+ PORT_TABLE:swp4 mtu=1500\n1 added, 1 changed, 1 removed, 2 as they are\n");
  const json::object diff = diff_json(rows);
  EXPECT_EQ(json::serialize(diff.at("rows").at(0)),
            R"({"table":"PORT_TABLE","key":"swp1","change":"changed","fields":[{"name":"mtu","from":"9100","to":"9000"}]})");
  EXPECT_EQ(diff.at("unchanged").as_uint64(), 2U);
}

TEST_F(RowPlan, ARowThatIsDeletedAndSetInOneFileStays) {
  EXPECT_THAT(written(plan(R"([{"PORT_TABLE:swp2": {}, "OP": "DEL"}, {"PORT_TABLE:swp2": {"mtu": "9000"}, "OP": "SET"}])")),
              ElementsAre("set PORT_TABLE:swp2 mtu=9000"));
  EXPECT_THAT(written(plan(R"([{"PORT_TABLE:swp2": {}, "OP": "DEL"}, {"PORT_TABLE:swp2": {"mtu": "9100"}, "OP": "SET"}])")), IsEmpty());
}

TEST_F(RowPlan, AReplacedRowLosesTheFieldsThatAreNotNamed) {
  const auto rows = plan(R"([{"PORT_TABLE:swp1": {"mtu": "9100"}, "OP": "SET"}, {"PORT_TABLE:swp2": {"mtu": "1"}, "OP": "SET"}])", true);
  EXPECT_THAT(written(rows), ElementsAre("del PORT_TABLE:swp1", "set PORT_TABLE:swp1 mtu=9100", "set PORT_TABLE:swp2 mtu=1"));
  EXPECT_THAT(diff_text(rows), HasSubstr("~ PORT_TABLE:swp1 -admin_status=up\n"));
}

TEST_F(RowPlan, KeysMeetTheRowsTheyMeanHoweverTheyAreSpelt) {
  EXPECT_THAT(written(plan(R"([{"ROUTE_TABLE:2001:DB8:0::/48": {"blackhole": "true"}, "OP": "SET"}])")), IsEmpty());
}

TEST_F(RowPlan, ManyRowsOfATableAreReadInOneAnswer) {
  std::string file = "[";
  for (int i = 0; i < 1000; ++i) file += R"({"PORT_TABLE:swp)" + std::to_string(i) + R"(": {"mtu": "1500"}, "OP": "SET"},)";
  file.back() = ']';
  const auto rows = plan(file);
  EXPECT_THAT(daemon.calls, ElementsAre("show"));
  EXPECT_EQ(written(rows).size(), 999U) << "swp3 is as it is to be";
}

TEST_F(RowPlan, TheFirstRowThatWouldBeRefusedIsFound) {
  EXPECT_EQ(refused(R"([{"PORT_TABLE:swp1": {"mtu": "9000"}, "OP": "SET"}, {"ROUTE_TABLE:10.0.0.0/8": {}, "OP": "DEL"}])"), "");
  EXPECT_THAT(refused(R"([{"PORT_TABLE:swp1": {"mtu": "many"}, "OP": "SET"}])"),
              AllOf(HasSubstr("row 'PORT_TABLE:swp1'"), HasSubstr("mtu")));
  EXPECT_THAT(refused(R"([{"ROUTE_TABLE:10.0.0.0": {"nexthop_grup": "7"}, "OP": "SET"}])"), HasSubstr("did you mean 'nexthop_group'?"));
  EXPECT_THAT(refused(R"([{"NO_TABLE:a": {}, "OP": "SET"}])"), HasSubstr("no table 'NO_TABLE'"));
  // A single field is valid together with those that the row has.
  EXPECT_EQ(refused(R"([{"ROUTE_TABLE:2001:db8::/48": {"protocol": "x"}, "OP": "SET"}])"), "");
  daemon.name = "balancer";
  EXPECT_EQ(refused(R"([{"PORT_TABLE:swp1": {"mtu": "many"}, "OP": "SET"}])"), "") << "another program's table";
}

TEST_F(RowPlan, WhatIsWrittenAllOrNoneIsOneRequestThatTheDaemonTakesWhole) {
  const auto rows = plan(R"([{"PORT_TABLE:swp1": {"mtu": "9000"}, "OP": "SET"}, {"PORT_TABLE:swp2": {"mtu": "9100"}, "OP": "SET"},
                             {"ROUTE_TABLE:2001:db8::/48": {}, "OP": "DEL"}])");
  daemon.write_answer = {
      {"accepted", 0}, {"refused", 2}, {"first_error", {{"row", 1}, {"key", "k"}, {"code", "not-found"}, {"message", "it is so"}}}};
  std::vector<std::size_t> offsets;
  const auto totals = write_plan_atomically(rows, daemon, offsets);
  ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
  EXPECT_EQ(daemon.written, R"([["PORT_TABLE","swp1","SET",[["mtu","9000"]]],["ROUTE_TABLE","2001:db8::/48","DEL"]])");
  EXPECT_EQ(totals->sent, 2U);
  EXPECT_EQ(totals->refused, 2U);
  EXPECT_EQ(totals->first_row, 1U);
  EXPECT_EQ(offsets.at(1), rows.at(2).offset) << "its place in the file";
  EXPECT_THAT(std::string{totals->first_error.message()}, HasSubstr("row 'ROUTE_TABLE:2001:db8::/48': not-found: it is so"));
}

TEST_F(RowPlan, WhatDoesNotFitOneRequestIsNotWrittenAllOrNone) {
  const auto refusal = [this](std::size_t rows, std::size_t bytes) {
    std::string file = "[";
    for (std::size_t i = 0; i < rows; ++i)
      file += R"({"PORT_TABLE:new)" + std::to_string(i) + R"(": {"note": ")" + std::string(bytes, 'x') + R"("}, "OP": "SET"},)";
    file.back() = ']';
    std::vector<std::size_t> offsets;
    const auto totals = write_plan_atomically(plan(file), daemon, offsets);
    return totals ? std::string{} : std::string{totals.error().message()};
  };
  EXPECT_EQ(refusal(1000, 10), "") << "8 values each";
  EXPECT_NE(daemon.written, "");
  daemon.written.clear();
  EXPECT_THAT(refusal(1030, 10), AllOf(HasSubstr("nothing was written: 1030 changes"), HasSubstr("at most 262144 bytes and 8192 values")));
  EXPECT_THAT(refusal(3, 100'000), HasSubstr("nothing was written: 3 changes"));
  EXPECT_EQ(daemon.written, "");
}

}  // namespace
}  // namespace rondo::cli
