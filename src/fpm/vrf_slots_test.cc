// The VRFs of zebra's tables: bindings of a session, tables that get a VRF later, tables that move, and the limit.
#include "fpm/vrf_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fpm/limits.h"

namespace rondo::fpm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::uint8_t kBgp = 186;
constexpr std::uint16_t kNone = VrfSlots::kNone;
constexpr std::uint16_t kDefault = VrfSlots::kDefault;

class VrfSlotsTest : public testing::Test {
 protected:
  std::map<std::uint32_t, std::string> names{{1001, "Vrf1"}, {1002, "Vrf2"}};
  VrfSlots slots{254, [this](std::uint32_t table) {
                   ++lookups;
                   const auto found = names.find(table);
                   return found == names.end() ? std::string{} : found->second;
                 }};
  int lookups = 0;
};

TEST_F(VrfSlotsTest, TablesOfVrfsHaveSlotsByTheirNames) {
  slots.begin_session();
  EXPECT_EQ(slots.of_table(254), kDefault);
  EXPECT_EQ(lookups, 0) << "the default VRF costs a comparison";
  const std::uint16_t one = slots.of_table(1001);
  EXPECT_EQ(slots.name(one), "Vrf1");
  EXPECT_EQ(slots.of_table(1001), one);
  EXPECT_EQ(lookups, 1);
  EXPECT_EQ(slots.of_name("Vrf1"), one) << "a row of an earlier run";
  EXPECT_NE(slots.of_table(1002), one);
  EXPECT_FALSE(slots.wants_resend());
}

TEST_F(VrfSlotsTest, ATableWithoutAVrfIsCountedAndAskedForAgainWhenItHasOne) {
  slots.begin_session();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slots.of_table(77), kNone);
  EXPECT_THAT(slots.unknown_tables(), ElementsAre(Pair(77, 3)));
  slots.check();
  EXPECT_FALSE(slots.wants_resend());
  names[77] = "Vrf7";
  EXPECT_EQ(slots.of_table(77), kNone) << "the routes before are missing, so all of them are sent again";
  slots.check();
  EXPECT_TRUE(slots.wants_resend());
  slots.begin_session();
  EXPECT_FALSE(slots.wants_resend());
  EXPECT_EQ(slots.name(slots.of_table(77)), "Vrf7");
  EXPECT_THAT(slots.unknown_tables(), IsEmpty());
}

TEST_F(VrfSlotsTest, ATableKeepsItsVrfWhenTheDeviceGoes) {
  slots.begin_session();
  const std::uint16_t one = slots.of_table(1001);
  names.clear();
  slots.check();
  EXPECT_EQ(slots.of_table(1001), one) << "zebra deletes its routes now";
  EXPECT_FALSE(slots.wants_resend());
}

TEST_F(VrfSlotsTest, ATableThatGetsAnotherVrfIsSentAgain) {
  slots.begin_session();
  slots.of_table(1001);
  names[1001] = "Vrf9";
  slots.check();
  EXPECT_TRUE(slots.wants_resend());
  slots.begin_session();
  EXPECT_EQ(slots.name(slots.of_table(1001)), "Vrf9");
}

TEST_F(VrfSlotsTest, AVrfThatGetsAnotherTableIsSentAgain) {
  slots.begin_session();
  const std::uint16_t one = slots.of_table(1001);
  names = {{1005, "Vrf1"}};
  EXPECT_EQ(slots.of_table(1005), one);
  EXPECT_EQ(slots.of_table(1001), kNone) << "a late deletion of the old table deletes no route of the new one";
  EXPECT_TRUE(slots.wants_resend());
}

TEST_F(VrfSlotsTest, ProtocolsAreHeardByVrf) {
  slots.begin_session();
  const std::uint16_t one = slots.of_table(1001);
  slots.add(kDefault, kBgp);
  slots.add(one, kBgp);
  slots.begin_session();
  EXPECT_EQ(slots.silent(), 2U);
  slots.hear(kDefault, kBgp);
  EXPECT_EQ(slots.silent(), 1U) << "that of Vrf1";
  EXPECT_TRUE(slots.is_heard(kDefault, kBgp));
  EXPECT_FALSE(slots.is_heard(one, kBgp));
}

TEST_F(VrfSlotsTest, AVrfBeyondTheLimitIsSkippedUntilAnotherIsEmpty) {
  constexpr std::uint32_t kMost = limits::kFpmVrfs;
  for (std::uint32_t i = 0; i <= kMost; ++i) names[2000 + i] = "Vrf" + std::to_string(2000 + i);
  slots.begin_session();
  for (std::uint32_t i = 0; i < kMost; ++i) slots.add(slots.of_table(2000 + i), kBgp);
  EXPECT_EQ(slots.used(), kMost);
  EXPECT_EQ(slots.of_table(2000 + kMost), kNone);
  slots.check();
  EXPECT_FALSE(slots.wants_resend()) << "it would find no room again";
  slots.begin_session();
  slots.remove(slots.of_name("Vrf2007"), kBgp);
  const std::uint16_t last = slots.of_table(2000 + kMost);
  ASSERT_NE(last, kNone);
  EXPECT_EQ(slots.name(last), names[2000 + kMost]);
  EXPECT_EQ(slots.of_name("Vrf2007"), kNone);
}

}  // namespace
}  // namespace rondo::fpm
