// The frame of a direct table, read and written without a socket: the one place that knows its bytes. A frame is a count of pairs (64 bits)
// and the pairs; a pair is two texts; a text is its length (64 bits) and its bytes; numbers are in the order of the machine. Pair 0 is
// (database, table). Then for each entry a pair (key, number of fields in decimal) and its pairs (name, value); no fields means Delete
// (SONiC study, A7). Any bytes may come in; nothing is read beyond them.
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
  Op op = Op::Delete;
  std::string_view key;
  std::vector<Field> fields;  // None for a Delete and for a Set without fields.
  std::size_t announced = 0;  // Fields in the frame. Beyond limits::kFields no record can be made, and 'fields' has none.
};

/// One frame; borrows its bytes. All of them are looked at before the first entry is handed out, so that a frame is applied whole or not at
/// all; in steps, because a long frame has a million pairs.
class FrameReader {
 public:
  FrameReader() noexcept = default;
  /// Reads the names of the table. InvalidArgument says what is wrong and where.
  static Result<FrameReader> begin(std::string_view bytes);
  /// Looks at up to 'pairs' more. To be called, until is_checked(), before the first next().
  Status check(std::size_t pairs);
  bool is_checked() const noexcept { return pairs_left_ == 0; }
  /// Both at once. O(texts).
  static Result<FrameReader> open(std::string_view bytes);

  std::string_view database() const noexcept { return database_; }
  std::string_view table() const noexcept { return table_; }
  /// Entries that next() has not handed out.
  std::size_t entries_left() const noexcept { return entries_left_; }
  /// The next entry; its texts lie in the frame, 'entry.fields' is used again. False at the end. O(fields that a record may have).
  bool next(FrameEntry& entry);

 private:
  /// Walks through texts.
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
  Cursor checker_;  // Where check() is.
  std::uint64_t pairs_left_ = 0;
  std::uint64_t fields_left_ = 0;  // Of them, of the entry that checked_key_ names.
  std::string_view checked_key_;
  bool is_wide_ = false;            // That entry has more fields than a record may have.
  std::vector<Cursor> after_wide_;  // Behind each entry with too many fields, so that next() need not walk them; a handful.
  std::size_t wide_passed_ = 0;
  Cursor at_;  // Where next() is.
  std::string_view database_;
  std::string_view table_;
  std::size_t entries_left_ = 0;
};

/// Frames of one table, one after the other, in one buffer.
class FrameWriter {
 public:
  FrameWriter(std::string_view database, std::string_view table);

  /// Bytes that a Set of these fields adds (a Delete: with no fields, and never more than that).
  static std::size_t bytes_of(std::string_view key, std::span<const Field> fields) noexcept;
  /// How many of the first fields a Set that adds at most 'room' bytes can have; at least one, which is known to fit.
  static std::size_t fields_that_fit(std::string_view key, std::span<const Field> fields, std::size_t room) noexcept;
  void set(std::string_view key, std::span<const Field> fields);
  void remove(std::string_view key);

  bool empty() const noexcept { return entries_ == 0; }
  std::size_t entries() const noexcept { return entries_; }
  /// Bytes of the frame so far, and of one without entries.
  std::size_t size() const noexcept { return size_; }
  std::size_t head_size() const noexcept { return head_size_; }
  /// The frame as it is; valid until the next change.
  std::string_view bytes() noexcept;
  /// Begins the next frame.
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
