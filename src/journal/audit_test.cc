// The audit on recorded runs. A run that keeps its bound passes. A run whose turns followed another policy than the recorded one fails,
// and the audit reports the first wait that exceeded its bound.
#include "journal/audit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "journal/recorder.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
using journal::AuditReport;

class AuditTest : public testing::Test {
 protected:
  /// A run scheduled by 'given' and recorded as 'said'; it may change to 'later' in the middle.
  AuditReport live(const PolicyOptions& given, const PolicyOptions& said, const PolicyOptions* later = nullptr, std::uint64_t seed = 1,
                   bool one_breaks = false) {
    const std::string file = (directory_ / ("day" + std::to_string(++files_))).string();
    sim::World world(seed);
    auto journal = std::move(JournalRecorder::open({.file = file}, world.clock()).value());
    Scheduler scheduler(world.clock(), world.reactor(), test::policy(given));
    scheduler.observe(journal.get());
    journal->started(scheduler.now(), *resolve_policy(said));
    std::vector<std::unique_ptr<test::WorkSource>> sources;
    for (unsigned i = 0; i < 12; ++i) {
      sources.push_back(std::make_unique<test::WorkSource>("s" + std::to_string(i), i % 4));
      sources.back()->on_run = [&] { world.clock().advance(Duration{static_cast<std::int64_t>(1000 + world.random().below(300'000))}); };
      scheduler.add(*sources.back());
    }
    test::WorkSource broken("broken", 0, 1);  // Quarantined while it is ready.
    broken.on_collect = [] { return Result<Backlog>{failure(StatusCode::Internal, "broken")}; };
    if (one_breaks) {
      scheduler.add(broken);
      EXPECT_TRUE(broken.is_ready());
      broken.wake_from_any_thread();
    }
    for (int step = 0; step < 300; ++step) {
      for (const auto& source : sources) {
        if (!world.random().chance(0.5)) continue;
        source->left += 128 * (1 + world.random().below(8));
        source->wake();
      }
      if (step == 150 && later != nullptr) scheduler.set_policy(test::policy(*later));
      scheduler.run_until_idle(world.random().below(40));
      if (step == 100) scheduler.run_until_idle();
      world.clock().advance(step == 100 ? Duration{60s} : Duration{1us});  // For one minute no source has work.
    }
    sources.clear();
    if (one_breaks) scheduler.remove(broken);
    EXPECT_TRUE(journal->flush().ok());
    journal.reset();
    Result<AuditReport> report = journal::audit({file});
    EXPECT_TRUE(report.has_value());
    return report ? *report : AuditReport{};
  }

 private:
  TemporaryFolder directory_;
  int files_ = 0;
};

TEST_F(AuditTest, ARunUnderFramesKeepsItsBoundProperty) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const BudgetedFrames frames{.lowest = 100us, .highest = seed % 2 == 0 ? 500us : 5ms};
    const AuditReport report = live(frames, frames, nullptr, seed);
    EXPECT_EQ(report.violations, 0U) << "seed " << seed;
    EXPECT_GT(report.waits, 500U);
    EXPECT_EQ(report.unknown, 0U);
    EXPECT_GT(report.worst, 0.2) << "seed " << seed;
  }
}

TEST_F(AuditTest, AWaitThatWasTooLongIsFoundAndNamed) {
  const AuditReport report = live(StrictPriority{}, BudgetedFrames{.lowest = 100us, .highest = 500us});
  EXPECT_GT(report.violations, 0U);
  ASSERT_TRUE(report.first.has_value());
  EXPECT_GT(report.first->waited, report.first->bound);
  EXPECT_LT(report.first->priority, 3U);
  EXPECT_EQ(report.first->source.substr(0, 1), "s");
  EXPECT_GT(report.first->record, 1U);
}

TEST_F(AuditTest, ASourceThatIsGivenUpWhileItIsReadyDoesNotBlindIt) {
  const BudgetedFrames said{.lowest = 100us, .highest = 500us};
  const AuditReport report = live(StrictPriority{}, said, nullptr, 1, true);
  const AuditReport without = live(StrictPriority{}, said);
  EXPECT_GT(report.violations, 0U);
  EXPECT_NEAR(report.worst, without.worst, without.worst / 2);
}

TEST_F(AuditTest, StrictPriorityPromisesNothingButToTheHighest) {
  const AuditReport report = live(StrictPriority{}, StrictPriority{});
  EXPECT_EQ(report.violations, 0U);
  EXPECT_GT(report.unbounded, 0U);
  EXPECT_GT(report.waits, 0U);
}

TEST_F(AuditTest, EachPolicyOfARunIsHeldToItsOwnBound) {
  const PolicyOptions frames = BudgetedFrames{.lowest = 100us, .highest = 500us};
  const AuditReport report = live(StrictPriority{}, StrictPriority{}, &frames);
  EXPECT_EQ(report.parts, 2U);
  EXPECT_EQ(report.violations, 0U);
  EXPECT_GT(report.unknown, 0U);  // Waits that were open when the policy changed.
  EXPECT_GT(report.waits, 300U);
}

TEST_F(AuditTest, AFileThatIsNoneIsAnError) { EXPECT_FALSE(journal::audit({"no/such/file"}).has_value()); }

}  // namespace
}  // namespace rondo
