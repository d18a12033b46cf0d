// The frame of a direct table, read and written without a socket: the one place that knows its bytes. A frame is a count of pairs (64 bits)
// and the pairs; a pair is two texts; a text is its length (64 bits) and its bytes; numbers are in the order of the machine. Pair 0 is
// (database, table). Then for each entry a pair (key, number of fields in decimal) and its pairs (name, value); no fields means Delete
// (SONiC study, A7). Any bytes may come in; nothing is read beyond them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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
};

/// One frame; borrows its bytes.
class FrameReader {
 public:
  FrameReader() noexcept = default;
  /// Looks at all of 'bytes', so that a frame is applied whole or not at all. InvalidArgument says what is wrong and where. O(texts).
  static Result<FrameReader> open(std::string_view bytes);

  std::string_view database() const noexcept { return database_; }
  std::string_view table() const noexcept { return table_; }
  /// Entries that next() has not handed out.
  std::size_t entries_left() const noexcept { return entries_left_; }
  /// The next entry; its texts lie in the frame, 'entry.fields' is used again. False at the end.
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

  Status check(std::string_view bytes);

  Cursor at_;
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
