// Goal: the forms in which an Orch supplies its handlers: const members, an iterated batch, a timer of its own.
// Method: small Orchs in a simulated world.
#include <gmock/gmock.h>

#include "orch/runtime_fixture.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Has no state: its handlers are const.
class Stateless final : public Orch {
 public:
  Stateless(Runtime& runtime, std::vector<std::string>& heard) : Orch(runtime, "stateless", Priority::p1), heard_(heard) {
    consume("T", this, &Stateless::set, &Stateless::remove);
  }

 private:
  Outcome set(std::string_view key, const Fields&) const {
    heard_.push_back(call(ChangeOp::Set, key));
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    heard_.push_back(call(ChangeOp::Delete, key));
    return Outcome::done();
  }
  std::vector<std::string>& heard_;
};

class HandlersTest : public testing::Test, public RuntimeFixture {};

TEST_F(HandlersTest, MayBeConstMembersOfTheOrch) {
  runtime.add<Stateless>(calls);
  set("T", "a");
  remove("T", "b");
  run();
  EXPECT_THAT(calls, testing::UnorderedElementsAre("S a", "D b"));
}

TEST_F(HandlersTest, ABatchIsWalkedOverAndEachItemAnswered) {
  auto& orch = runtime.add<OpenOrch>();
  std::vector<Ticket> staged;
  orch.consume_batches("T", [&](Batch& batch) {
    for (const Batch::Item item : batch) {
      calls.push_back(call(item.op(), item.key()) + " " + item.fields().text("v").value_or(""));
      if (item.key() == "later") {
        staged.push_back(item.stage());
      } else if (item.op() == ChangeOp::Delete) {
        item.done();
      } else {
        item.answer(Outcome::reject({StatusCode::InvalidArgument, "not " + std::string{item.key()}}));
      }
    }
  });
  set("T", "bad", {{"v", "1"}});
  set("T", "later", {{"v", "2"}});
  remove("T", "gone");
  run();
  EXPECT_THAT(calls, ElementsAre("S bad 1", "S later 2", "D gone "));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("not bad")));
  ASSERT_EQ(staged.size(), 1U);
  EXPECT_EQ(stats("T").in_flight, 1U);
  orch.settle(staged.front(), Outcome::done());
  EXPECT_EQ(stats("T").done, 2U);
}

TEST_F(HandlersTest, AHandlerThatFindsNoMemoryIsCalledAgainLater) {
  auto& orch = runtime.add<OpenOrch>();
  bool is_short = true;
  const auto handle = [&](const std::string& called) {
    calls.push_back(called);
    if (is_short) throw std::bad_alloc();
    return Outcome::done();
  };
  orch.consume(
      "T", [&](std::string_view key, const Fields&) { return handle(call(ChangeOp::Set, key)); },
      [](std::string_view) { return Outcome::done(); });
  orch.consume_batches("B", [&](Batch& batch) {
    for (const Batch::Item item : batch) item.answer(handle(call(item.op(), item.key())));
  });
  set("T", "a");
  set("B", "b");
  set("B", "c");
  run_for(500ms);
  EXPECT_EQ(stats("T").delayed_rows + stats("B").delayed_rows, 3U);
  is_short = false;
  calls.clear();
  run_for(1s);
  EXPECT_THAT(calls, testing::UnorderedElementsAre("S a", "S b", "S c"));
  EXPECT_EQ(stats("T").done + stats("B").done, 3U);
  EXPECT_THAT(rejects, testing::IsEmpty());
}

TEST_F(HandlersTest, AnOrchHasTimersOfItsOwnThatGoOnWhenOneThrowsAndEndWithIt) {
  int due = 0;
  auto& orch = runtime.add<OpenOrch>("clockwork");
  orch.every(100ms, [&] {
    if (++due == 2) throw std::runtime_error("cannot bear it");
  });
  run_for(90ms);
  EXPECT_EQ(due, 0);
  run_for(960ms);
  EXPECT_EQ(due, 10);
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("clockwork timer 'every': the handler threw: cannot bear it")));
}

/// Settles staged changes of table T when the test wants it.
class LatencyTest : public HandlersTest {
 protected:
  LatencyTest() {
    rows = orch.consume(
        "T",
        [this](std::string_view key, const Fields&) {
          const Fact needed{kGroup, "g"};
          if (key == "waits" && !orch.holds(needed)) return Outcome::wait_for(needed);
          staged.push_back(orch.current_ticket());
          return Outcome::staged();
        },
        [](std::string_view) { return Outcome::done(); });
  }
  void answer(std::size_t ticket) {
    orch.settle(staged.at(ticket), Outcome::done());
    run();
  }
  /// The time in milliseconds of the 'count' changes that are done; each is exact, because no simulated turn takes as much.
  double longest_ms(std::uint64_t count) {
    const Log2Histogram latency = stats("T").latency_ns;
    EXPECT_EQ(latency.count(), count);
    return static_cast<double>(latency.max()) / 1e6;
  }

  OpenOrch& provider = add_groups();
  OpenOrch& orch = runtime.add<OpenOrch>();
  ConsumerHandle rows;
  std::vector<Ticket> staged;
};

TEST_F(LatencyTest, IsFromTheWriteToTheAnswer) {
  orch.hold(rows);
  set("T", "a");
  run_for(30ms);
  set("T", "b");
  run_for(10ms);
  orch.release(rows);
  run();
  run_for(5ms);
  answer(1);
  EXPECT_NEAR(longest_ms(1), 15, 1);  // The wait in the table counts, and for each row its own.
  answer(0);
  EXPECT_NEAR(longest_ms(2), 45, 1);
}

TEST_F(LatencyTest, DoesNotCountTheWaitForFacts) {
  set("T", "waits");
  run_for(10s);
  groups.insert("g");
  provider.announce({kGroup, "g"});
  run();
  run_for(20ms);
  answer(0);
  EXPECT_NEAR(longest_ms(1), 20, 1);
}

TEST_F(LatencyTest, OfAChangeThatEndsAWaitIsFromThatChange) {
  set("T", "waits");
  run_for(10s);
  groups.insert("g");  // Not announced: the new Set is handled at once.
  set("T", "waits", {{"new", "1"}});
  run();
  run_for(20ms);
  answer(0);
  EXPECT_NEAR(longest_ms(1), 20, 1);
}

TEST_F(LatencyTest, OfAChangeBehindOneInFlightIsItsOwn) {
  set("T", "a");
  run_for(50ms);
  for (std::size_t i = 0; i < 20; ++i) {  // In one row, without a pause: each is written 20 ms before the one in flight is answered.
    set("T", "a", {{"value", std::to_string(i)}});
    run_for(20ms);
    answer(i);
  }
  EXPECT_NEAR(longest_ms(20), 70, 1);                           // The first. The others took 40 ms.
  EXPECT_LT(stats("T").latency_ns.quantile(0.9), 67'108'864U);  // They are in the bucket below 2^26 ns.
}

}  // namespace
}  // namespace rondo
