// A more urgent source waits for one handler, not for the turn of a table, a channel, a fact or a mailbox. This holds under frames, strict
// priority and strictly ordered, whether a handler, another thread or a descriptor wakes it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/sched/mailbox.h"
#include "sim/test_source.h"
#include "sim/world_reactor.h"

namespace rondo {
namespace {

constexpr int kItems = 64;
constexpr int kNewsAt = 10;  // The item whose handler wakes the urgent source; it is neither the first nor the last of a step.
constexpr int kDescriptor = 5;

/// The kinds of items handled at p0.
enum class Work { Rows, Retries, Events, Facts, Messages };

std::string name_of(Work work) {
  switch (work) {
    case Work::Rows: return "Rows";
    case Work::Retries: return "Retries";
    case Work::Events: return "Events";
    case Work::Facts: return "Facts";
    default: return "Messages";
  }
}

class Urgent {
 public:
  explicit Urgent(const PolicyOptions& policy) : runtime_({.policy = policy, .clock = &world_.clock(), .reactor = &world_.reactor()}) {
    runtime_.scheduler().add(urgent_);
    urgent_.on_run = [this] { handled_before_ = handled_; };
  }

  /// Makes 64 items of work at p0, whose handlers take 'each'. 'news' runs in the handler of item kNewsAt.
  void work(Work what, Duration each, std::function<void()> news) {
    each_ = each;
    news_ = std::move(news);
    OpenOrch& orch = runtime_.add<OpenOrch>("p0", Priority::p0);
    const auto set = [this](std::string_view, const Fields&) {
      handle();
      return Outcome::done();
    };
    const auto remove = [](std::string_view) { return Outcome::done(); };
    if (what == Work::Rows) {
      orch.consume("T", set, remove);
      for (int i = 0; i < kItems; ++i) EXPECT_TRUE(runtime_.table("T").set(std::to_string(i), {}).ok());
    } else if (what == Work::Retries) {
      orch.consume(
          "T",
          [this, set](std::string_view key, const Fields& fields) {
            return open_ ? set(key, fields) : Outcome::wait_for({kGroup, "g"});
          },
          remove);
      orch.provide(kGroup, [this](std::string_view) { return open_; });
      for (int i = 0; i < kItems; ++i) EXPECT_TRUE(runtime_.table("T").set(std::to_string(i), {}).ok());
      runtime_.run_until_idle();
      open_ = true;
      orch.announce({kGroup, "g"});
    } else if (what == Work::Events) {
      EXPECT_TRUE(runtime_.store().declare({.name = "C", .kind = TableKind::Channel}).ok());
      orch.listen("C", [this](const Change&) { handle(); });
      for (int i = 0; i < kItems; ++i) EXPECT_TRUE(runtime_.table("C").write(Change::event("event", std::to_string(i), {})).ok());
    } else if (what == Work::Facts) {
      orch.provide(kGroup, [](std::string_view) { return false; });
      orch.observe(kGroup, [this](std::string_view, bool) { handle(); });
      for (int i = 0; i < kItems; ++i) orch.announce({kGroup, std::to_string(i)});
    } else {
      mailbox_ = std::make_unique<Mailbox<int>>("box", Priority::p0, [this](int&&) { handle(); });
      runtime_.scheduler().add(*mailbox_);
      for (int i = 0; i < kItems; ++i) EXPECT_TRUE(mailbox_->post(int{i}).ok());
    }
  }

  void wake_here() {
    urgent_.left = 1;
    urgent_.wake();
  }
  void wake_from_a_thread() {
    urgent_.left = 1;
    std::thread([this] { urgent_.wake_from_any_thread(); }).join();
  }
  void become_readable() {
    urgent_.left = 1;
    sim::reactor_of(world_).make_ready(kDescriptor);
  }
  void watch() { EXPECT_TRUE(world_.reactor().watch(kDescriptor, Interest::Read, urgent_).ok()); }

  /// Returns how many of p0's handlers began after the news and before the urgent source had its turn.
  int run() {
    runtime_.run_until_idle();
    EXPECT_EQ(handled_, kItems);
    return handled_before_ - kNewsAt;
  }

 private:
  void handle() {
    ++handled_;
    world_.clock().advance(each_);
    if (handled_ == kNewsAt) news_();
  }

  sim::World world_{1};
  Runtime runtime_;
  test::WorkSource urgent_{"urgent", 7};
  std::unique_ptr<Mailbox<int>> mailbox_;
  bool open_ = false;
  Duration each_{0};
  std::function<void()> news_;
  int handled_ = 0;
  int handled_before_ = 1000;
};

struct Case {
  Work work;
  const char* under;
  PolicyOptions policy;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << name_of(tested.work) << "Under" << tested.under; }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Work work : {Work::Rows, Work::Retries, Work::Events, Work::Facts, Work::Messages}) {
    all.push_back({work, "Frames", BudgetedFrames{}});
    all.push_back({work, "Strict", StrictPriority{}});
    all.push_back({work, "StrictlyOrdered", StrictlyOrdered{}});
  }
  return all;
}

class UrgentTest : public testing::TestWithParam<Case> {
 protected:
  Work what() const { return GetParam().work; }
  Urgent urgent_{GetParam().policy};
};

TEST_P(UrgentTest, WaitsForTheHandlerThatWokeIt) {
  urgent_.work(what(), 0us, [this] { urgent_.wake_here(); });
  EXPECT_EQ(urgent_.run(), 0);
}

TEST_P(UrgentTest, WaitsForTheHandlerDuringWhichAThreadWokeIt) {
  urgent_.work(what(), 0us, [this] { urgent_.wake_from_a_thread(); });
  EXPECT_EQ(urgent_.run(), 0);
}

TEST_P(UrgentTest, WaitsForOneHandlerAfterItsDescriptorBecameReadyWhereHandlersAreLong) {
  urgent_.watch();
  urgent_.work(what(), 100us, [this] { urgent_.become_readable(); });
  EXPECT_EQ(urgent_.run(), 0);
}

TEST_P(UrgentTest, WaitsForAFewShortHandlersAfterItsDescriptorBecameReady) {
  urgent_.watch();
  urgent_.work(what(), 1us, [this] { urgent_.become_readable(); });
  EXPECT_LE(urgent_.run(), static_cast<int>(limits::kPollPeriod / 1us + limits::kItemsPerStep));
}

INSTANTIATE_TEST_SUITE_P(All, UrgentTest, testing::ValuesIn(cases()), testing::PrintToStringParamName());

}  // namespace
}  // namespace rondo
