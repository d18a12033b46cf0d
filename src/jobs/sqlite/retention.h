// RunRetention: removes old ended runs, by their age, and of jobs that have many. It counts the runs that are added, so that it looks only
// at jobs that may have too many; after a start it looks at each job once. By age it reads the old runs in the order of their ends, and
// begins again when it has read all of them. Two kinds of runs remain: the last one of its job that has begun and ended, because the fact
// job-succeeded rests on it; and one that a run without an end names as a parent. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jobs/sqlite/database.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::jobs::sqlite {

class RunRetention {
 public:
  /// 'database' must outlive it.
  explicit RunRetention(Database& database) : database_(database) {}

  void note_added(std::int64_t job_id) { ++added_[job_id]; }
  /// JobStore::forget(), in one transaction.
  Result<bool> remove_before(WallTime before, std::size_t max);
  /// JobStore::forget_beyond(), in one transaction. Reads at most some 50,000 entries of an index more than 'kept'.
  Result<bool> remove_beyond(std::size_t kept, std::size_t max);

 private:
  /// An ended run.
  struct Row {
    std::int64_t id = 0;
    std::int64_t job_id = 0;
    std::int64_t ended = 0;
    bool is_last = false;                      // Of the runs of its job that have begun, it was the last to end.
    std::optional<std::int64_t> instant = {};  // Of its schedule; empty for a triggered run.
  };
  /// A place in the order of the ends of runs: by time, then by id.
  struct EndPlace {
    std::int64_t ended = std::numeric_limits<std::int64_t>::min();
    std::int64_t id = 0;
  };
  /// A job that has too many runs.
  struct Trimmed {
    std::int64_t job_id = 0;
    std::int64_t after = 0;  // Runs up to this id were looked at.
    std::int64_t until = 0;  // Runs from this id on remain.
  };
  /// Appends runs to remove, at most 'max'.
  Status choose(std::size_t kept, std::size_t max, std::vector<Row>& rows);
  bool may_go(const Row& row) const { return !row.is_last && row.id <= newest_ && !needed_.contains(row.id); }
  Status remove_all(const std::vector<Row>& rows);
  /// What was chosen is not removed: the next calls begin again.
  void begin_again();
  /// Chooses the jobs of a pass, and notes which runs must remain.
  Status begin_pass(std::size_t kept);
  Status read_needed();
  /// The next job to look at; 0: none.
  Result<std::int64_t> next_job();
  /// Looks at jobs until one has too many runs.
  Status find_trimmed(std::size_t kept, std::size_t& budget);
  /// The rows of a statement that begins with SELECT and kRowColumns.
  static Result<std::vector<Row>> rows_of(Statement& statement);

  /// 3: Band::Manual.
  static constexpr const char* kRowColumns =
      "id, job, ended, CASE WHEN typeof(scheduled) = 'integer' AND band <> 3 AND rerun_of = 0 THEN scheduled END, begun IS NOT NULL AND id "
      "= "
      "(SELECT last.id FROM runs AS last WHERE last.job = runs.job AND last.begun IS NOT NULL AND last.ended IS NOT NULL "
      "AND last.state <> 0 ORDER BY last.ended DESC, last.id DESC LIMIT 1) FROM runs ";

  Database& database_;
  std::unordered_map<std::int64_t, std::size_t> added_;  // Runs by job since it was looked at.
  std::deque<std::int64_t> chosen_;                      // Jobs of this pass.
  std::int64_t first_check_ = 0;                         // Jobs up to this id were looked at since the start.
  bool has_checked_all_ = false;
  bool is_in_pass_ = false;
  Trimmed trimmed_;                          // job_id 0: none.
  EndPlace aged_to_;                         // Runs up to this place were looked at for their age.
  std::unordered_set<std::int64_t> needed_;  // Parents of runs without an end when the pass began.
  std::int64_t newest_ = 0;                  // The newest run when the pass began: a later run has no earlier parent.
  Statement next_with_runs_{database_, "SELECT min(job) FROM runs WHERE job > ?"};
  Statement newest_runs_{database_, "SELECT count(*), min(id) FROM (SELECT id FROM runs WHERE job = ? ORDER BY id DESC LIMIT ?)"};
  Statement ended_{database_, (std::string{"SELECT "} + kRowColumns +
                               "WHERE job = ? AND id > ? AND id < ? AND ended IS NOT NULL AND state <> 0 ORDER BY id LIMIT ?")
                                  .c_str()};
  Statement aged_{database_, (std::string{"SELECT "} + kRowColumns +
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
