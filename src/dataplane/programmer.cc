#include "rondo/dataplane/programmer.h"

namespace rondo {

Programmer::Programmer(Scheduler& scheduler, DataPlane& plane, Options options)
    : plane_(plane),
      executor_(
          scheduler, [&plane](std::span<Operation> ops) { plane.apply(ops); },
          {.name = "programmer",
           .target = "the data plane",
           .mode = options.mode,
           .lanes = {1, 1},
           .priority = options.priority,
           .operations_max = options.ops_max,
           .batch_max = limits::kNetlinkBatch},
          options.watch, options.answers) {}

}  // namespace rondo
