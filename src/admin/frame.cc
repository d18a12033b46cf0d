// Reading and writing frames; integers are little-endian on every machine.
#include "admin/frame.h"

#include "rondo/base/assert.h"

namespace rondo {

Result<std::optional<Frame>> next_frame(std::string_view bytes, std::size_t frame_bytes_max) {
  if (bytes.size() < kFrameLengthBytes) return std::optional<Frame>{};
  const std::size_t length = read_u32(bytes);
  if (length == 0) return failure(StatusCode::InvalidArgument, "a frame of length 0 has no kind");
  if (length > frame_bytes_max) {
    return failure(StatusCode::InvalidArgument,
                   "a frame of " + std::to_string(length) + " bytes is larger than " + std::to_string(frame_bytes_max));
  }
  if (bytes.size() < kFrameHeaderBytes) return std::optional<Frame>{};
  const char kind = bytes[kFrameLengthBytes];
  if (kind != 'J' && kind != 'M' && kind != 'W') {
    return failure(StatusCode::InvalidArgument, "unknown frame kind '" + std::string{kind} + "'");
  }
  const std::size_t whole = kFrameLengthBytes + length;
  if (bytes.size() < whole) return std::optional<Frame>{};
  return std::optional<Frame>{Frame{static_cast<FrameKind>(kind), bytes.substr(kFrameHeaderBytes, length - 1), whole}};
}

std::optional<std::size_t> announced_frame_bytes(std::string_view bytes) {
  if (bytes.size() < kFrameLengthBytes) return std::nullopt;
  return kFrameLengthBytes + read_u32(bytes);
}

std::size_t begin_frame(std::string& out, FrameKind kind) {
  const std::size_t start = out.size();
  out.append(kFrameLengthBytes, '\0').append(1, static_cast<char>(kind));
  return start;
}

void end_frame(std::string& out, std::size_t start) {
  RONDO_ASSERT(out.size() >= start + kFrameHeaderBytes);
  const auto length = static_cast<std::uint32_t>(out.size() - start - kFrameLengthBytes);
  for (std::size_t i = 0; i < kFrameLengthBytes; ++i) out[start + i] = static_cast<char>(length >> (8 * i) & 0xffU);
}

void append_u16(std::string& out, std::uint16_t value) {
  const char bytes[2] = {static_cast<char>(value & 0xffU), static_cast<char>(value >> 8U)};
  out.append(bytes, sizeof bytes);
}

void append_u32(std::string& out, std::uint32_t value) {
  const char bytes[4] = {static_cast<char>(value & 0xffU), static_cast<char>(value >> 8U & 0xffU), static_cast<char>(value >> 16U & 0xffU),
                         static_cast<char>(value >> 24U)};
  out.append(bytes, sizeof bytes);
}

std::uint16_t read_u16(std::string_view bytes) {
  RONDO_ASSERT(bytes.size() >= 2);
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1]) << 8);
}

std::uint32_t read_u32(std::string_view bytes) {
  RONDO_ASSERT(bytes.size() >= 4);
  std::uint32_t value = 0;
  for (unsigned i = 4; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace rondo
