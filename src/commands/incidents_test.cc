// Incidents with a clock that the test sets: an incident is a trouble with its time, then a note, and a trouble again when it recurs.
#include "commands/incidents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "commands/long_waits.h"
#include "commands/write_failures.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/limits.h"
#include "rondo/sched/sim_clock.h"

namespace rondo::commands {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Told {
  std::vector<std::string> troubles;
  std::vector<std::string> notes;
};

template <class Teller>
Told told(const Teller& teller, const Clock& clock) {
  boost::json::array troubles, notes;
  teller.report(clock.now(), troubles, notes);
  Told told;
  for (const auto& text : troubles) told.troubles.emplace_back(text.as_string());
  for (const auto& text : notes) told.notes.emplace_back(text.as_string());
  return told;
}

TEST(Incidents, NoneIsNothingToTell) {
  SimClock clock;
  Incident incident{"cups that fell"};
  incident.check(0, "", clock);
  EXPECT_THAT(told(incident, clock).troubles, IsEmpty());
  EXPECT_THAT(told(incident, clock).notes, IsEmpty());
}

TEST(Incidents, AreATroubleForAWhileAndThenANote) {
  SimClock clock;
  Incident incident{"cups that fell"};
  incident.check(2, "the blue one", clock);
  clock.advance(42s);
  incident.check(2, "the blue one", clock);  // A check without a new incident changes nothing.
  EXPECT_THAT(told(incident, clock).troubles,
              ElementsAre(AllOf(HasSubstr("cups that fell: 2 since the start"), HasSubstr("the last 42 s ago (20"),
                                HasSubstr("Z): the blue one"), HasSubstr("a note in 14 min"))));
  EXPECT_THAT(told(incident, clock).notes, IsEmpty());
  clock.advance(limits::kIncidentReported - 42s - 1ns);
  EXPECT_THAT(told(incident, clock).notes, IsEmpty());
  clock.advance(1ns);
  EXPECT_THAT(told(incident, clock).troubles, IsEmpty());
  EXPECT_THAT(told(incident, clock).notes,
              ElementsAre(AllOf(HasSubstr("2 since the start, the last 15 min ago"), Not(HasSubstr("without")))));
  clock.advance(72h);
  EXPECT_THAT(told(incident, clock).notes, ElementsAre(HasSubstr("the last 3 days ago")));
}

TEST(Incidents, AnotherOneIsATroubleAnew) {
  SimClock clock;
  Incident incident{"cups that fell"};
  incident.check(1, "the blue one", clock);
  clock.advance(limits::kIncidentReported);
  incident.check(4, "the red one", clock);
  EXPECT_THAT(told(incident, clock).troubles,
              ElementsAre(AllOf(HasSubstr("4 since the start, the last 0 s ago"), HasSubstr("the red one"))));
  EXPECT_THAT(told(incident, clock).notes, IsEmpty());
}

TEST(Incidents, HidesSecrets) {
  SimClock clock;
  Incident leak{"servers that went"};
  leak.check(1, "redis://user:hush@10.0.0.1:6379/0", clock);
  EXPECT_THAT(told(leak, clock).troubles, ElementsAre(AllOf(HasSubstr("10.0.0.1"), Not(HasSubstr("hush")))));
}

TEST(Incidents, RowsThatWaitLongerThanAMinuteAreNamed) {
  RuntimeFixture in;
  OpenOrch& groups = in.add_groups();
  const auto waits = [] { return Outcome::wait_for({kGroup, "1"}); };
  groups.consume(
      "ROUTE", [waits](std::string_view, const Fields&) { return waits(); }, [waits](std::string_view) { return waits(); });
  for (const char* const key : {"a", "b", "c"}) in.set("ROUTE", key, {});
  in.run_for(59s);
  boost::json::array notes;
  report_long_waits(in.runtime, notes);
  EXPECT_TRUE(notes.empty()) << boost::json::serialize(notes);
  in.run_for(2s);
  report_long_waits(in.runtime, notes);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].as_string(), "rows of ROUTE that wait: 3, for group 1, the first for 61 s; provided by groups");
}

TEST(Incidents, AConsumerAtItsLimitIsNamedWithCountAndLimit) {
  RuntimeFixture in;
  OpenOrch& groups = in.add_groups();
  const auto waits = [] { return Outcome::wait_for({kGroup, "1"}); };
  groups.consume(
      "ROUTE", [waits](std::string_view, const Fields&) { return waits(); }, [waits](std::string_view) { return waits(); },
      {.rows_max = 2});
  for (const char* const key : {"a", "b"}) in.set("ROUTE", key, {});
  in.run();
  EXPECT_EQ(standstill_text(in.stats("ROUTE")), "") << "nothing more to take";
  in.set("ROUTE", "c", {});
  in.run();
  EXPECT_EQ(standstill_text(in.stats("ROUTE")),
            "ROUTE takes no more changes: 2 of its rows are unsettled, the limit (rows_max); 2 of them wait: rondo parked ROUTE");
}

TEST(Incidents, ATableThatItsOrchHoldsForLongWhileRowsWaitIsNamed) {
  RuntimeFixture in;
  OpenOrch& orch = in.runtime.add<OpenOrch>("routes");
  const ConsumerHandle table = orch.consume(
      "ROUTE", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  orch.hold(table);
  in.run_for(3s);
  EXPECT_EQ(hold_text(in.stats("ROUTE")), "") << "nothing waits";
  in.set("ROUTE", "a", {});
  in.run();
  EXPECT_EQ(hold_text(in.stats("ROUTE")),
            "ROUTE takes no more changes: Orch routes has held it for 3 s (hold() without release()); rows that wait: 1");
  orch.release(table);
  orch.hold(table);
  EXPECT_EQ(hold_text(in.stats("ROUTE")), "") << "as while a device is full for a moment";
}

TEST(Incidents, ATableThatWaitsForTheStandingRowsOfAnotherIsNamed) {
  RuntimeFixture in;
  in.set("GROUP", "1");
  OpenOrch& groups = in.add_groups();
  groups.consume(
      "GROUP", [](std::string_view, const Fields&) { return Outcome::staged(); }, [](std::string_view) { return Outcome::done(); });
  in.runtime.add<OpenOrch>("routes").consume(
      "ROUTE", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); },
      {.needs = {kGroup}});
  in.set("ROUTE", "a");
  in.run_for(3s);
  EXPECT_EQ(hold_text(in.stats("ROUTE")),
            "ROUTE takes no changes yet: the standing rows of GROUP come first, since 3 s; rows that wait: 1");
}

TEST(Incidents, ADeviceThatAnswersNothingForAMinuteIsNamed) {
  RuntimeFixture in;
  OpenOrch& orch = in.runtime.add<OpenOrch>("routes");
  std::vector<Ticket> tickets;
  orch.consume(
      "ROUTE",
      [&](std::string_view, const Fields&) {
        tickets.push_back(orch.current_ticket());
        return Outcome::staged();
      },
      [](std::string_view) { return Outcome::done(); });
  for (const char* const key : {"a", "b"}) in.set("ROUTE", key);
  in.run_for(59s);
  EXPECT_EQ(unanswered_text(in.stats("ROUTE")), "");
  orch.settle(tickets.at(0), Outcome::done());
  in.run_for(59s);
  EXPECT_EQ(unanswered_text(in.stats("ROUTE")), "") << "one was answered meanwhile";
  in.run_for(2s);
  EXPECT_EQ(unanswered_text(in.stats("ROUTE")),
            "ROUTE: none of the changes that Orch routes has under way was answered for 61 s; under way: 1");
  orch.settle(tickets.at(1), Outcome::done());
  EXPECT_EQ(unanswered_text(in.stats("ROUTE")), "");
}

TEST(Incidents, AnOrchThatWatchesItsStagedChangesItselfIsNotNamed) {
  RuntimeFixture in;
  in.runtime.add<OpenOrch>("runs").consume(
      "RUN", [](std::string_view, const Fields&) { return Outcome::staged(); }, [](std::string_view) { return Outcome::done(); },
      {.watches_staged = true});
  in.set("RUN", "1");
  in.run_for(2min);
  EXPECT_EQ(in.stats("RUN").in_flight, 1U);
  EXPECT_EQ(unanswered_text(in.stats("RUN")), "");
}

TEST(Incidents, EachKindHasItsOwnTime) {
  RuntimeFixture in;
  Incidents incidents;
  WriteFailures writes{in.runtime.store()};
  OpenOrch& groups = in.add_groups();
  const auto waits = [&in] { return in.groups.empty() ? Outcome::wait_for({kGroup, "1"}) : Outcome::done(); };
  groups.consume(
      "ROUTE", [waits](std::string_view, const Fields&) { return waits(); }, [waits](std::string_view) { return waits(); });
  incidents.check(in.runtime, writes);
  EXPECT_THAT(told(incidents, in.runtime.clock()).troubles, IsEmpty());

  writes.counter()(Status{StatusCode::DeadlineExceeded, "the store went away"});
  incidents.check(in.runtime, writes);
  in.run_for(limits::kIncidentReported / 2);
  in.set("ROUTE", "a", {});
  in.run_for(1ms);
  in.groups.insert("1");  // Not announced.
  in.run_for(1s);
  incidents.check(in.runtime, writes);
  EXPECT_THAT(told(incidents, in.runtime.clock()).troubles,
              ElementsAre(HasSubstr("the store went away"), HasSubstr("group:1 holds, but was not announced by groups")));
  in.run_for(limits::kIncidentReported / 2);
  EXPECT_THAT(told(incidents, in.runtime.clock()).troubles, ElementsAre(HasSubstr("forgot to announce or withdraw: 1")));
  EXPECT_THAT(told(incidents, in.runtime.clock()).notes, ElementsAre(HasSubstr("accepted writes that failed later: 1")));
}

}  // namespace
}  // namespace rondo::commands
