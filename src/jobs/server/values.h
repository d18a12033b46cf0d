// Values and Rows: the parameters of a statement and its answer, for any database server. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/store_rows.h"
#include "rondo/base/time.h"

namespace rondo::jobs::server {

using Numbers = std::vector<std::optional<std::int64_t>>;
using Texts = std::vector<std::optional<std::string_view>>;
/// A number or NULL, bytes, or an array of one of both.
using Value = std::variant<std::optional<std::int64_t>, std::string, Numbers, Texts>;

/// The parameters $1, $2 and so on, in the order in which they are added. The texts of an array must outlive them.
class Values {
 public:
  Values& add(std::int64_t value) { return push(std::optional{value}); }
  Values& add(WallTime time) { return add(time.nanoseconds()); }
  Values& add(const std::optional<WallTime>& time) { return time ? add(*time) : push(std::optional<std::int64_t>{}); }
  Values& add(std::string_view bytes) { return push(std::string{bytes}); }
  Values& add(Numbers numbers) { return push(std::move(numbers)); }
  Values& add(Texts texts) { return push(std::move(texts)); }

  const std::vector<Value>& all() const noexcept { return all_; }

 private:
  Values& push(Value value) {
    all_.push_back(std::move(value));
    return *this;
  }
  std::vector<Value> all_;
};

/// NULL, a number, or bytes.
using Cell = std::variant<std::monostate, std::int64_t, std::string>;

/// The answer of one statement.
class Rows {
 public:
  class Row final : public StoredRow {
   public:
    explicit Row(const Cell* cells) : cells_(cells) {}
    bool is_integer(int column) const override { return std::holds_alternative<std::int64_t>(cells_[column]); }
    bool is_null(int column) const override { return cells_[column].index() == 0; }
    std::int64_t integer(int column) const override { return is_integer(column) ? std::get<std::int64_t>(cells_[column]) : 0; }
    std::string text(int column) const override { return bytes(column) == 0 ? "" : std::get<std::string>(cells_[column]); }
    std::size_t bytes(int column) const override {
      const auto* const text = std::get_if<std::string>(&cells_[column]);
      return text == nullptr ? 0 : text->size();
    }

   private:
    const Cell* cells_;
  };

  Rows() = default;
  explicit Rows(std::size_t columns) : columns_(columns) {}
  /// Row by row.
  void add(Cell cell) { cells_.push_back(std::move(cell)); }

  std::size_t size() const noexcept { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  /// Valid as long as the answer.
  Row operator[](std::size_t row) const { return Row(&cells_[row * columns_]); }

  std::int64_t affected = 0;  // Rows that an INSERT, UPDATE or DELETE has changed.
  bool is_undone = false;     // A COMMIT undid the transaction, which had failed.

 private:
  std::size_t columns_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace rondo::jobs::server
