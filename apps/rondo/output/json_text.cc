#include "output/json_text.h"

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>

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

void append(std::string& out, const json::value& value) {
  if (const json::object* const object = value.if_object()) {
    char before = '{';
    for (const auto& member : *object) {
      out += before;
      before = ',';
      out += json::serialize(member.key());
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
