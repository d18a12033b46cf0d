// AsyncRun::State: what the copies of an AsyncRun share. Scheduler thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/jobs/async_run.h"

namespace rondo::jobs {

/// How far a run is, as its handler reported last.
struct Progress {
  unsigned percent = 0;   // 0 to 100.
  std::string text = {};  // At most limits::kRunNote bytes.
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct Core;
class AsyncRuns;

struct AsyncRun::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  /// The handler dropped its last copy: a handler that works elsewhere has gone away.
  ~State();

  void end(Status result, std::string of_note);
  void put_back();
  void leave();
  void request_stop();
  /// 'of_begin': as 'waits'.
  void change_begin(std::optional<std::string> of_begin);
  /// Ends the process while the attempt is open if this is another thread than the runtime's. 'call': what was called.
  void expect_here(std::string_view call) const;

  const Core* core = nullptr;  // Valid while 'owner' is set, and within a call of Jobs.
  AsyncRuns* owner = nullptr;  // Null after the end, and when the end no longer counts.
  std::int64_t run = 0;
  std::shared_ptr<const Job> job;
  WallTime scheduled;
  std::uint32_t number = 0;
  WallTime begun;
  std::optional<WallTime> ended = {};  // By the handler's report.
  std::string place = {};
  std::string trouble = {};
  std::optional<std::string> waits = {};  // For what the begin of the work waits, for people. Empty: it has begun.
  bool is_stop_requested = false;
  bool was_stop_called = false;  // A function of AsyncRun::on_stop() was.
  std::function<void()> stop;
  Progress progress;
  Status status;
  std::string note;
  bool is_put_back = false;  // In place of 'status' and 'note'.
};

}  // namespace rondo::jobs
