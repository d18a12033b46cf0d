#include "message/agent_queue.h"

#include <algorithm>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "message/agents_impl.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/message/limits.h"

namespace rondo::message {

namespace {
/// A watch that throws must not cost the agents of a priority their turns.
void report_to(MessageWatch& watch, const AgentState& agent) noexcept {
  try {
    watch.handling(agent.name);
  } catch (...) {  // The watch misses this message.
  }
}
}  // namespace

AgentQueue::AgentQueue(std::shared_ptr<SchedulerContext> context, Priority priority, std::size_t messages_max)
    : Source("messages p" + std::to_string(priority.level()), priority),
      context_(std::move(context)),
      watch_(context_->core.options.watch),
      clock_(&context_->scheduler.clock()),
      real_time_(dynamic_cast<const SystemClock*>(clock_) != nullptr),
      pool_(std::min(messages_max, SIZE_MAX - limits::kMessagePlacesKept) + limits::kMessagePlacesKept) {
  freed_.reserve(limits::kMessagePlacesKept);
  note_oldest();
}

AgentQueue::~AgentQueue() { RONDO_ASSERT(taken_.empty() && waiting_.empty() && superseded_.first == nullptr); }

// --- Posting

Status AgentQueue::post(AgentState& agent, const Handler& handler, void* stored) {
  const Verdict verdict = put(agent, handler, stored);
  if (verdict <= Verdict::Settled) [[likely]]
    return {};
  return refusal(agent, handler, verdict);
}

StatusCode AgentQueue::offer(AgentState& agent, const Handler& handler, void* stored) { return code_of(put(agent, handler, stored)); }

StatusCode AgentQueue::code_of(Verdict verdict) noexcept {
  if (verdict <= Verdict::Settled) return StatusCode::Ok;
  return verdict == Verdict::Gone ? StatusCode::NotFound : StatusCode::ResourceExhausted;
}

AgentQueue::Verdict AgentQueue::put(AgentState& agent, const Handler& handler, void* stored) {
  const bool in_turn = context_->is_in_turn() && scheduler() != nullptr;
  Instant now = in_turn ? context_->scheduler.now() : real_time_ ? system_clock_.now() : Instant{};
  Verdict verdict = Verdict::Queue;
  bool must_check = false;
  bool must_act = false;
  {
    const std::lock_guard guard(lock());
    if (closed_ || !agent.accepting.load(std::memory_order_relaxed)) return Verdict::Gone;
    if (!in_turn && !real_time_) now = clock_->now();  // A clock of the program exists as long as this queue is open.
    const Admission admission = admit(agent, handler, stored);
    verdict = admission.verdict;
    if (verdict == Verdict::Queue) {
      enqueue(admission, agent, handler, stored, now);
      if (!in_turn) must_check = context_->posted(agent.priority);
    }
    must_act = must_check || verdict > Verdict::Reject;
    if (must_act) wakers_.fetch_add(1, std::memory_order_relaxed);
  }
  if (in_turn && verdict == Verdict::Queue && !running_ && !is_ready()) wake();
  if (must_act) {  // Without the lock, because it writes to a descriptor or calls a user's function. close() waits for it.
    if (must_check) context_->scheduler.check_inboxes();
    act(agent, verdict);
    wakers_.fetch_sub(1, std::memory_order_release);
  }
  return verdict;
}

void AgentQueue::enqueue(const Admission& admission, AgentState& agent, const Handler& handler, void* stored, Instant now) noexcept {
  Node& node = *admission.node;
  (admission.replaces ? handler.type->exchange : handler.type->move)(node.payload, stored);
  node.agent = &agent;
  node.handler = &handler;
  node.arrival = context_->scheduler.next_arrival();
  node.enqueued = now;
  node.attempts = 0;
  node.dropped = false;
  node.is_parked = false;
  if (handler.limit != nullptr) handler.limit->enter(node);
  waiting_.push(node);
  if (admission.replaces) return;
  bump(agent.figures.posted);
  bump(own_.posted);
}

/// Under the lock. Drops an old message only after the new one has a node.
AgentQueue::Admission AgentQueue::admit(AgentState& agent, const Handler& handler, void* stored) {
  Node* waiting = nullptr;
  if (handler.limit != nullptr) {
    TypeLimit& limit = *handler.limit;
    if (limit.merges()) waiting = limit.find(stored);
    if (waiting != nullptr && !waiting->is_parked) {
      limit.type().exchange(waiting->payload, stored);
      waiting->attempts = 0;
      agent.figures.coalesced.fetch_add(1, std::memory_order_relaxed);
      return {Verdict::Settled};
    }
    if (waiting == nullptr && limit.full()) {
      switch (limit.limit().overflow) {
        case Overflow::Reject: return {refuse(agent, Verdict::Reject)};
        case Overflow::StopAgent: return {refuse(agent, Verdict::StopAgent)};
        case Overflow::StopRuntime: return {refuse(agent, Verdict::StopRuntime)};
        case Overflow::DropNewest: agent.figures.dropped.fetch_add(1, std::memory_order_relaxed); return {Verdict::Settled};
        case Overflow::DropOldest: return drop_oldest(agent, limit);
      }
    }
  }
  Node* const node = pool_.take();
  if (node == nullptr) return {refuse(agent, Verdict::Full)};
  // An older message of this key waits for a retry. Handled after the newer one, it would overwrite the newer value.
  if (waiting != nullptr) supersede(*waiting->parked, agent.figures.coalesced);
  return {.node = node};
}

/// Takes the oldest message out so that the new one can use its node. A message that was taken for handling, or is parked, is only marked.
AgentQueue::Admission AgentQueue::drop_oldest(AgentState& agent, TypeLimit& limit) noexcept {
  // Parked messages have been at the head of the queue before, so they are the oldest.
  ParkedMessage* const parked = limit.oldest_parked();
  Node* const oldest = parked == nullptr ? &limit.oldest() : nullptr;
  const bool still_waits = oldest != nullptr && oldest->arrival > last_taken_;
  Node* const node = still_waits ? oldest : pool_.take();
  if (node == nullptr) return {refuse(agent, Verdict::Full)};
  if (parked != nullptr) {
    supersede(*parked, agent.figures.dropped);
    return {.node = node};
  }
  agent.figures.dropped.fetch_add(1, std::memory_order_relaxed);
  limit.leave(*oldest);
  if (still_waits) {
    waiting_.unlink(*oldest);
  } else {
    oldest->dropped = true;
  }
  return {.node = node, .replaces = still_waits};
}

/// A newer message replaces 'parked'. Under the lock; the scheduler's thread does the rest.
void AgentQueue::supersede(ParkedMessage& parked, Counter& counted) noexcept {
  parked.node().handler->limit->leave(parked);
  parked.is_superseded = true;
  superseded_.push(parked);
  counted.fetch_add(1, std::memory_order_relaxed);
}

AgentQueue::Verdict AgentQueue::refuse(AgentState& agent, Verdict verdict) noexcept {
  agent.figures.refused.fetch_add(1, std::memory_order_relaxed);
  return verdict;
}

void AgentQueue::act(AgentState& agent, Verdict verdict) {
  if (verdict == Verdict::StopAgent) context_->core.stop_group(*agent.group);
  if (verdict == Verdict::StopRuntime) context_->core.stop_all();
}

Status AgentQueue::refusal(const AgentState& agent, const Handler& handler, Verdict verdict) const {
  std::string what = "message " + name_of(*handler.type) + " to agent '" + agent.name + "': ";
  switch (verdict) {
    case Verdict::Full: what += "the queue of its priority is full"; break;
    case Verdict::Gone: what += "the agent has gone or was stopped, or was not added yet"; break;
    case Verdict::StopAgent: what += "too many wait, and the agent is stopped"; break;
    case Verdict::StopRuntime: what += "too many wait, and the runtime is stopped"; break;
    default: what += std::to_string(handler.limit->limit().most) + " wait already, which is its limit"; break;
  }
  return {code_of(verdict), std::move(what)};
}

// --- Handling

/// Takes all waiting messages for handling, if those taken before are handled. Returns false if there are none.
bool AgentQueue::take() noexcept {
  const std::lock_guard guard(lock());
  for (Node* const node : freed_) pool_.give_back(*node);
  freed_.clear();
  if (waiting_.empty()) return false;
  last_taken_ = waiting_.last->arrival;
  taken_ = std::exchange(waiting_, {});
  return true;
}

bool AgentQueue::has_backlog() const {
  const std::lock_guard guard(lock());
  return !taken_.empty() || !waiting_.empty();
}

std::uint64_t AgentQueue::head_arrival() const {
  if (!taken_.empty()) return taken_.first->arrival;
  const std::lock_guard guard(lock());
  return waiting_.empty() ? 0 : waiting_.first->arrival;
}

Turn AgentQueue::run(const Budget& budget) {
  const InTurn in_turn(*context_);
  const Scheduler& scheduler = context_->scheduler;
  running_ = true;
  now_ = scheduler.now();
  const Instant end = now_ + std::min(budget.time, limits::kMessagesTurn);
  Turn turn;
  while (turn.items < budget.items && (!taken_.empty() || take())) {
    if (taken_.first->arrival >= budget.before) break;
    if (!handle(taken_.pop())) break;
    ++turn.items;
    if (scheduler.has_news(*this)) [[unlikely]]
      break;
    if (turn.items % limits::kItemsPerStep == 0 || long_items_) {
      if (turn_time_is_up(end) || should_yield()) break;
    } else if (scheduler.policy().prefers_another()) {  // Read each time, because a handler may have set another policy.
      break;
    }
  }
  turn.backlog = !taken_.empty() || take() ? Backlog::More : Backlog::Empty;
  note_oldest();
  running_ = false;
  return turn;
}

/// Reading the clock and polling the reactor cost as much as a short item, so this runs after each item only if items are long. It updates
/// 'long_items_' before the turn may end, because the next turn uses that.
bool AgentQueue::turn_time_is_up(Instant end) noexcept {
  note_oldest();
  const Instant before = std::exchange(now_, context_->scheduler.clock().now());
  const Duration took = now_ - before;
  if (!long_items_) {
    long_items_ = took > limits::kPollAfter * limits::kItemsPerStep;
    short_items_ = 0;
  } else {
    short_items_ = took > limits::kPollAfter ? 0 : short_items_ + 1;
    long_items_ = short_items_ < limits::kItemsPerStep;
  }
  if (now_ < end) return false;
  bump(cut_turns_);
  return true;
}

/// Returns false if the message was dropped after it was taken.
bool AgentQueue::take_from_limit(Node& node) noexcept {
  if (node.handler->limit == nullptr) [[likely]]
    return true;
  const std::lock_guard guard(lock());
  if (node.dropped) return false;
  node.handler->limit->leave(node);
  return true;
}

/// Returns false if the turn must end before 'node', which then stays where it was.
bool AgentQueue::handle(Node& node) {
  AgentState& agent = *node.agent;
  if (agent.stage != AgentState::Stage::Running || agent.stops.load(std::memory_order_relaxed)) [[unlikely]]
    return !has_to_wait(node);
  const Handler& handler = *node.handler;
  if (take_from_limit(node)) [[likely]] {
    agent.figures.wait.add(static_cast<std::uint64_t>(std::max<std::int64_t>((now_ - node.enqueued).count(), 0)));
    if (watch_ != nullptr) [[unlikely]]
      report_to(*watch_, agent);
    Fate fate = Fate::Served;
    try {
      handler.call(handler.object, node.payload);
    } catch (...) {
      fate = failed(node);
    }
    if (fate == Fate::Parked) [[unlikely]]
      return true;
    if (fate == Fate::Served) [[likely]]
      bump(agent.figures.served);
  }
  free(node);
  if (agent.draining && agent.has_nothing_left()) context_->lifecycle.finish(agent);
  return true;
}

/// The agent of 'node' does not run yet. Returns true if it will as soon as this turn has ended; the messages behind 'node' must then wait
/// too. If another thread must first start another agent, the messages of other agents do not wait for that.
bool AgentQueue::has_to_wait(Node& node) {
  AgentState& agent = *node.agent;
  if (agent.stage != AgentState::Stage::Made || agent.stops.load(std::memory_order_relaxed)) {
    discard_early(agent);
    discard(node);
    return false;
  }
  const GroupState& group = *agent.group;
  const std::size_t next = group.next_start.load(std::memory_order_relaxed);
  const bool starts_here_next = next < group.agents.size() && &group.agents[next]->queue->context() == context_.get();
  if (starts_here_next) {
    taken_.push_front(node);
  } else {
    agent.early.push(node);
  }
  return starts_here_next;
}

/// A message that left the queue early is older than those that are still in it, except those that were taken with it.
void AgentQueue::put_in_order(NodeList& early) noexcept {
  if (early.empty()) return;
  NodeList merged;
  while (!early.empty() && !taken_.empty()) merged.push((early.first->arrival < taken_.first->arrival ? early : taken_).pop());
  merged.append(early);
  merged.append(taken_);
  taken_ = merged;
  note_oldest();
  wake();
}

/// Called in the handler of the exception.
AgentQueue::Fate AgentQueue::failed(Node& node) noexcept {
  AgentState& agent = *node.agent;
  bump(agent.figures.faults);
  const Reaction reaction = context_->core.react(agent, *node.handler, std::current_exception(), node.attempts);
  if (reaction == Reaction::StopAgent) context_->core.stop_group(*agent.group);
  if (reaction == Reaction::StopRuntime) context_->core.stop_all();
  return reaction == Reaction::Retry ? park(node) : Fate::Served;
}

// --- Retries

void ParkedMessage::enter(Instant due) noexcept {
  AgentState& agent = *node_.agent;
  next_ = agent.parked;
  if (agent.parked != nullptr) agent.parked->previous_ = this;
  agent.parked = this;
  bump(agent.figures.parked);
  queue_.context().scheduler.timers().insert(*this, due);
}

void ParkedMessage::leave() noexcept {
  AgentState& agent = *node_.agent;
  (previous_ != nullptr ? previous_->next_ : agent.parked) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  agent.figures.parked.store(read(agent.figures.parked) - 1, std::memory_order_relaxed);
  queue_.context().scheduler.timers().cancel(*this);
}

void ParkedMessage::on_due() { queue_.retry(*this); }

AgentQueue::Fate AgentQueue::park(Node& node) noexcept {
  std::unique_ptr<ParkedMessage> parked(new (std::nothrow) ParkedMessage(*this, node));
  if (parked == nullptr) return Fate::Served;
  AgentState& agent = *node.agent;
  if (TypeLimit* const limit = node.handler->limit) {
    drop_superseded();
    const std::lock_guard guard(lock());
    if (limit->merges() && limit->find(node.payload) != nullptr) {  // A newer message of its key arrived while it was handled.
      agent.figures.coalesced.fetch_add(1, std::memory_order_relaxed);
      return Fate::Superseded;
    }
    node.is_parked = true;
    node.parked = parked.get();
    limit->enter(*parked);
  }
  ++node.attempts;
  // Counted from now, not from the beginning of the turn: the handler may have taken long.
  parked.release()->enter(context_->scheduler.clock().now() + agent.agent_options().retry_delay);
  return Fate::Parked;
}

void AgentQueue::retry(ParkedMessage& parked) noexcept {
  Node& node = parked.node();
  {
    const std::lock_guard guard(lock());
    if (!parked.is_superseded) {
      TypeLimit* const limit = node.handler->limit;
      if (limit != nullptr) limit->leave(parked);
      node.arrival = context_->scheduler.next_arrival();
      node.is_parked = false;
      if (limit != nullptr) limit->enter(node);
      waiting_.push(node);
    }
  }
  if (parked.is_superseded) return drop_superseded();
  parked.leave();
  delete &parked;
  if (!running_) wake();
}

void AgentQueue::drop_superseded() noexcept {
  for (;;) {
    ParkedMessage* parked = nullptr;
    {
      const std::lock_guard guard(lock());
      parked = superseded_.pop();
    }
    if (parked == nullptr) return;
    let_go(*parked);
  }
}

void AgentQueue::discard_parked(AgentState& agent) noexcept {
  drop_superseded();
  while (agent.parked != nullptr) {
    ParkedMessage& parked = *agent.parked;
    if (TypeLimit* const limit = parked.node().handler->limit) {
      const std::lock_guard guard(lock());
      limit->leave(parked);
    }
    agent.figures.dropped.fetch_add(1, std::memory_order_relaxed);
    let_go(parked);
  }
}

/// 'parked' does not count against a limit any more, and is not retried.
void AgentQueue::let_go(ParkedMessage& parked) noexcept {
  Node& node = parked.node();
  parked.leave();
  delete &parked;
  free(node);
}

// --- Ends

void AgentQueue::free(Node& node) noexcept {
  if (node.handler->type->destroy != nullptr) node.handler->type->destroy(node.payload);
  bump(node.agent->figures.gone);
  bump(own_.gone);
  freed_.push_back(&node);
  if (running_ && freed_.size() < limits::kMessagePlacesKept - 1) return;  // One more is the message that is handled.
  const std::lock_guard guard(lock());
  for (Node* const freed : freed_) pool_.give_back(*freed);
  freed_.clear();
}

/// Drops 'node', which is in no list.
void AgentQueue::discard(Node& node) noexcept {
  AgentState& agent = *node.agent;
  if (take_from_limit(node)) agent.figures.dropped.fetch_add(1, std::memory_order_relaxed);
  free(node);
  if (agent.stage == AgentState::Stage::Gone && agent.has_nothing_left()) context_->core.forget(agent);
}

/// Called before later messages are dropped: messages leave the limit of their type oldest first.
void AgentQueue::discard_early(AgentState& agent) noexcept {
  while (!agent.early.empty()) discard(agent.early.pop());
}

void AgentQueue::discard_all() noexcept {
  while (!taken_.empty() || take()) discard(taken_.pop());
}

void AgentQueue::set_accepting(AgentState& agent, bool accepting) noexcept {
  const std::lock_guard guard(lock());
  agent.accepting.store(accepting, std::memory_order_relaxed);
}

void AgentQueue::close() noexcept {
  {
    const std::lock_guard guard(lock());
    closed_ = true;
  }
  while (wakers_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  if (scheduler() != nullptr) scheduler()->remove(*this);
}

MessageFigures AgentQueue::figures() const {
  MessageFigures copied = gone_agents_.copy(name(), priority());
  copied.queued = depth();
  copied.large = read(large_);
  copied.cut_turns = read(cut_turns_);
  copied.places = pool_.made();
  Instant oldest = Instant::never();
  {
    const std::lock_guard guard(lock());
    if (!waiting_.empty()) oldest = waiting_.first->enqueued;
  }
  oldest = std::min(oldest, Instant::from_nanoseconds(oldest_taken_.load(std::memory_order_relaxed)));
  if (oldest != Instant::never()) copied.oldest = std::max(clock_->now() - oldest, Duration{0});
  return copied;
}

}  // namespace rondo::message
