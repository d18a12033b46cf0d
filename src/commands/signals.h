// Signals: SIGTERM, SIGINT and SIGHUP as a source, so that a signal is handled in a turn like any other event. A handler of the process
// writes the signal into a pipe. So threads that the program started before do not matter, and its child processes inherit no blocked
// signals.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"

namespace rondo::commands {

/// Keeps the signals back until Signals::open(). For a program that must not end by a signal while it starts: call it first in main,
/// because threads inherit it.
Status hold_signals();

class Signals final : public Source {
 public:
  using Handler = std::function<void(int signal)>;
  /// Adds the source to 'scheduler', which must outlive it, and lets the signals in on this thread. AlreadyExists while the process has
  /// another one.
  static Result<std::unique_ptr<Signals>> open(Scheduler& scheduler, Handler handler);
  /// Restores what the signals did before.
  ~Signals() override;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !arrived_.empty(); }

 private:
  struct Before;
  Signals(UniqueFd reader, UniqueFd writer, Handler handler);
  Status take();

  const UniqueFd reader_;
  const UniqueFd writer_;
  const Handler handler_;
  std::unique_ptr<Before> before_;  // Null until the signals are ours.
  std::vector<int> arrived_;
};

}  // namespace rondo::commands
