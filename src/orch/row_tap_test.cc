// RowTap: the events of a row, in order, from its first change to its end. A listener that stops, or whose table does not exist, does not
// affect the consumer.
#include "orch/row_tap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orch/runtime_fixture.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RowTaps : public testing::Test, public RuntimeFixture {
 protected:
  RowTaps() : groups_orch(add_groups()), orch(runtime.add<OpenOrch>("routes")) {
    orch.consume(
        "ROUTE",
        [this](std::string_view, const Fields& fields) {
          const std::string does = fields.text("does").value_or("");
          if (does == "reject") return Outcome::reject(Status{StatusCode::InvalidArgument, "bad field"});
          if (does == "later") return Outcome::retry_after(1s, Status{StatusCode::ResourceExhausted, "full"});
          if (does == "order") {
            ticket = orch.current_ticket();
            return Outcome::staged();
          }
          const Fact needed{kGroup, fields.text("group").value_or("g")};
          if (!orch.holds(needed)) return Outcome::wait_for(needed);
          return Outcome::done();
        },
        [this](std::string_view key) {
          if (key == "slow") {
            ticket = orch.current_ticket();
            return Outcome::staged();
          }
          return key != "used" || orch.holds({kGroup, "unused"}) ? Outcome::done() : Outcome::wait_for({kGroup, "unused"});
        },
        {.set_replaces_delete = true});
  }
  void listen() {
    tap = std::move(runtime
                        .tap("ROUTE",
                             [this](const RowEvent& event) {
                               std::string line{to_string(event.what)};
                               if (!event.key.empty()) line.append(" ").append(call(event.op, event.key));
                               for (const Fact& fact : event.facts) line.append(" ").append(fact.to_string());
                               if (!event.provider.empty()) line.append(" by ").append(event.provider);
                               if (event.why != nullptr) line.append(": ").append(event.why->message());
                               EXPECT_EQ(event.table, "ROUTE");
                               EXPECT_EQ(event.change != nullptr, event.what == RowEvent::What::Taken);
                               heard.push_back(std::move(line));
                             })
                        .value());
  }
  std::vector<std::string> taken() { return std::exchange(heard, {}); }

  OpenOrch& groups_orch;
  OpenOrch& orch;
  Ticket ticket;
  std::vector<std::string> heard;
  std::unique_ptr<RowTap> tap;
};

TEST_F(RowTaps, ARowThatWaitsTellsItsStory) {
  listen();
  set("ROUTE", "r", {{"group", "102"}});
  run();
  EXPECT_THAT(taken(), ElementsAre("taken S r", "parked S r group:102"));
  groups.emplace("102");
  groups_orch.announce({kGroup, "102"});
  EXPECT_THAT(taken(), ElementsAre("resolved group:102 by groups"));
  run();
  EXPECT_THAT(taken(), ElementsAre("retried S r", "done S r"));
  remove("ROUTE", "r");
  run();
  EXPECT_THAT(taken(), ElementsAre("taken D r", "done D r"));
}

TEST_F(RowTaps, ADeleteThatGivesWaySaysSo) {
  groups.emplace("g");
  listen();
  remove("ROUTE", "slow");
  run();
  set("ROUTE", "slow");
  run();
  orch.settle(ticket, Outcome::wait_for({kGroup, "unused"}));
  run();
  EXPECT_THAT(taken(), ElementsAre("taken D slow", "ordered D slow", "taken S slow", "gave-way D slow group:unused", "done S slow"));
}

TEST_F(RowTaps, ADeleteThatASetReplacesHasNoEndOfItsOwn) {
  groups.emplace("g");
  listen();
  remove("ROUTE", "used");
  set("ROUTE", "used");
  run();
  EXPECT_THAT(taken(), ElementsAre("taken D used", "taken S used", "done S used"));
}

TEST_F(RowTaps, OrdersDelaysAndRejectsAreTold) {
  listen();
  set("ROUTE", "o", {{"does", "order"}});
  run();
  EXPECT_THAT(taken(), ElementsAre("taken S o", "ordered S o"));
  orch.settle(ticket, Outcome::done());
  EXPECT_THAT(taken(), ElementsAre("done S o"));
  set("ROUTE", "l", {{"does", "later"}});
  run();
  EXPECT_THAT(taken(), ElementsAre("taken S l", "delayed S l: full"));
  set("ROUTE", "x", {{"does", "reject"}});
  run();
  EXPECT_THAT(taken(), ElementsAre("taken S x", "rejected S x: bad field"));
}

TEST_F(RowTaps, ATapOfTakenChangesHearsThoseAlone) {
  const std::unique_ptr<RowTap> changes =
      std::move(runtime.tap_taken("ROUTE", [this](const Change& change) { heard.push_back(call(change.op(), change.key())); }).value());
  set("ROUTE", "r", {{"group", "102"}});
  run();
  remove("ROUTE", "r");
  set("ROUTE", "r", {{"does", "reject"}});
  run();
  EXPECT_THAT(taken(), ElementsAre("S r", "D r", "S r"));
  EXPECT_EQ(runtime.tap_taken("NO_TABLE", [](const Change&) {}).error().code(), StatusCode::NotFound);
}

TEST_F(RowTaps, ATapOfARowHearsThatRowAndFactsAlone) {
  std::vector<std::unique_ptr<RowTap>> taps;
  for (const char* const key : {"a", "b", "a"}) {
    const auto hear = [this, number = std::to_string(taps.size())](const RowEvent& event) {
      heard.push_back(number + " " + std::string{to_string(event.what)} + " " + std::string{event.key});
    };
    taps.push_back(std::move(runtime.tap_row("ROUTE", key, hear).value()));
  }
  for (int i = 0; i < 100; ++i) set("ROUTE", "other" + std::to_string(i), {{"group", "102"}});
  run();
  EXPECT_THAT(taken(), IsEmpty()) << "a change of another key calls no listener";
  groups.emplace("102");
  groups_orch.announce({kGroup, "102"});
  EXPECT_THAT(taken(), UnorderedElementsAre("0 resolved ", "1 resolved ", "2 resolved "));
  run();
  set("ROUTE", "a", {{"group", "102"}});
  run();
  EXPECT_THAT(taken(), UnorderedElementsAre("0 taken a", "2 taken a", "0 done a", "2 done a"));
  taps.erase(taps.begin());
  set("ROUTE", "a", {{"group", "102"}});
  set("ROUTE", "b", {{"does", "reject"}});
  run();
  EXPECT_THAT(taken(), UnorderedElementsAre("2 taken a", "2 done a", "1 taken b", "1 rejected b"));
  EXPECT_EQ(runtime.tap_row("NO_TABLE", "a", [](const RowEvent&) {}).error().code(), StatusCode::NotFound);
  EXPECT_EQ(runtime.tap_row("ROUTE", "a", {}).error().code(), StatusCode::InvalidArgument);
}

TEST_F(RowTaps, NobodyHearsAfterTheEndAndNoTapOutlivesItsConsumer) {
  listen();
  tap.reset();
  set("ROUTE", "r");
  run();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(runtime.tap("NO_TABLE", [](const RowEvent&) {}).error().code(), StatusCode::NotFound);
  EXPECT_EQ(runtime.tap("ROUTE", {}).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(runtime.tap_taken("ROUTE", {}).error().code(), StatusCode::InvalidArgument);
  std::unique_ptr<RowTap> late;
  {
    Runtime short_lived;
    OpenOrch& gone = short_lived.add<OpenOrch>();
    gone.consume(
        "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
    late = std::move(short_lived.tap("T", [](const RowEvent&) {}).value());
  }
  late.reset();  // Its consumer is destroyed; the tap must not access it.
}

}  // namespace
}  // namespace rondo
