#include "output/json_text.h"

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// Beyond this value the digits of a plain number would be mostly zeros.
constexpr double kPlainBelow = 1e15;
constexpr double kPlainFrom = 1e-6;

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const double size = std::fabs(value);
  const bool plain = value == 0 || (size >= kPlainFrom && size < kPlainBelow);
  std::array<char, 64> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, plain ? std::chars_format::fixed : std::chars_format::scientific);
  out.append(digits.data(), end.ptr);
}

/// A character that is unsafe to show, as JSON writes it: \uXXXX, and two of them beyond U+FFFF.
void append_escaped(std::string& out, std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  unsigned code = bytes.size() == 1 ? first : first & (0x7fU >> bytes.size());
  for (const char byte : bytes.substr(1)) code = code << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  const auto unit = [&out](unsigned value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "\\u%04x", value);
    out += text.data();
  };
  if (code < 0x10000) return unit(code);
  unit(0xd800U + ((code - 0x10000U) >> 10U));
  unit(0xdc00U + ((code - 0x10000U) & 0x3ffU));
}

/// JSON allows characters in a text that a terminal executes.
void append_text(std::string& out, json::string_view text) {
  const std::string made = json::serialize(text);  // Valid UTF-8: it was parsed.
  for (std::string_view rest = made; !rest.empty();) {
    const std::size_t safe = safe_length(rest);
    out += rest.substr(0, safe);
    rest.remove_prefix(safe);
    if (rest.empty()) return;
    std::size_t length = 1;
    while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0U) == 0x80U) ++length;
    append_escaped(out, rest.substr(0, length));
    rest.remove_prefix(length);
  }
}

void append(std::string& out, const json::value& value) {
  if (const json::object* const object = value.if_object()) {
    char before = '{';
    for (const auto& member : *object) {
      out += before;
      before = ',';
      append_text(out, member.key());
      out += ':';
      append(out, member.value());
    }
    out += object->empty() ? "{}" : "}";
  } else if (const json::array* const array = value.if_array()) {
    char before = '[';
    for (const json::value& element : *array) {
      out += before;
      before = ',';
      append(out, element);
    }
    out += array->empty() ? "[]" : "]";
  } else if (const json::string* const text = value.if_string()) {
    append_text(out, *text);
  } else if (value.is_double()) {
    append_double(out, value.get_double());
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace rondo::cli
