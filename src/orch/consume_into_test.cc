// Orch::consume_into and Orch::rows: an object is reconciled with all its rows, and its outcome counts for all their changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/sched/executor.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "vip1:a" is a row of "vip1".
std::string object_of(std::string_view key) { return std::string{key.substr(0, key.find(':'))}; }

class ConsumeInto : public testing::Test, public RuntimeFixture {
 protected:
  using Rows = std::span<const TableRow>;

  /// Records each call, such as "vip1: T vip1:a=1, U vip1:b=2".
  Outcome reconcile(std::string_view object, Rows rows) {
    std::string text;
    for (const TableRow& row : rows) {
      text += (text.empty() ? " " : ", ") + std::string{row.table} + " " + std::string{row.key()} + "=" + row.fields().text_or("v", "");
    }
    calls.push_back(std::string{object} + ":" + text);
    return outcome(rows);
  }
  void consume(const std::vector<std::string_view>& tables, const ConsumeOptions& options = {}) {
    handles = orch.consume_into(
        tables, object_of, [this](std::string_view object, Rows rows) { return reconcile(object, rows); }, options);
  }
  void write(std::string_view table, std::string_view key, std::string_view value = "1") { set(table, key, {{"v", value}}); }
  std::vector<std::string> take_calls() { return std::exchange(calls, {}); }
  Outcome wait_or_done() { return orch.holds(group) ? Outcome::done() : Outcome::wait_for(group); }
  void begins() {
    groups.insert(group.key);
    provider.announce(group);
  }
  void ends() {
    groups.erase(group.key);
    provider.withdraw(group);
  }

  const Fact group{kGroup, "g"};
  std::function<Outcome(Rows)> outcome = [](Rows) { return Outcome::done(); };
  std::vector<ConsumerHandle> handles;
  OpenOrch& provider = add_groups();
  OpenOrch& orch = runtime.add<OpenOrch>();
};

TEST_F(ConsumeInto, AnObjectIsReconciledOnceATurnWithAllItsRows) {
  consume({"T"});
  write("T", "vip1:b");
  write("T", "vip2:x");
  write("T", "vip1:a");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, T vip1:b=1", "vip2: T vip2:x=1"));
  EXPECT_EQ(stats("T").done, 3U);
  write("T", "vip1:b", "2");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, T vip1:b=2")) << "the unchanged row comes, too";
}

TEST_F(ConsumeInto, DeletedRowsAreAbsentAndTheLastLeavesNone) {
  consume({"T"});
  write("T", "vip1:a");
  write("T", "vip1:b");
  run();
  take_calls();
  remove("T", "vip1:a");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:b=1"));
  remove("T", "vip1:b");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1:"));
  remove("T", "vip1:b");
  write("T", "vip1:b", "2");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:b=2")) << "a Set replaces the Delete before it";
}

TEST_F(ConsumeInto, SeveralTablesFeedOneObject) {
  consume({"U", "T"});
  write("T", "vip1:a");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1"));
  write("U", "vip1:a", "2");
  write("U", "vip2:z");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: U vip1:a=2, T vip1:a=1", "vip2: U vip2:z=1"));
  outcome = [this](Rows) { return wait_or_done(); };
  remove("T", "vip1:a");
  run();
  EXPECT_EQ(stats("T").parked, 1U);
  outcome = [](Rows) { return Outcome::done(); };
  write("U", "vip1:a", "3");
  run();
  EXPECT_EQ(stats("T").parked, 0U) << "the outcome counts for the rows of both tables";
  EXPECT_THAT(take_calls(), ElementsAre("vip1: U vip1:a=2", "vip1: U vip1:a=3"));
}

TEST_F(ConsumeInto, OneOutcomeSettlesWhatWaitsBecauseOfAnEarlierOne) {
  consume({"T"});
  outcome = [this](Rows rows) { return rows.size() < 2 ? wait_or_done() : Outcome::done(); };
  write("T", "vip1:a");
  run();
  EXPECT_TRUE(orch.is_awaited(group));
  write("T", "vip1:b");
  run();
  EXPECT_FALSE(orch.is_awaited(group));
  EXPECT_EQ(stats("T").parked, 0U);
  EXPECT_EQ(stats("T").done, 2U);
}

TEST_F(ConsumeInto, AFactWakesAnObjectOnceAndWhyAnswersForEachRow) {
  consume({"T"});
  outcome = [this](Rows) { return wait_or_done(); };
  for (const std::string row : {"vip1:a", "vip1:b", "vip1:c"}) write("T", row);
  run();
  take_calls();
  for (const std::string row : {"vip1:a", "vip1:b", "vip1:c"}) {
    const Why why = runtime.why("T", row);
    EXPECT_EQ(why.chain.front().state, WhyLink::State::Parked);
    EXPECT_THAT(why.chain.front().facts, ElementsAre(group));
  }
  begins();
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, T vip1:b=1, T vip1:c=1"));
  EXPECT_EQ(stats("T").done, 3U);
  EXPECT_EQ(runtime.why("T", "vip1:b").chain.front().state, WhyLink::State::Absent);
}

TEST_F(ConsumeInto, AChangeEndsTheDelayOfItsObject) {
  consume({"T"});
  outcome = [](Rows rows) {
    return rows.size() < 2 ? Outcome::retry_after(1h, Status{StatusCode::Unavailable, "later"}) : Outcome::done();
  };
  write("T", "vip1:a");
  run();
  EXPECT_THAT(runtime.why("T", "vip1:a").chain.front().note, HasSubstr("later"));
  write("T", "vip1:b");
  run();
  EXPECT_EQ(stats("T").done, 2U);
  remove("T", "vip1:b");
  run();
  take_calls();
  run_for(1h + 1s);
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1"));
}

TEST_F(ConsumeInto, WhatTheFunctionThrowsRejectsTheChangesAndLosesNoRow) {
  consume({"T"});
  outcome = [](Rows rows) {
    if (rows.size() == 2) throw std::runtime_error("two are too many");
    return Outcome::done();
  };
  write("T", "vip1:a");
  run();
  write("T", "vip1:b");
  run();
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("two are too many")));
  EXPECT_EQ(stats("T").rejected_rows, 1U);
  EXPECT_EQ(runtime.why("T", "vip1:b").chain.front().state, WhyLink::State::Rejected);
  take_calls();
  write("T", "vip1:c");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, T vip1:b=1, T vip1:c=1"));
  EXPECT_EQ(stats("T").rejected_rows, 0U) << "the object is done";
}

TEST_F(ConsumeInto, WithoutMemoryTheChangesAreDelayed) {
  consume({"T"});
  outcome = [this](Rows) -> Outcome {
    if (calls.size() == 1) throw std::bad_alloc();
    return Outcome::done();
  };
  write("T", "vip1:a");
  write("T", "vip1:b");
  run();
  EXPECT_EQ(stats("T").parked, 2U);
  run_for(limits::kMemoryRetry + 10ms);
  EXPECT_EQ(stats("T").done, 2U);
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(ConsumeInto, ADeleteIsDoneWhenTheRowsThatAreLeftAreRejected) {
  consume({"T"});
  outcome = [](Rows rows) {
    for (const TableRow& row : rows) {
      if (row.fields().text_or("v", "") == "bad") return Outcome::reject(Status{StatusCode::InvalidArgument, "bad"});
    }
    return Outcome::done();
  };
  write("T", "vip1:a", "bad");
  write("T", "vip1:b");
  run();
  EXPECT_EQ(stats("T").rejected_rows, 2U);
  remove("T", "vip1:b");
  run();
  EXPECT_EQ(runtime.why("T", "vip1:b").chain.front().state, WhyLink::State::Absent);
  EXPECT_EQ(stats("T").rejected_rows, 1U);
  write("T", "vip1:a", "good");
  run();
  EXPECT_EQ(stats("T").rejected_rows, 0U);
}

TEST_F(ConsumeInto, AnObjectIsReconciledAgainWhenAFactEndsThatItDependsOn) {
  consume({"T"});
  begins();
  outcome = [this](Rows rows) {
    if (!orch.holds(group)) return Outcome::wait_for(group);
    return rows.size() == 3 ? Outcome::done() : Outcome::done_while(group);
  };
  write("T", "vip1:a");
  write("T", "vip1:b");
  run();
  take_calls();
  ends();
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, T vip1:b=1"));
  begins();
  run();
  take_calls();
  remove("T", "vip1:a");  // The outcome of a Delete: the row that is left depends on the fact.
  run();
  take_calls();
  ends();
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:b=1"));
  begins();
  write("T", "vip1:a");
  write("T", "vip1:c");
  run();
  take_calls();
  ends();
  run();
  EXPECT_THAT(take_calls(), IsEmpty()) << "the later outcome depends on nothing";
}

TEST_F(ConsumeInto, AStagedObjectIsReconciledAgainWhenItChangedMeanwhile) {
  consume({"T"});
  Ticket ticket;
  outcome = [&](Rows) {
    ticket = orch.current_ticket();
    return Outcome::staged();
  };
  write("T", "vip1:a");
  write("T", "vip1:b");
  run();
  const Ticket first = ticket;
  write("T", "vip1:a", "2");
  write("T", "vip1:c");
  write("T", "vip2:x");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, T vip1:b=1", "vip2: T vip2:x=1"));
  orch.settle(first, Outcome::done());
  orch.settle(first, Outcome::reject(Status{StatusCode::Internal, "stale"}));
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=2, T vip1:b=1, T vip1:c=1"));
  orch.settle(ticket, Outcome::done());
  run();
  EXPECT_EQ(stats("T").in_flight, 1U) << "of vip2";
  EXPECT_THAT(rejects, IsEmpty());
}

TEST_F(ConsumeInto, AnOperationIsOfTheObject) {
  struct Call {
    std::size_t rows = 0;
    Status status = {};
  };
  std::vector<std::size_t> applied;
  Executor<Call> device{runtime.scheduler(),
                        [&](std::span<Call> calls) {
                          for (const Call& call : calls) applied.push_back(call.rows);
                        },
                        {.name = "device", .in_line = true, .priority = Priority::p0, .operations_max = 1}};
  consume({"T"});
  outcome = [&](Rows rows) { return orch.stage_on(device, 0, Call{rows.size()}, [](const Call&) { return Outcome::done(); }); };
  write("T", "vip1:a");
  write("T", "vip1:b");
  write("T", "vip2:a");
  run();
  EXPECT_THAT(applied, ElementsAre(2U, 1U));
  EXPECT_EQ(stats("T").done, 3U);
}

TEST_F(ConsumeInto, NoObjectIsReconciledBeforeTheStandingRowsOfAllItsTablesAreKnown) {
  for (int i = 0; i < 500; ++i) write("T", "vip1:" + std::to_string(i));
  write("U", "vip1:u");
  std::size_t rows_of_first = 0;
  outcome = [&](Rows rows) {
    if (rows_of_first == 0) rows_of_first = rows.size();
    return Outcome::done();
  };
  consume({"U", "T"}, {.batch_max = 8});
  run();
  EXPECT_EQ(rows_of_first, 501U);
  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(ConsumeInto, ARowThatWasDeletedAndWrittenAgainIsOneOfTheStandingRows) {
  for (int i = 0; i < 100; ++i) {
    remove("T", "vip1:" + std::to_string(i));
    write("T", "vip1:" + std::to_string(i));
  }
  consume({"T"}, {.batch_max = 8});
  run();
  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(ConsumeInto, ALedgerThatIsFullBeginsWithTheRowsThatItKnows) {
  for (int i = 0; i < 50; ++i) write("T", "vip" + std::to_string(i) + ":a");
  consume({"T"}, {.rows_max = 10});
  run();
  EXPECT_EQ(stats("T").done, 50U);
}

TEST_F(ConsumeInto, AnotherOrchWaitsForItsStandingRows) {
  write("T", "vip1:a");
  write("V", "k");
  Ticket ticket;
  auto& first = runtime.add<OpenOrch>("first");
  first.provide(FactKind{"vip"}, [](std::string_view) { return true; });
  first.consume_into({"U", "T"}, object_of, [&](std::string_view, Rows) {
    ticket = first.current_ticket();
    return Outcome::staged();
  });
  bool handled = false;
  runtime.add<OpenOrch>("second").consume(
      "V",
      [&](std::string_view, const Fields&) {
        handled = true;
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); }, {.needs = {FactKind{"vip"}}});
  run();
  EXPECT_FALSE(handled);
  first.settle(ticket, Outcome::done());
  run();
  EXPECT_TRUE(handled);
}

TEST_F(ConsumeInto, ARowIsRequeuedWithItsObject) {
  consume({"T", "U"});
  write("T", "vip1:a");
  write("U", "vip1:b");
  run();
  take_calls();
  orch.requeue(handles[1], "vip1:b");
  run();
  EXPECT_THAT(take_calls(), ElementsAre("vip1: T vip1:a=1, U vip1:b=1"));
}

TEST_F(ConsumeInto, ATableWithAConsumerIsRefused) {
  orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  class Second final : public Orch {
   public:
    explicit Second(Runtime& runtime) : Orch(runtime, "second", Priority::p1) {
      consume_into({"U", "T"}, object_of, [](std::string_view, Rows) { return Outcome::done(); });
    }
  };
  const Result<Second*> second = runtime.try_add<Second>();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().to_string(), HasSubstr("table 'T' has a consumer"));
}

// --- the rows of a table

class OrchRows : public ConsumeInto {
 protected:
  std::vector<std::string> keys(ConsumerHandle handle, std::string_view prefix = {}) {
    std::vector<std::string> all;
    for (const Record& row : orch.rows(handle, prefix)) all.emplace_back(row.key());
    return all;
  }
};

TEST_F(OrchRows, AnOrchListsTheRowsOfItsTable) {
  write("T", "standing");
  const ConsumerHandle handle = orch.consume(
      "T",
      [this](std::string_view key, const Fields&) {
        if (key == "bad") return Outcome::reject(Status{StatusCode::InvalidArgument, "bad"});
        return key == "waits" ? wait_or_done() : Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); }, {.keeps_rows = true});
  for (const std::string key : {"b:2", "a", "b:1", "waits", "bad", "gone"}) write("T", key);
  run();
  EXPECT_THAT(keys(handle), ElementsAre("a", "b:1", "b:2", "bad", "gone", "standing", "waits"));
  remove("T", "gone");
  write("T", "b:1", "2");
  run();
  EXPECT_THAT(keys(handle, "b:"), ElementsAre("b:1", "b:2"));
  EXPECT_EQ(orch.rows(handle, "b:1").front().fields().text_or("v", ""), "2");
  EXPECT_THAT(keys(handle, "go"), IsEmpty());
}

TEST_F(OrchRows, TheRowsOfObjectsAreListedByTable) {
  consume({"T", "U"});
  for (const std::string key : {"vip2:a", "vip1:a", "vip1:b"}) write("T", key);
  write("U", "vip1:a");
  run();
  EXPECT_THAT(keys(handles[0]), ElementsAre("vip1:a", "vip1:b", "vip2:a"));
  EXPECT_THAT(keys(handles[1], "vip1"), ElementsAre("vip1:a"));
}

TEST_F(OrchRows, ARowSharesTheRecordOfTheEmbeddedStore) {
  const ConsumerHandle handle = orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); },
      {.keeps_rows = true});
  write("T", "k");
  run();
  Record stored;
  runtime.store().get("T", "k", [&](const Result<Record>& record) { stored = *record; });
  run();
  EXPECT_TRUE(orch.rows(handle).front().is_copy_of(stored));
}

using OrchRowsDeathTest = OrchRows;

TEST_F(OrchRowsDeathTest, ATableThatKeepsNoRowsHasNoList) {
  const ConsumerHandle handle = orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  EXPECT_DEATH(static_cast<void>(orch.rows(handle)), "keeps_rows");
  EXPECT_DEATH(consume({"U"}, {.standing_rows = false}), "keeps its rows");
}

}  // namespace
}  // namespace rondo
