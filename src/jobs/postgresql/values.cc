#include "jobs/postgresql/values.h"

#include <charconv>
#include <utility>

namespace rondo::jobs::postgresql {

namespace {

// The numbers of PostgreSQL's own types, which never change.
constexpr Oid kBytes = 17;
constexpr Oid kBigint = 20;
constexpr Oid kSmallint = 21;
constexpr Oid kInteger = 23;
constexpr Oid kText = 25;
constexpr Oid kBytesArray = 1001;
constexpr Oid kBigintArray = 1016;

/// Appends 'value' in network order.
template <class Integer>
void append(std::string& out, Integer value) {
  for (std::size_t shift = sizeof value * 8; shift > 0; shift -= 8) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (shift - 8) & 0xffU);
  }
}

void append_element(std::string& out, std::int64_t value) {
  append(out, std::int32_t{sizeof value});
  append(out, value);
}
void append_element(std::string& out, std::string_view value) {
  append(out, static_cast<std::int32_t>(value.size()));
  out += value;
}

/// An array of one dimension, whose first index is 1.
template <class Value>
std::string array(Oid element, const std::vector<std::optional<Value>>& values) {
  std::string out;
  append(out, std::int32_t{values.empty() ? 0 : 1});
  append(out, std::int32_t{1});  // It may have NULL.
  append(out, element);
  if (values.empty()) return out;
  append(out, static_cast<std::int32_t>(values.size()));
  append(out, std::int32_t{1});
  for (const auto& value : values) value ? append_element(out, *value) : append(out, std::int32_t{-1});
  return out;
}

}  // namespace

Values& Values::add(Oid type, std::optional<std::string> bytes) {
  types_.push_back(type);
  bytes_.push_back(std::move(bytes));
  return *this;
}

Values& Values::add(std::int64_t value) {
  std::string bytes;
  append(bytes, value);
  return add(kBigint, std::move(bytes));
}

Values& Values::add(const std::optional<WallTime>& time) { return time ? add(*time) : add(kBigint, std::nullopt); }
Values& Values::add(std::string_view bytes) { return add(kBytes, std::string{bytes}); }
Values& Values::add_text(std::string_view utf8) { return add(kText, std::string{utf8}); }
Values& Values::add(const std::vector<std::optional<std::int64_t>>& values) { return add(kBigintArray, array(kBigint, values)); }
Values& Values::add(const std::vector<std::optional<std::string_view>>& values) { return add(kBytesArray, array(kBytes, values)); }

std::vector<const char*> Values::pointers() const {
  std::vector<const char*> pointers;
  pointers.reserve(bytes_.size());
  for (const auto& value : bytes_) pointers.push_back(value ? value->data() : nullptr);
  return pointers;
}

std::vector<int> Values::lengths() const {
  std::vector<int> lengths;
  lengths.reserve(bytes_.size());
  for (const auto& value : bytes_) lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  return lengths;
}

bool Rows::Row::is_integer(int column) const {
  const Oid type = PQftype(result_, column);
  return !is_null(column) && (type == kBigint || type == kInteger || type == kSmallint);
}

std::int64_t Rows::Row::integer(int column) const {
  if (!is_integer(column)) return 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(PQgetvalue(result_, row_, column));
  const std::size_t size = this->bytes(column);
  std::uint64_t value = (bytes[0] & 0x80U) != 0 ? ~std::uint64_t{0} : 0;  // The sign.
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[i];
  return static_cast<std::int64_t>(value);
}

std::string Rows::Row::text(int column) const { return {PQgetvalue(result_, row_, column), bytes(column)}; }

std::int64_t Rows::affected() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

}  // namespace rondo::jobs::postgresql
