// The payload of a bulk write: u16 table name length, name, u32 row count, then per row u8 op (0 Set, 1 Delete), u32 key length, key, u16
// field count, per field u32 length and name, u32 length and value. A reader for the server and an encoder for the client; neither copies
// rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/bulk.h"
#include "rondo/base/result.h"

namespace rondo {

/// Reads rows one after the other from a payload that the caller owns.
class BulkReader {
 public:
  struct Row {
    BulkOp op = BulkOp::Set;
    std::string_view key;
    std::span<const BulkField> fields;  // Valid until the next call of next().
  };

  /// InvalidArgument when the head is truncated or announces more rows than the payload can hold.
  static Result<BulkReader> open(std::string_view payload);

  std::string_view table() const noexcept { return table_; }
  std::uint32_t rows() const noexcept { return rows_; }
  /// Rows read so far, which is the index of the next one.
  std::uint32_t position() const noexcept { return position_; }
  /// Returns the next row, or nothing after the last one. InvalidArgument with row and part when the payload is shorter than announced, or
  /// has bytes left at the end.
  Result<std::optional<Row>> next();

 private:
  BulkReader() = default;
  Status malformed(std::string_view what) const;
  Result<std::string_view> take(std::size_t bytes, std::string_view what);
  Result<std::string_view> take_long(std::string_view what);

  std::string_view table_;
  std::string_view rest_;
  std::uint32_t rows_ = 0;
  std::uint32_t position_ = 0;
  std::vector<BulkField> fields_;
};

/// Builds one bulk frame. Reusable: start, add..., finish, and again.
class BulkEncoder {
 public:
  /// 'table' must fit a 16-bit length (otherwise InvalidArgument). Drops an unfinished frame.
  Status start(std::string_view table);
  /// InvalidArgument when the row has too many fields; ResourceExhausted when it alone exceeds 'frame_bytes_max'. The frame is then
  /// unchanged.
  Status add(BulkOp op, std::string_view key, std::span<const BulkField> fields, std::size_t frame_bytes_max);
  /// True when a row of these sizes would make the frame larger than 'bytes'.
  bool would_exceed(std::string_view key, std::span<const BulkField> fields, std::size_t bytes) const;
  /// Returns the frame with all added rows; valid until the next start().
  std::string_view finish();
  std::uint32_t rows() const noexcept { return rows_; }
  std::size_t bytes() const noexcept { return frame_.size(); }

 private:
  static std::size_t row_bytes(std::string_view key, std::span<const BulkField> fields);

  std::string frame_;
  std::size_t count_at_ = 0;
  std::uint32_t rows_ = 0;
};

}  // namespace rondo
