// SharedFacts alone: each rule that the proof in its header uses, and two threads that use it concurrently. A lost wake-up makes a test
// hang. Also for the thread sanitizer (WorkerSharedFacts...).
#include "orch/shared_facts.h"
#include "base/testing/sanitized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "rondo/base/limits.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr FactKind kPort{"port"};
Fact port(std::string key) { return {kPort, std::move(key)}; }

/// A subscriber whose notifications the test takes explicitly.
class WorkerSharedFacts : public testing::Test {
 protected:
  std::vector<std::string> notifications(SharedFacts::Subscriber subscriber, std::size_t max = 1000) {
    std::vector<SharedFacts::Notification> taken;
    shared_.take(subscriber, max, taken);
    std::vector<std::string> lines;
    for (const SharedFacts::Notification& one : taken) {
      static constexpr const char* kNames[] = {"announced ", "asked ", "began ", "ended "};
      lines.push_back(kNames[static_cast<std::size_t>(one.what)] + one.fact.key);
    }
    return lines;
  }

  test::WorkSource owner_port_{"owner", 1};
  test::WorkSource needy_port_{"needy", 1};
  SharedFacts shared_;
  SharedFacts::Subscriber owner_ = shared_.join(owner_port_);
  SharedFacts::Subscriber needy_ = shared_.join(needy_port_);
};

TEST_F(WorkerSharedFacts, WaitingForWhatHoldsIsAnnouncedAtOnce) {
  shared_.provide(owner_, kPort, "ports");
  EXPECT_FALSE(shared_.holds(port("1")));  // From now on announcements of the kind are stored.
  shared_.announce(owner_, port("1"));
  EXPECT_TRUE(shared_.holds(port("1")));
  shared_.await(needy_, port("1"));
  EXPECT_THAT(notifications(needy_), ElementsAre("announced 1"));
}

TEST_F(WorkerSharedFacts, WaitingForWhatIsUnknownAsksTheProviderOnce) {
  shared_.provide(owner_, kPort, "ports");
  shared_.await(needy_, port("1"));
  EXPECT_THAT(notifications(owner_), ElementsAre("asked 1"));
  EXPECT_FALSE(shared_.holds(port("1")));
  shared_.await(needy_, port("1"));
  EXPECT_THAT(notifications(owner_), IsEmpty());
  EXPECT_THAT(notifications(needy_), IsEmpty());
  shared_.answer(owner_, port("1"), true);
  EXPECT_THAT(notifications(needy_), ElementsAre("announced 1"));
}

TEST_F(WorkerSharedFacts, AnswerOfNoLeavesTheWaiterForTheAnnouncement) {
  shared_.provide(owner_, kPort, "ports");
  shared_.await(needy_, port("1"));
  shared_.answer(owner_, port("1"), false);
  EXPECT_THAT(notifications(needy_), IsEmpty());
  EXPECT_TRUE(shared_.is_awaited(owner_, port("1")));
  EXPECT_FALSE(shared_.is_awaited(needy_, port("1"))) << "by others";
  shared_.announce(owner_, port("1"));
  EXPECT_THAT(notifications(needy_), ElementsAre("announced 1"));
  EXPECT_FALSE(shared_.is_awaited(owner_, port("1")));
}

TEST_F(WorkerSharedFacts, WithdrawnFactDoesNotHoldAndIsNotAskedFor) {
  shared_.provide(owner_, kPort, "ports");
  shared_.await(needy_, port("1"));
  shared_.announce(owner_, port("1"));
  shared_.withdraw(owner_, port("1"));
  notifications(owner_);
  EXPECT_FALSE(shared_.holds(port("1")));
  EXPECT_THAT(notifications(owner_), IsEmpty());
}

TEST_F(WorkerSharedFacts, ProviderThatComesLaterIsAskedForWhatIsWaitedFor) {
  shared_.await(needy_, port("1"));
  shared_.await(needy_, port("2"));
  shared_.give_up(needy_, port("2"));
  shared_.provide(owner_, kPort, "ports");
  EXPECT_THAT(notifications(owner_), ElementsAre("asked 1"));
  EXPECT_EQ(shared_.provider(kPort), "ports");
}

TEST_F(WorkerSharedFacts, AnswerOfAProviderThatWentIsNoAnswer) {
  shared_.provide(owner_, kPort, "ports");
  shared_.await(needy_, port("1"));
  shared_.retire(owner_, kPort);
  shared_.answer(owner_, port("1"), true);
  EXPECT_THAT(notifications(needy_), IsEmpty());
  shared_.provide(needy_, kPort, "successor");
  EXPECT_THAT(notifications(needy_), ElementsAre("asked 1"));
}

TEST_F(WorkerSharedFacts, SubscriberThatLeftIsToldNothing) {
  shared_.provide(owner_, kPort, "ports");
  shared_.await(needy_, port("1"));
  shared_.observe(needy_, kPort);
  shared_.leave(needy_);
  shared_.announce(owner_, port("1"));
  EXPECT_FALSE(shared_.has_notifications(needy_));
}

TEST_F(WorkerSharedFacts, WhatNobodyElseAskedAboutIsNotKept) {
  shared_.provide(owner_, kPort, "ports");
  shared_.announce(owner_, port("1"));
  EXPECT_FALSE(shared_.holds(port("1")));
  EXPECT_THAT(notifications(owner_), ElementsAre("asked 1"));
}

TEST_F(WorkerSharedFacts, FactsBeyondTheLimitAreForgottenAndAskedForAnewButNotThoseWaitedFor) {
  shared_.provide(owner_, kPort, "ports");
  shared_.await(needy_, port("waited for"));
  shared_.answer(owner_, port("waited for"), false);
  for (std::size_t i = 0; i < limits::kBoardFacts + 2; ++i) shared_.announce(owner_, port(std::to_string(i)));
  notifications(owner_);
  EXPECT_TRUE(shared_.holds(port("2"))) << "no more than one was too many";
  for (const char* const oldest : {"1", "0"}) {
    EXPECT_FALSE(shared_.holds(port(oldest))) << "forgotten";
    EXPECT_THAT(notifications(owner_), ElementsAre(std::string{"asked "} + oldest));
  }
  EXPECT_TRUE(shared_.holds(port(std::to_string(limits::kBoardFacts + 1))));
  EXPECT_EQ(shared_.forgotten(), 2U);
  shared_.announce(owner_, port("waited for"));
  EXPECT_THAT(notifications(needy_), ElementsAre("announced waited for"));
}

/// More facts than the limit have waiters and open questions. Each of them must still get its answer. The facts that became idle must be
/// within the limit again, so the oldest one must be queried anew.
TEST_F(WorkerSharedFacts, MoreFactsThanTheLimitMayBeWaitedForStorm) {
  constexpr std::size_t kFacts = 500'000;
  shared_.provide(owner_, kPort, "ports");
  for (std::size_t i = 0; i < kFacts; ++i) shared_.await(needy_, port(std::to_string(i)));
  std::vector<SharedFacts::Notification> taken;
  while (shared_.take(owner_, kFacts, taken)) continue;
  ASSERT_EQ(taken.size(), kFacts);
  for (const SharedFacts::Notification& one : taken) shared_.answer(owner_, one.fact, one.fact.key.back() == '7');
  taken.clear();
  while (shared_.take(needy_, kFacts, taken)) continue;
  EXPECT_EQ(taken.size(), kFacts / 10);
  for (std::size_t i = 0; i < kFacts; ++i) {
    if (i % 10 != 7) shared_.announce(owner_, port(std::to_string(i)));
  }
  taken.clear();
  while (shared_.take(needy_, kFacts, taken)) continue;
  EXPECT_EQ(taken.size(), kFacts / 10 * 9);
  EXPECT_TRUE(shared_.holds(port(std::to_string(kFacts - 1))));
  EXPECT_FALSE(shared_.holds(port("7"))) << "idle longest, and forgotten";
  EXPECT_THAT(notifications(owner_), ElementsAre("asked 7"));
}

TEST_F(WorkerSharedFacts, AnAnswerFindsItsQuestionHoweverManyWereAsked) {
  shared_.provide(owner_, kPort, "ports");
  for (std::size_t i = 0; i <= limits::kBoardFacts; ++i) EXPECT_FALSE(shared_.holds(port(std::to_string(i))));
  shared_.answer(owner_, port("0"), true);
  EXPECT_TRUE(shared_.holds(port("0")));
}

TEST_F(WorkerSharedFacts, WhatNobodyWaitsForAnyMoreMayBeForgotten) {
  shared_.provide(owner_, kPort, "ports");
  for (std::size_t i = 0; i <= limits::kBoardFacts; ++i) {
    shared_.await(needy_, port(std::to_string(i)));
    shared_.answer(owner_, port(std::to_string(i)), false);
  }
  while (!notifications(owner_).empty()) continue;
  shared_.give_up(needy_, port("5"));
  shared_.leave(needy_);
  EXPECT_FALSE(shared_.holds(port("5"))) << "idle before the others";
  EXPECT_THAT(notifications(owner_), ElementsAre("asked 5"));
}

TEST_F(WorkerSharedFacts, NotificationsAreTakenInPortions) {
  shared_.provide(owner_, kPort, "ports");
  shared_.observe(needy_, kPort);
  for (const char* key : {"1", "2", "3"}) shared_.announce(owner_, port(key));
  EXPECT_THAT(notifications(needy_, 2), ElementsAre("began 1", "began 2"));
  EXPECT_TRUE(shared_.has_notifications(needy_));
  EXPECT_THAT(notifications(needy_, 2), ElementsAre("began 3"));
  EXPECT_FALSE(shared_.has_notifications(needy_));
}

/// One thread awaits, the other announces and withdraws, on one fact, at full speed. The waiter spins until its notifications arrive, so
/// an await without notifications would hang, although an announcement always follows.
TEST_F(WorkerSharedFacts, EveryAwaitIsFollowedByANotification) {
  constexpr int kRounds = plain_or_sanitized(20'000, 5000);
  shared_.provide(owner_, kPort, "ports");
  std::atomic<bool> ends{false};
  std::thread owner([&] {
    std::mt19937 random(1);
    while (!ends.load()) {
      if (random() % 2 == 0) shared_.withdraw(owner_, port("1"));
      std::vector<SharedFacts::Notification> taken;
      shared_.take(owner_, 10, taken);
      for (const SharedFacts::Notification& one : taken) shared_.answer(owner_, one.fact, random() % 2 == 0);
      shared_.announce(owner_, port("1"));
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    shared_.await(needy_, port("1"));
    std::vector<SharedFacts::Notification> taken;
    while (taken.empty()) {
      shared_.take(needy_, 10, taken);
      std::this_thread::yield();
    }
    ASSERT_EQ(taken.size(), 1U);
  }
  ends = true;
  owner.join();
}

}  // namespace
}  // namespace rondo
