// The UTF-8 check and the \xHH form of rondo/admin/text.h.
#include "rondo/admin/text.h"

#include <cstddef>
#include <optional>

namespace rondo {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) noexcept { return static_cast<unsigned char>(text[at]); }

bool is_continuation(std::string_view text, std::size_t at) noexcept { return at < text.size() && (byte_at(text, at) & 0xc0U) == 0x80U; }

/// Length of the valid UTF-8 sequence at 'at' (RFC 3629: shortest form, no surrogates, up to U+10FFFF), or 0.
std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (!is_continuation(text, at + 1)) return 0;
  if (first < 0xe0) return 2;
  const unsigned second = byte_at(text, at + 1);
  if (!is_continuation(text, at + 2)) return 0;
  if (first < 0xf0) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (!is_continuation(text, at + 3)) return 0;
  const bool overlong = first == 0xf0 && second < 0x90;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || beyond ? 0 : 4;
}

/// C0, DEL and the two-byte C1 controls: a terminal would obey them.
bool is_control(std::string_view bytes, std::size_t at, std::size_t length) noexcept {
  const unsigned byte = byte_at(bytes, at);
  return byte < 0x20 || byte == 0x7f || (length == 2 && byte == 0xc2 && byte_at(bytes, at + 1) < 0xa0);
}

std::optional<unsigned> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return std::nullopt;
}

/// The byte that the escape at 'at' stands for, if there is one.
std::optional<char> escape_at(std::string_view text, std::size_t at) noexcept {
  if (text.size() - at < 4 || text[at] != '\\' || text[at + 1] != 'x') return std::nullopt;
  const std::optional<unsigned> high = hex_digit(text[at + 2]);
  const std::optional<unsigned> low = hex_digit(text[at + 3]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high << 4U | *low);
}

void append_escape(std::string& out, unsigned byte) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.append("\\x").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
}

std::string escape(std::string_view bytes, bool reversible) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at);
    if (length == 0 || is_control(bytes, at, length) || (reversible && escape_at(bytes, at))) {
      append_escape(out, byte_at(bytes, at));
      ++at;
    } else {
      out.append(bytes.substr(at, length));
      at += length;
    }
  }
  return out;
}

}  // namespace

std::string escape_text(std::string_view bytes) { return escape(bytes, true); }
std::string visible_text(std::string_view text) { return escape(text, false); }

std::string unescape_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (const std::optional<char> byte = escape_at(text, at)) {
      out += *byte;
      at += 4;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace rondo
