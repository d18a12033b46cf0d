// NoticeRules: which events of the runs of jobs one section [[notify]] is told, and when. A job has at most one notice of each kind a
// minute: further ones are counted, and the next one has their number. It keeps nothing over a restart but what the owner reads from the
// store. O(log(jobs)) a run. Scheduler thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "admin/key_pattern.h"
#include "rondo/base/time.h"
#include "rondo/jobs/job_run.h"
#include "rondod/configuration/notify_choice.h"
#include "rondod/notify/notice.h"

namespace rondo::daemon {

/// Jobs that run commands for notifications begin with this. They bring no notices, so that a command that fails does not tell of itself.
inline constexpr std::string_view kNotifyPrefix = "notify/";

class NoticeRules {
 public:
  NoticeRules(const NotifyChoice& choice, std::function<void(Notice)> send);

  /// A run is due: its first attempt may begin.
  void due(const jobs::JobRun& run, Instant now, WallTime wall);
  void ended(const jobs::JobRun& run, Instant now);
  /// The newest run of a job that an earlier process ended has failed: its next success is a recovery.
  void failed_before(const std::string& job);
  /// Sends what the time has made due. 'waiting' returns the run if it has not begun since it was due, otherwise null.
  void poll(Instant now, WallTime wall, const std::function<const jobs::JobRun*(std::int64_t run)>& waiting);
  /// Events that limits::kNotifyJobs has kept back.
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  /// Of one job and one kind.
  struct Gate {
    Instant opens = {};
    std::optional<Notice> held = {};  // The newest one that waits for the gate.
    std::uint64_t more = 0;           // Before it.
  };
  struct Told {
    std::uint64_t failures = 0;  // In a row.
    std::array<Gate, 3> gates = {};
  };
  bool has(Event event) const;
  bool is_for(const std::string& job) const;
  /// Null if there are too many jobs.
  Told* told(const std::string& job);
  void tell(Gate& gate, Notice notice, Instant now);
  void late(const jobs::JobRun& run, Instant now, WallTime wall);

  const NotifyChoice choice_;
  const KeyPattern pattern_;
  const Duration late_;
  const std::function<void(Notice)> send_;
  std::map<std::string, Told> told_;                       // Jobs that fail, and those with a gate that is not open.
  std::set<std::pair<WallTime, std::int64_t>> late_from_;  // When runs that wait will be late.
  std::uint64_t dropped_ = 0;
};

}  // namespace rondo::daemon
