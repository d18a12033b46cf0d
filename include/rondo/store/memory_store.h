// The embedded store: tables in this process's memory. The default; no server.
#pragma once

#include <memory>

#include "rondo/sched/priority.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// Completions (WriteDone, GetDone, ScanDone) run in turns of a source of this scheduler, which must outlive the store, at 'completions'.
/// Tables grow without a pause for rehashing (store/row_index.h): a write takes microseconds at worst, whatever the size of the table. In
/// the order of a feed a coalescing write costs about 0.3 us, a popped entry 0.1 us; in random order over a million keys about 1 us and 0.6
/// us, nearly all of it cache misses (bench/staged_store).
std::unique_ptr<Store> make_memory_store(Scheduler& scheduler, Priority completions = Priority::p7);

}  // namespace rondo
