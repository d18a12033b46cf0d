// Text of prefixes. Parsing uses inet_pton for IPv6; formatting is written by hand, because a feed does it a million times.
#include "feed/prefix.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <cstring>

namespace rondo::feed {
namespace {

char* write_decimal(char* out, unsigned value) noexcept {  // 'value' is below 1000.
  if (value >= 100) *out++ = static_cast<char>('0' + value / 100);
  if (value >= 10) *out++ = static_cast<char>('0' + value / 10 % 10);
  *out++ = static_cast<char>('0' + value % 10);
  return out;
}

char* write_hex(char* out, unsigned group) noexcept {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (group >= 0x1000) *out++ = kDigits[group >> 12U];
  if (group >= 0x100) *out++ = kDigits[group >> 8U & 15U];
  if (group >= 0x10) *out++ = kDigits[group >> 4U & 15U];
  *out++ = kDigits[group & 15U];
  return out;
}

char* write_v4(char* out, std::uint32_t address) noexcept {
  for (unsigned shift = 32; shift > 0;) {
    shift -= 8;
    out = write_decimal(out, address >> shift & 255U);
    if (shift != 0) *out++ = '.';
  }
  return out;
}

/// The longest run of at least two zero groups, the first of equals, becomes "::" (RFC 5952, section 4.2).
char* write_v6(char* out, std::uint64_t high, std::uint64_t low) noexcept {
  std::array<unsigned, 8> groups{};
  for (unsigned i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>((i < 4 ? high : low) >> (48U - 16U * (i % 4U)) & 0xffffU);
  unsigned run_start = 8;
  unsigned run_length = 1;
  for (unsigned i = 0; i < 8;) {
    unsigned end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > run_length) {
      run_start = i;
      run_length = end - i;
    }
    i = end + 1;
  }
  for (unsigned i = 0; i < 8; ++i) {
    if (i == run_start) {
      *out++ = ':';
      *out++ = ':';
      i += run_length - 1;
      continue;
    }
    if (i != 0 && i != run_start + run_length) *out++ = ':';
    out = write_hex(out, groups[i]);
  }
  return out;
}

unsigned address_bits(Family family) noexcept { return family == Family::V4 ? 32 : 128; }

char* write_address(char* out, const Prefix& prefix) noexcept {
  if (prefix.family == Family::V4) return write_v4(out, static_cast<std::uint32_t>(prefix.high >> 32U));
  return write_v6(out, prefix.high, prefix.low);
}

Status malformed(std::string_view text, std::string_view why) {
  return Status{StatusCode::InvalidArgument, "'" + std::string{text.substr(0, 100)} + "' " + std::string{why}};
}

std::uint64_t read_big_endian(const unsigned char* bytes, unsigned count) noexcept {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) value = value << 8U | bytes[i];
  return value;
}

}  // namespace

std::string_view to_string(Family family) noexcept { return family == Family::V4 ? "IPv4" : "IPv6"; }

char* write_prefix(char* out, const Prefix& prefix) noexcept {
  out = write_address(out, prefix);
  *out++ = '/';
  return write_decimal(out, prefix.length);
}

std::string to_string(const Prefix& prefix) {
  char text[kPrefixText];
  return {text, write_prefix(text, prefix)};
}

std::string address_text(const Prefix& prefix) {
  char text[kPrefixText];
  return {text, write_address(text, prefix)};
}

bool has_host_bits(const Prefix& prefix) noexcept {
  const unsigned length = prefix.length;
  const std::uint64_t high_mask = length == 0 ? 0 : length >= 64 ? ~std::uint64_t{0} : ~std::uint64_t{0} << (64U - length);
  const std::uint64_t low_mask = length <= 64 ? 0 : length >= 128 ? ~std::uint64_t{0} : ~std::uint64_t{0} << (128U - length);
  return (prefix.high & ~high_mask) != 0 || (prefix.low & ~low_mask) != 0;
}

Result<Prefix> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return failure(malformed(text, "is not a prefix: no '/length'"));
  char address[INET6_ADDRSTRLEN + 1] = {};
  if (slash >= sizeof address) return failure(malformed(text, "is not a prefix: the address is too long"));
  std::memcpy(address, text.data(), slash);
  const bool v6 = text.substr(0, slash).find(':') != std::string_view::npos;
  unsigned char bytes[16] = {};
  if (::inet_pton(v6 ? AF_INET6 : AF_INET, address, bytes) != 1) return failure(malformed(text, "is not a prefix: bad address"));

  Prefix prefix;
  prefix.family = v6 ? Family::V6 : Family::V4;
  prefix.high = read_big_endian(bytes, 8);
  prefix.low = read_big_endian(bytes + 8, 8);
  const std::string_view digits = text.substr(slash + 1);
  unsigned length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || length > address_bits(prefix.family)) {
    return failure(malformed(text, "is not a prefix: bad length"));
  }
  prefix.length = static_cast<std::uint8_t>(length);
  if (has_host_bits(prefix)) return failure(malformed(text, "has host bits set"));
  return prefix;
}

}  // namespace rondo::feed
