// GroupState: a group that was added: its agents in the order in which they start, and how many have not gone. Guarded by the lock of
// Core, except 'next_start'. The thread that starts an agent writes that, and it passes from thread to thread with the start itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "message/cell.h"

namespace rondo::message {

struct GroupState {
  std::uint64_t number = 0;
  std::vector<Cell*> cells;  // Highest priority first; equals in the order in which they were made. Each holds a reference.
  std::atomic<std::size_t> next_start{0};
  std::size_t left = 0;
  std::function<void()> done;
};

}  // namespace rondo::message
