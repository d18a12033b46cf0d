// Signals: SIGTERM, SIGINT, SIGHUP as a source, so that a signal is handled in a turn like any other event.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"

namespace rondo::daemon {

/// Call first in main, before any thread is created: threads inherit the mask.
Status block_signals();

class Signals final : public Source {
 public:
  using Handler = std::function<void(int signal)>;
  /// Adds the source to 'scheduler', which must outlive it.
  static Result<std::unique_ptr<Signals>> open(Scheduler& scheduler, Handler handler);
  ~Signals() override;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !arrived_.empty(); }

 private:
  Signals(int fd, Handler handler);
  int fd_;
  Handler handler_;
  std::vector<int> arrived_;
};

}  // namespace rondo::daemon
