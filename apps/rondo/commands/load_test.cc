// The files of `rondo load`, as rows.
#include "commands/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(Load, EntriesBecomeRows) {
  const auto rows = parse_load(R"([
    {"OP": "SET", "ROUTE_TABLE:10.0.0.0/24": {"nexthop": "1.2.3.4", "ifname": "Ethernet0"}},
    {"NEIGH_TABLE:Ethernet0:1.2.3.4": {"neigh": "x"}, "OP": "DEL"}, {"T:": {}, "OP": "SET"}
  ])",
                               "f")
                        .value();
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].table, "ROUTE_TABLE");
  EXPECT_EQ(rows[0].key, "10.0.0.0/24");
  EXPECT_THAT(rows[0].fields, ElementsAre(Pair("nexthop", "1.2.3.4"), Pair("ifname", "Ethernet0")));
  EXPECT_EQ(rows[1].op, BulkOp::Delete);
  EXPECT_EQ(rows[1].key, "Ethernet0:1.2.3.4");
  EXPECT_THAT(rows[1].fields, IsEmpty()) << "a Delete carries no fields";
  EXPECT_EQ(rows[2].key, "");
  EXPECT_THAT(parse_load(" [ ] ", "f").value(), IsEmpty());
}

TEST(Load, AFileWithoutEndIsRefusedAtTheLimit) {
  const auto text = read_text("/dev/zero", 100'000);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(std::string{text.error().message()}, HasSubstr("'/dev/zero' has more than 100000 bytes"));
  EXPECT_EQ(read_text("/dev/null", 0).value(), "");
}

TEST(Load, BytesThatAreNoTextComeBackAsExportWroteThem) {
  const std::string key{
      "a\xff"
      "b\\x5c"};
  const std::string value{"line\n", 5};
  const json::array all{json::object{{escape_text("T:" + key), json::object{{escape_text("f\x01"), escape_text(value)}}}, {"OP", "SET"}}};
  const std::string written = json::serialize(all);
  const auto rows = parse_load(written, "f");
  ASSERT_TRUE(rows.has_value()) << rows.error().to_string() << "\n" << written;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().table, "T");
  EXPECT_EQ(rows->front().key, key);
  ASSERT_EQ(rows->front().fields.size(), 1U);
  EXPECT_EQ(rows->front().fields[0].first, "f\x01");
  EXPECT_EQ(rows->front().fields[0].second, value);
}

TEST(Load, AnErrorNamesFileLineColumnAndEntry) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "f:1:1: a '[' is due"},
      {"{}", "f:1:1: a '[' is due"},
      {"[", "f:1:2: entry 1: an object is due"},
      {"[\n  {\"T:k\": {}, \"OP\": \"SET\"},\n  5]", "f:3:3: entry 2: an object is due"},
      {"[{\"T:k\": {}, \"OP\": \"SET\"}", "after entry 1 a ',' or ']' is due"},
      {"[{\"T:k\": {}, \"OP\": \"SET\"}] x", "f:1:28: text after the end"},
      {"[{\"T:k\": {}, \"OP\": \"SET\"},]", "entry 2: an object is due"},
      {"[{\"T:k\": {}", "entry 1: incomplete JSON"},
      {"[{\"T:k\": {\"a\": \"\x01\"}}]", "entry 1:"},
      {"[{\"T:k\": {}}]", "f:1:2: entry 1: no \"OP\""},
      {"[{\"OP\": \"SET\"}]", "entry 1: no \"TABLE:key\""},
      {"[{\"T:k\": {}, \"OP\": \"GET\"}]", "must be \"SET\" or \"DEL\", not \"GET\""},
      {"[{\"T:k\": {}, \"OP\": 1}]", "not 1"},
      {"[{\"T\": {}, \"OP\": \"SET\"}]", "'T' is not TABLE:key"},
      {"[{\":k\": {}, \"OP\": \"SET\"}]", "':k' is not TABLE:key"},
      {"[{\"T:k\": [], \"OP\": \"SET\"}]", "must be an object of fields"},
      {"[{\"T:k\": {\"mtu\": 9100}, \"OP\": \"SET\"}]", "field 'mtu' of 'T:k' must be a string, not 9100"},
      {"[{\"T:k\": {}, \"U:k\": {}, \"OP\": \"SET\"}]", "more than one"},
      {std::string(10000, '['), "entry 1: an object is due"},
  };
  for (const auto& [text, part] : table) {
    const auto rows = parse_load(text, "f");
    ASSERT_FALSE(rows.has_value()) << text;
    EXPECT_THAT(std::string{rows.error().message()}, HasSubstr(part)) << text;
  }
}

/// Records when tables begin and end.

class TableSink final : public BulkSink {
 public:
  Status begin(std::string_view table) override {
    log.append("<").append(table);
    return {};
  }
  Status row(BulkOp, std::string_view key, std::span<const BulkField>) override {
    log.append(" ").append(key);
    return {};
  }
  Status end() override {
    log.append(">");
    return {};
  }
  std::string log;
};

TEST(Load, OrderIsKeptAndNeighboursShareATable) {
  TableSink sink;
  const std::vector<LoadRow> rows{
      {"A", "1", BulkOp::Set, {}}, {"A", "2", BulkOp::Set, {}}, {"B", "3", BulkOp::Set, {}}, {"A", "4", BulkOp::Delete, {}}};
  ASSERT_TRUE(write_rows(rows, sink).ok());
  EXPECT_EQ(sink.log, "<A 1 2><B 3><A 4>");
}

}  // namespace
}  // namespace rondo::cli
