#include "jobs/mariadb/text.h"

#include <algorithm>
#include <charconv>

namespace rondo::jobs::mariadb {

namespace {

void append_literal(std::string& out, std::int64_t number) { out += std::to_string(number); }
void append_literal(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool is_plain = std::ranges::all_of(bytes, [](char byte) { return byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\'; });
  if (!is_plain) out += 'x';
  out += '\'';
  if (is_plain) {
    out += bytes;
  } else {
    for (const char byte : bytes) {
      out += kDigits[static_cast<unsigned char>(byte) >> 4U];
      out += kDigits[static_cast<unsigned char>(byte) & 0xfU];
    }
  }
  out += '\'';
}
template <class Element>
void append_literal(std::string& out, const std::optional<Element>& value) {
  if (value) append_literal(out, *value);
  if (!value) out += "NULL";
}
/// An array is a list, which must not be empty.
template <class Element>
void append_literal(std::string& out, const std::vector<std::optional<Element>>& array) {
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i > 0) out += ',';
    append_literal(out, array[i]);
  }
  if (array.empty()) out += "NULL";
}

std::size_t length_of(const server::Value& array) {
  const auto* const numbers = std::get_if<server::Numbers>(&array);
  return numbers != nullptr ? numbers->size() : std::get<server::Texts>(array).size();
}
void append_element(std::string& out, const server::Value& array, std::size_t at) {
  const auto* const numbers = std::get_if<server::Numbers>(&array);
  numbers != nullptr ? append_literal(out, (*numbers)[at]) : append_literal(out, std::get<server::Texts>(array)[at]);
}

/// The parameter at the beginning of 'text', "$1", which is removed.
const server::Value& take_parameter(std::string_view& text, const server::Values& values) {
  std::size_t number = 0;
  const char* const end = std::from_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return values.all()[number - 1];
}

bool take(std::string_view& text, std::string_view word) {
  const bool is_there = text.starts_with(word);
  if (is_there) text.remove_prefix(word.size());
  return is_there;
}

/// What follows "unnest(". Each row of VALUES has one element of each array.
void append_rows(std::string& out, std::string_view& text, const server::Values& values) {
  std::vector<const server::Value*> arrays;
  do {
    arrays.push_back(&take_parameter(text, values));
  } while (take(text, ", "));
  take(text, ")");
  const bool has_place = take(text, " WITH ORDINALITY");
  take(text, " AS ");
  const std::string_view head = text.substr(0, text.find(')') + 1);
  const std::string name{head.substr(0, head.find(' '))};
  text.remove_prefix(head.size());
  out.append("(WITH ").append(head).append(" AS (");
  const std::size_t rows = length_of(*arrays.front());
  for (std::size_t row = 0; row < std::max<std::size_t>(rows, 1); ++row) {
    out += rows == 0 ? "SELECT " : row == 0 ? "VALUES (" : ",(";
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (i > 0) out += ',';
      rows == 0 ? void(out += "NULL") : append_element(out, *arrays[i], row);
    }
    if (has_place) out.append(",").append(std::to_string(row));
    out += rows == 0 ? " FROM DUAL WHERE FALSE" : ")";
  }
  out.append(") SELECT * FROM ").append(name).append(") AS ").append(name);
}

}  // namespace

std::string filled(std::string_view text, const server::Values& values) {
  constexpr std::string_view kSchema = "rondo.";
  constexpr std::string_view kRows = "unnest(";
  constexpr std::string_view kAny = "= ANY ";
  std::string out;
  while (!text.empty()) {
    const std::size_t plain = std::min({text.size(), text.find(kSchema), text.find(kRows), text.find(kAny), text.find('$')});
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (take(text, kSchema)) continue;
    if (take(text, kRows)) {
      append_rows(out, text, values);
    } else if (take(text, kAny)) {
      out += "IN ";
    } else if (!text.empty()) {
      std::visit([&out](const auto& value) { append_literal(out, value); }, take_parameter(text, values));
    }
  }
  return out;
}

}  // namespace rondo::jobs::mariadb
