// Frames of the admin protocol: u32 little-endian length of the rest, one byte of kind, payload. See docs/guide/admin-protocol.md. Both
// ends use this file; it does not use sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/admin/limits.h"
#include "rondo/base/result.h"

namespace rondo {

enum class FrameKind : char {
  Json = 'J',  // A request, or the last frame of an answer.
  More = 'M',  // A page of an answer that continues.
  Bulk = 'W',  // A bulk write.
};

inline constexpr std::size_t kFrameLengthBytes = 4;
inline constexpr std::size_t kFrameHeaderBytes = 5;

/// One whole frame at the front of a buffer.
struct Frame {
  FrameKind kind = FrameKind::Json;
  std::string_view payload;
  std::size_t bytes = 0;  // With header: the number of bytes to consume.
};

/// Returns the frame at the front of 'bytes', or nothing while it is incomplete. InvalidArgument if the bytes cannot begin a frame: a
/// length of 0 or beyond 'frame_bytes_max' (without the length field), or an unknown kind. After an error the rest of the stream cannot be
/// read.
Result<std::optional<Frame>> next_frame(std::string_view bytes, std::size_t frame_bytes_max = limits::kAdminFrameBytes);

/// Returns the whole length of the frame that 'bytes' begins, once its length field is complete; used to read no more than needed.
std::optional<std::size_t> announced_frame_bytes(std::string_view bytes);

/// Begins a frame at the end of 'out'; end_frame() fills in the length. 'start' is the result of begin_frame().
std::size_t begin_frame(std::string& out, FrameKind kind);
void end_frame(std::string& out, std::size_t start);

void append_u16(std::string& out, std::uint16_t value);
void append_u32(std::string& out, std::uint32_t value);
std::uint16_t read_u16(std::string_view bytes);  // Needs 2 bytes.
std::uint32_t read_u32(std::string_view bytes);  // Needs 4 bytes.

}  // namespace rondo
