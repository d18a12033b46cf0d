// Decoding of bulk writes. The payload comes from outside, so bounds are checked before every step.
#include "admin/bulk_codec.h"

#include <limits>

#include "admin/frame.h"
#include "base/counted.h"
#include "rondo/base/assert.h"

namespace rondo {
namespace {
// Bytes of op, key length and field count.
constexpr std::size_t kSmallestRowBytes = 1 + 4 + 2;
}  // namespace

Status BulkReader::malformed(std::string_view what) const {
  return Status{StatusCode::InvalidArgument, "bulk row " + std::to_string(position_) + ": " + std::string{what}};
}

Result<std::string_view> BulkReader::take(std::size_t bytes, std::string_view what) {
  if (rest_.size() < bytes) {
    return failure(
        malformed(std::string{what} + " needs " + std::to_string(bytes) + " bytes, " + std::to_string(rest_.size()) + " are left"));
  }
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

Result<std::string_view> BulkReader::take_long(std::string_view what) {
  const Result<std::string_view> length = take(4, what);
  if (!length) return length;
  return take(read_u32(*length), what);
}

Result<BulkReader> BulkReader::open(std::string_view payload) {
  BulkReader reader;
  reader.rest_ = payload;
  const Result<std::string_view> length = reader.take(2, "table name length");
  if (!length) return failure(length.error());
  const Result<std::string_view> table = reader.take(read_u16(*length), "table name");
  if (!table) return failure(table.error());
  const Result<std::string_view> count = reader.take(4, "row count");
  if (!count) return failure(count.error());
  reader.table_ = *table;
  reader.rows_ = read_u32(*count);
  if (reader.rows_ > reader.rest_.size() / kSmallestRowBytes) {
    return failure(StatusCode::InvalidArgument,
                   "bulk write announces " + std::to_string(reader.rows_) + " rows in " + std::to_string(reader.rest_.size()) + " bytes");
  }
  return reader;
}

Result<std::optional<BulkReader::Row>> BulkReader::next() {
  if (position_ == rows_) {
    if (!rest_.empty()) return failure(malformed(counted(rest_.size(), "byte") + " after the last row"));
    return std::optional<Row>{};
  }
  Row row;
  const Result<std::string_view> op = take(1, "operation");
  if (!op) return failure(op.error());
  const auto code = static_cast<unsigned char>((*op)[0]);
  if (code > 1) return failure(malformed("operation " + std::to_string(code) + " is neither 0 (Set) nor 1 (Delete)"));
  row.op = static_cast<BulkOp>(code);
  const Result<std::string_view> key = take_long("key");
  if (!key) return failure(key.error());
  row.key = *key;
  const Result<std::string_view> count = take(2, "field count");
  if (!count) return failure(count.error());
  fields_.clear();
  for (unsigned i = read_u16(*count); i > 0; --i) {
    const Result<std::string_view> name = take_long("field name");
    if (!name) return failure(name.error());
    const Result<std::string_view> value = take_long("field value");
    if (!value) return failure(value.error());
    fields_.push_back({*name, *value});
  }
  if (row.op == BulkOp::Delete && !fields_.empty()) return failure(malformed("a Delete has fields"));
  row.fields = fields_;
  ++position_;
  return std::optional<Row>{row};
}

std::size_t BulkEncoder::row_bytes(std::string_view key, std::span<const BulkField> fields) {
  std::size_t bytes = kSmallestRowBytes + key.size();
  for (const BulkField& field : fields) bytes += 8 + field.name.size() + field.value.size();
  return bytes;
}

Status BulkEncoder::start(std::string_view table) {
  if (table.size() > std::numeric_limits<std::uint16_t>::max()) {
    return Status{StatusCode::InvalidArgument, "a table name of " + std::to_string(table.size()) + " bytes is too long"};
  }
  frame_.clear();
  begin_frame(frame_, FrameKind::Bulk);
  append_u16(frame_, static_cast<std::uint16_t>(table.size()));
  frame_.append(table);
  count_at_ = frame_.size();
  append_u32(frame_, 0);
  rows_ = 0;
  return {};
}

bool BulkEncoder::would_exceed(std::string_view key, std::span<const BulkField> fields, std::size_t bytes) const {
  return frame_.size() + row_bytes(key, fields) > bytes;
}

Status BulkEncoder::add(BulkOp op, std::string_view key, std::span<const BulkField> fields, std::size_t frame_bytes_max) {
  if (fields.size() > std::numeric_limits<std::uint16_t>::max()) {
    return Status{StatusCode::InvalidArgument, "a row with " + std::to_string(fields.size()) + " fields has too many"};
  }
  if (would_exceed(key, fields, kFrameLengthBytes + frame_bytes_max)) {
    return Status{StatusCode::ResourceExhausted, "a row of " + std::to_string(row_bytes(key, fields)) + " bytes does not fit a frame of " +
                                                     std::to_string(frame_bytes_max)};
  }
  frame_ += static_cast<char>(op);
  append_u32(frame_, static_cast<std::uint32_t>(key.size()));
  frame_.append(key);
  append_u16(frame_, static_cast<std::uint16_t>(fields.size()));
  for (const BulkField& field : fields) {
    append_u32(frame_, static_cast<std::uint32_t>(field.name.size()));
    frame_.append(field.name);
    append_u32(frame_, static_cast<std::uint32_t>(field.value.size()));
    frame_.append(field.value);
  }
  ++rows_;
  return {};
}

std::string_view BulkEncoder::finish() {
  RONDO_ASSERT(!frame_.empty());
  for (unsigned i = 0; i < 4; ++i) frame_[count_at_ + i] = static_cast<char>(rows_ >> (8 * i) & 0xffU);
  end_frame(frame_, 0);
  return frame_;
}

}  // namespace rondo
