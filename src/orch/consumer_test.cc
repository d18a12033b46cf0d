// Consumer: every outcome of a handler affects exactly one change, whatever the handler does.
#include "orch/consumer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConsumerTest : public testing::Test, public RuntimeFixture {
 protected:
  explicit ConsumerTest(StrictPriority policy = {}) : RuntimeFixture(policy) {}
  using Answer = std::function<Outcome(ChangeOp, std::string_view, const Fields&)>;

  /// Consumes "T" with 'answer', and stores the calls.
  Consumer& consume(const Answer& answer, ConsumeOptions options = {}) {
    return orch.consume(
        "T",
        [this, answer](std::string_view key, const Fields& fields) {
          calls.push_back(call(ChangeOp::Set, key));
          return answer(ChangeOp::Set, key, fields);
        },
        [this, answer](std::string_view key) {
          calls.push_back(call(ChangeOp::Delete, key));
          return answer(ChangeOp::Delete, key, {});
        },
        options);
  }
  Outcome wait_for_group(std::string_view group) {
    const Fact needed{kGroup, std::string{group}};
    return orch.holds(needed) ? Outcome::done() : Outcome::wait_for(needed);
  }
  void announce(const std::string& group) {
    groups.insert(group);
    provider.announce({kGroup, group});
  }

  OpenOrch& provider = add_groups();
  OpenOrch& orch = runtime.add<OpenOrch>();
};

// --- what a durable store need not deliver again

/// The embedded store; records what its consumers report as settled.
class HearingStore final : public test::PassingStore {
 public:
  HearingStore(Scheduler& scheduler, std::vector<std::string>& heard) : PassingStore(make_memory_store(scheduler)), heard_(heard) {}
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    auto subscription = PassingStore::subscribe(table, options);
    if (!subscription) return subscription;
    return std::make_unique<Hearing>(std::move(*subscription), heard_);
  }

 private:
  class Hearing final : public Subscription {
   public:
    Hearing(std::unique_ptr<Subscription> real, std::vector<std::string>& heard) : real_(std::move(real)), heard_(heard) {}
    void on_ready(std::function<void()> wake) override { real_->on_ready(std::move(wake)); }
    std::size_t take(std::size_t max, std::vector<Change>& out) override { return real_->take(max, out); }
    bool empty() const override { return real_->empty(); }
    std::size_t depth() const override { return real_->depth(); }
    bool take_gap() override { return real_->take_gap(); }
    void ack(const Change& change) override { heard_.push_back(call(change.op(), change.key())); }
    void requeue(std::string_view key) override { real_->requeue(key); }
    bool caught_up() const override { return real_->caught_up(); }

   private:
    std::unique_ptr<Subscription> real_;
    std::vector<std::string>& heard_;
  };
  std::vector<std::string>& heard_;
};

/// Its subscriptions forget taken changes, as direct tables do: a peer may write anything.
class ForgetfulStore final : public test::PassingStore {
 public:
  ForgetfulStore(Scheduler& scheduler, std::vector<Change>& written) : PassingStore(make_memory_store(scheduler)), written_(written) {}
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view, const SubscribeOptions& = {}) override {
    return std::make_unique<Forgetful>(written_);
  }

 private:
  class Forgetful final : public Subscription {
   public:
    explicit Forgetful(std::vector<Change>& written) : written_(written) {}
    void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
    std::size_t take(std::size_t max, std::vector<Change>& out) override {
      const std::size_t count = std::min(max, written_.size());
      out.insert(out.end(), written_.begin(), written_.begin() + static_cast<std::ptrdiff_t>(count));
      written_.erase(written_.begin(), written_.begin() + static_cast<std::ptrdiff_t>(count));
      return count;
    }
    bool empty() const override { return written_.empty(); }
    std::size_t depth() const override { return written_.size(); }
    bool take_gap() override { return false; }
    void requeue(std::string_view) override {}
    bool caught_up() const override { return true; }

   private:
    std::vector<Change>& written_;
    std::function<void()> wake_;
  };
  std::vector<Change>& written_;
};

TEST(ForgetfulTable, TheRowOfAnEmptyKeyIsRejectedAndNoHandlerSeesIt) {
  for (const bool in_batches : {false, true}) {
    SCOPED_TRACE(in_batches);
    std::vector<Change> written{Change::set("", {{"a", "1"}}), Change::set("k", {})};
    RuntimeFixture in{{}, [&](Scheduler& scheduler) { return std::make_unique<ForgetfulStore>(scheduler, written); }};
    std::vector<std::string> handled;
    OpenOrch& orch = in.runtime.add<OpenOrch>();
    Consumer* consumer = nullptr;
    if (in_batches) {
      consumer = &orch.consume_batches("T", [&](Batch& batch) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
          handled.push_back(call(batch[i].op(), batch[i].key()));
          batch.answer(i, Outcome::done());
        }
      });
    } else {
      const auto done = [&handled](ChangeOp op, std::string_view key) {
        handled.push_back(call(op, key));
        return Outcome::done();
      };
      consumer = &orch.consume(
          "T", [done](std::string_view key, const Fields&) { return done(ChangeOp::Set, key); },
          [done](std::string_view key) { return done(ChangeOp::Delete, key); });
    }
    consumer->wake();
    in.run();
    EXPECT_THAT(handled, ElementsAre("S k"));
    EXPECT_THAT(in.rejects, ElementsAre(HasSubstr("invalid-argument: T '': the key is empty")));
    EXPECT_EQ(in.stats("T").rejected_rows, 1U);
    written.push_back(Change::remove(""));
    consumer->wake();
    in.run();
    EXPECT_THAT(handled, ElementsAre("S k"));
    EXPECT_EQ(in.stats("T").rejected_rows, 0U) << "the row is gone";
  }
}

/// Other programs may write such a row to a Redis.
TEST(ForgetfulTable, ARowBeyondTheLimitsIsRejectedByNameAndNoHandlerSeesIt) {
  const std::string large(limits::kValueBytes + 1, 'v');
  for (const Rows rows : {Rows::Whole, Rows::Written}) {
    std::vector<Change> written{Change::set("large", {{"a", large}}), Change::set("k", {})};
    RuntimeFixture in{{}, [&](Scheduler& scheduler) { return std::make_unique<ForgetfulStore>(scheduler, written); }};
    std::vector<std::string> handled;
    Consumer& consumer = in.runtime.add<OpenOrch>().consume(
        "T",
        [&](std::string_view key, const Fields&) {
          handled.push_back(call(ChangeOp::Set, key));
          return Outcome::done();
        },
        [](std::string_view) { return Outcome::done(); }, {.rows = rows});
    consumer.wake();
    in.run();
    EXPECT_THAT(handled, ElementsAre("S k"));
    EXPECT_THAT(in.rejects, ElementsAre(HasSubstr("T 'large': bytes of field 'a' of key 'large': 67108865 is over the limit of 67108864")));
  }
}

/// A Set of the key "k" with 'count' fields; the first is number 'first'.
Change many_fields(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("f" + std::to_string(first + i));
  std::vector<Field> fields;
  for (const std::string& name : names) fields.push_back({name, "v"});
  return Change::set("k", fields);
}

TEST(ForgetfulTable, ARowThatWaitsDoesNotGrowBeyondTheLimitsOfARecordAndRefusesWhatWouldMakeIt) {
  std::vector<Change> written;
  RuntimeFixture in{{}, [&](Scheduler& scheduler) { return std::make_unique<ForgetfulStore>(scheduler, written); }};
  OpenOrch& provider = in.add_groups();
  std::size_t done = 0;
  OpenOrch& orch = in.runtime.add<OpenOrch>();
  Consumer& consumer = orch.consume(
      "T",
      [&](std::string_view, const Fields& fields) {
        if (!orch.holds({kGroup, "1"})) return Outcome::wait_for({kGroup, "1"});
        done = fields.size();
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); }, {.rows = Rows::Written});
  for (std::size_t part = 0; part < 3; ++part) {
    written.push_back(many_fields(part * limits::kFields / 2, limits::kFields / 2));
    consumer.wake();
    in.run();
  }
  EXPECT_THAT(in.rejects, ElementsAre(AllOf(HasSubstr("S k: resource-exhausted: T 'k'"), HasSubstr("over the limits of a record"))));
  EXPECT_EQ(in.stats("T").rejected, 1U);
  EXPECT_EQ(in.stats("T").parked, 1U) << "the row waits on";
  in.groups.insert("1");
  provider.announce({kGroup, "1"});
  in.run();
  EXPECT_EQ(done, limits::kFields) << "with what it had";
}

class DealtWithTest : public testing::Test {
 protected:
  std::vector<std::string> heard;
  RuntimeFixture in{{}, [this](Scheduler& scheduler) { return std::make_unique<HearingStore>(scheduler, heard); }};
  OpenOrch& provider = in.add_groups();
  OpenOrch& orch = in.runtime.add<OpenOrch>();
};

TEST_F(DealtWithTest, ADeleteThatIsDoneOrRejectedIsToldToTheTable) {
  orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); },
      [](std::string_view key) {
        return key == "bad" ? Outcome::reject({StatusCode::InvalidArgument, "no"}) : Outcome::done();
      });
  in.set("T", "set");
  in.remove("T", "good");
  in.remove("T", "bad");
  in.run();
  EXPECT_THAT(heard, ElementsAre("D good", "D bad")) << "Sets need no word";
}

TEST_F(DealtWithTest, ADeleteThatWaitsIsToldWhenItIsDoneAndNotBefore) {
  Ticket ticket;
  orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); },
      [&](std::string_view) {
        if (!orch.holds({kGroup, "1"})) return Outcome::wait_for({kGroup, "1"});
        ticket = orch.current_ticket();
        return Outcome::staged();
      });
  in.remove("T", "a");
  in.run();
  EXPECT_THAT(heard, IsEmpty()) << "it is parked";
  in.groups.insert("1");
  provider.announce({kGroup, "1"});
  in.run();
  EXPECT_THAT(heard, IsEmpty()) << "it is under way";
  orch.settle(ticket, Outcome::done());
  EXPECT_THAT(heard, ElementsAre("D a"));
}

// --- the kinds of outcome

TEST_F(ConsumerTest, DoneLeavesNothingOwed) {
  consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::done(); });
  set("T", "a", {{"f", "1"}});
  remove("T", "b");
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "D b"));
  const ConsumerStats s = stats("T");
  EXPECT_EQ(s.taken, 2U);
  EXPECT_EQ(s.taken_deletes, 1U);
  EXPECT_EQ(s.handled, 2U);
  EXPECT_EQ(s.done, 2U);
  EXPECT_EQ(s.queued + s.parked + s.in_flight, 0U);
  EXPECT_EQ(runtime.scheduler().stats().sweep_rescues, 0U);
}

TEST_F(ConsumerTest, DeleteThenSetOfOneKeyRunInTwoStepsOfThatOrder) {
  consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::done(); });
  remove("T", "a");
  set("T", "a");
  run();
  EXPECT_THAT(calls, ElementsAre("D a", "S a"));
}

// Both arrive in one turn, so the row holds the pair before the Delete is handled.
TEST_F(ConsumerTest, ASetReplacesTheDeleteThatItCameWithWhereTheConsumerWantsThat) {
  consume(
      [this](ChangeOp op, std::string_view, const Fields&) {
        return op == ChangeOp::Set || orch.holds({kGroup, "unused"}) ? Outcome::done() : Outcome::wait_for({kGroup, "unused"});
      },
      {.set_replaces_delete = true});
  remove("T", "a");
  set("T", "a");
  run();
  EXPECT_THAT(calls, ElementsAre("S a"));
  EXPECT_EQ(stats("T").parked, 0U);
  EXPECT_EQ(stats("T").done, 1U);
  EXPECT_EQ(runtime.awaited_facts(), 0U);

  remove("T", "a");
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "D a")) << "a Delete alone is handled";
}

TEST_F(ConsumerTest, RejectIsToldOnceWithTableKeyAndReason) {
  consume([](ChangeOp, std::string_view, const Fields&) {
    return Outcome::reject(Status{StatusCode::InvalidArgument, "field 'f' is bad"});
  });
  set("T", "a\n");
  run();
  run_for(5s);
  EXPECT_THAT(rejects, ElementsAre("S a\n: invalid-argument: T 'a\\x0a': field 'f' is bad"));
  EXPECT_EQ(stats("T").rejected, 1U);
  EXPECT_EQ(stats("T").last_reject, "invalid-argument: T 'a\\x0a': field 'f' is bad");
  EXPECT_EQ(stats("T").in_flight, 0U);
}

TEST_F(ConsumerTest, ARejectWithoutAReasonStillSaysSomething) {
  consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::reject({}); });
  set("T", "a");
  run();
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("T 'a': the handler gave no reason")));
}

TEST_F(ConsumerTest, RetryAfterRunsAgainWhenTheTimeHasPassed) {
  bool full = true;
  consume([&](ChangeOp, std::string_view, const Fields&) {
    return full ? Outcome::retry_after(5s, Status{StatusCode::ResourceExhausted, "the table is full"}) : Outcome::done();
  });
  set("T", "a");
  run_for(4s);
  EXPECT_EQ(calls.size(), 1U);
  const std::vector<ParkedRow> parked = parked_rows(runtime, "T", 10);
  ASSERT_EQ(parked.size(), 1U);
  EXPECT_EQ(parked[0].why, "resource-exhausted: the table is full");
  EXPECT_GT(parked[0].retry_in, 900ms);
  EXPECT_GT(parked[0].waited, 3900ms);
  full = false;
  run_for(1100ms);
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(stats("T").parked, 0U);
  EXPECT_EQ(stats("T").retried, 1U);
}

TEST_F(ConsumerTest, ANegativeDelayIsNone) {
  consume([this](ChangeOp, std::string_view, const Fields&) {
    return calls.size() < 3 ? Outcome::retry_after(-5s, Status{StatusCode::Unavailable, "busy"}) : Outcome::done();
  });
  set("T", "a");
  run_for(10ms);
  EXPECT_EQ(calls.size(), 3U);
}

TEST_F(ConsumerTest, WaitForSeveralFactsRunsWhenAllHold) {
  consume([this](ChangeOp, std::string_view, const Fields&) {
    if (groups.size() == 3) return Outcome::done();
    return Outcome::wait_for({{kGroup, "1"}, {kGroup, "2"}, {kGroup, "3"}});
  });
  set("T", "a");
  run();
  for (const char* group : {"2", "1", "3"}) {
    EXPECT_EQ(calls.size(), 1U);
    announce(group);
    run();
  }
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(stats("T").done, 1U);
}

TEST_F(ConsumerTest, WaitingForNothingIsAFaultOfTheHandler) {
  consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::wait_for(std::vector<Fact>{}); });
  set("T", "a");
  run();
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("waits for 0 facts")));
}

TEST_F(ConsumerTest, WaitingForTooManyFactsIsAFaultOfTheHandler) {
  consume([](ChangeOp, std::string_view, const Fields&) {
    return Outcome::wait_for(std::vector<Fact>(limits::kWaitsPerChange + 1, Fact{kGroup, "x"}));
  });
  set("T", "a");
  run();
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("waits for 1025 facts; 1 to 1024 are allowed")));
}

// --- staged changes

class StagedTest : public ConsumerTest {
 protected:
  StagedTest() {
    consume([this](ChangeOp, std::string_view, const Fields&) {
      tickets.push_back(orch.current_ticket());
      return Outcome::staged();
    });
  }
  std::vector<Ticket> tickets;
};

TEST_F(StagedTest, NoOtherChangeOfTheKeyRunsUntilTheStagedOneIsSettled) {
  set("T", "a");
  run();
  remove("T", "a");
  set("T", "a");
  set("T", "b");
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "S b"));
  EXPECT_EQ(stats("T").in_flight, 2U);
  orch.settle(tickets[0], Outcome::done());
  run();
  orch.settle(tickets[2], Outcome::done());
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "S b", "D a", "S a"));
}

TEST_F(StagedTest, AStaleTicketSettlesNothing) {
  set("T", "a");
  run();
  orch.settle(tickets[0], Outcome::done());
  orch.settle(tickets[0], Outcome::reject(Status{StatusCode::Internal, "again"}));
  set("T", "b");  // Replaces "a".
  run();
  ASSERT_EQ(tickets[1].row, tickets[0].row);
  orch.settle(tickets[0], Outcome::done());
  EXPECT_EQ(stats("T").in_flight, 1U);
  EXPECT_EQ(stats("T").done, 1U);
  EXPECT_THAT(rejects, IsEmpty());
}

TEST_F(StagedTest, AStagedChangeMayStillWaitBeDelayedOrRejected) {
  for (const char* key : {"a", "b", "c"}) set("T", key);
  run();
  orch.settle(tickets[0], Outcome::wait_for({kGroup, "1"}));
  orch.settle(tickets[1], Outcome::retry_after(1s, Status{StatusCode::Unavailable, "busy"}));
  orch.settle(tickets[2], Outcome::reject(Status{StatusCode::Unimplemented, "never"}));
  run();
  EXPECT_EQ(stats("T").parked, 2U);
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("T 'c': never")));
  announce("1");
  run_for(2s);
  EXPECT_THAT(calls, ElementsAre("S a", "S b", "S c", "S a", "S b"));
}

TEST_F(StagedTest, AStagedDeleteThatMustWaitStaysBeforeItsSet) {
  remove("T", "a");
  set("T", "a");
  run();
  orch.settle(tickets[0], Outcome::wait_for({kGroup, "1"}));
  announce("1");
  run();
  orch.settle(tickets[1], Outcome::done());
  run();
  EXPECT_THAT(calls, ElementsAre("D a", "D a", "S a"));
}

// --- handlers that fail

TEST_F(ConsumerTest, AHandlerThatThrowsRejectsJustThatChange) {
  consume([](ChangeOp, std::string_view key, const Fields&) -> Outcome {
    if (key == "b") throw std::runtime_error("boom");
    if (key == "c") throw 42;  // NOLINT(hicpp-exception-baseclass): on purpose.
    return Outcome::done();
  });
  for (const char* key : {"a", "b", "c", "d"}) set("T", key);
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "S b", "S c", "S d"));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("T 'b': the handler threw: boom"), HasSubstr("T 'c': the handler threw something")));
  EXPECT_EQ(stats("T").thrown, 2U);
  EXPECT_EQ(stats("T").done, 2U);
  EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
}

TEST_F(ConsumerTest, AStagedChangeWhoseHandlerThrowsIsRejected) {
  consume([](ChangeOp, std::string_view, const Fields&) -> Outcome { throw std::runtime_error("late"); });
  set("T", "a");
  run();
  EXPECT_EQ(stats("T").in_flight, 0U);
  set("T", "a");
  run();
  EXPECT_EQ(stats("T").rejected, 2U) << "the key is not blocked";
}

class BatchTest : public ConsumerTest {
 protected:
  std::vector<std::size_t> sizes;
};

TEST_F(BatchTest, EveryChangeHasItsOwnAnswer) {
  std::vector<Ticket> tickets;
  orch.consume_batches("T", [&](Batch& batch) {
    sizes.push_back(batch.size());
    if (batch.size() != 5) return;
    batch.done(0);
    batch.answer(1, Outcome::reject(Status{StatusCode::InvalidArgument, "bad"}));
    batch.answer(2, Outcome::wait_for({kGroup, "1"}));
    tickets.push_back(batch.stage(3));
  });
  for (const char* key : {"a", "b", "c", "d", "e"}) set("T", key);
  run();
  EXPECT_THAT(sizes, ElementsAre(5U));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("T 'b': bad"), HasSubstr("T 'e': the handler gave no outcome")));
  EXPECT_EQ(stats("T").parked, 1U);
  EXPECT_EQ(stats("T").in_flight, 1U);
  orch.settle(tickets[0], Outcome::done());
  EXPECT_EQ(stats("T").done, 2U);
}

TEST_F(BatchTest, AHandlerThatThrowsLosesOnlyTheChangeItCannotBear) {
  orch.consume_batches("T", [&](Batch& batch) {
    sizes.push_back(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      calls.emplace_back(batch[i].key());
      if (batch[i].key() == "c") throw std::runtime_error("cannot bear c");
      batch.done(i);
    }
  });
  for (const char* key : {"a", "b", "c", "d", "e"}) set("T", key);
  run();
  EXPECT_THAT(sizes, ElementsAre(5U, 1U, 1U, 1U)) << "the first two were answered; the others are asked about alone";
  EXPECT_THAT(calls, ElementsAre("a", "b", "c", "c", "d", "e"));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("T 'c': the handler threw: cannot bear c")));
  EXPECT_EQ(stats("T").done, 4U);
  EXPECT_EQ(stats("T").thrown, 2U);
}

TEST_F(BatchTest, ABatchIsAtMostABudget) {
  orch.consume_batches("T", [&](Batch& batch) {
    sizes.push_back(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) batch.done(i);
  });
  for (int i = 0; i < 300; ++i) set("T", std::to_string(i));
  run();
  EXPECT_THAT(sizes, ElementsAre(128U, 128U, 44U));
}

// --- parking is level-triggered

TEST_F(ConsumerTest, AnAnnouncementBetweenTheLookAndTheParkIsNotLost) {
  consume([this](ChangeOp, std::string_view, const Fields&) {
    if (calls.size() > 1) return Outcome::done();
    const Outcome answer = Outcome::wait_for({kGroup, "1"});  // The handler checked, and the group did not exist...
    announce("1");                                            // ...then the group began, and no row waited for it yet.
    return answer;
  });
  set("T", "a");
  run();
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(stats("T").done, 1U);
  EXPECT_EQ(stats("T").parked_ever, 0U);
}

TEST_F(ConsumerTest, ASpuriousWaitIsAskedAgainOnceAndThenSlowedDown) {
  groups.insert("1");
  consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::wait_for({kGroup, "1"}); });
  set("T", "a");
  EXPECT_LE(runtime.run_until_idle(100), 3U);
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(stats("T").spurious_waits, 2U);
  EXPECT_THAT(parked_rows(runtime, "T", 1).at(0).why, HasSubstr("waits for group:1, which holds"));
  run_for(1s);
  EXPECT_GE(calls.size(), 10U);
  EXPECT_LE(calls.size(), 2U + 1s / limits::kSpuriousWaitDelay);
}

// Its provider withdrew the fact meanwhile, because no row waited for it. Only the handler can request it anew.
TEST_F(ConsumerTest, AfterASpuriousWaitTheHandlerIsAskedWhetherTheFactHoldsOrNot) {
  groups.insert("1");
  consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::wait_for({kGroup, "1"}); });
  set("T", "a");
  run();
  EXPECT_EQ(calls.size(), 2U);
  groups.clear();
  run_for(2 * limits::kSpuriousWaitDelay);
  EXPECT_EQ(calls.size(), 3U);
  EXPECT_THAT(parked_rows(runtime, "T", 1).at(0).why, IsEmpty()) << "from here on it waits for the fact";
  groups.insert("1");
  announce("1");
  run();
  EXPECT_GT(calls.size(), 3U);
}

TEST_F(ConsumerTest, AProviderThatComesAfterTheParkingWakesTheRows) {
  constexpr FactKind kLate{"late"};
  bool exists = false;
  consume([&](ChangeOp, std::string_view, const Fields&) {
    const Fact needed{kLate, "x"};
    return orch.holds(needed) ? Outcome::done() : Outcome::wait_for(needed);
  });
  set("T", "a");
  run();
  EXPECT_FALSE(parked_facts(runtime, 1).at(0).has_provider);
  OpenOrch& late = runtime.add<OpenOrch>("late");
  late.provide(kLate, [&](std::string_view) { return exists; });
  EXPECT_TRUE(parked_facts(runtime, 1).at(0).has_provider);
  EXPECT_TRUE(late.is_awaited({kLate, "x"}));
  exists = true;
  late.announce({kLate, "x"});
  EXPECT_FALSE(late.is_awaited({kLate, "x"}));
  run();
  EXPECT_EQ(stats("T").done, 1U);
}

TEST_F(ConsumerTest, AnAnnouncementRunsNoHandler) {
  consume([this](ChangeOp, std::string_view, const Fields&) { return wait_for_group("1"); });
  set("T", "a");
  run();
  announce("1");
  EXPECT_EQ(calls.size(), 1U);
  EXPECT_EQ(stats("T").queued, 1U);
  run();
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(ConsumerTest, AnAnnouncementWithoutTheFactParksTheRowAgain) {
  consume([this](ChangeOp, std::string_view, const Fields&) { return wait_for_group("1"); });
  set("T", "a");
  run();
  provider.announce({kGroup, "1"});  // It ended again before any row's turn.
  run();
  EXPECT_EQ(stats("T").parked, 1U);
  announce("1");
  run();
  EXPECT_EQ(stats("T").done, 1U);
}

// --- hold and release

TEST_F(ConsumerTest, AHeldConsumerTakesNothingAndKeepsTheOrder) {
  Consumer& consumer = consume([](ChangeOp, std::string_view, const Fields&) { return Outcome::done(); });
  orch.hold(consumer);
  set("T", "a");
  set("T", "b");
  EXPECT_LE(runtime.run_until_idle(100), 1U) << "no spinning";
  run_for(3s);
  EXPECT_THAT(calls, IsEmpty());
  EXPECT_EQ(stats("T").queued, 2U);
  EXPECT_EQ(stats("T").taken, 0U);
  orch.release(consumer);
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "S b"));
  EXPECT_EQ(runtime.scheduler().stats().sweep_rescues, 0U);
}

TEST_F(ConsumerTest, AHandlerThatHoldsItsConsumerIsAskedAboutNoFurtherRowInItsTurn) {
  Consumer* own = nullptr;
  Consumer& consumer = consume([&](ChangeOp, std::string_view, const Fields&) {
    orch.hold(*own);
    return Outcome::done();
  });
  own = &consumer;
  for (const char* const key : {"a", "b", "c"}) set("T", key);
  run();
  EXPECT_THAT(calls, ElementsAre("S a"));
  orch.release(consumer);
  run();
  EXPECT_THAT(calls, ElementsAre("S a", "S b"));
}

TEST_F(ConsumerTest, FactsAndTimesThatComeWhileHeldCountAfterTheRelease) {
  Consumer& consumer = consume([this](ChangeOp, std::string_view key, const Fields&) {
    if (key == "t" && calls.size() < 3) return Outcome::retry_after(1s, Status{StatusCode::Unavailable, "busy"});
    return wait_for_group("1");
  });
  set("T", "f");
  set("T", "t");
  run();
  orch.hold(consumer);
  announce("1");
  run_for(2s);
  EXPECT_EQ(calls.size(), 2U);
  orch.release(consumer);
  run();
  EXPECT_THAT(calls, ElementsAre("S f", "S t", "S f", "S t"));
}

// --- limits

TEST_F(ConsumerTest, AtTheLimitOfItsLedgerAConsumerTakesNoMore) {
  consume([this](ChangeOp, std::string_view, const Fields&) { return wait_for_group("1"); }, {.rows_max = 10});
  for (int i = 0; i < 25; ++i) set("T", std::to_string(i));
  EXPECT_LE(runtime.run_until_idle(100), 5U) << "no spinning";
  EXPECT_EQ(stats("T").taken, 10U);
  EXPECT_EQ(stats("T").parked, 10U);
  EXPECT_EQ(stats("T").queued, 15U);
  EXPECT_GE(stats("T").full_turns, 1U);
  EXPECT_EQ(stats("T").full_at, 10U);
  announce("1");
  run();
  EXPECT_EQ(stats("T").done, 25U);
  EXPECT_EQ(stats("T").full_at, 0U);
  EXPECT_EQ(runtime.scheduler().stats().sweep_rescues, 0U);
}

// --- the time of a turn

TEST_F(ConsumerTest, TheLedgerThatIsNotLimitedByAnOptionHasTheLimitOfAll) {
  EXPECT_EQ(ConsumeOptions{}.rows_max, limits::kLedgerRows);
  // The case above reaches the option's limit. Its default is less than 32-bit row numbers can count.
  static_assert(limits::kLedgerRows < UINT32_MAX);
}

// The highest priority: no other source can preempt its turn.
constexpr Priority kHighest{limits::kPriorities - 1};

TEST_F(ConsumerTest, ATurnEndsWhenItsTimeIsOver) {
  std::vector<std::uint64_t> turns;
  runtime.add<OpenOrch>("highest", kHighest)
      .consume(
          "T",
          [&](std::string_view, const Fields&) {
            turns.push_back(source("T").turns);
            world.clock().advance(limits::kTurnTime / 10);
            return Outcome::done();
          },
          [](std::string_view) { return Outcome::done(); });
  for (int i = 0; i < 100; ++i) set("T", std::to_string(i));
  run();
  ASSERT_EQ(turns.size(), 100U);
  // The clock is read every kItemsPerStep items, and after each item when those of the last turn were long.
  constexpr std::ptrdiff_t kItems = 2 * limits::kItemsPerStep;
  EXPECT_EQ(std::ranges::count(turns, turns.front()), kItems);
  for (std::uint64_t turn = turns.front() + 1; turn < turns.back(); ++turn) EXPECT_EQ(std::ranges::count(turns, turn), 10);
  EXPECT_EQ(source("T").longest_turn, kItems * limits::kTurnTime / 10);
  EXPECT_GE(runtime.scheduler().stats().timed_out_turns, turns.back() - turns.front());
}

TEST_F(ConsumerTest, ABulkHandlerHasItsBatchAndATurnAsManyAsItsTimeAllows) {
  std::vector<std::size_t> batches;
  std::vector<std::uint64_t> turns;
  runtime.add<OpenOrch>("highest", kHighest)
      .consume_batches("T",
                       [&](Batch& batch) {
                         batches.push_back(batch.size());
                         turns.push_back(source("T").turns);
                         for (std::size_t i = 0; i < batch.size(); ++i) batch.done(i);
                         world.clock().advance(limits::kTurnTime * 2 / 5);
                       },
                       {.batch_max = 20});
  for (int i = 0; i < 128; ++i) set("T", std::to_string(i));
  run();
  EXPECT_THAT(batches, ElementsAre(20, 20, 20, 20, 20, 20, 8));
  const std::uint64_t first = turns.front();
  EXPECT_THAT(turns, ElementsAre(first, first, first, first + 1, first + 1, first + 1, first + 2));
}

TEST_F(ConsumerTest, RetriedRowsDoNotTakeAllOfTurnsThatAreCutShort) {
  std::string order;
  consume([&](ChangeOp, std::string_view key, const Fields&) {
    order += key[0];
    world.clock().advance(limits::kTurnTime);  // One step a turn.
    return key[0] == 'r' ? wait_for_group("1") : Outcome::done();
  });
  for (int i = 0; i < 64; ++i) set("T", "r" + std::to_string(i));
  run();
  order.clear();
  for (int i = 0; i < 64; ++i) set("T", "n" + std::to_string(i));
  announce("1");
  run();
  ASSERT_EQ(order.size(), 128U);
  for (std::size_t from = 0; from < order.size(); from += limits::kItemsPerStep) {
    const auto in_step = std::ranges::count(order.substr(from, limits::kItemsPerStep), 'r');
    EXPECT_EQ(in_step, limits::kItemsPerStep / 2) << "from " << from;
  }
}

TEST_F(ConsumerTest, WhatATurnThatWasCutShortLeftOverDoesNotSwellAShorterOne) {
  int retried = 0;
  bool slow = false;
  Consumer& consumer = consume(
      [&](ChangeOp, std::string_view key, const Fields&) {
        if (key[0] == 'r') ++retried;
        if (slow) world.clock().advance(limits::kTurnTime);
        return key[0] == 'r' ? wait_for_group("1") : Outcome::done();
      },
      {.retry_quota = 127});
  for (int i = 0; i < 200; ++i) set("T", "r" + std::to_string(i));
  run();
  for (int i = 0; i < 200; ++i) set("T", "n" + std::to_string(i));
  announce("1");
  for (const std::uint32_t shorter : {1U, 3U, 1U, 2U}) {
    slow = true;
    EXPECT_EQ(consumer.run(Budget{.items = 128}).items, limits::kItemsPerStep);
    slow = false;
    retried = 0;
    EXPECT_EQ(consumer.run(Budget{.items = shorter}).items, shorter);
    EXPECT_LE(retried, static_cast<int>(shorter));
  }
}

// --- new and retried rows share turns

class SharingTest : public ConsumerTest, public testing::WithParamInterface<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> {
 protected:
  SharingTest() : ConsumerTest(StrictPriority{.batch = std::get<0>(GetParam())}) {}
};

TEST_P(SharingTest, RetriedRowsNeverStarveNewOnesNorTheOtherWayRound) {
  const auto [batch, quota, share] = GetParam();
  std::vector<std::pair<std::uint64_t, bool>> order;  // The number of the turn, and whether the row was a retried one.
  consume(
      [&](ChangeOp, std::string_view key, const Fields&) {
        order.emplace_back(source("T").turns, key[0] == 'r');
        return key[0] == 'r' ? wait_for_group("1") : Outcome::done();
      },
      {.retry_quota = quota});
  constexpr int kRows = 64;
  for (int i = 0; i < kRows; ++i) set("T", "r" + std::to_string(i));
  run();
  order.clear();
  for (int i = 0; i < kRows; ++i) set("T", "n" + std::to_string(i));
  announce("1");
  run();
  ASSERT_EQ(order.size(), 2U * kRows);
  // While both kinds wait, each turn has its share of each (with one item a turn: every two turns).
  const std::uint32_t window = std::max(batch, 2U);
  const std::uint32_t of_retried = batch == 1 ? 1 : share;
  std::uint32_t seen_retried = 0;
  for (std::size_t from = 0; seen_retried + of_retried <= kRows && from - seen_retried + (window - of_retried) <= kRows; from += window) {
    std::uint32_t in_window = 0;
    for (std::size_t i = from; i < from + window; ++i) in_window += order[i].second ? 1U : 0U;
    EXPECT_EQ(in_window, of_retried) << "from " << from;
    seen_retried += in_window;
  }
  EXPECT_GT(seen_retried, 0U);
}

INSTANTIATE_TEST_SUITE_P(Quotas, SharingTest,
                         testing::Values(std::tuple{8, 0, 4}, std::tuple{8, 2, 2}, std::tuple{8, 100, 7}, std::tuple{2, 0, 1},
                                         std::tuple{1, 0, 1}, std::tuple{1, 50, 1}));

TEST_F(ConsumerTest, WhoeverHasNothingLeavesTheTurnToTheOther) {
  consume([this](ChangeOp, std::string_view key, const Fields&) { return key[0] == 'r' ? wait_for_group("1") : Outcome::done(); },
          {.retry_quota = 1});
  for (int i = 0; i < 256; ++i) set("T", "r" + std::to_string(i));
  run();
  const std::uint64_t before = source("T").turns;
  announce("1");
  set("T", "new");
  run();
  EXPECT_EQ(source("T").turns - before, 3U) << "257 rows at 128 a turn, though the quota is 1";
}

}  // namespace
}  // namespace rondo
