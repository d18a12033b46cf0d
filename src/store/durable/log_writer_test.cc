// Groups on their way to a slow, failing disk, with the writing thread: when each callback gets its result, and what is written then. The
// test's own disk holds each group until the test sets its result.
#include "store/durable/log_writer.h"
#include "base/testing/sanitized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/base/clock.h"
#include "rondo/sim/world.h"
#include "store/durable/testing/disk.h"

namespace rondo::store::durable {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LogWriterTest : public testing::Test {
 protected:
  void write(const std::string& key) {
    writer_.add({.table = 0, .record = Record::make(key, {})});
    writer_.when_written([this, key](const Status& end) {
      told_.push_back(key + (end.ok() ? " ok" : " failed"));
      if (end.ok()) {
        EXPECT_THAT(disk_->written(), Contains(key)) << "told before it is there";
      }
    });
  }
  template <class Done>
  void run_until(const Done& done) {
    while (!done()) {
      scheduler_.wait(clock_.now() + 100ms);
      scheduler_.run_until_idle();
    }
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  Completions completions_{scheduler_, "completions", Priority::p7};
  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  std::vector<std::string> told_;
  DurableStoreStats stats_;
  LogWriter writer_{
      scheduler_, {.path = "test", .durability = Durability::EveryBatch}, std::make_unique<SlowFile>(disk_), completions_, stats_};
};

TEST_F(LogWriterTest, NoEndIsToldBeforeTheDiskHasIt) {
  write("first");
  scheduler_.run_until_idle();
  disk_->wait_until_asked(1);
  write("second");
  scheduler_.run_until_idle();
  EXPECT_THAT(told_, IsEmpty());
  disk_->let({});
  run_until([this] { return told_.size() == 1; });
  EXPECT_THAT(told_, ElementsAre("first ok"));
  disk_->wait_until_asked(2);
  EXPECT_THAT(disk_->written(), Not(Contains("second")));
  disk_->let({});
  run_until([this] { return told_.size() == 2; });
  EXPECT_THAT(told_, ElementsAre("first ok", "second ok"));
}

TEST_F(LogWriterTest, WhatWasGatheredWhileAGroupFailedIsNotToldWritten) {
  write("first");
  scheduler_.run_until_idle();
  disk_->wait_until_asked(1);
  write("second");  // Waits behind the group that fails.
  disk_->let({StatusCode::ResourceExhausted, "full"});
  run_until([this] { return told_.size() == 2; });
  EXPECT_THAT(told_, ElementsAre("first failed", "second failed"));
  EXPECT_FALSE(writer_.trouble().ok());
  disk_->let({});  // The writer retries once a second, so nothing is lost.
  disk_->let({});
  run_until([this] { return disk_->written().size() == 2; });
  run_until([this] { return writer_.trouble().ok(); });
  write("third");
  disk_->let({});
  run_until([this] { return told_.size() == 3; });
  EXPECT_EQ(told_.back(), "third ok");
}

TEST_F(LogWriterTest, TheEndOfAProcessWritesWhatWasGathered) {
  write("first");
  scheduler_.run_until_idle();
  disk_->wait_until_asked(1);
  for (int i = 0; i < 1000; ++i) write(std::to_string(i));
  disk_->let({});
  disk_->let({});
  EXPECT_TRUE(writer_.finish().ok());
  EXPECT_EQ(disk_->written().size(), 1001U);
  scheduler_.run_until_idle();
  EXPECT_EQ(told_.size(), 1001U);
}

TEST_F(LogWriterTest, UpkeepThatFailsIsToldAndTriedAgainWhileWritesGoOn) {
  write("before");
  disk_->let({});
  run_until([this] { return told_.size() == 1; });
  int written = 1;
  for (Status* const which : {&disk_->checkpoint, &disk_->drop}) {
    const std::uint64_t failed = stats_.failed_upkeep;
    disk_->set(*which, {StatusCode::Unavailable, "broken"});
    writer_.begin_snapshot();
    write("snapshot");
    writer_.end_snapshot();
    disk_->let({});
    run_until([this] { return !writer_.upkeep_trouble().ok(); });
    EXPECT_THAT(writer_.upkeep_trouble().to_string(), HasSubstr("broken"));
    EXPECT_GT(stats_.failed_upkeep, failed);
    EXPECT_NE(stats_.failing_since, Instant{});
    EXPECT_TRUE(writer_.trouble().ok());
    EXPECT_FALSE(stats_.writes_fail);
    write("meanwhile");
    disk_->let({});
    run_until([this, all = written + 2] { return told_.size() == static_cast<std::size_t>(all); });
    EXPECT_EQ(told_.back(), "meanwhile ok");
    const int dropped = disk_->times_dropped();
    disk_->set(*which, {});
    run_until([this] { return writer_.upkeep_trouble().ok(); });
    EXPECT_EQ(disk_->times_dropped(), dropped + 1) << "what the snapshot replaced is not forgotten";
    EXPECT_EQ(stats_.failing_since, Instant{});
    written += 2;
  }
}

TEST_F(LogWriterTest, EndsHoweverSoonAfterItsBeginningStorm) {
  // The thread is at another step of its start each time; a thread that misses the wake would block for good.
  for (int i = 0; i < plain_or_sanitized(20'000, 4000); ++i) {
    const LogWriter other{scheduler_, {.path = "test"}, std::make_unique<SlowFile>(disk_), completions_, stats_};
    for (volatile int moment = i % 1000 * 20; moment > 0;) moment = moment - 1;
  }
}

/// A disk that runs a test's function while it works.
class BusyFile final : public LogFile {
 public:
  explicit BusyFile(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  Reading read(const std::function<Status(std::string_view)>&) override { return {}; }
  Status append(std::span<const std::string>) override {
    meanwhile_();
    return {};
  }
  std::int64_t last() const override { return 0; }
  Result<bool> drop_until(std::int64_t, std::uint32_t) override { return false; }
  Status checkpoint(bool) override { return {}; }
  Status check_names() override { return {}; }

 private:
  std::function<void()> meanwhile_;
};

TEST(LogWriterTime, TheIntervalBeginsWithTheFirstRecordAlsoDuringACommit) {
  sim::World world{1};
  Scheduler scheduler{world.clock(), world.reactor(), *make_policy(StrictPriority{})};
  Completions completions{scheduler, "completions", Priority::p7};
  DurableStoreStats stats;
  LogWriter* writer = nullptr;
  int commits = 0;
  const auto meanwhile = [&] {
    if (++commits > 1) return;
    writer->add({.table = 0, .record = Record::make("second", {})});
    world.clock().advance(60ms);
  };
  LogWriter own{scheduler,
                {.path = "test", .durability = Durability::Interval, .interval = 50ms, .mode = DurableStoreOptions::Mode::Inline},
                std::make_unique<BusyFile>(meanwhile),
                completions,
                stats};
  writer = &own;
  own.add({.table = 0, .record = Record::make("first", {})});
  world.run_for(scheduler, 51ms);
  const Instant before = world.now();
  scheduler.run_until_idle();
  EXPECT_EQ(commits, 2) << "its interval was over when the disk was free";
  EXPECT_EQ(world.now(), before);
  EXPECT_EQ(stats.commit_ns.count(), 2U);
  EXPECT_EQ(stats.commit_ns.sum(), 60'000'000U) << "the first one took as long as the test let it";
}

}  // namespace
}  // namespace rondo::store::durable
