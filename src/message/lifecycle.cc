#include "message/lifecycle.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "message/agents_impl.h"
#include "message/limits.h"
#include "rondo/base/limits.h"
#include "rondo/message/limits.h"

namespace rondo::message {

Lifecycle::Lifecycle(SchedulerContext& context) : Source("agents: start and finish", Priority{limits::kPriorities - 1}), context_(context) {
  go_before_all();
}

void Lifecycle::request(AgentState& agent, std::uint8_t what) noexcept {
  {
    const std::lock_guard guard(lock_);
    if (closed_) return;
    if ((what & AgentState::kRemoveAtOnce) != 0) agent.stops.store(true, std::memory_order_relaxed);
    if (agent.wanted == 0) {
      agent.lifecycle_next = nullptr;
      (last_ != nullptr ? last_->lifecycle_next : first_) = &agent;
      last_ = &agent;
      ++waiting_;
      agent.acquire();
    }
    agent.wanted = static_cast<std::uint8_t>(agent.wanted | what);
    wakers_.fetch_add(1, std::memory_order_relaxed);
  }
  wake_from_any_thread();
  wakers_.fetch_sub(1, std::memory_order_release);
}

bool Lifecycle::has_backlog() const { return depth() > 0; }

std::size_t Lifecycle::depth() const {
  const std::lock_guard guard(lock_);
  return waiting_;
}

AgentState* Lifecycle::pop(std::uint8_t& wanted) noexcept {
  const std::lock_guard guard(lock_);
  AgentState* const agent = first_;
  if (agent == nullptr) return nullptr;
  first_ = agent->lifecycle_next;
  if (first_ == nullptr) last_ = nullptr;
  --waiting_;
  wanted = std::exchange(agent->wanted, std::uint8_t{0});
  return agent;
}

Turn Lifecycle::run(const Budget& budget) {
  const InTurn in_turn(context_);
  Turn turn;
  std::uint8_t wanted = 0;
  while (turn.items < std::min(budget.items, limits::kAgentLifePerTurn)) {
    AgentState* const agent = pop(wanted);
    if (agent == nullptr) break;
    serve(*agent, wanted);
    agent->release();
    ++turn.items;
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

void Lifecycle::serve(AgentState& agent, std::uint8_t wanted) noexcept {
  if ((wanted & AgentState::kRemoveAtOnce) != 0) finish(agent);
  if ((wanted & AgentState::kRemoveAfterQueue) != 0 && agent.stage != AgentState::Stage::Gone && !agent.draining) {
    agent.draining = true;
    agent.queue->drop_superseded();  // No further ones arrive, because the agent accepts nothing; they must not delay its end.
    context_.scheduler.timers().insert(agent.drain_timer, context_.scheduler.clock().now() + context_.core.options.drain);
  }
  if ((wanted & AgentState::kStart) != 0) start(agent);
  if (agent.draining && agent.stage == AgentState::Stage::Running && agent.has_nothing_left()) finish(agent);
}

void Lifecycle::start(AgentState& agent) noexcept {
  // An agent that ended before its start was removed with its whole group, so no lower agent of it starts.
  if (agent.stage != AgentState::Stage::Made) return;
  GroupState& group = *agent.group;
  try {
    agent.start();
  } catch (...) {
    context_.core.report_fault(agent, "start", std::current_exception(), Reaction::StopAgent);
    context_.core.stop_group(group);
    return;
  }
  agent.stage = AgentState::Stage::Running;
  agent.queue->put_in_order(agent.early);
  const std::size_t number = group.next_start.load(std::memory_order_relaxed) + 1;
  group.next_start.store(number, std::memory_order_relaxed);
  if (number < group.agents.size()) {
    AgentState& next = *group.agents[number];
    next.queue->context().lifecycle.request(next, AgentState::kStart);
  }
}

void Lifecycle::finish(AgentState& agent) noexcept {
  if (agent.stage == AgentState::Stage::Gone) return;
  agent.acquire();
  if (agent.drain_timer.armed()) context_.scheduler.timers().cancel(agent.drain_timer);
  agent.queue->set_accepting(agent, false);
  if (agent.stage == AgentState::Stage::Running) {
    try {
      agent.finish();
    } catch (...) {
      context_.core.report_fault(agent, "finish", std::current_exception(), Reaction::Drop);
    }
  }
  agent.stage = AgentState::Stage::Gone;
  delete std::exchange(agent.agent, nullptr);
  agent.queue->discard_parked(agent);
  agent.queue->discard_early(agent);
  context_.core.gone(agent);
  if (!agent.forgotten && agent.has_nothing_left()) context_.core.forget(agent);
  agent.release();
}

void Lifecycle::close() noexcept {
  AgentState* left = nullptr;
  {
    const std::lock_guard guard(lock_);
    closed_ = true;
    left = std::exchange(first_, nullptr);
    last_ = nullptr;
    waiting_ = 0;
  }
  while (wakers_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  if (scheduler() != nullptr) scheduler()->remove(*this);
  while (left != nullptr) std::exchange(left, left->lifecycle_next)->release();
}

}  // namespace rondo::message
