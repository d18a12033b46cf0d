// IpAddress, Prefix, MacAddress: values with one text form each. Parsing accepts what inet_pton accepts and nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/result.h"

namespace rondo {

/// IPv4 or IPv6, network byte order. Ordered by family, then bytes. IPv4 uses the first four bytes; the others are zero.
class IpAddress {
 public:
  constexpr IpAddress() noexcept = default;  // 0.0.0.0
  static constexpr IpAddress v4(std::uint32_t host_order) noexcept {
    IpAddress a;
    for (int i = 0; i < 4; ++i) a.bytes_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
    return a;
  }
  static constexpr IpAddress v6(const std::array<std::uint8_t, 16>& bytes) noexcept {
    IpAddress a;
    a.is_v6_ = true;
    a.bytes_ = bytes;
    return a;
  }
  /// InvalidArgument with the text in the message.
  static Result<IpAddress> parse(std::string_view text);
  std::string to_string() const;
  /// The IPv4 address within an IPv6 address such as ::ffff:10.0.0.1, which is that of an IPv4 host at a socket of IPv6; else this address.
  constexpr IpAddress unmapped() const noexcept {
    constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (!is_v6_ || !std::equal(kMapped.begin(), kMapped.end(), bytes_.begin())) return *this;
    IpAddress a;
    std::copy(bytes_.begin() + kMapped.size(), bytes_.end(), a.bytes_.begin());
    return a;
  }

  constexpr bool is_v6() const noexcept { return is_v6_; }
  constexpr const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  constexpr std::size_t size() const noexcept { return is_v6_ ? 16 : 4; }
  /// 0.0.0.0 or ::, the address of no station.
  constexpr bool is_any() const noexcept { return bytes_ == std::array<std::uint8_t, 16>{}; }
  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) noexcept = default;

 private:
  bool is_v6_ = false;
  std::array<std::uint8_t, 16> bytes_{};
};

/// An address and a length. parse() refuses host bits, as the kernel does. It accepts an address alone as a host prefix, as SONiC's route
/// table writes them ("10.0.0.1" is 10.0.0.1/32). parse_interface() keeps host bits ("10.0.0.1/24").
struct Prefix {
  IpAddress address;
  std::uint8_t length = 0;

  static Result<Prefix> parse(std::string_view text);
  static Result<Prefix> parse_interface(std::string_view text);
  /// The /32 or /128 of 'address'.
  static constexpr Prefix host(const IpAddress& address) noexcept { return {address, static_cast<std::uint8_t>(address.size() * 8)}; }
  std::string to_string() const;
  /// True if bits beyond the length are set: an interface address, not a route's destination.
  bool has_host_bits() const noexcept;
  /// The same prefix without its host bits.
  Prefix network() const noexcept;
  bool contains(const IpAddress& other) const noexcept;
  friend constexpr auto operator<=>(const Prefix&, const Prefix&) noexcept = default;
};

/// Six bytes, "02:00:00:00:00:01".
struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};
  static Result<MacAddress> parse(std::string_view text);
  std::string to_string() const;
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) noexcept = default;
};

}  // namespace rondo
