// FactBoard alone: each rule that the proof in its header uses, and two threads that use it concurrently. A lost wake-up makes a test
// hang. Also for the thread sanitizer (WorkerFactBoard...).
#include "orch/fact_board.h"
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

/// A member whose news the test takes explicitly.
class WorkerFactBoard : public testing::Test {
 protected:
  std::vector<std::string> news(FactBoard::Member member, std::size_t max = 1000) {
    std::vector<FactBoard::News> taken;
    board_.take(member, max, taken);
    std::vector<std::string> lines;
    for (const FactBoard::News& one : taken) {
      static constexpr const char* kNames[] = {"announced ", "asked ", "began ", "ended "};
      lines.push_back(kNames[static_cast<std::size_t>(one.what)] + one.fact.key);
    }
    return lines;
  }

  test::WorkSource owner_port_{"owner", 1};
  test::WorkSource needy_port_{"needy", 1};
  FactBoard board_;
  FactBoard::Member owner_ = board_.join(owner_port_);
  FactBoard::Member needy_ = board_.join(needy_port_);
};

TEST_F(WorkerFactBoard, WaitingForWhatHoldsIsAnnouncedAtOnce) {
  board_.provide(owner_, kPort, "ports");
  EXPECT_FALSE(board_.holds(port("1")));  // From now on announcements of the kind are stored.
  board_.announce(owner_, port("1"));
  EXPECT_TRUE(board_.holds(port("1")));
  board_.await(needy_, port("1"));
  EXPECT_THAT(news(needy_), ElementsAre("announced 1"));
}

TEST_F(WorkerFactBoard, WaitingForWhatIsUnknownAsksTheProviderOnce) {
  board_.provide(owner_, kPort, "ports");
  board_.await(needy_, port("1"));
  EXPECT_THAT(news(owner_), ElementsAre("asked 1"));
  EXPECT_FALSE(board_.holds(port("1")));
  board_.await(needy_, port("1"));
  EXPECT_THAT(news(owner_), IsEmpty());
  EXPECT_THAT(news(needy_), IsEmpty());
  board_.answer(owner_, port("1"), true);
  EXPECT_THAT(news(needy_), ElementsAre("announced 1"));
}

TEST_F(WorkerFactBoard, AnswerOfNoLeavesTheWaiterForTheAnnouncement) {
  board_.provide(owner_, kPort, "ports");
  board_.await(needy_, port("1"));
  board_.answer(owner_, port("1"), false);
  EXPECT_THAT(news(needy_), IsEmpty());
  EXPECT_TRUE(board_.is_awaited(owner_, port("1")));
  EXPECT_FALSE(board_.is_awaited(needy_, port("1"))) << "by others";
  board_.announce(owner_, port("1"));
  EXPECT_THAT(news(needy_), ElementsAre("announced 1"));
  EXPECT_FALSE(board_.is_awaited(owner_, port("1")));
}

TEST_F(WorkerFactBoard, WithdrawnFactDoesNotHoldAndIsNotAskedFor) {
  board_.provide(owner_, kPort, "ports");
  board_.await(needy_, port("1"));
  board_.announce(owner_, port("1"));
  board_.withdraw(owner_, port("1"));
  news(owner_);
  EXPECT_FALSE(board_.holds(port("1")));
  EXPECT_THAT(news(owner_), IsEmpty());
}

TEST_F(WorkerFactBoard, ProviderThatComesLaterIsAskedForWhatIsWaitedFor) {
  board_.await(needy_, port("1"));
  board_.await(needy_, port("2"));
  board_.give_up(needy_, port("2"));
  board_.provide(owner_, kPort, "ports");
  EXPECT_THAT(news(owner_), ElementsAre("asked 1"));
  EXPECT_EQ(board_.provider(kPort), "ports");
}

TEST_F(WorkerFactBoard, AnswerOfAProviderThatWentIsNoAnswer) {
  board_.provide(owner_, kPort, "ports");
  board_.await(needy_, port("1"));
  board_.retire(owner_, kPort);
  board_.answer(owner_, port("1"), true);
  EXPECT_THAT(news(needy_), IsEmpty());
  board_.provide(needy_, kPort, "successor");
  EXPECT_THAT(news(needy_), ElementsAre("asked 1"));
}

TEST_F(WorkerFactBoard, MemberThatLeftIsToldNothing) {
  board_.provide(owner_, kPort, "ports");
  board_.await(needy_, port("1"));
  board_.observe(needy_, kPort);
  board_.leave(needy_);
  board_.announce(owner_, port("1"));
  EXPECT_FALSE(board_.has_news(needy_));
}

TEST_F(WorkerFactBoard, WhatNobodyElseAskedAboutIsNotKept) {
  board_.provide(owner_, kPort, "ports");
  board_.announce(owner_, port("1"));
  EXPECT_FALSE(board_.holds(port("1")));
  EXPECT_THAT(news(owner_), ElementsAre("asked 1"));
}

TEST_F(WorkerFactBoard, FactsBeyondTheLimitAreForgottenAndAskedForAnewButNotThoseWaitedFor) {
  board_.provide(owner_, kPort, "ports");
  board_.await(needy_, port("waited for"));
  board_.answer(owner_, port("waited for"), false);
  for (std::size_t i = 0; i < limits::kBoardFacts + 2; ++i) board_.announce(owner_, port(std::to_string(i)));
  news(owner_);
  EXPECT_TRUE(board_.holds(port("2"))) << "no more than one was too many";
  for (const char* const oldest : {"1", "0"}) {
    EXPECT_FALSE(board_.holds(port(oldest))) << "forgotten";
    EXPECT_THAT(news(owner_), ElementsAre(std::string{"asked "} + oldest));
  }
  EXPECT_TRUE(board_.holds(port(std::to_string(limits::kBoardFacts + 1))));
  EXPECT_EQ(board_.forgotten(), 2U);
  board_.announce(owner_, port("waited for"));
  EXPECT_THAT(news(needy_), ElementsAre("announced waited for"));
}

/// More facts than the limit have waiters and open questions. Each of them must still get its answer. The facts that became idle must be
/// within the limit again, so the oldest one must be queried anew.
TEST_F(WorkerFactBoard, MoreFactsThanTheLimitMayBeWaitedForStorm) {
  constexpr std::size_t kFacts = 500'000;
  board_.provide(owner_, kPort, "ports");
  for (std::size_t i = 0; i < kFacts; ++i) board_.await(needy_, port(std::to_string(i)));
  std::vector<FactBoard::News> taken;
  while (board_.take(owner_, kFacts, taken)) continue;
  ASSERT_EQ(taken.size(), kFacts);
  for (const FactBoard::News& one : taken) board_.answer(owner_, one.fact, one.fact.key.back() == '7');
  taken.clear();
  while (board_.take(needy_, kFacts, taken)) continue;
  EXPECT_EQ(taken.size(), kFacts / 10);
  for (std::size_t i = 0; i < kFacts; ++i) {
    if (i % 10 != 7) board_.announce(owner_, port(std::to_string(i)));
  }
  taken.clear();
  while (board_.take(needy_, kFacts, taken)) continue;
  EXPECT_EQ(taken.size(), kFacts / 10 * 9);
  EXPECT_TRUE(board_.holds(port(std::to_string(kFacts - 1))));
  EXPECT_FALSE(board_.holds(port("7"))) << "idle longest, and forgotten";
  EXPECT_THAT(news(owner_), ElementsAre("asked 7"));
}

TEST_F(WorkerFactBoard, AnAnswerFindsItsQuestionHoweverManyWereAsked) {
  board_.provide(owner_, kPort, "ports");
  for (std::size_t i = 0; i <= limits::kBoardFacts; ++i) EXPECT_FALSE(board_.holds(port(std::to_string(i))));
  board_.answer(owner_, port("0"), true);
  EXPECT_TRUE(board_.holds(port("0")));
}

TEST_F(WorkerFactBoard, WhatNobodyWaitsForAnyMoreMayBeForgotten) {
  board_.provide(owner_, kPort, "ports");
  for (std::size_t i = 0; i <= limits::kBoardFacts; ++i) {
    board_.await(needy_, port(std::to_string(i)));
    board_.answer(owner_, port(std::to_string(i)), false);
  }
  while (!news(owner_).empty()) continue;
  board_.give_up(needy_, port("5"));
  board_.leave(needy_);
  EXPECT_FALSE(board_.holds(port("5"))) << "idle before the others";
  EXPECT_THAT(news(owner_), ElementsAre("asked 5"));
}

TEST_F(WorkerFactBoard, NewsAreTakenInPortions) {
  board_.provide(owner_, kPort, "ports");
  board_.observe(needy_, kPort);
  for (const char* key : {"1", "2", "3"}) board_.announce(owner_, port(key));
  EXPECT_THAT(news(needy_, 2), ElementsAre("began 1", "began 2"));
  EXPECT_TRUE(board_.has_news(needy_));
  EXPECT_THAT(news(needy_, 2), ElementsAre("began 3"));
  EXPECT_FALSE(board_.has_news(needy_));
}

/// One thread awaits, the other announces and withdraws, on one fact, at full speed. The waiter spins until its news arrive, so an await
/// without news would hang, although an announcement always follows.
TEST_F(WorkerFactBoard, EveryAwaitIsFollowedByNews) {
  constexpr int kRounds = plain_or_sanitized(20'000, 5000);
  board_.provide(owner_, kPort, "ports");
  std::atomic<bool> ends{false};
  std::thread owner([&] {
    std::mt19937 random(1);
    while (!ends.load()) {
      if (random() % 2 == 0) board_.withdraw(owner_, port("1"));
      std::vector<FactBoard::News> taken;
      board_.take(owner_, 10, taken);
      for (const FactBoard::News& one : taken) board_.answer(owner_, one.fact, random() % 2 == 0);
      board_.announce(owner_, port("1"));
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    board_.await(needy_, port("1"));
    std::vector<FactBoard::News> taken;
    while (taken.empty()) {
      board_.take(needy_, 10, taken);
      std::this_thread::yield();
    }
    ASSERT_EQ(taken.size(), 1U);
  }
  ends = true;
  owner.join();
}

}  // namespace
}  // namespace rondo
