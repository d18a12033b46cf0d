#include "fpm/frame_reader.h"

#include <cstring>
#include <string>

namespace rondo::fpm {

std::span<std::byte> FrameReader::room() noexcept {
  if (begin_ == end_) begin_ = end_ = 0;
  if (bytes_.size() - end_ < kRead) {  // The rest is less than a frame, so both fit.
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return std::span{bytes_}.subspan(end_, kRead);
}

Result<bool> FrameReader::next(Frame& frame) {
  if (end_ - begin_ < kHeader) return false;
  const std::byte* const header = bytes_.data() + begin_;
  const auto version = std::to_integer<unsigned>(header[0]);
  const std::size_t length = std::to_integer<std::size_t>(header[2]) << 8U | std::to_integer<std::size_t>(header[3]);
  if (version != 1) {
    return failure(StatusCode::InvalidArgument, "a frame has version " + std::to_string(version) + ", and 1 is the only one");
  }
  if (length < kHeader) {
    return failure(StatusCode::InvalidArgument, "a frame has a length of " + std::to_string(length) + ", less than its header");
  }
  if (end_ - begin_ < length) return false;
  frame = {.type = std::to_integer<std::uint8_t>(header[1]), .content = {header + kHeader, length - kHeader}};
  begin_ += length;
  return true;
}

}  // namespace rondo::fpm
