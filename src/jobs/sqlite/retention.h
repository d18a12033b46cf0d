// SqliteRetention: the queries of RunRetention to an SQLite database. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jobs/run_retention.h"
#include "jobs/sqlite/database.h"

namespace rondo::jobs::sqlite {

class SqliteRetention final : public RetentionQueries {
 public:
  /// 'database' must outlive it.
  explicit SqliteRetention(Database& database) : database_(database) {}

  Result<std::vector<EndedRun>> ended_before(EndPlace after, WallTime before, std::size_t max) override;
  Result<std::vector<EndedRun>> ended_of(std::int64_t job_id, std::int64_t after, std::int64_t until, std::size_t max) override;
  Result<std::int64_t> newest_run() override { return number(newest_id_); }
  Status read_parents(const std::function<void(const std::string& parents)>& use) override;
  Result<std::int64_t> next_job_with_runs(std::int64_t after) override { return number(next_with_runs_.bind(after)); }
  Result<Newest> newest_runs(std::int64_t job_id, std::size_t max) override;
  Status remove(const Removal& removal) override;

 private:
  /// The rows of a statement that begins with SELECT and kColumns.
  static Result<std::vector<EndedRun>> rows_of(Statement& statement);
  /// The first column of the only row; 0 for NULL.
  static Result<std::int64_t> number(Statement& statement);

  /// 3: Band::Manual.
  static constexpr const char* kColumns =
      "id, job, ended, CASE WHEN typeof(scheduled) = 'integer' AND band <> 3 AND rerun_of = 0 THEN scheduled END, begun IS NOT NULL AND id "
      "= "
      "(SELECT last.id FROM runs AS last WHERE last.job = runs.job AND last.begun IS NOT NULL AND last.ended IS NOT NULL "
      "AND last.state <> 0 ORDER BY last.ended DESC, last.id DESC LIMIT 1) FROM runs ";

  Database& database_;
  Statement next_with_runs_{database_, "SELECT min(job) FROM runs WHERE job > ?"};
  Statement newest_runs_{database_, "SELECT count(*), min(id) FROM (SELECT id FROM runs WHERE job = ? ORDER BY id DESC LIMIT ?)"};
  Statement ended_{database_, (std::string{"SELECT "} + kColumns +
                               "WHERE job = ? AND id > ? AND id < ? AND ended IS NOT NULL AND state <> 0 ORDER BY id LIMIT ?")
                                  .c_str()};
  Statement aged_{database_, (std::string{"SELECT "} + kColumns +
                              "WHERE ended IS NOT NULL AND (ended, id) > (?, ?) AND ended < ? AND state <> 0 ORDER BY ended, id LIMIT ?")
                                 .c_str()};
  Statement parents_{database_, "SELECT parents FROM runs WHERE state = 0 AND parents <> ''"};
  Statement newest_id_{database_, "SELECT max(id) FROM runs"};
  Statement remove_{database_, "DELETE FROM runs WHERE id = ?"};
  Statement note_removed_{database_,
                          "INSERT INTO removed_instants (job, first, last) VALUES (?, ?, ?) "
                          "ON CONFLICT (job) DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)"};
};

}  // namespace rondo::jobs::sqlite
