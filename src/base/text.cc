// The UTF-8 check, the characters that are unsafe to show, and the \xHH form of rondo/base/text.h.
#include "rondo/base/text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "base/combining_marks.h"

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

/// Code points from U+0080 that are unsafe to show, in order: C1, Default_Ignorable_Code_Point of Unicode 15 (which has the zero-width
/// characters and most bidirectional controls), the separators of lines and paragraphs, the interlinear annotations, and noncharacters. The
/// last two code points of each plane are noncharacters, too.
constexpr CodePoints kUnsafe[] = {
    {0x80, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5}, {0x180b, 0x180f},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

/// The code point of the valid sequence of 'length' bytes at 'at'.
char32_t code_point(std::string_view text, std::size_t at, std::size_t length) noexcept {
  char32_t value = length == 1 ? byte_at(text, at) : byte_at(text, at) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) value = value << 6U | (byte_at(text, at + i) & 0x3fU);
  return value;
}

template <std::size_t kSize>
bool is_in(const CodePoints (&ranges)[kSize], char32_t value) noexcept {
  const CodePoints* const range = std::ranges::lower_bound(ranges, value, {}, &CodePoints::last);
  return range != std::end(ranges) && range->first <= value;
}

/// Length of the character at 'at' if it is safe to show, or 0. 'is_first': no safe character is before it, so a mark would change what
/// surrounds the text.
std::size_t safe_character(std::string_view text, std::size_t at, bool is_first) noexcept {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = utf8_length(text, at);
  if (length == 0) return 0;
  const char32_t value = code_point(text, at, length);
  const bool is_noncharacter = (value & 0xfffeU) == 0xfffeU;
  return is_noncharacter || is_in(kUnsafe, value) || (is_first && is_in(kCombiningMarks, value)) ? 0 : length;
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

std::string escape(std::string_view bytes, bool reversible, std::string_view also) {
  std::string out;
  out.reserve(bytes.size());
  bool is_first = true;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = safe_character(bytes, at, is_first);
    is_first = length == 0;
    if (length == 0 || (reversible && escape_at(bytes, at)) || also.find(bytes[at]) != std::string_view::npos) {
      // The rest of an unsafe character is no valid sequence by itself: the next rounds escape it.
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

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string shorten(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string{text};
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 3 && is_continuation(text, end)) --end;
  if (is_continuation(text, end)) end = bytes;  // It is not UTF-8.
  return std::string{text.substr(0, end)} + "...";
}

std::string escape_text(std::string_view bytes) { return escape(bytes, true, {}); }
std::string escape_text(std::string_view bytes, std::string_view also) { return escape(bytes, true, also); }
std::string visible_text(std::string_view text) { return escape(text, false, {}); }

std::size_t safe_length(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = safe_character(text, at, at == 0);
    if (length == 0) break;
    at += length;
  }
  return at;
}

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
