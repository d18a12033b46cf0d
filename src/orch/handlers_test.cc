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

}  // namespace
}  // namespace rondo
