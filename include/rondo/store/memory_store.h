// The embedded store: tables in this process's memory. It is the default and needs no server.
#pragma once

#include <memory>

#include "rondo/sched/priority.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// Makes an embedded store. Completions (WriteDone, GetDone, ScanDone) run at 'completions' in turns of a source of this scheduler, which
/// must outlive the store. Tables grow without a pause for rehashing (base/row_index.h): a write takes microseconds at worst, whatever the
/// size of the table. With keys in the order of a feed, a coalescing write costs about 0.3 us, a popped entry 0.1 us. In random order over
/// a million keys they cost about 1 us and 0.6 us, mostly cache misses (bench/staged_store).
std::unique_ptr<Store> make_memory_store(Scheduler& scheduler, Priority completions = Priority::p7);

}  // namespace rondo
