#include "rondo/dataplane/programmer.h"
#include "rondo/dataplane/limits.h"

namespace rondo {

Programmer::Programmer(Scheduler& scheduler, DataPlane& plane, Options options)
    : plane_(plane),
      on_refused_(std::move(options.on_refused)),
      reword_(std::move(options.reword)),
      executor_(
          scheduler, [this](std::span<Operation> ops) { apply(ops); },
          {.name = "programmer",
           .target = "the data plane",
           .mode = options.mode,
           .lanes = {1, 1},
           .priority = options.priority,
           .operations_max = options.ops_max,
           .batch_max = limits::kNetlinkBatch},
          options.observer, options.answers) {}

Programmer::Done Programmer::reworded(Done done) const {
  return [this, done = std::move(done)](std::span<Operation> ops) {
    for (Operation& op : ops) {
      if (!op.status.ok()) op.status = reword_(op.status);
    }
    done(ops);
  };
}

void Programmer::apply(std::span<Operation> ops) {
  plane_.apply(ops);
  for (const Operation& op : ops) {
    if (op.status.ok()) continue;
    if (op.status.code() == StatusCode::NotFound && is_delete(op.order)) {
      gone_deletes_.fetch_add(1, std::memory_order_relaxed);
    } else if (on_refused_) {
      on_refused_(op);
    }
  }
}

}  // namespace rondo
