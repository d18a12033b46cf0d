// StatementRow: the present row of an SQLite statement, as store_rows.h reads it; and the columns of runs with their jobs. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "jobs/sqlite/database.h"
#include "jobs/store_rows.h"

namespace rondo::jobs::sqlite {

class StatementRow final : public StoredRow {
 public:
  /// 'statement' must outlive it.
  explicit StatementRow(const Statement& statement) : statement_(statement) {}
  bool is_integer(int column) const override { return statement_.is_integer(column); }
  bool is_null(int column) const override { return statement_.is_null(column); }
  std::int64_t integer(int column) const override { return statement_.integer(column); }
  std::string text(int column) const override { return statement_.text(column); }
  std::size_t bytes(int column) const override { return statement_.bytes(column); }

 private:
  const Statement& statement_;
};

/// SELECT and the columns that read_run() reads; conditions may follow.
inline std::string select_runs() { return std::string{"SELECT "} + kRunColumns + "FROM runs JOIN jobs ON jobs.id = runs.job "; }

}  // namespace rondo::jobs::sqlite
