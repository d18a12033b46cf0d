// Values and Rows: the parameters of a statement and its answer in PostgreSQL's binary format, which carries any byte and any time. One
// thread.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/store_rows.h"
#include "rondo/base/time.h"

namespace rondo::jobs::postgresql {

/// The parameters $1, $2 and so on, in the order in which they are added.
class Values {
 public:
  Values& add(std::int64_t value);  // bigint
  Values& add(WallTime time) { return add(time.nanoseconds()); }
  Values& add(const std::optional<WallTime>& time);
  Values& add(std::string_view bytes);                                      // bytea
  Values& add_text(std::string_view utf8);                                  // text, without NUL
  Values& add(const std::vector<std::optional<std::int64_t>>& values);      // bigint[]
  Values& add(const std::vector<std::optional<std::string_view>>& values);  // bytea[]

  int size() const noexcept { return static_cast<int>(types_.size()); }
  const Oid* types() const noexcept { return types_.data(); }
  std::vector<const char*> pointers() const;
  std::vector<int> lengths() const;

 private:
  Values& add(Oid type, std::optional<std::string> bytes);
  std::vector<Oid> types_;
  std::vector<std::optional<std::string>> bytes_;
};

/// The answer of one statement.
class Rows {
 public:
  class Row final : public StoredRow {
   public:
    Row(const PGresult* result, int row) : result_(result), row_(row) {}
    bool is_integer(int column) const override;
    bool is_null(int column) const override { return PQgetisnull(result_, row_, column) != 0; }
    std::int64_t integer(int column) const override;
    std::string text(int column) const override;
    std::size_t bytes(int column) const override { return static_cast<std::size_t>(PQgetlength(result_, row_, column)); }

   private:
    const PGresult* result_;
    int row_;
  };

  explicit Rows(PGresult* result) : result_(result, PQclear) {}
  std::size_t size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }
  /// Valid as long as the answer.
  Row operator[](std::size_t row) const { return {result_.get(), static_cast<int>(row)}; }
  /// Rows that an INSERT, UPDATE or DELETE has changed.
  std::int64_t affected() const;
  /// What was executed, such as "COMMIT".
  std::string_view command() const { return PQcmdStatus(result_.get()); }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

}  // namespace rondo::jobs::postgresql
