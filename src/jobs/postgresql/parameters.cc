#include "jobs/postgresql/parameters.h"

#include <charconv>
#include <utility>

namespace rondo::jobs::postgresql {

namespace {

// The numbers of PostgreSQL's own types, which never change.
constexpr Oid kBytes = 17;
constexpr Oid kBigint = 20;
constexpr Oid kSmallint = 21;
constexpr Oid kInteger = 23;
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
template <class Values>
std::string array(Oid element, const Values& values) {
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

std::int64_t integer_of(std::string_view bytes) {
  std::uint64_t value = (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;  // The sign.
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

}  // namespace

Parameters::Parameters(const server::Values& values) {
  const auto add = [this](Oid type, std::optional<std::string> bytes) {
    types_.push_back(type);
    bytes_.push_back(std::move(bytes));
  };
  for (const server::Value& value : values.all()) {
    if (const auto* const number = std::get_if<std::optional<std::int64_t>>(&value)) {
      std::string bytes;
      if (*number) append(bytes, **number);
      add(kBigint, *number ? std::optional{std::move(bytes)} : std::nullopt);
    } else if (const auto* const text = std::get_if<std::string>(&value)) {
      add(kBytes, *text);
    } else if (const auto* const numbers = std::get_if<server::Numbers>(&value)) {
      add(kBigintArray, array(kBigint, *numbers));
    } else {
      add(kBytesArray, array(kBytes, std::get<server::Texts>(value)));
    }
  }
}

std::vector<const char*> Parameters::pointers() const {
  std::vector<const char*> pointers;
  pointers.reserve(bytes_.size());
  for (const auto& value : bytes_) pointers.push_back(value ? value->data() : nullptr);
  return pointers;
}

std::vector<int> Parameters::lengths() const {
  std::vector<int> lengths;
  lengths.reserve(bytes_.size());
  for (const auto& value : bytes_) lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  return lengths;
}

server::Rows rows_of(const PGresult* result) {
  const int columns = PQnfields(result);
  server::Rows rows(static_cast<std::size_t>(columns));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < columns; ++column) {
      const Oid type = PQftype(result, column);
      const std::string_view bytes{PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column))};
      if (PQgetisnull(result, row, column) != 0) {
        rows.add({});
      } else if (type == kBigint || type == kInteger || type == kSmallint) {
        rows.add(integer_of(bytes));
      } else {
        rows.add(std::string{bytes});
      }
    }
  }
  const std::string_view affected = PQcmdTuples(const_cast<PGresult*>(result));
  std::from_chars(affected.data(), affected.data() + affected.size(), rows.affected);
  rows.is_undone = std::string_view{PQcmdStatus(const_cast<PGresult*>(result))} == "ROLLBACK";
  return rows;
}

}  // namespace rondo::jobs::postgresql
