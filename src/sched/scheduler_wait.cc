// How the scheduler waits while no source is ready, and what ends the wait. See scheduler.cc for the rest.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "rondo/base/assert.h"
#include "rondo/sched/scheduler.h"
#include "sched/scheduler_inside.h"

namespace rondo {

void Scheduler::poll() {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: a turn polls or waits; a handler returns, and wakes a source for what is to come");
  const Inside inside(*this);
  gather(Instant{});
}

void Scheduler::stop() noexcept {
  stop_.store(true, std::memory_order_seq_cst);
  reactor_.interrupt();
}

std::uint64_t Scheduler::count_ready() const noexcept {
  std::uint64_t ready = 0;
  for (const Source* source = first_added_; source != nullptr; source = source->added_next_) {
    if (source->is_ready()) ++ready;
  }
  return ready;
}

void Scheduler::wait(Instant deadline) {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: a turn polls or waits; a handler returns, and wakes a source for what is to come");
  const Inside inside(*this);
  while (!anybody_is_ready() && !stopping()) {
    const Instant until = std::min({deadline, next_sweep_, next_timer()});
    gather(until);
    if (now_ >= deadline) return;
  }
}

void Scheduler::expect_same_process(std::string_view call) const {
  RONDO_EXPECT(::getpid() == process_, std::string{call} +
                                           " was called in a child process, made by fork() or daemon(3) after the Runtime was " +
                                           "opened in process " + std::to_string(process_) +
                                           ": the child has no threads and would lose accepted rows; open the Runtime after the fork");
}

// The steps A and B of poll_events(), with the foreign loop's wait instead of the reactor's.
Instant Scheduler::before_foreign_wait() {
  expect_same_process("Scheduler::before_foreign_wait");
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: a turn polls or waits; a handler returns, and wakes a source for what is to come");
  const Inside inside(*this);
  sleeping_.store(true, std::memory_order_seq_cst);
  const bool listed = remote_head_.load(std::memory_order_seq_cst) != nullptr || remote_pending_ != nullptr;
  if (listed || inboxes_have_any() || anybody_is_ready()) return Instant{};
  return std::min(next_sweep_, next_timer());
}

}  // namespace rondo
