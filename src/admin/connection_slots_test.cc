// The choice of the connection that loses its place on the admin socket: states of places as input, the chosen one as result. And how
// often troubles are reported, by a clock that the test sets.
#include "admin/connection_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "admin/notices.h"
#include "rondo/admin/limits.h"

namespace rondo {
namespace {

using testing::ElementsAre;

constexpr Instant at(Duration since_start) { return Instant{} + since_start; }
constexpr Instant kNow = at(1h);

ConnectionSlot slot(std::uint32_t user, Duration unused, bool has_requested = false) {
  return {.user = user, .is_privileged = user == 0, .is_answered = false, .has_requested = has_requested, .since = kNow - unused};
}
Caller caller(std::uint32_t user) { return {.user = user, .process = 1, .is_privileged = user == 0}; }

std::optional<std::size_t> choose(const std::vector<ConnectionSlot>& slots, std::uint32_t newcomer) {
  return slot_to_give_up(slots, caller(newcomer), kNow, 1s);
}

TEST(ConnectionSlots, TheOneThatHasBeenUnusedLongestGivesWay) {
  EXPECT_EQ(choose({slot(1, 2s), slot(1, 4s), slot(1, 3s)}, 1), 1U);
  EXPECT_EQ(choose({slot(1, 0s)}, 1), 0U) << "who has never asked has no place to keep";
  EXPECT_EQ(choose({slot(1, 9s, true), slot(1, 2s)}, 1), 1U) << "and goes before one that has asked";
}

TEST(ConnectionSlots, WhoHasAskedKeepsItsPlaceForAMoment) {
  EXPECT_EQ(choose({slot(1, 999ms, true)}, 1), std::nullopt);
  EXPECT_EQ(choose({slot(1, 1s, true)}, 1), 0U);
}

TEST(ConnectionSlots, WhoIsBeingAnsweredKeepsItsPlace) {
  ConnectionSlot busy = slot(1, 1h, true);
  busy.is_answered = true;
  EXPECT_EQ(choose({busy, busy}, 1), std::nullopt);
}

TEST(ConnectionSlots, TheUserWithTheMostWatchersGivesAPlaceToAUserWithFewer) {
  const auto watcher = [](std::uint32_t user) {
    ConnectionSlot busy = slot(user, 0s, true);
    busy.is_answered = true;
    return busy;
  };
  EXPECT_EQ(choose({watcher(2), watcher(1), watcher(1), watcher(1)}, 3), 1U);
  EXPECT_EQ(choose({watcher(2), watcher(1), watcher(1), watcher(1)}, 0), 1U);
  EXPECT_EQ(choose({watcher(1), watcher(1), watcher(1)}, 1), std::nullopt) << "its own are enough";
  EXPECT_EQ(choose({watcher(1), watcher(1), watcher(2), watcher(2)}, 3), 0U) << "two users cannot keep a third one out";
  EXPECT_EQ(choose({watcher(1), watcher(2), watcher(3), watcher(4)}, 5), std::nullopt) << "each has one";
  EXPECT_EQ(choose({watcher(0), watcher(0), watcher(0)}, 1), std::nullopt) << "another user ends no connection of root";
  EXPECT_EQ(choose({watcher(1), watcher(1), slot(2, 9s)}, 3), 2U) << "one without a request goes before";
}

TEST(ConnectionSlots, TheUserWithTheMostPlacesGivesWayFirst) {
  EXPECT_EQ(choose({slot(1, 9s), slot(2, 2s), slot(2, 3s), slot(3, 8s)}, 3), 2U);
}

TEST(ConnectionSlots, AUserGetsNoPlaceOfAUserWithFewer) {
  ConnectionSlot busy = slot(1, 0s, true);
  busy.is_answered = true;
  EXPECT_EQ(choose({busy, busy, slot(2, 9s, true)}, 1), std::nullopt);
  EXPECT_EQ(choose({busy, busy, slot(1, 9s, true), slot(2, 9s, true)}, 1), 2U);
  EXPECT_EQ(choose({busy, busy, slot(2, 9s, true)}, 3), 2U);
}

TEST(ConnectionSlots, RootGivesWayToItselfAlone) {
  EXPECT_EQ(choose({slot(0, 1h), slot(0, 1h)}, 1), std::nullopt);
  EXPECT_EQ(choose({slot(0, 1h), slot(0, 1h), slot(1, 2s)}, 1), 2U);
  EXPECT_EQ(choose({slot(0, 1h)}, 0), 0U);
}

TEST(AdminNotices, EachKindIsToldAtOnceAndThenOncePerPeriodWithItsCount) {
  using Kind = AdminNotice::Kind;
  std::vector<std::string> reported;
  AdminNotices notices([&reported](const AdminNotice& notice) {
    reported.push_back(std::string{to_string(notice.kind)} + " " + std::to_string(notice.count) + " of " +
                       std::to_string(notice.newest.user));
  });
  for (int i = 0; i < 1000; ++i) notices.note(Kind::Idle, caller(7), {}, kNow);
  notices.note(Kind::Memory, caller(8), {}, kNow);
  notices.check(kNow + limits::kAdminNoticePeriod - 1ns);
  EXPECT_THAT(reported, ElementsAre("idle 1 of 7", "held memory that others need 1 of 8"));
  reported.clear();
  notices.check(kNow + limits::kAdminNoticePeriod);
  EXPECT_THAT(reported, ElementsAre("idle 999 of 7"));
  notices.check(kNow + 2 * limits::kAdminNoticePeriod);
  notices.note(Kind::Idle, caller(9), {}, kNow + 2 * limits::kAdminNoticePeriod);
  EXPECT_THAT(reported, ElementsAre("idle 999 of 7", "idle 1 of 9"));
}

}  // namespace
}  // namespace rondo
