// StoreMaker: opens a store when its scheduler exists.
#pragma once

#include <functional>
#include <memory>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"

namespace rondo::daemon {

using StoreMaker = std::function<Result<std::unique_ptr<Store>>(Scheduler&)>;

}  // namespace rondo::daemon
