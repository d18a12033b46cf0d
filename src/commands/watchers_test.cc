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

class TraceTimes : public testing::Test, public RuntimeFixture {
 protected:
  TraceTimes() {
    runtime.add<OpenOrch>().consume(
        "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
    commands = std::move(add_standard_commands(registry, runtime).value());
  }
  void ask(std::string_view request) {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(request);
    end_frame(frame, start);
    session.input().append(frame);
    step();
  }
  void step() {
    while (session.has_step()) session.step();
  }
  /// All rows of the answers so far.
  json::array rows() {
    json::array found;
    const std::string bytes{session.output().view()};
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto part = next_frame(rest);
      EXPECT_TRUE(part && *part);
      rest.remove_prefix((**part).bytes);
      json::value answer = json::parse((**part).payload);
      json::object& body = answer.as_object().contains("result") ? answer.at("result").as_object() : answer.as_object();
      if (!body.contains("rows")) continue;
      for (json::value& row : body.at("rows").as_array()) found.push_back(std::move(row));
    }
    return found;
  }

  CommandRegistry registry;
  std::unique_ptr<StandardCommands> commands;
  AdminServerSetup setup;
  AdminServerStats figures;
  AdminSession session{registry, nullptr, setup, figures, [] {}};
};

TEST_F(TraceTimes, AreSinceTheBeginOfTheTraceAndOfTheDay) {
  ask(R"({"id":1,"command":"trace","table":"T","key":"k","count":2})");
  const Instant begin = runtime.clock().now();
  run_for(1500us);
  const std::string at = microsecond_text(runtime.clock().wall_now());
  const double at_us = microseconds(runtime.clock().now() - begin);
  set("T", "k");
  run();
  world.clock().advance(1h);  // An event has the time at which it happened, not that of the answer.
  step();
  std::vector<std::string> found;
  for (const json::value& row : rows()) {
    EXPECT_EQ(row.at("at_us").to_number<double>(), at_us);
    found.push_back(std::string{row.at("what").as_string()} + " " + std::string{row.at("at").as_string()});
  }
  EXPECT_THAT(found, ElementsAre("taken " + at, "done " + at));
}

TEST_F(TraceTimes, AReaderThatStopsGetsTheNumberOfTheEventsThatItMissed) {
  ask(R"({"id":1,"command":"trace","table":"T","key":"k"})");
  constexpr std::uint64_t kSets = 2000;
  for (std::uint64_t i = 0; i < kSets; ++i) {
    set("T", "k");
    set("T", "other");
    run();
  }
  step();
  std::uint64_t events = 0;
  std::uint64_t missed = 0;
  for (const json::value& row : rows()) {
    row.at("what") == "gap" ? missed += row.at("missed").to_number<std::uint64_t>() : ++events;
  }
  EXPECT_GT(missed, 0U);
  EXPECT_EQ(events + missed, 2 * kSets) << "taken and done of one row";
  set("T", "k");
  run();
  step();
  EXPECT_EQ(rows().back().at("what"), "done") << "it goes on";
}

}  // namespace
}  // namespace rondo::commands
