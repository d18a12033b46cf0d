#include "message/scheduler_context.h"

#include <bit>
#include <new>

#include "message/agent_queue.h"
#include "message/agents_impl.h"
#include "message/limits.h"
#include "rondo/message/limits.h"

namespace rondo::message {

void SchedulerContext::enter() {
  scheduler.add(lifecycle);
  scheduler.add(*this);
}

void SchedulerContext::close() noexcept {
  lifecycle.close();
  if (add_again_.armed()) scheduler.timers().cancel(add_again_);
  scheduler.remove(*this);
}

void SchedulerContext::add(AgentQueue& queue) noexcept {
  bool must_check = false;
  {
    const std::lock_guard guard(lock);
    queues_[queue.priority().level()].store(&queue, std::memory_order_relaxed);
    must_check = posted(queue.priority());
  }
  if (must_check) scheduler.check_inboxes();
}

std::uint64_t SchedulerContext::hand_out() noexcept {
  std::uint64_t levels = 0;
  std::uint64_t came = 0;
  {
    const std::lock_guard guard(lock);
    clear();
    levels = std::exchange(posted_to_, 0);
    came = std::exchange(came_, 0);
  }
  for (; levels != 0; levels &= levels - 1) {
    wake(*queues_[static_cast<std::size_t>(std::countr_zero(levels))].load(std::memory_order_relaxed));
  }
  return came;
}

/// A new queue joins the scheduler. Without memory for that, its messages wait until it is tried again.
void SchedulerContext::wake(AgentQueue& queue) noexcept {
  if (queue.scheduler() != nullptr) return queue.wake();
  try {
    scheduler.add(queue);
  } catch (const std::bad_alloc&) {
    core.queue_retries.fetch_add(1, std::memory_order_relaxed);
    scheduler.timers().insert(add_again_, scheduler.clock().now() + limits::kAgentQueueRetry);
  }
}

void SchedulerContext::AddAgain::on_due() {
  for (const std::atomic<AgentQueue*>& place : context_.queues_) {
    AgentQueue* const queue = place.load(std::memory_order_relaxed);
    if (queue != nullptr && queue->scheduler() == nullptr) context_.wake(*queue);
  }
}

bool SchedulerContext::is_for(const Source& source) const noexcept {
  return queues_[source.priority().level()].load(std::memory_order_relaxed) == &source;
}

}  // namespace rondo::message
