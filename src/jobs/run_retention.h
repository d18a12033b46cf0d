// RunRetention: removes old ended runs, by their age, and of jobs that have many. It counts the runs that are added, so that it checks only
// jobs that may have too many; after a start it checks each job once. By age it reads the old runs in the order of their ends, and
// begins again when it has read all of them. Two kinds of runs remain: the last one of its job that has begun and ended, because the fact
// job-succeeded rests on it; and one that a run without an end names as a parent. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::jobs {

/// An ended run.
struct EndedRun {
  std::int64_t id = 0;
  std::int64_t job_id = 0;
  std::int64_t ended = 0;
  bool is_last = false;                      // No run of its job that has begun ended later.
  std::optional<std::int64_t> instant = {};  // A scheduled one; empty for a triggered run.
};

/// A place in the order of the ends of runs: by time, then by id.
struct EndPlace {
  std::int64_t ended = std::numeric_limits<std::int64_t>::min();
  std::int64_t id = 0;
};

/// The queries of RunRetention to a database.
class RetentionQueries {
 public:
  struct Newest {
    std::size_t count = 0;
    std::int64_t oldest = 0;
  };
  struct Removal {
    std::vector<std::int64_t> runs;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> instants;  // By job: the first and the last one that is removed.
  };
  virtual ~RetentionQueries() = default;
  /// At most 'max' ended runs behind 'after' that ended before 'before', in the order of EndPlace.
  virtual Result<std::vector<EndedRun>> ended_before(EndPlace after, WallTime before, std::size_t max) = 0;
  /// At most 'max' ended runs of a job with ids between 'after' and 'until', in the order of their ids.
  virtual Result<std::vector<EndedRun>> ended_of(std::int64_t job_id, std::int64_t after, std::int64_t until, std::size_t max) = 0;
  /// The highest id of a run; 0: there is none.
  virtual Result<std::int64_t> newest_run() = 0;
  /// Calls 'use' with the column 'parents' of each run without an end that has parents.
  virtual Status read_parents(const std::function<void(const std::string& parents)>& use) = 0;
  /// The lowest id above 'after' of a job that has runs; 0: there is none.
  virtual Result<std::int64_t> next_job_with_runs(std::int64_t after) = 0;
  /// How many runs a job has, at most 'max', and the oldest of the newest 'max'.
  virtual Result<Newest> newest_runs(std::int64_t job_id, std::size_t max) = 0;
  /// Removes runs, and widens the removed instants of their jobs. One transaction.
  virtual Status remove(const Removal& removal) = 0;
};

class RunRetention {
 public:
  /// 'queries' must outlive it.
  explicit RunRetention(RetentionQueries& queries) : queries_(queries) {}

  void note_added(std::int64_t job_id) { ++added_[job_id]; }
  /// JobStore::forget(), in one transaction.
  Result<bool> remove_before(WallTime before, std::size_t max);
  /// JobStore::forget_beyond(), in one transaction. Reads at most some 50,000 entries of an index more than 'kept'.
  Result<bool> remove_beyond(std::size_t kept, std::size_t max);

 private:
  /// A job that has too many runs.
  struct Trimmed {
    std::int64_t job_id = 0;
    std::int64_t after = 0;  // Runs up to this id were read.
    std::int64_t until = 0;  // Runs from this id on remain.
  };
  /// Appends runs to remove, at most 'max'.
  Status choose(std::size_t kept, std::size_t max, std::vector<EndedRun>& rows);
  bool may_go(const EndedRun& row) const { return !row.is_last && row.id <= newest_ && !needed_.contains(row.id); }
  Status remove_all(const std::vector<EndedRun>& rows);
  /// What was chosen is not removed: the next calls begin again.
  void begin_again();
  /// Chooses the jobs of a pass, and notes which runs must remain.
  Status begin_pass(std::size_t kept);
  Status read_needed();
  /// The next job to check; 0: none.
  Result<std::int64_t> next_job();
  /// Checks jobs until one has too many runs.
  Status find_trimmed(std::size_t kept, std::size_t& budget);

  RetentionQueries& queries_;
  std::unordered_map<std::int64_t, std::size_t> added_;  // Runs by job since it was checked.
  std::deque<std::int64_t> chosen_;                      // Jobs of this pass.
  std::int64_t first_check_ = 0;                         // Jobs up to this id were checked since the start.
  bool has_checked_all_ = false;
  bool is_in_pass_ = false;
  Trimmed trimmed_;                          // job_id 0: none.
  EndPlace aged_to_;                         // Runs up to this place were read for their age.
  std::unordered_set<std::int64_t> needed_;  // Parents of runs without an end when the pass began.
  std::int64_t newest_ = 0;                  // The newest run when the pass began: a later run has no earlier parent.
};

}  // namespace rondo::jobs
