#include "store/direct/direct_frame.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "rondo/base/assert.h"

namespace rondo::store {

namespace {

constexpr std::size_t kNumberBytes = sizeof(std::uint64_t);
constexpr std::size_t kDigits = 20;  // Of the longest count.

/// Only digits, and at least one: a count as stock peers write it.
bool parse_count(std::string_view text, std::uint64_t& count) noexcept {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && stop == text.data() + text.size();
}

Status malformed(const std::string& what, std::size_t offset) {
  return {Code::InvalidArgument, "frame: " + what + " at byte " + std::to_string(offset)};
}

char* put_number(char* at, std::uint64_t value) noexcept {
  std::memcpy(at, &value, kNumberBytes);
  return at + kNumberBytes;
}

char* put_text(char* at, std::string_view text) noexcept {
  at = put_number(at, text.size());
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace

// --- Reading

bool FrameReader::Cursor::number(std::uint64_t& value) noexcept {
  if (rest_.size() < kNumberBytes) return false;
  std::memcpy(&value, rest_.data(), kNumberBytes);
  rest_.remove_prefix(kNumberBytes);
  return true;
}

bool FrameReader::Cursor::text(std::string_view& value) noexcept {
  std::uint64_t size = 0;
  if (!number(size) || size > rest_.size()) return false;
  value = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

Result<FrameReader> FrameReader::open(std::string_view bytes) {
  FrameReader reader;
  if (Status bad = reader.check(bytes); !bad.ok()) return failure(std::move(bad));
  return reader;
}

Status FrameReader::check(std::string_view bytes) {
  Cursor cursor{bytes};
  const auto here = [&] { return bytes.size() - cursor.left(); };
  std::uint64_t pairs = 0;
  if (!cursor.number(pairs)) return malformed("too short for its number of pairs", 0);
  if (pairs == 0) return malformed("no pair that names its table", 0);
  if (!cursor.text(database_) || !cursor.text(table_)) return malformed("the pair that names its table does not end", here());
  --pairs;
  at_ = cursor;
  while (pairs > 0) {
    std::string_view key;
    std::string_view count_text;
    std::uint64_t count = 0;
    if (!cursor.text(key) || !cursor.text(count_text)) return malformed("the head of an entry does not end", here());
    --pairs;
    if (!parse_count(count_text, count)) return malformed(quoted(count_text) + " is not a number of fields, before the entry", here());
    if (count > pairs) {
      return malformed("key " + quoted(key) + " announces " + std::to_string(count) + " fields, " + std::to_string(pairs) + " pairs follow",
                       here());
    }
    pairs -= count;
    for (; count > 0; --count) {
      std::string_view part;
      if (!cursor.text(part) || !cursor.text(part)) return malformed("a field of key " + quoted(key) + " does not end", here());
    }
    ++entries_left_;
  }
  if (cursor.left() != 0) return malformed(std::to_string(cursor.left()) + " bytes follow its last pair", here());
  return {};
}

bool FrameReader::next(FrameEntry& entry) {
  if (entries_left_ == 0) return false;
  --entries_left_;
  std::string_view count_text;
  std::uint64_t count = 0;
  const bool head = at_.text(entry.key) && at_.text(count_text) && parse_count(count_text, count);
  RONDO_ASSERT(head);  // check() has been here.
  entry.op = count == 0 ? Op::Delete : Op::Set;
  entry.fields.resize(static_cast<std::size_t>(count));
  for (Field& field : entry.fields) {
    const bool whole = at_.text(field.name) && at_.text(field.value);
    RONDO_ASSERT(whole);
  }
  if (count == 1 && entry.fields.front() == Field{kNoFields, kNoFields}) entry.fields.clear();
  return true;
}

// --- Writing

FrameWriter::FrameWriter(std::string_view database, std::string_view table) {
  char* at = put_number(grow(3 * kNumberBytes + database.size() + table.size()), 0);
  at = put_text(at, database);
  put_text(at, table);
  head_size_ = size_;
}

char* FrameWriter::grow(std::size_t bytes) {
  if (size_ + bytes > capacity_) {
    const std::size_t wanted = std::max(2 * capacity_, size_ + bytes);
    // Not make_unique: it would clear what is about to be written.
    std::unique_ptr<char[]> larger{new char[wanted]};
    if (size_ != 0) std::memcpy(larger.get(), buffer_.get(), size_);
    buffer_ = std::move(larger);
    capacity_ = wanted;
  }
  char* const at = buffer_.get() + size_;
  size_ += bytes;
  return at;
}

std::size_t FrameWriter::bytes_of(std::string_view key, std::span<const Field> fields) noexcept {
  std::size_t bytes = 2 * kNumberBytes + key.size() + kDigits;
  for (const Field& field : fields) bytes += 2 * kNumberBytes + field.name.size() + field.value.size();
  if (fields.empty()) bytes += 2 * (kNumberBytes + kNoFields.size());
  return bytes;
}

void FrameWriter::set(std::string_view key, std::span<const Field> fields) {
  const Field mark{kNoFields, kNoFields};
  if (fields.empty()) fields = {&mark, 1};
  char digits[kDigits];
  const char* const end = std::to_chars(digits, digits + kDigits, fields.size()).ptr;
  const std::string_view count{digits, static_cast<std::size_t>(end - digits)};
  std::size_t bytes = 2 * kNumberBytes + key.size() + count.size();
  for (const Field& field : fields) bytes += 2 * kNumberBytes + field.name.size() + field.value.size();
  char* at = put_text(grow(bytes), key);
  at = put_text(at, count);
  for (const Field& field : fields) at = put_text(put_text(at, field.name), field.value);
  pairs_ += 1 + fields.size();
  ++entries_;
}

void FrameWriter::remove(std::string_view key) {
  put_text(put_text(grow(2 * kNumberBytes + key.size() + 1), key), "0");
  ++pairs_;
  ++entries_;
}

std::string_view FrameWriter::bytes() noexcept {
  put_number(buffer_.get(), pairs_);
  return {buffer_.get(), size_};
}

void FrameWriter::clear() noexcept {
  size_ = head_size_;
  entries_ = 0;
  pairs_ = 1;
}

}  // namespace rondo::store
