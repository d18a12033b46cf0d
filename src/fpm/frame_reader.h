// FrameReader: cuts the byte stream of an FPM session into frames: version 1, a type, a length of 16 bits that includes the header of 4
// bytes, then netlink messages. It holds at most one read and one frame. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::fpm {

/// The type of a frame whose content is netlink messages. FRR defines 2 as protobuf.
inline constexpr std::uint8_t kNetlinkFrame = 1;

struct Frame {
  std::uint8_t type = 0;
  std::span<const std::byte> content;  // Valid until the next room().
};

class FrameReader {
 public:
  /// Bytes that one read may append. The longest frame has 65,535 bytes.
  static constexpr std::size_t kRead = 65'536;
  static constexpr std::size_t kHeader = 4;

  FrameReader() : bytes_(2 * kRead) {}

  /// Returns where the next read may store bytes, at least kRead. Call it only after next() has returned no frame.
  std::span<std::byte> room() noexcept;
  /// Tells how many bytes the read stored.
  void add(std::size_t length) noexcept { end_ += length; }
  /// Returns whether there is a whole frame, and stores it in 'frame'. InvalidArgument: the stream is not FPM; close it.
  Result<bool> next(Frame& frame);
  /// Drops everything, for a new session.
  void clear() noexcept { begin_ = end_ = 0; }
  /// Bytes of a frame that has not arrived whole.
  std::size_t partial() const noexcept { return end_ - begin_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace rondo::fpm
