#include "store/zmq/frame.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo::store {

namespace {

constexpr std::size_t kNumberBytes = sizeof(std::uint64_t);
constexpr std::size_t kDigits = 20;  // The digits of the longest count.

std::size_t digits_of(std::size_t count) noexcept {
  std::size_t digits = 1;
  for (; count > 9; count /= 10) ++digits;
  return digits;
}

std::size_t bytes_of_field(const Field& field) noexcept { return 2 * kNumberBytes + field.name.size() + field.value.size(); }

/// Accepts only digits, at least one: the form that stock peers write.
bool parse_count(std::string_view text, std::uint64_t& count) noexcept {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && stop == text.data() + text.size();
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
  Result<FrameReader> reader = begin(bytes);
  if (!reader) return reader;
  if (Status bad = reader->check(SIZE_MAX); !bad.ok()) return failure(std::move(bad));
  return reader;
}

Status FrameReader::malformed(const std::string& what) const {
  return {StatusCode::InvalidArgument, "frame: " + what + " at byte " + std::to_string(size_ - checker_.left())};
}

Result<FrameReader> FrameReader::begin(std::string_view bytes) {
  FrameReader reader;
  reader.size_ = bytes.size();
  reader.checker_ = Cursor{bytes};
  Cursor& cursor = reader.checker_;
  if (!cursor.number(reader.pairs_left_)) return failure(reader.malformed("too short for its number of pairs"));
  if (reader.pairs_left_ == 0) return failure(reader.malformed("no pair that names its table"));
  if (!cursor.text(reader.database_) || !cursor.text(reader.table_)) {
    return failure(reader.malformed("the pair that names its table does not end"));
  }
  --reader.pairs_left_;
  reader.at_ = cursor;
  return reader;
}

Status FrameReader::check(std::size_t pairs) {
  for (; pairs > 0 && pairs_left_ > 0; --pairs) {
    if (fields_left_ == 0) {
      if (Status bad = check_head(); !bad.ok()) return bad;
      continue;
    }
    std::string_view part;
    if (!checker_.text(part) || !checker_.text(part)) return malformed("a field of key " + quoted(checked_key_) + " does not end");
    --pairs_left_;
    if (--fields_left_ == 0 && is_wide_) after_wide_.push_back(checker_);
  }
  if (pairs_left_ == 0 && checker_.left() != 0) return malformed(std::to_string(checker_.left()) + " bytes follow its last pair");
  return {};
}

/// Checks the pair that begins an entry.
Status FrameReader::check_head() {
  std::string_view count_text;
  if (!checker_.text(checked_key_) || !checker_.text(count_text)) return malformed("the head of an entry does not end");
  --pairs_left_;
  if (!parse_count(count_text, fields_left_)) return malformed(quoted(count_text) + " is not a number of fields, before the entry");
  if (fields_left_ > pairs_left_) {
    return malformed("key " + quoted(checked_key_) + " announces " + std::to_string(fields_left_) + " fields, " +
                     std::to_string(pairs_left_) + " pairs follow");
  }
  is_wide_ = fields_left_ > limits::kFields;
  ++entries_left_;
  return {};
}

bool FrameReader::next(FrameEntry& entry) {
  if (entries_left_ == 0) return false;
  --entries_left_;
  std::string_view count_text;
  std::uint64_t count = 0;
  const bool head = at_.text(entry.key) && at_.text(count_text) && parse_count(count_text, count);
  RONDO_ASSERT(head);  // check() has verified the pair.
  entry.op = count == 0 ? ChangeOp::Delete : ChangeOp::Set;
  entry.announced = static_cast<std::size_t>(count);
  entry.fields.clear();
  if (entry.announced > limits::kFields) {
    at_ = after_wide_[wide_passed_++];
    return true;
  }
  entry.fields.resize(entry.announced);
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
    // make_unique would zero the buffer, which is about to be overwritten.
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
  std::size_t bytes = 2 * kNumberBytes + key.size() + digits_of(fields.size());
  for (const Field& field : fields) bytes += bytes_of_field(field);
  if (fields.empty()) bytes += bytes_of_field({kNoFields, kNoFields});
  return bytes;
}

std::size_t FrameWriter::fields_that_fit(std::string_view key, std::span<const Field> fields, std::size_t room) noexcept {
  std::size_t bytes = 2 * kNumberBytes + key.size() + digits_of(fields.size());
  std::size_t count = 0;
  for (const Field& field : fields) {
    bytes += bytes_of_field(field);
    if (bytes > room) break;
    ++count;
  }
  return std::max<std::size_t>(1, count);
}

void FrameWriter::set(std::string_view key, std::span<const Field> fields) {
  const Field mark{kNoFields, kNoFields};
  if (fields.empty()) fields = {&mark, 1};
  char digits[kDigits];
  const char* const end = std::to_chars(digits, digits + kDigits, fields.size()).ptr;
  const std::string_view count{digits, static_cast<std::size_t>(end - digits)};
  char* at = put_text(grow(bytes_of(key, fields)), key);
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
