// The times of `trace`. Method: the standard commands, through a session without a socket, in simulated time.
// apps/rondod/tests/watch_test.cc tests the events themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/frame.h"
#include "admin/session.h"
#include "commands/answers.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::ElementsAre;

TEST(TimeText, IsInUtcToTheSecondOrTheMicrosecond) {
  const WallTime time = WallTime::from_nanoseconds(1'774'746'000'000'042'999);
  EXPECT_EQ(second_text(time), "2026-03-29T01:00:00Z");
  EXPECT_EQ(microsecond_text(time), "2026-03-29T01:00:00.000042Z");
}

class TraceTimes : public testing::Test, public RuntimeFixture {};

TEST_F(TraceTimes, AreSinceTheBeginOfTheTraceAndOfTheDay) {
  runtime.add<OpenOrch>().consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  CommandRegistry registry;
  const std::unique_ptr<StandardCommands> commands = std::move(add_standard_commands(registry, runtime).value());
  AdminServerSetup setup;
  AdminServerStats figures;
  AdminSession session(registry, nullptr, setup, figures, [] {});
  std::string frame;
  const std::size_t start = begin_frame(frame, FrameKind::Json);
  frame.append(R"({"id":1,"command":"trace","table":"T","key":"k","count":2})");
  end_frame(frame, start);
  session.input().append(frame);
  while (session.has_step()) session.step();
  const Instant begin = runtime.clock().now();
  run_for(1500us);
  const std::string at = microsecond_text(runtime.clock().wall_now());
  const double at_us = microseconds(runtime.clock().now() - begin);
  set("T", "k");
  run();
  world.clock().advance(1h);  // An event has the time at which it happened, not that of the answer.
  while (session.has_step()) session.step();
  std::vector<std::string> found;
  const std::string bytes{session.output().view()};
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto part = next_frame(rest);
    ASSERT_TRUE(part && *part);
    rest.remove_prefix((**part).bytes);
    json::value answer = json::parse((**part).payload);
    json::object& rows = answer.as_object().contains("result") ? answer.at("result").as_object() : answer.as_object();
    if (!rows.contains("rows")) continue;
    for (const json::value& row : rows.at("rows").as_array()) {
      EXPECT_EQ(row.at("at_us").to_number<double>(), at_us);
      found.push_back(std::string{row.at("what").as_string()} + " " + std::string{row.at("at").as_string()});
    }
  }
  EXPECT_THAT(found, ElementsAre("taken " + at, "done " + at));
}

}  // namespace
}  // namespace rondo::commands
