// RunRetention: removes the oldest ended runs of jobs that have many. It counts the runs that are added, so that it looks only at jobs that
// may have too many; after a start it looks at each job once. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jobs/sqlite/database.h"
#include "rondo/base/result.h"

namespace rondo::jobs::sqlite {

class RunRetention {
 public:
  /// 'database' must outlive it.
  explicit RunRetention(Database& database) : database_(database) {}

  void note_added(std::int64_t job_id) { ++added_[job_id]; }
  /// JobStore::forget_beyond(), in one transaction. Reads at most some 50,000 entries of an index more than 'kept'.
  Result<bool> remove(std::size_t kept, std::size_t max);

 private:
  /// A job that has too many runs.
  struct Trimmed {
    std::int64_t job_id = 0;
    std::int64_t after = 0;  // Runs up to this id were looked at.
    std::int64_t until = 0;  // Runs from this id on remain.
  };
  /// Appends the ids of runs to remove, at most 'max'.
  Status choose(std::size_t kept, std::size_t max, std::vector<std::int64_t>& ids);
  /// Chooses the jobs of a pass, and notes which runs must remain.
  Status begin_pass(std::size_t kept);
  Status read_needed();
  /// The next job to look at; 0: none.
  Result<std::int64_t> next_job();
  /// Looks at jobs until one has too many runs.
  Status find_trimmed(std::size_t kept, std::size_t& budget);
  /// The ids of the next runs of the job that is trimmed; empty: it has none any more.
  Result<std::vector<std::int64_t>> page_of_trimmed(std::size_t max);

  Database& database_;
  std::unordered_map<std::int64_t, std::size_t> added_;  // Runs by job since it was looked at.
  std::deque<std::int64_t> chosen_;                      // Jobs of this pass.
  std::int64_t first_look_ = 0;                          // Jobs up to this id were looked at since the start.
  bool has_looked_at_all_ = false;
  bool is_in_pass_ = false;
  Trimmed trimmed_;                          // job_id 0: none.
  std::unordered_set<std::int64_t> needed_;  // Parents of runs without an end, as of the begin of the pass,
  std::int64_t newest_ = 0;                  // and the newest run then: a later run has no earlier parent.
  Statement next_with_runs_{database_, "SELECT min(job) FROM runs WHERE job > ?"};
  Statement newest_runs_{database_, "SELECT count(*), min(id) FROM (SELECT id FROM runs WHERE job = ? ORDER BY id DESC LIMIT ?)"};
  Statement ended_{database_,
                   "SELECT id FROM runs WHERE job = ? AND id > ? AND id < ? AND ended IS NOT NULL AND state <> 0 ORDER BY id LIMIT ?"};
  Statement parents_{database_, "SELECT parents FROM runs WHERE state = 0 AND parents <> ''"};
  Statement newest_id_{database_, "SELECT max(id) FROM runs"};
  Statement remove_{database_, "DELETE FROM runs WHERE id = ?"};
};

}  // namespace rondo::jobs::sqlite
