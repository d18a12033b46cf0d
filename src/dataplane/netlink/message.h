// MessageWriter and MessageReader: netlink messages as bytes, with every bound checked and no library. The writer appends messages to a
// caller's buffer and removes a message that does not fit. The readers never read outside their input, whatever lengths it contains. No
// allocation. A route costs about 5 ns. Related: encode.h (orders to messages), decode.h (messages to entries), socket.h.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace rondo::netlink {

/// Messages and attributes start at multiples of four.
constexpr std::size_t aligned(std::size_t length) noexcept { return (length + 3) & ~std::size_t{3}; }

inline constexpr std::size_t kMessageHeader = aligned(sizeof(nlmsghdr));
inline constexpr std::size_t kAttributeHeader = aligned(sizeof(rtattr));
static_assert(sizeof(nlmsghdr) == 16 && sizeof(rtattr) == 4, "the wire format of netlink");

/// Appends messages to 'buffer': begin(), then attributes, then end(). If a message does not fit, end() returns false and removes it, so
/// that the buffer always holds whole messages.
class MessageWriter {
 public:
  explicit MessageWriter(std::span<std::byte> buffer) noexcept : buffer_(buffer) {}

  /// Starts a message with the family's fixed header (rtmsg, nhmsg, ...).
  template <class Header>
  void begin(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, const Header& header) noexcept {
    static_assert(std::is_trivially_copyable_v<Header>);
    start_ = used_;
    overflow_ = false;
    const nlmsghdr message{.nlmsg_len = 0, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = sequence, .nlmsg_pid = 0};
    append(&message, sizeof message);
    append(&header, sizeof header);
  }
  void attribute(std::uint16_t type, const void* data, std::size_t length) noexcept {
    if (length > UINT16_MAX - kAttributeHeader) {
      overflow_ = true;
      return;
    }
    const rtattr header{.rta_len = static_cast<std::uint16_t>(kAttributeHeader + length), .rta_type = type};
    append(&header, sizeof header);
    append(data, length);
  }
  template <class T>
  void attribute(std::uint16_t type, const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    attribute(type, &value, sizeof value);
  }
  /// Starts an attribute that contains those appended up to close_nested(), which takes the answer.
  std::size_t open_nested(std::uint16_t type) noexcept {
    const std::size_t start = used_;
    const rtattr header{.rta_len = 0, .rta_type = static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    append(&header, sizeof header);
    return start;
  }
  void close_nested(std::size_t start) noexcept {
    if (overflow_) return;
    const auto length = static_cast<std::uint16_t>(used_ - start);  // Callers nest a few small attributes.
    std::memcpy(buffer_.data() + start + offsetof(rtattr, rta_len), &length, sizeof length);
  }
  /// Returns true if the message fits; otherwise the buffer is as before begin().
  bool end() noexcept {
    if (overflow_) {
      used_ = start_;
      return false;
    }
    const auto length = static_cast<std::uint32_t>(used_ - start_);
    std::memcpy(buffer_.data() + start_ + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
    return true;
  }

  std::span<const std::byte> bytes() const noexcept { return buffer_.first(used_); }
  void clear() noexcept { used_ = 0; }

 private:
  // Copies and pads to a multiple of four; the padding is zero, so that no stale memory leaves the process.
  void append(const void* data, std::size_t length) noexcept {
    const std::size_t padded = aligned(length);
    if (overflow_ || padded > buffer_.size() - used_) {
      overflow_ = true;
      return;
    }
    std::memcpy(buffer_.data() + used_, data, length);
    if (padded != length) std::memset(buffer_.data() + used_ + length, 0, padded - length);
    used_ += padded;
  }

  std::span<std::byte> buffer_;
  std::size_t used_ = 0;
  std::size_t start_ = 0;
  bool overflow_ = false;
};

/// Reads a T from the front of 'bytes' if they are long enough. Copies, so it assumes no alignment.
template <class T>
std::optional<T> read_front(std::span<const std::byte> bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// One attribute: its type without the flag bits, and its payload.
struct Attribute {
  std::uint16_t type = 0;
  std::span<const std::byte> data;

  template <class T>
  std::optional<T> as() const noexcept {
    return data.size() == sizeof(T) ? read_front<T>(data) : std::nullopt;
  }
  /// The payload as text up to the first NUL.
  std::string_view text() const noexcept {
    if (data.empty()) return {};
    const char* const first = reinterpret_cast<const char*>(data.data());
    return {first, ::strnlen(first, data.size())};
  }
};

/// Iterates over attributes. A malformed length ends the iteration and sets is_malformed().
class AttributeReader {
 public:
  explicit AttributeReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}
  bool next(Attribute& attribute) noexcept {
    const auto header = read_front<rtattr>(rest_);
    if (!header) {
      malformed_ = malformed_ || !rest_.empty();
      return false;
    }
    if (header->rta_len < kAttributeHeader || header->rta_len > rest_.size()) {
      malformed_ = true;
      return false;
    }
    attribute.type = header->rta_type & static_cast<std::uint16_t>(NLA_TYPE_MASK);
    attribute.data = rest_.subspan(kAttributeHeader, header->rta_len - kAttributeHeader);
    const std::size_t step = aligned(header->rta_len);
    rest_ = rest_.subspan(step < rest_.size() ? step : rest_.size());
    return true;
  }
  bool is_malformed() const noexcept { return malformed_; }

 private:
  std::span<const std::byte> rest_;
  bool malformed_ = false;
};

/// One message: its header and payload.
struct Message {
  nlmsghdr header{};
  std::span<const std::byte> payload;

  /// The attributes after a fixed header of 'header_length' bytes; none if the payload is too short for it.
  AttributeReader attributes(std::size_t header_length) const noexcept {
    const std::size_t skip = aligned(header_length);
    return AttributeReader{skip <= payload.size() ? payload.subspan(skip) : std::span<const std::byte>{}};
  }
};

/// Iterates over the messages of one datagram. A malformed length ends the iteration and sets is_malformed().
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> datagram) noexcept : rest_(datagram) {}
  bool next(Message& message) noexcept {
    const auto header = read_front<nlmsghdr>(rest_);
    if (!header) {
      malformed_ = malformed_ || !rest_.empty();
      return false;
    }
    if (header->nlmsg_len < kMessageHeader || header->nlmsg_len > rest_.size()) {
      malformed_ = true;
      return false;
    }
    message.header = *header;
    message.payload = rest_.subspan(kMessageHeader, header->nlmsg_len - kMessageHeader);
    const std::size_t step = aligned(header->nlmsg_len);
    rest_ = rest_.subspan(step < rest_.size() ? step : rest_.size());
    return true;
  }
  bool is_malformed() const noexcept { return malformed_; }

 private:
  std::span<const std::byte> rest_;
  bool malformed_ = false;
};

}  // namespace rondo::netlink
