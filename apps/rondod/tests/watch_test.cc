// Monitoring a running rondod: watch, trace, top, pages of large tables and the support commands, each over the admin socket of a real
// process with the simulated data plane. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admin/bulk_writer.h"
#include "admin/frame.h"
#include "admin/unix_socket.h"
#include "commands/limits.h"
#include "rondo/admin/limits.h"
#include "rondo/commands/limits.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A caller that sends a request and reads only when the test says so.
class Reader {
 public:
  Reader(const std::string& path, const json::object& request) : fd_(connect_unix(path).value()) {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame += json::serialize(request);
    end_frame(frame, start);
    EXPECT_EQ(::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  }
  /// Reads the next frame: returns true while more follow. Adds its rows to 'rows' and keeps its result.
  bool read() {
    for (;;) {
      const auto frame = next_frame(heard_);
      if (frame && *frame) {
        json::object body = json::parse((**frame).payload).as_object();
        heard_.erase(0, (**frame).bytes);
        if (body.contains("result")) result = body["result"].as_object();
        const json::value* const list = body.contains("rows") ? body.if_contains("rows") : result.if_contains("rows");
        if (list != nullptr) rows.insert(rows.end(), list->as_array().begin(), list->as_array().end());
        return body.contains("rows");
      }
      char buffer[65536];
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      heard_.append(buffer, static_cast<std::size_t>(got));
    }
  }

  std::vector<json::value> rows;
  json::object result;

 private:
  UniqueFd fd_;
  std::string heard_;
};

class LookingOn : public RondodProcess {
 protected:
  void SetUp() override {
    RondodProcess::SetUp();
    start("");
  }
  void set(const char* table, const std::string& key, json::array fields = {}) {
    call("set", {{"table", table}, {"key", key}, {"fields", std::move(fields)}});
  }
  /// Writes routes that wait for a group that is never written.
  void feed(int routes) {
    BulkWriter writer(client());
    ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
    const BulkField group{"nexthop_group", "7"};
    for (int i = 0; i < routes; ++i) {
      const std::string key =
          std::to_string(20 + i / 65536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) + ".0/24";
      ASSERT_TRUE(writer.row(BulkOp::Set, key, {&group, 1}).ok());
    }
    ASSERT_TRUE(writer.end().ok());
    ASSERT_TRUE(writer.finish().has_value());
  }
  std::int64_t watchers() { return call("top").at("watchers").to_number<std::int64_t>(); }
};

TEST_F(LookingOn, WatchTellsChangesThatMatchAndEndsAfterItsCount) {
  Reader reader(file("socket"), {{"id", 1}, {"command", "watch"}, {"table", "PORT_TABLE"}, {"pattern", "swp1*"}, {"count", 2}});
  ASSERT_TRUE(becomes([this] { return watchers() == 1; }));
  set("PORT_TABLE", "swp1", {json::array{"mtu", "9000"}});
  ASSERT_TRUE(reader.read());
  ASSERT_EQ(reader.rows.size(), 1U);
  EXPECT_EQ(json::serialize(reader.rows[0]), R"({"op":"SET","key":"swp1","fields":[["mtu","9000"]]})");
  set("PORT_TABLE", "swp2");
  call("del", {{"table", "PORT_TABLE"}, {"key", "swp1"}});
  while (reader.read()) continue;
  ASSERT_EQ(reader.rows.size(), 2U) << "swp2 does not match";
  EXPECT_EQ(reader.rows[1].at("op").as_string(), "DEL");
  EXPECT_EQ(reader.result.at("events").to_number<int>(), 2);
  EXPECT_TRUE(becomes([this] { return watchers() == 0; }));
}

TEST_F(LookingOn, WatchEndsAfterItsTimeAndIsForgottenWhenItsReaderGoes) {
  Reader timed(file("socket"), {{"id", 1}, {"command", "watch"}, {"table", "ROUTE_TABLE"}, {"milliseconds", 1}});
  while (timed.read()) continue;
  EXPECT_EQ(timed.result.at("events").to_number<int>(), 0);
  {
    Reader gone(file("socket"), {{"id", 1}, {"command", "watch"}, {"table", "ROUTE_TABLE"}});
    ASSERT_TRUE(becomes([this] { return watchers() == 1; }));
  }
  EXPECT_TRUE(becomes([this] { return watchers() == 0; }));
  EXPECT_EQ(client().call("watch", {{"table", "NO_TABLE"}}).error().code(), StatusCode::NotFound);
  EXPECT_EQ(client().call("watch", {{"table", "ROUTE_TABLE"}, {"count", 0}}).error().code(), StatusCode::InvalidArgument);
}

TEST_F(LookingOn, ASlowReaderHoldsNobodyAndIsToldWhatItMissed) {
  constexpr int kRoutes = 120'000;  // More than queue, pages and socket buffers hold.
  Reader reader(file("socket"), {{"id", 1}, {"command", "watch"}, {"table", "ROUTE_TABLE"}});
  ASSERT_TRUE(becomes([this] { return watchers() == 1; }));
  feed(kRoutes);
  const auto parked = [this] {
    const json::object top = call("top");
    for (const json::value& one : top.at("tables").as_array()) {
      if (one.at("table").as_string() == "ROUTE_TABLE") return one.at("parked").to_number<int>();
    }
    return -1;
  };
  ASSERT_TRUE(becomes([&] { return parked() == kRoutes; })) << "the routes do not wait for the reader";
  // Now it reads the queued events, then the gap; the events of one more change follow.
  std::uint64_t told = 0;
  std::uint64_t missed = 0;
  set("ROUTE_TABLE", "10.9.9.0/24", {json::array{"nexthop_group", "7"}});
  bool at_end = false;
  while (!at_end && reader.read()) {
    for (const json::value& row : reader.rows) {
      if (row.at("op").as_string() == "GAP") {
        missed += row.at("missed").to_number<std::uint64_t>();
      } else {
        ++told;
      }
    }
    at_end = told + missed == kRoutes + 1;
    reader.rows.clear();
  }
  EXPECT_GT(missed, 0U);
  EXPECT_GT(told, 0U);
  EXPECT_EQ(told + missed, static_cast<std::uint64_t>(kRoutes) + 1) << "each change was told, or counted as missed";
  EXPECT_EQ(call("stats").at("watch").at("missed").to_number<std::uint64_t>(), missed);
}

TEST_F(LookingOn, AChangeThatIsTooLargeIsToldByItsSize) {
  Reader reader(file("socket"), {{"id", 1}, {"command", "watch"}, {"table", "PORT_TABLE"}, {"count", 2}});
  ASSERT_TRUE(becomes([this] { return watchers() == 1; }));
  set("PORT_TABLE", "swp1", {json::array{"remark", std::string(limits::kWatchRowBytes - 1000, 'x')}});
  set("PORT_TABLE", "swp2", {json::array{"remark", std::string(limits::kWatchRowBytes, 'x')}});
  while (reader.read()) continue;
  ASSERT_EQ(reader.rows.size(), 2U);
  EXPECT_EQ(reader.rows[0].at("fields").as_array().size(), 1U);
  EXPECT_FALSE(reader.rows[0].as_object().contains("bytes"));
  EXPECT_EQ(reader.rows[1].at("fields").as_array().size(), 0U);
  EXPECT_GT(reader.rows[1].at("bytes").to_number<std::size_t>(), limits::kWatchRowBytes);
}

TEST_F(LookingOn, TopShowsTheFactsWithTheMostRowsOfThoseItLooksAt) {
  // Each route waits for its own missing group. Then some groups get a second route: one of the first groups, and one beyond the number of
  // facts that top reads.
  constexpr std::size_t kGroups = limits::kTopFactsSeen + 100;
  BulkWriter writer(client());
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  const auto route = [&](std::size_t number, std::size_t group) {
    const std::string name = std::to_string(group);
    const BulkField field{"nexthop_group", name};
    const std::string key = "20." + std::to_string(number / 256) + "." + std::to_string(number % 256) + ".0/24";
    ASSERT_TRUE(writer.row(BulkOp::Set, key, {&field, 1}).ok());
  };
  for (std::size_t i = 0; i < kGroups; ++i) route(i, i);
  for (const std::size_t group : {std::size_t{700}, kGroups - 1, kGroups - 1}) route(kGroups + group, group);
  ASSERT_TRUE(writer.end().ok());
  ASSERT_TRUE(writer.finish().has_value());
  ASSERT_TRUE(becomes([this] { return call("top").at("awaited_facts").to_number<std::size_t>() == kGroups; }));
  const std::string last = "20." + std::to_string((2 * kGroups - 1) / 256) + "." + std::to_string((2 * kGroups - 1) % 256) + ".0/24";
  ASSERT_TRUE(becomes([&] {  // The route that is taken last waits for a fact that is awaited already.
    return call("why", {{"table", "ROUTE_TABLE"}, {"key", last}}).at("chain").at(0).at("state") == "parked";
  }));
  const json::array facts = call("top").at("facts").as_array();
  ASSERT_EQ(facts.size(), limits::kTopFacts);
  EXPECT_EQ(facts[0].at("rows"), 2) << json::serialize(facts[0]);
  EXPECT_EQ(facts[0].at("key"), "700");
  EXPECT_EQ(facts[1].at("rows"), 1) << "the last group is beyond those that are looked at";
}

TEST_F(LookingOn, TraceTellsTheStoryOfARow) {
  Reader reader(file("socket"), {{"id", 1}, {"command", "trace"}, {"table", "NEIGH_TABLE"}, {"key", "swp1:10.0.0.2"}, {"count", 7}});
  ASSERT_TRUE(becomes([this] { return watchers() == 1; }));
  set("NEIGH_TABLE", "swp1:10.0.0.2", {json::array{"neigh", "02:00:00:00:00:02"}});
  set("NEIGH_TABLE", "swp1:10.0.0.3", {json::array{"neigh", "02:00:00:00:00:03"}});
  while (reader.rows.size() < 3) ASSERT_TRUE(reader.read());
  set("INTF_TABLE", "swp1:10.0.0.1/24");
  set("INTF_TABLE", "swp1");
  set("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}});
  while (reader.read()) continue;
  std::vector<std::string> what;
  double at = 0;
  for (const json::value& row : reader.rows) {
    what.emplace_back(row.at("what").as_string());
    EXPECT_GE(row.at("at_us").to_number<double>(), at) << "times ascend";
    at = row.at("at_us").to_number<double>();
    if (row.as_object().contains("key")) {
      EXPECT_EQ(row.at("key").as_string(), "swp1:10.0.0.2");
    }
  }
  ASSERT_GE(what.size(), 3U);
  EXPECT_EQ(what[0], "written");
  EXPECT_EQ(what[1], "taken");
  EXPECT_EQ(what[2], "parked");
  EXPECT_FALSE(reader.rows[2].at("facts").as_array().empty());
  EXPECT_NE(std::ranges::find(what, "resolved"), what.end());
  EXPECT_NE(std::ranges::find(what, "retried"), what.end());
}

TEST_F(LookingOn, LargeAnswersComeInPagesWhileOthersHaveTheirTurns) {
  constexpr int kRoutes = 60'000;
  feed(kRoutes);
  ASSERT_TRUE(becomes([this] {
    return call("why", {{"table", "ROUTE_TABLE"}, {"key", "20.234.95.0/24"}}).at("chain").at(0).at("state") == "parked";
  }));
  for (const char* const command : {"keys", "parked"}) {
    auto connected = AdminClient::connect(file("socket"));
    ASSERT_TRUE(connected.has_value());
    std::set<std::string> keys;
    const auto answer =
        (*connected)->call(command, {{"table", "ROUTE_TABLE"}}, [&](const json::value& row) { keys.emplace(row.at("key").as_string()); });
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(keys.size(), static_cast<std::size_t>(kRoutes)) << command << ": all, none twice, none missing";
    // The caller that is still connected took that many turns, so no turn made more than a page.
    std::uint64_t turns = 0;
    const json::object sources = call("sources");
    for (const json::value& row : sources.at("rows").as_array()) {
      if (std::string_view{row.at("name").as_string()}.starts_with("admin:caller"))
        turns = std::max(turns, row.at("turns").to_number<std::uint64_t>());
    }
    EXPECT_GE(turns, kRoutes / limits::kAdminPageRows) << command;
  }
}

TEST_F(LookingOn, ASlowReaderOfLargeRowsMissesThemByTheirBytes) {
  constexpr int kRows = 250;  // Far fewer than the events that may wait: the limit reached is that of bytes.
  static_assert(kRows < limits::kWatchEvents);
  Reader reader(file("socket"), {{"id", 1}, {"command", "watch"}, {"table", "ROUTE_TABLE"}});
  ASSERT_TRUE(becomes([this] { return watchers() == 1; }));
  BulkWriter writer(client());
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  const std::string large(30'000, 'x');  // Shown whole, so that it also fills the buffers to the reader.
  for (int i = 0; i < kRows; ++i) {
    const BulkField fields[] = {{"nexthop_group", "7"}, {"remark", large}};
    ASSERT_TRUE(writer.row(BulkOp::Set, "30.0." + std::to_string(i) + ".0/24", fields).ok());
  }
  ASSERT_TRUE(writer.end().ok());
  ASSERT_TRUE(writer.finish().has_value());
  EXPECT_TRUE(becomes([this] { return call("stats").at("watch").at("missed").to_number<std::uint64_t>() > 0; }));
}

TEST_F(LookingOn, KeysAreListedByPatternAndCount) {
  feed(2000);
  ASSERT_TRUE(becomes([this] { return call("keys", {{"table", "ROUTE_TABLE"}}).at("rows").as_array().size() == 2000; }));
  EXPECT_EQ(call("keys", {{"table", "ROUTE_TABLE"}, {"pattern", "20.0.7.*"}}).at("rows").as_array().size(), 1U);
  EXPECT_EQ(call("keys", {{"table", "ROUTE_TABLE"}, {"pattern", "20.0.*.0/24"}, {"count", 100}}).at("rows").as_array().size(), 100U);
  EXPECT_EQ(call("keys", {{"table", "ROUTE_TABLE"}, {"pattern", "x*"}}).at("rows").as_array().size(), 0U);
  EXPECT_TRUE(client().call("keys", {{"table", "ROUTE_TABLE"}, {"pattern", std::string(limits::kPatternBytes, '*')}}).has_value());
  for (const char* const command : {"keys", "watch"}) {
    const auto refused = client().call(command, {{"table", "ROUTE_TABLE"}, {"pattern", std::string(limits::kPatternBytes + 1, '*')}});
    ASSERT_FALSE(refused.has_value()) << command;
    EXPECT_EQ(refused.error().code(), StatusCode::InvalidArgument);
    EXPECT_THAT(std::string{refused.error().message()}, HasSubstr("longer than 256 bytes"));
  }
}

TEST_F(LookingOn, ALargeRowComesInParts) {
  const std::string large(300'000, 'x');
  BulkWriter writer(client());
  ASSERT_TRUE(writer.begin("PORT_TABLE").ok());
  const BulkField fields[] = {{"small", "1"}, {"large", large}, {"empty", ""}};
  ASSERT_TRUE(writer.row(BulkOp::Set, "swp7", fields).ok());
  ASSERT_TRUE(writer.end().ok());
  ASSERT_TRUE(writer.finish().has_value());
  std::string together;
  std::size_t parts = 0;
  std::set<std::int64_t> numbers;
  ASSERT_TRUE(becomes([&] { return client().call("get", {{"table", "PORT_TABLE"}, {"key", "swp7"}}).has_value(); }));
  const auto answer = client().call("get", {{"table", "PORT_TABLE"}, {"key", "swp7"}}, [&](const json::value& row) {
    ++parts;
    numbers.insert(row.at(0).as_int64());
    if (row.at(0).as_int64() == 1) together += row.at(2).as_string();
  });
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(together, large);
  EXPECT_GT(parts, 9U);
  EXPECT_THAT(numbers, ElementsAre(-1, 0, 1, 2));
}

TEST_F(LookingOn, TheConfigurationAndTheLogHoldNoSecret) {
  end(SIGTERM);
  start("[[store.group]]\ntables = [\"PORT_TABLE\"]\n[journal]\nfile = \"" + file("day?token=geheim") + "\"\n");
  const std::string config = json::serialize(call("config"));
  EXPECT_THAT(config, HasSubstr("\"simulated_ports\":[\"swp1\"]"));
  EXPECT_THAT(config, AllOf(HasSubstr("day?token=***"), Not(HasSubstr("geheim"))));
  call("set", {{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", "redis://user:geheim@host"}}}});
  EXPECT_TRUE(becomes([this] { return log_text().find("change rejected") != std::string::npos; }));
  const std::string log = json::serialize(call("log"));
  EXPECT_THAT(log, AllOf(HasSubstr("redis://user:***@host"), Not(HasSubstr("geheim"))));
  const json::object health = call("health");
  EXPECT_THAT(json::serialize(health.at("troubles")), HasSubstr("stand rejected: 1")) << "the row with the secret is told without it";
  EXPECT_THAT(json::serialize(health), HasSubstr("\"release\""));
}

}  // namespace
}  // namespace rondo::daemon
