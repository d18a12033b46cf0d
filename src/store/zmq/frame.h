// The frame of a direct table, read and written without a socket. Only this file knows the frame's bytes. A frame is a count of pairs (64
// bits) and the pairs; a pair is two texts; a text is its length (64 bits) and its bytes. Numbers are in the machine's byte order. Pair 0
// is (database, table). Each entry is a pair (key, number of fields in decimal) followed by its pairs (name, value); an entry without
// fields is a Delete, as in SONiC. The input may be any bytes; the reader never reads beyond them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/store/change.h"

namespace rondo::store {

/// SONiC's mark for "no fields": one field of this name and this value.
inline constexpr std::string_view kNoFields = "NULL";

struct FrameEntry {
  ChangeOp op = ChangeOp::Delete;
  std::string_view key;
  std::vector<Field> fields;  // Empty for a Delete and for a Set without fields.
  std::size_t announced = 0;  // The number of fields in the frame. Above limits::kFields no record can be made, and 'fields' is empty.
};

/// Reads one frame and borrows its bytes. The whole frame is checked before the first entry is returned, so a frame is applied completely
/// or not at all. The check runs in steps, because a long frame has a million pairs.
class FrameReader {
 public:
  FrameReader() noexcept = default;
  /// Reads the names of the table. InvalidArgument states the error and its position.
  static Result<FrameReader> begin(std::string_view bytes);
  /// Checks up to 'pairs' more pairs. Call it until is_checked(), before the first next().
  Status check(std::size_t pairs);
  bool is_checked() const noexcept { return pairs_left_ == 0; }
  /// Calls begin() and check() for the whole frame. O(texts).
  static Result<FrameReader> open(std::string_view bytes);

  std::string_view database() const noexcept { return database_; }
  std::string_view table() const noexcept { return table_; }
  /// Entries that next() has not returned yet.
  std::size_t entries_left() const noexcept { return entries_left_; }
  /// Reads the next entry. Its texts point into the frame, and the memory of 'entry.fields' is reused. False at the end. O(fields that a
  /// record may have).
  bool next(FrameEntry& entry);

 private:
  /// Iterates over texts.
  class Cursor {
   public:
    Cursor() noexcept = default;
    explicit Cursor(std::string_view bytes) noexcept : rest_(bytes) {}
    bool number(std::uint64_t& value) noexcept;
    bool text(std::string_view& value) noexcept;
    std::size_t left() const noexcept { return rest_.size(); }

   private:
    std::string_view rest_;
  };

  Status check_head();
  Status malformed(const std::string& what) const;

  std::size_t size_ = 0;
  Cursor checker_;  // The position of check().
  std::uint64_t pairs_left_ = 0;
  std::uint64_t fields_left_ = 0;  // The number of remaining fields of the entry that checked_key_ names.
  std::string_view checked_key_;
  bool is_wide_ = false;            // That entry has more fields than a record may have.
  std::vector<Cursor> after_wide_;  // The positions after entries with too many fields, so that next() can skip them; there are only a few.
  std::size_t wide_passed_ = 0;
  Cursor at_;  // The position of next().
  std::string_view database_;
  std::string_view table_;
  std::size_t entries_left_ = 0;
};

/// Writes frames of one table, one after the other, into one buffer.
class FrameWriter {
 public:
  FrameWriter(std::string_view database, std::string_view table);

  /// Bytes that a Set of these fields adds. For a Delete pass no fields; it never adds more than that.
  static std::size_t bytes_of(std::string_view key, std::span<const Field> fields) noexcept;
  /// The number of leading fields that a Set of at most 'room' bytes can have. At least one: the caller knows that one fits.
  static std::size_t fields_that_fit(std::string_view key, std::span<const Field> fields, std::size_t room) noexcept;
  void set(std::string_view key, std::span<const Field> fields);
  void remove(std::string_view key);

  bool empty() const noexcept { return entries_ == 0; }
  std::size_t entries() const noexcept { return entries_; }
  /// Bytes of the current frame, and of a frame without entries.
  std::size_t size() const noexcept { return size_; }
  std::size_t head_size() const noexcept { return head_size_; }
  /// The bytes of the current frame; valid until the next change.
  std::string_view bytes() noexcept;
  /// Starts the next frame.
  void clear() noexcept;

 private:
  char* grow(std::size_t bytes);

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t head_size_ = 0;
  std::size_t entries_ = 0;
  std::uint64_t pairs_ = 1;
};

}  // namespace rondo::store
