// ip.cc: text forms, containment and hashes of addresses, prefixes and hardware addresses. Parsing and formatting are written by hand,
// because a route feed has a million of them; IPv6 with an IPv4 address at its end uses the C library. Allocates only the returned string.
// Any thread.
#include "rondo/dataplane/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "dataplane/ip_hash.h"

namespace rondo {

namespace {

// Text from outside may be long or binary: show only enough to find it.
Status wrong_text(std::string_view what, std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string message{"not "};
  message.append(what).append(": '");
  for (const char c : text.substr(0, kShown)) message.push_back(c >= 0x20 && c < 0x7f ? c : '?');
  message.append(text.size() > kShown ? "...'" : "'");
  return Status{StatusCode::InvalidArgument, std::move(message)};
}

// Parses one to three digits without a leading zero, as inet_pton accepts them, beginning at 'at'. Returns the position after them; null
// if there are none. Branches on each digit: routes arrive in an order in which the branch predictor guesses the length of the next
// number.
[[gnu::always_inline]] inline const char* take_number(const char* at, const char* end, std::uint32_t& value) noexcept {
  const auto is_digit = [end](const char* c) { return c != end && static_cast<unsigned char>(*c - '0') < 10; };
  if (!is_digit(at)) return nullptr;
  value = static_cast<std::uint32_t>(*at++ - '0');
  if (!is_digit(at)) return at;
  if (value == 0) return nullptr;
  value = value * 10 + static_cast<std::uint32_t>(*at++ - '0');
  if (!is_digit(at)) return at;
  value = value * 10 + static_cast<std::uint32_t>(*at++ - '0');
  return at;
}

// Returns the position after the address at 'at'; null if there is no address.
const char* take_v4(const char* at, const char* end, std::uint32_t& host_order) noexcept {
  host_order = 0;
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return nullptr;
    std::uint32_t byte = 0;
    at = take_number(at, end, byte);
    if (at == nullptr || byte > 255) return nullptr;
    host_order = host_order << 8 | byte;
  }
  return at;
}

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Parses groups of one to four hexadecimal digits; one "::" stands for one or more zero groups. Does not parse an IPv4 address at the end.
std::optional<IpAddress> parse_v6(std::string_view text) noexcept {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t used = 0;
  std::optional<std::size_t> gap;
  const auto take_gap = [&] {
    if (gap || !text.starts_with("::")) return false;
    gap = used;
    text.remove_prefix(2);
    return true;
  };
  static_cast<void>(take_gap());
  while (!text.empty()) {
    std::size_t length = 0;
    unsigned value = 0;
    for (; length < text.size() && length < 5; ++length) {
      const int digit = digit_of(text[length]);
      if (digit < 0) break;
      value = value << 4 | static_cast<unsigned>(digit);
    }
    if (length == 0 || length > 4 || used == bytes.size()) return std::nullopt;
    bytes[used++] = static_cast<std::uint8_t>(value >> 8);
    bytes[used++] = static_cast<std::uint8_t>(value);
    text.remove_prefix(length);
    if (text.empty() || take_gap()) continue;
    if (text.front() != ':' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!gap) return used == bytes.size() ? std::optional{IpAddress::v6(bytes)} : std::nullopt;
  if (used == bytes.size()) return std::nullopt;
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(*gap);
  const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(used);
  std::fill(begin, std::move_backward(begin, end, bytes.end()), std::uint8_t{0});
  return IpAddress::v6(bytes);
}

// Parses an address with an IPv4 address at its end.
std::optional<IpAddress> parse_mixed(std::string_view text) noexcept {
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET6, terminated, bytes.data()) != 1) return std::nullopt;
  return IpAddress::v6(bytes);
}

std::optional<IpAddress> parse_v6_or_mixed(std::string_view text) noexcept {
  if (text.find(':') == std::string_view::npos) return std::nullopt;
  return text.find('.') == std::string_view::npos ? parse_v6(text) : parse_mixed(text);
}

// Parses the address at the beginning of 'text', up to a slash or the end, and moves 'at' behind it.
std::optional<IpAddress> take_address(std::string_view text, const char*& at) noexcept {
  const char* const end = text.data() + text.size();
  std::uint32_t host_order = 0;
  at = take_v4(text.data(), end, host_order);
  if (at != nullptr && (at == end || *at == '/')) return IpAddress::v4(host_order);
  text = text.substr(0, text.find('/'));
  at = text.data() + text.size();
  return parse_v6_or_mixed(text);
}

// Parses a prefix; without a length it is a host prefix.
std::optional<Prefix> parse_prefix(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  const char* slash = nullptr;
  const auto address = take_address(text, slash);
  if (!address) return std::nullopt;
  if (slash == end) return Prefix::host(*address);
  std::uint32_t length = 0;
  if (take_number(slash + 1, end, length) != end || length > address->size() * 8) return std::nullopt;
  return Prefix{*address, static_cast<std::uint8_t>(length)};
}

char* write_number(char* out, unsigned value) noexcept { return std::to_chars(out, out + 3, value).ptr; }

// Writes the form of inet_ntop: the longest run of two or more zero groups, the first of equal ones, becomes "::".
char* write_v6(char* out, const std::array<std::uint8_t, 16>& bytes) noexcept {
  constexpr std::size_t kGroups = 8;
  std::array<unsigned, kGroups> groups;
  for (std::size_t i = 0; i < kGroups; ++i) groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  std::size_t gap = kGroups;
  std::size_t gap_length = 1;
  for (std::size_t i = 0; i < kGroups;) {
    std::size_t end = i;
    while (end < kGroups && groups[end] == 0) ++end;
    if (end - i > gap_length) {
      gap = i;
      gap_length = end - i;
    }
    i = end + 1;
  }
  for (std::size_t i = 0; i < kGroups; ++i) {
    if (i > 0) *out++ = ':';
    if (i != gap) {
      out = std::to_chars(out, out + 4, groups[i], 16).ptr;
      continue;
    }
    if (i == 0) *out++ = ':';
    i += gap_length - 1;
    if (i + 1 == kGroups) *out++ = ':';
  }
  return out;
}

// True if the first five groups are zero: inet_ntop may then write an IPv4 address at the end.
bool may_end_in_v4(const std::array<std::uint8_t, 16>& bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t byte) { return byte == 0; });
}

// Writes the text form to 'out' (INET6_ADDRSTRLEN bytes suffice) and returns its end.
char* write_address(char* out, const IpAddress& address) noexcept {
  if (address.is_v6()) {
    if (!may_end_in_v4(address.bytes())) return write_v6(out, address.bytes());
    ::inet_ntop(AF_INET6, address.bytes().data(), out, INET6_ADDRSTRLEN);
    return out + std::strlen(out);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    if (i > 0) *out++ = '.';
    out = write_number(out, address.bytes()[i]);
  }
  return out;
}

bool same_leading_bits(const IpAddress& a, const IpAddress& b, std::size_t bits) noexcept {
  const std::size_t whole = bits / 8;
  if (std::memcmp(a.bytes().data(), b.bytes().data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const auto difference = static_cast<unsigned>(a.bytes()[whole] ^ b.bytes()[whole]);
  return difference >> (8 - bits % 8) == 0;
}

std::uint64_t load(const std::uint8_t* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::uint64_t load_big_endian(const std::uint8_t* bytes) noexcept {
  return std::endian::native == std::endian::little ? __builtin_bswap64(load(bytes)) : load(bytes);
}

// The folded 64x64 -> 128 bit product, the mixing step of wyhash and similar hashes: every input bit affects every output bit.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// 'extra' holds the parts outside the address bytes: the family and a length.
std::size_t hash_bytes(const IpAddress& address, std::uint64_t extra) noexcept {
  constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;  // Odd constants with about half of their bits set.
  constexpr std::uint64_t kSecond = 0xd6e8feb86659fd93;
  constexpr std::uint64_t kThird = 0xa0761d6478bd642f;
  const std::uint64_t low = load(address.bytes().data());
  const std::uint64_t high = load(address.bytes().data() + 8);
  return mix(mix(low ^ kFirst, high ^ kSecond) ^ extra ^ kThird, kFirst);
}

}  // namespace

Result<IpAddress> IpAddress::parse(std::string_view text) {
  const char* end = nullptr;
  const auto address = take_address(text, end);
  if (!address || end != text.data() + text.size()) return failure(wrong_text("an IP address", text));
  return *address;
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN];
  return std::string(text, write_address(text, *this));
}

Result<Prefix> Prefix::parse(std::string_view text) {
  const auto parsed = parse_prefix(text);
  if (!parsed) return failure(wrong_text("an IP prefix", text));
  if (parsed->has_host_bits()) return failure(wrong_text("an IP prefix (bits beyond its length are set)", text));
  return *parsed;
}

Result<Prefix> Prefix::parse_interface(std::string_view text) {
  const auto parsed = parse_prefix(text);
  if (!parsed) return failure(wrong_text("an IP address, alone or with a length", text));
  return *parsed;
}

std::string Prefix::to_string() const {
  char text[INET6_ADDRSTRLEN + 4];
  char* end = write_address(text, address);
  *end++ = '/';
  return std::string(text, write_number(end, length));
}

bool Prefix::contains(const IpAddress& other) const noexcept {
  return address.is_v6() == other.is_v6() && length <= address.size() * 8 && same_leading_bits(address, other, length);
}

bool Prefix::has_host_bits() const noexcept {
  // The bytes that an IPv4 address does not use are zero.
  const std::uint64_t first = load_big_endian(address.bytes().data());
  const std::uint64_t second = load_big_endian(address.bytes().data() + 8);
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (length < 64) return (first & (kAll >> length)) != 0 || second != 0;
  return length < 128 && (second & (kAll >> (length - 64))) != 0;
}

Prefix Prefix::network() const noexcept {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  for (std::size_t i = 0; i < address.size(); ++i) {
    const std::size_t kept = std::clamp<std::size_t>(length, i * 8, i * 8 + 8) - i * 8;
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xff00U >> kept));
  }
  if (address.is_v6()) return {IpAddress::v6(bytes), length};
  const std::uint32_t host_order = static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
                                   static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
  return {IpAddress::v4(host_order), length};
}

Result<MacAddress> MacAddress::parse(std::string_view text) {
  MacAddress mac;
  if (text.size() != 17) return failure(wrong_text("a MAC address", text));
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
    const char* pair = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(pair, pair + 2, mac.bytes[i], 16);
    if (error != std::errc{} || end != pair + 2 || (i < 5 && pair[2] != ':')) return failure(wrong_text("a MAC address", text));
  }
  return mac;
}

std::string MacAddress::to_string() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(17);
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text.push_back(':');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

std::size_t IpHash::operator()(const IpAddress& address) const noexcept { return hash_bytes(address, address.is_v6() ? 1 : 0); }

std::size_t IpHash::operator()(const Prefix& prefix) const noexcept {
  return hash_bytes(prefix.address, (prefix.address.is_v6() ? 1U : 0U) | static_cast<std::uint64_t>(prefix.length) << 1);
}

}  // namespace rondo
