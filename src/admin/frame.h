// Frames of the admin protocol: u32 little-endian length of what follows, one byte of kind, payload. See docs/guide/admin-protocol.md.
// Both ends use this; it knows no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"

namespace rondo {

enum class FrameKind : char {
  Json = 'J',  // A request, or the end of an answer.
  More = 'M',  // A page of an answer that goes on.
  Bulk = 'W',  // A bulk write.
};

inline constexpr std::size_t kFrameLengthBytes = 4;
inline constexpr std::size_t kFrameHeaderBytes = 5;

/// One whole frame at the front of some bytes.
struct Frame {
  FrameKind kind = FrameKind::Json;
  std::string_view payload;
  std::size_t bytes = 0;  // With header: what to consume.
};

/// The frame at the front of 'bytes'; nothing while it is not complete. InvalidArgument when the bytes cannot be the start of a frame: a
/// length of 0 or beyond 'frame_bytes_max' (length field counted out), or an unknown kind. After an error the stream cannot be read on.
Result<std::optional<Frame>> next_frame(std::string_view bytes, std::size_t frame_bytes_max = limits::kAdminFrameBytes);

/// Whole length of the frame that 'bytes' begins, once its length field is there; for reading no more than needed.
std::optional<std::size_t> announced_frame_bytes(std::string_view bytes);

/// Starts a frame at the end of 'out'; end_frame() fills in the length. 'start' is what begin_frame() returned.
std::size_t begin_frame(std::string& out, FrameKind kind);
void end_frame(std::string& out, std::size_t start);

void append_u16(std::string& out, std::uint16_t value);
void append_u32(std::string& out, std::uint32_t value);
std::uint16_t read_u16(std::string_view bytes);  // Needs 2 bytes.
std::uint32_t read_u32(std::string_view bytes);  // Needs 4 bytes.

}  // namespace rondo
