// Completions: the source that reports the results of calls to writers and readers. A store posts a result here instead of calling back. So
// a callback never runs inside the call that took it, and it takes turns like all other work. Scheduler's thread.
#pragma once

#include <deque>
#include <string>
#include <variant>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"

namespace rondo::store {

class Completions final : public Source {
 public:
  /// Joins 'scheduler', and leaves it when destroyed; results not delivered by then are dropped.
  Completions(Scheduler& scheduler, std::string name, Priority priority);

  /// An empty callback is ignored.
  void post(WriteDone done, Status status);
  void post(GetDone done, Result<Record> record);
  void post(ScanDone done, Result<RowPage> page);

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !waiting_.empty(); }

 private:
  struct Write {
    WriteDone done;
    Status status;
  };
  struct Get {
    GetDone done;
    Result<Record> record;
  };
  struct Scan {
    ScanDone done;
    Result<RowPage> page;
  };
  using Completion = std::variant<Write, Get, Scan>;
  void push(Completion completion);

  std::deque<Completion> waiting_;
};

}  // namespace rondo::store
