// The format of a journal: kinds of records, their encoding, and the head of a block. docs/journal-format.md describes it in prose; a
// change here requires a change there and of kVersion.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "rondo/journal/limits.h"

namespace rondo::journal {

inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::uint32_t kMagic = 0x4A444E52;  // "RNDJ".

/// What a record means. The numbers are part of the format.
enum class Kind : std::uint8_t {
  Started = 1,  // A runtime began: both clocks, the policy.
  Note = 2,     // A setting that decisions depend on: name, text.
  Lost = 3,     // Records are missing here: how many.
  Clocks = 4,   // A reading of both clocks.
  SourceAdded = 5,
  SourceRemoved = 6,
  Looked = 7,  // The scheduler read the clock between turns.
  Timers = 8,  // Timers were due and fired.
  Woken = 9,   // An idle source became ready.
  TurnBegins = 10,
  TurnEnds = 11,
  TimeUp = 12,   // A source checked whether its time was up, and it was.
  Ready = 13,    // A subscription has changes to take.
  Took = 14,     // A consumer took changes; one Changed record for each follows.
  Gap = 15,      // A listener reported that events may be missing.
  Changed = 16,  // One change that was taken.
  Done = 17,     // The first of the outcomes.
  Staged = 18,
  Parked = 19,
  Delayed = 20,
  Rejected = 21,
  Again = 22,        // Queued again immediately: a newer change made the wait obsolete, or the fact that it waits for holds.
  StillParked = 23,  // The row's turn came, and another fact is missing.
  Retried = 24,      // The fact or time that the row waited for came: handled again.
  Unparked = 25,     // A new change of its key came: handled again.
  Announced = 26,
  Withdrawn = 27,
  Submitted = 28,      // Orders for the data plane.
  Answered = 29,       // A batch of orders came back.
  Link = 30,           // The data plane reported a port's state.
  KernelFound = 31,    // Objects of an earlier run in the data plane.
  Policy = 32,         // The policy from this record on.
  Yields = 33,         // A source checked whether it must yield to another source, and it must.
  Weight = 34,         // Weight of the source added before this record; weight 1 is not recorded.
  KernelNexthop = 35,  // One object of KernelFound: a next hop or a group.
  RestartLook = 36,    // A check whether the rows of before the restart have come and are handled, and its result.
  Unwanted = 37,       // Orders that delete objects that no row asked for.
  WriteRefused = 38,   // A write into a table was not accepted.
  WriteEnded = 39,     // A write of an Orch into a table has ended, and the Orch had asked for its end.
  DoneWhile = 40,      // An outcome: done for as long as facts hold.
  Redone = 41,         // A fact ended that a done row depends on: handled again.
  TableRefused = 42,   // The store refused the table that an Orch was to consume or to listen to.
  Ordered = 43,        // Operations for an executor, as its codec writes them.
  OrderAnswers = 44,   // A batch of them came back.
  RoomChanged = 45,    // The target of an executor became full, or has room again: in simulated worlds only.
  WrittenBy = 46,      // A caller of the admin socket writes: user, process, command. No decision depends on it.
  Drifted = 47,        // Objects of the data plane differ from what was ordered, and are about to be programmed again.
  Called = 48          // A call of a component that decides by what programs outside of the runtime ask for: component, call.
};
inline constexpr Kind kLastKind = Kind::Called;

/// True for the outcomes of a row and for the reasons to call its handler again.
constexpr bool is_outcome(Kind kind) noexcept {
  return (kind >= Kind::Done && kind <= Kind::Unparked) || kind == Kind::DoneWhile || kind == Kind::Redone;
}

/// A Changed record of an event, which has no row.
inline constexpr std::uint32_t kNoRow = 0xFFFFFFFF;

enum class BlockKind : std::uint16_t {
  Records = 1,
  Names = 2,     // More names.
  AllNames = 3,  // All earlier names are forgotten: the first block of a file and of a run.
};

/// The head of a block as stored in the file: little-endian, without padding.
struct BlockHead {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  BlockKind kind = BlockKind::Records;
  std::uint32_t payload_bytes = 0;
  std::uint32_t records = 0;       // Or names.
  std::uint64_t first_record = 0;  // The number of the first record, or name, counted from 1 in its run.
  std::uint64_t lost_before = 0;   // Records of the run that no file has: a write failed, or a file was removed.
  std::int64_t wall_offset = 0;    // Wall time less monotonic time, in nanoseconds, when the block was begun.
  std::uint64_t checksum = 0;      // XXH3 of the payload, seeded with XXH3 of the head before this field.
};
inline constexpr std::size_t kHeadBytes = 48;
static_assert(sizeof(BlockHead) == kHeadBytes && std::endian::native == std::endian::little, "the head is written as it lies in memory");

/// Maximum bytes of one record with its length: less than a long length can express. A larger record is counted as lost.
inline constexpr std::size_t kRecordBytes = limits::kJournalRecordBytes;
/// Maximum bytes of a block's payload: the largest record and the records gathered before it. A head with a larger size is damaged.
inline constexpr std::size_t kBlockBytes = 2 * kRecordBytes;

/// Sets head.checksum for 'payload'.
void seal(BlockHead& head, std::string_view payload) noexcept;
bool is_sealed(const BlockHead& head, std::string_view payload) noexcept;

// --- Encoding. A record is the length of the rest, its kind and its content. Integers are little-endian base 128 unless fixed.

inline constexpr std::size_t kVarintBytes = 10;

class Encoder {
 public:
  explicit Encoder(char* at) noexcept : at_(at) {}
  char* at() const noexcept { return at_; }

  void byte(std::uint8_t value) noexcept { *at_++ = static_cast<char>(value); }
  void number(std::uint64_t value) noexcept {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80U);
      value >>= 7U;
    }
    *at_++ = static_cast<char>(value);
  }
  void fixed(std::uint64_t value) noexcept {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void text(std::string_view text) noexcept {
    number(text.size());
    if (text.empty()) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  char* at_;
};

/// Reads what an Encoder wrote. After a read beyond the end it is not ok, and every read returns 0.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) noexcept : at_(bytes.data()), end_(at_ + bytes.size()) {}
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return at_ == end_; }
  /// Marks the input as malformed: the decoder behaves as after a read beyond the end.
  void refuse() noexcept { fail(); }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  std::uint8_t byte() noexcept {
    if (at_ == end_) return fail();
    return static_cast<std::uint8_t>(*at_++);
  }
  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7FU} << shift;
      if ((next & 0x80U) == 0) return value;
    }
    return fail();
  }
  std::uint64_t fixed() noexcept {
    std::uint64_t value = 0;
    if (left() < sizeof value) return fail();
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text() noexcept {
    const std::uint64_t size = number();
    if (size > left()) {
      fail();
      return {};
    }
    const std::string_view text{at_, static_cast<std::size_t>(size)};
    at_ += size;
    return text;
  }

 private:
  std::uint8_t fail() noexcept {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

/// The length before a record takes one byte when its bound is below this, else kLongLength (so that it can be written afterwards).
inline constexpr std::size_t kShortBound = 0x80;
inline constexpr std::size_t kLongLength = 4;
inline constexpr std::size_t length_bytes(std::size_t bound) noexcept { return bound < kShortBound ? 1 : kLongLength; }
/// Writes the length of a record whose bound was 'bound' at 'at'.
inline void put_length(char* at, std::size_t bound, std::size_t length) noexcept {
  if (bound < kShortBound) {
    *at = static_cast<char>(length);
    return;
  }
  for (std::size_t i = 0; i < kLongLength; ++i) {
    const auto part = static_cast<unsigned char>((length >> (7 * i)) & 0x7FU);
    at[i] = static_cast<char>(i + 1 < kLongLength ? part | 0x80U : part);
  }
}

/// The first record of 'bytes', its length included; empty if there is no whole one.
std::string_view first_record(std::string_view bytes) noexcept;

}  // namespace rondo::journal
