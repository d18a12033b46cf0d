#include "jobs/mariadb/text.h"

#include <algorithm>
#include <charconv>

namespace rondo::jobs::mariadb {

namespace {

std::string literal(std::int64_t number) { return std::to_string(number); }
std::string literal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool is_plain = std::ranges::all_of(bytes, [](char byte) { return byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\'; });
  std::string out = is_plain ? "'" + std::string{bytes} : "x'";
  for (const char byte : is_plain ? std::string_view{} : bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4U];
    out += kDigits[static_cast<unsigned char>(byte) & 0xfU];
  }
  return out + '\'';
}
template <class Element>
std::string literal(const std::optional<Element>& value) {
  return value ? literal(*value) : "NULL";
}

/// Those of the elements of an array, or one.
using Literals = std::vector<std::string>;
Literals literals_of(const server::Value& value) {
  Literals all;
  const auto add_all = [&all](const auto& array) {
    for (const auto& element : array) all.push_back(literal(element));
  };
  if (const auto* const number = std::get_if<std::optional<std::int64_t>>(&value)) all.push_back(literal(*number));
  if (const auto* const bytes = std::get_if<std::string>(&value)) all.push_back(literal(std::string_view{*bytes}));
  if (const auto* const numbers = std::get_if<server::Numbers>(&value)) add_all(*numbers);
  if (const auto* const texts = std::get_if<server::Texts>(&value)) add_all(*texts);
  return all;
}

/// "1,2"
std::string joined(const Literals& all) {
  std::string out;
  for (const std::string& one : all) out.append(out.empty() ? "" : ",").append(one);
  return out;
}

/// The parameter at the beginning of 'text', "$1", which is removed.
Literals take_parameter(std::string_view& text, const server::Values& values) {
  std::size_t number = 0;
  const char* const end = std::from_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return literals_of(values.all()[number - 1]);
}

bool take(std::string_view& text, std::string_view word) {
  const bool is_there = text.starts_with(word);
  if (is_there) text.remove_prefix(word.size());
  return is_there;
}

/// For what follows "unnest(". Each row of VALUES has one element of each array.
std::string take_rows(std::string_view& text, const server::Values& values) {
  std::vector<Literals> arrays;
  do {
    arrays.push_back(take_parameter(text, values));
  } while (take(text, ", "));
  take(text, ")");
  const bool has_place = take(text, " WITH ORDINALITY");
  take(text, " AS ");
  const std::string head{text.substr(0, text.find(')') + 1)};
  const std::string name = head.substr(0, head.find(' '));
  text.remove_prefix(head.size());
  std::string rows;
  for (std::size_t row = 0; row < arrays.front().size(); ++row) {
    Literals elements;
    for (Literals& array : arrays) elements.push_back(std::move(array[row]));
    if (has_place) elements.push_back(std::to_string(row));
    rows.append(rows.empty() ? "VALUES (" : ",(").append(joined(elements)).append(")");
  }
  if (rows.empty()) rows = "SELECT " + joined(Literals(arrays.size() + (has_place ? 1 : 0), "NULL")) + " FROM DUAL WHERE FALSE";
  return "(WITH " + head + " AS (" + rows + ") SELECT * FROM " + name + ") AS " + name;
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
    if (text.empty() || take(text, kSchema)) continue;
    out += take(text, kRows) ? take_rows(text, values) : take(text, kAny) ? "IN " : joined(take_parameter(text, values));
  }
  return out;
}

}  // namespace rondo::jobs::mariadb
