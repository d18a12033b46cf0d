// Journals with valid checksums that no writer made: lengths in an invalid form, heads that cost more to refuse than to write, times and
// counts at the limits of their types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/audit.h"
#include "journal/reader.h"
#include "journal/walk.h"
#include "rondo/base/limits.h"

namespace rondo {
namespace {

using journal::Encoder;
using journal::JournalReader;
using journal::Kind;
using testing::HasSubstr;

/// Returns 'payload' as a block of records with a valid checksum.
std::string sealed(std::string_view payload, std::uint64_t first_record = 1, std::uint32_t records = 1) {
  journal::BlockHead head{.payload_bytes = static_cast<std::uint32_t>(payload.size()), .records = records, .first_record = first_record};
  seal(head, payload);
  return std::string{reinterpret_cast<const char*>(&head), journal::kHeadBytes}.append(payload);
}

/// Returns a record of 'kind' with the bytes that 'content' writes.
template <class Content>
std::string record(Kind kind, const Content& content) {
  std::vector<char> bytes(2000);
  Encoder to(bytes.data() + journal::kLongLength);
  to.byte(static_cast<std::uint8_t>(kind));
  content(to);
  journal::put_length(bytes.data(), bytes.size(), static_cast<std::size_t>(to.at() - bytes.data()) - journal::kLongLength);
  return {bytes.data(), to.at()};
}

TEST(HostileJournal, ALengthOfTwoOrThreeBytesIsNone) {
  const std::string one{"\x01\x08"};  // A record of kind Timers, as a writer encodes it.
  for (const std::string& two_or_three : {std::string{"\x81\x00\x08", 3}, std::string{"\x81\x80\x00\x08", 4}}) {
    const std::string bytes = sealed(one + two_or_three + one);
    JournalReader reader("hostile", bytes);
    EXPECT_EQ(reader.next().kind(), Kind::Timers);
    EXPECT_TRUE(reader.next().bytes.empty());
  }
  const std::string bytes = sealed(std::string{"\x81\x80\x80\x00\x08", 5});
  JournalReader reader("hostile", bytes);
  EXPECT_EQ(reader.next().kind(), Kind::Timers);
}

// Each head claims the rest of the file as its payload: checking them all would take hours.
TEST(HostileJournal, HeadsThatEachClaimTheRestOfTheFileAreNotAllBelieved) {
  const std::string block = sealed("\x01\x08");
  std::string bytes = block;
  const std::size_t size = std::size_t{4} << 20U;
  while (bytes.size() + journal::kHeadBytes <= size) {
    journal::BlockHead head{.payload_bytes = static_cast<std::uint32_t>(size - bytes.size() - journal::kHeadBytes), .records = 1};
    bytes.append(reinterpret_cast<const char*>(&head), journal::kHeadBytes);
  }
  bytes.resize(size);
  std::vector<journal::Damage> damage;
  EXPECT_EQ(journal::find_blocks(bytes, damage).size(), 1U);
  ASSERT_EQ(damage.size(), 1U);
  EXPECT_EQ(damage.front().offset, block.size());
  EXPECT_EQ(damage.front().bytes, size - block.size());
  EXPECT_TRUE(damage.front().at_end);
  EXPECT_THAT(damage.front().reason, HasSubstr("the rest was not searched"));
}

TEST(HostileJournal, ADamagedBlockIsPassedHoweverManyThereAre) {
  const std::string block = sealed(std::string(100'000, '\x01'));
  std::string damaged = block;
  damaged.back() = '\x02';
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += damaged + block;
  std::vector<journal::Damage> damage;
  EXPECT_EQ(journal::find_blocks(bytes, damage).size(), 100U);
  EXPECT_EQ(damage.size(), 100U);
}

// --- The audit

/// Audits a run of two sources under a policy with equal budgets. Each source waits from 'from' to 'until' and then has a turn of 'items'
/// that takes 'span'.
journal::AuditReport audit_of(std::int64_t budget, std::int64_t from, std::int64_t until, std::uint64_t items, std::int64_t span,
                              bool in_items = false) {
  const auto fixed = [](Encoder& to, std::int64_t value) { to.fixed(static_cast<std::uint64_t>(value)); };
  std::string day = record(Kind::Started, [&](Encoder& to) {
    fixed(to, from);
    fixed(to, 0);
    to.byte(0);  // Frames
    to.byte(in_items ? 1 : 0);
    to.byte(0);
    to.number(128);
    to.number(1'000'000);
    for (unsigned p = 0; p < limits::kPriorities; ++p) to.number(static_cast<std::uint64_t>(budget));
  });
  std::uint32_t records = 1;
  const auto add = [&](Kind kind, const auto& content) {
    day += record(kind, content);
    ++records;
  };
  for (std::uint32_t source = 1; source <= 2; ++source) {
    add(Kind::SourceAdded, [&](Encoder& to) {
      to.number(source);
      to.byte(5);
      to.text("s");
    });
    add(Kind::Woken, [&](Encoder& to) { to.number(source); });
  }
  for (std::uint32_t source = 1; source <= 2; ++source) {
    add(Kind::TurnBegins, [&](Encoder& to) {
      to.number(source);
      fixed(to, until);
    });
    add(Kind::TurnEnds, [&](Encoder& to) {
      to.byte(0);
      to.number(items);
      to.number(static_cast<std::uint64_t>(span));
    });
  }
  const std::string bytes = sealed(day, 1, records);
  journal::JournalFiles files;
  files.readers.push_back(std::make_unique<JournalReader>("hostile", bytes));
  const journal::AuditReport report = journal::audit(files);
  EXPECT_EQ(report.missing, 0U);
  EXPECT_EQ(report.runs, 1U);
  return report;
}

TEST(HostileJournal, TheAuditBearsTimesAndCountsAtTheEndsOfTheirTypes) {
  constexpr std::int64_t kMost = journal::kTimeMost - 1;
  EXPECT_EQ(audit_of(1'000'000, 0, 1000, 1, 1000).waits, 2U) << "a usual day";
  for (const std::int64_t budget : {std::int64_t{1}, std::int64_t{std::numeric_limits<std::uint32_t>::max()}}) {
    for (const std::uint64_t items :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62U, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
      for (const std::int64_t span : {std::int64_t{0}, std::int64_t{1}, kMost}) {
        for (const bool in_items : {false, true}) {
          SCOPED_TRACE(testing::Message() << budget << " " << items << " " << span << " " << in_items);
          // The gap before the turns is as long as the wait, so no wait exceeds its bound.
          const journal::AuditReport report = audit_of(budget, -kMost, kMost, items, span, in_items);
          EXPECT_EQ(report.waits + report.unbounded + report.unknown, 2U);
          EXPECT_EQ(report.violations, 0U);
          EXPECT_GE(report.worst, 0.0);
          EXPECT_LE(report.worst, 1.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rondo
