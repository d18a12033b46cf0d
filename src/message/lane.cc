#include "message/lane.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "message/core.h"
#include "rondo/base/assert.h"

namespace rondo::message {

Lane::Lane(std::shared_ptr<Home> home, Priority priority, std::size_t messages_max)
    : Source("messages p" + std::to_string(priority.level()), priority),
      home_(std::move(home)),
      arrivals_(home_->arrivals),
      level_(priority),
      watch_(home_->core.options.watch),
      clock_(&home_->scheduler.clock()),
      real_time_(dynamic_cast<const SystemClock*>(clock_) != nullptr),
      places_(std::min(messages_max, SIZE_MAX - limits::kMessagePlacesKept) + limits::kMessagePlacesKept) {
  gone_agents_.reset(name(), priority);
  const std::lock_guard guard(lock());
  arrivals_.join(*this);
}

Lane::~Lane() { RONDO_ASSERT(here_.empty() && arrivals_.empty(level_) && superseded_.first == nullptr); }

Status Lane::post(Cell& cell, const Handler& handler, void* stored) {
  const Verdict verdict = decide(cell, handler, stored);
  if (verdict <= Verdict::Settled) [[likely]]
    return {};
  return refusal(cell, handler, verdict);
}

Code Lane::offer(Cell& cell, const Handler& handler, void* stored) { return code_of(decide(cell, handler, stored)); }

Code Lane::code_of(Verdict verdict) noexcept {
  if (verdict <= Verdict::Settled) return Code::Ok;
  return verdict == Verdict::Gone ? Code::NotFound : Code::ResourceExhausted;
}

/// Called on the scheduler thread during an agent's turn, so the lane cannot be closed concurrently.
Lane::Verdict Lane::post_here(Cell& cell, const Handler& handler, void* stored) {
  if (!cell.accepting.load(std::memory_order_relaxed)) return Verdict::Gone;
  const Instant now = home_->scheduler.now();
  const bool was_empty = here_.empty();
  if (handler.limit == nullptr) [[likely]] {
    if (has_arrived()) arrivals_.take();  // Takes earlier arrivals first, to preserve the order of arrival.
    Node* const place = place_here();
    if (place == nullptr) return refuse(cell, Verdict::Full);
    handler.type->move(place->payload, stored);
    fill(*place, cell, handler, now, Node::kInHand);
    here_.push(*place);
    bump(cell.figures.posted_here);
    bump(posted_here_);
  } else {
    const Verdict verdict = post_here_limited(cell, handler, stored, now);
    if (verdict != Verdict::Queue) return act(cell, verdict);
  }
  if (was_empty) note_oldest();
  if (!running_ && !is_ready()) wake();
  return Verdict::Queue;
}

/// Returns the lock when no arrivals wait for this lane. A message that arrived in between would precede the next one in the limit of its
/// type, but follow it in the queue. Arrivals are taken without the lock, because that wakes other lanes.
std::unique_lock<std::mutex> Lane::lock_behind_arrivals() noexcept {
  for (;;) {
    if (has_arrived()) arrivals_.take();
    std::unique_lock<std::mutex> guard(lock());
    if (!has_arrived()) [[likely]]
      return guard;
  }
}

Lane::Verdict Lane::post_here_limited(Cell& cell, const Handler& handler, void* stored, Instant now) {
  const std::unique_lock<std::mutex> guard = lock_behind_arrivals();
  const Admission admission = admit(cell, handler, stored, true);
  if (admission.verdict != Verdict::Queue) return admission.verdict;
  Node& place = *admission.place;
  (admission.replaces ? handler.type->exchange : handler.type->move)(place.payload, stored);
  fill(place, cell, handler, now, Node::kInHand);
  handler.limit->enter(place);
  here_.push(place);
  if (!admission.replaces) {
    bump(cell.figures.posted_here);
    bump(posted_here_);
  }
  return Verdict::Queue;
}

Lane::Verdict Lane::post_from_elsewhere(Cell& cell, const Handler& handler, void* stored) {
  Instant now = real_time_ ? system_clock_.now() : Instant{};
  bool first = false;
  Admission admission;
  {
    const std::lock_guard guard(lock());
    if (closed_ || !cell.accepting.load(std::memory_order_relaxed)) return Verdict::Gone;
    if (!real_time_) now = clock_->now();  // A clock of the program exists as long as this lane is open.
    if (handler.limit == nullptr) [[likely]] {
      admission.place = places_.take();
      if (admission.place == nullptr) return refuse(cell, Verdict::Full);
    } else {
      admission = admit(cell, handler, stored, false);
    }
    if (admission.verdict == Verdict::Queue) {
      Node& place = *admission.place;
      (admission.replaces ? handler.type->exchange : handler.type->move)(place.payload, stored);
      fill(place, cell, handler, now, arrivals_.batch());
      if (handler.limit != nullptr) handler.limit->enter(place);
      first = arrivals_.push(place, level_, home_->scheduler, home_->is_own_thread());
      if (!admission.replaces) {
        bump(cell.figures.posted_elsewhere);
        bump(posted_elsewhere_);
      }
    }
    if (!first && admission.verdict <= Verdict::Reject) return admission.verdict;
    wakers_.fetch_add(1, std::memory_order_relaxed);
  }
  // Outside of the lock, because it writes to a descriptor or calls a user's function. A thread that closes this lane waits for it.
  if (first) home_->scheduler.look_into_inboxes();
  const Verdict verdict = act(cell, admission.verdict);
  wakers_.fetch_sub(1, std::memory_order_release);
  return verdict;
}

/// Applies the type's limit to one more message. Under the lock. Drops an old message only after the new one has a place.
Lane::Admission Lane::admit(Cell& cell, const Handler& handler, void* stored, bool is_here) {
  TypeLimit& limit = *handler.limit;
  Node* const waiting = limit.merges() ? limit.find(stored) : nullptr;
  if (waiting != nullptr && !waiting->is_parked) {
    limit.type().exchange(waiting->payload, stored);
    waiting->attempts = 0;
    cell.figures.coalesced.fetch_add(1, std::memory_order_relaxed);
    return {Verdict::Settled};
  }
  if (waiting == nullptr && limit.full()) {
    switch (limit.limit().overflow) {
      case Overflow::Reject: return {refuse(cell, Verdict::Reject)};
      case Overflow::StopAgent: return {refuse(cell, Verdict::StopAgent)};
      case Overflow::StopRuntime: return {refuse(cell, Verdict::StopRuntime)};
      case Overflow::DropNewest: cell.figures.dropped.fetch_add(1, std::memory_order_relaxed); return {Verdict::Settled};
      case Overflow::DropOldest: return drop_oldest(cell, limit, is_here);
    }
  }
  Node* const place = places_.take();
  if (place == nullptr) return {refuse(cell, Verdict::Full)};
  // An older message of this key waits for a retry. Handled after the newer one, it would overwrite the newer value.
  if (waiting != nullptr) supersede(*waiting->parked, cell.figures.coalesced);
  return {.place = place};
}

/// Takes the oldest message out so that the new one can use its place. If the scheduler's thread has the message in hand or parked, only
/// marks it.
Lane::Admission Lane::drop_oldest(Cell& cell, TypeLimit& limit, bool is_here) noexcept {
  // Parked messages have been at the head of the queue before, so they are the oldest.
  ParkedMessage* const parked = limit.oldest_parked();
  Node* const oldest = parked == nullptr ? &limit.oldest() : nullptr;
  const bool has_arrived_last = oldest != nullptr && oldest->batch == arrivals_.batch();
  const bool is_marked = !has_arrived_last && !(oldest != nullptr && is_here && cell.stage == Cell::Stage::Running);
  Node* const place = is_marked ? places_.take() : oldest;
  if (place == nullptr) return {refuse(cell, Verdict::Full)};
  if (parked != nullptr) {
    supersede(*parked, cell.figures.dropped);
    return {.place = place};
  }
  cell.figures.dropped.fetch_add(1, std::memory_order_relaxed);
  limit.leave(*oldest);
  if (is_marked) {
    oldest->dropped = true;
    return {.place = place};
  }
  if (has_arrived_last) {
    arrivals_.unlink(*oldest, level_);
    // It will be filled again immediately, so the lane is empty only briefly; a reader needs the lock to see that.
  } else {
    here_.unlink(*oldest);
  }
  return {.place = place, .replaces = true};
}

/// A newer message replaces 'parked'. Under the lock; the scheduler's thread does the rest.
void Lane::supersede(ParkedMessage& parked, Counter& counted) noexcept {
  parked.node().handler->limit->leave(parked);
  parked.is_superseded = true;
  superseded_.push(parked);
  counted.fetch_add(1, std::memory_order_relaxed);
}

Lane::Verdict Lane::refuse(Cell& cell, Verdict verdict) noexcept {
  cell.figures.refused.fetch_add(1, std::memory_order_relaxed);
  return verdict;
}

Lane::Verdict Lane::act(Cell& cell, Verdict verdict) {
  if (verdict == Verdict::StopAgent) home_->core.stop_group(*cell.group);
  if (verdict == Verdict::StopRuntime) home_->core.stop_all();
  return verdict;
}

Status Lane::refusal(const Cell& cell, const Handler& handler, Verdict verdict) const {
  std::string what = "message " + name_of(*handler.type) + " to agent '" + cell.name + "': ";
  switch (verdict) {
    case Verdict::Full: what += "the queue of its priority is full"; break;
    case Verdict::Gone: what += "the agent has gone or was stopped, or was not added yet"; break;
    case Verdict::StopAgent: what += "too many wait, and the agent is stopped"; break;
    case Verdict::StopRuntime: what += "too many wait, and the runtime is stopped"; break;
    default: what += std::to_string(handler.limit->limit().most) + " wait already, which is its limit"; break;
  }
  return {code_of(verdict), std::move(what)};
}

Node* Lane::place_here() {
  if (free_here_.empty()) [[unlikely]] {
    const std::lock_guard guard(lock());
    free_here_.fill_from(places_);
  }
  return free_here_.take();
}

void Lane::fill(Node& node, Cell& cell, const Handler& handler, Instant now, std::uint32_t batch) noexcept {
  node.agent = &cell;
  node.handler = &handler;
  node.arrival = home_->scheduler.next_arrival();
  node.enqueued = now;
  node.batch = batch;
  node.attempts = 0;
  node.dropped = false;
  node.is_parked = false;
}

void Lane::accept(NodeList& came) noexcept {
  const bool was_empty = here_.empty();
  here_.append(came);
  if (was_empty) note_oldest();
  if (!running_) wake();
}

bool Lane::has_backlog() const {
  const std::lock_guard guard(lock());
  return !here_.empty() || has_arrived();
}

Turn Lane::run(const Budget& budget) {
  const InTurn in_turn(*home_);
  const Scheduler& scheduler = home_->scheduler;
  running_ = true;
  now_ = scheduler.now();
  const Instant end = now_ + std::min(budget.time, limits::kMessagesTurn);
  Turn turn;
  while (turn.items < budget.items && !here_.empty()) {
    if (here_.first->arrival >= budget.before) break;
    if (!handle(here_.pop())) break;
    ++turn.items;
    if (scheduler.has_news(*this)) [[unlikely]]
      break;
    if (turn.items % limits::kItemsPerStep == 0 || long_items_) {
      if (look_at_clock(end) || should_yield()) break;
    } else if (scheduler.policy().prefers_another()) {  // Read each time, because a handler may have set another policy.
      break;
    }
  }
  note_oldest();
  end_of_items();
  running_ = false;
  turn.backlog = here_.empty() ? Backlog::Empty : Backlog::More;
  return turn;
}

/// Returns whether the turn is over. Reading the clock and polling the reactor cost as much as a short item, so this runs after each item
/// only if items are long. It updates 'long_items_' before the turn may end, because the next turn uses that.
bool Lane::look_at_clock(Instant end) noexcept {
  note_oldest();
  const Instant before = std::exchange(now_, home_->scheduler.clock().now());
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

/// Returns false if the message was dropped while it was in hand.
bool Lane::take_from_limit(Node& node) noexcept {
  const std::lock_guard guard(lock());
  if (node.dropped) return false;
  node.handler->limit->leave(node);
  return true;
}

/// A watch that throws, or an allocation that fails for its text, must not cost the agents of a priority their turns.
void Lane::tell_watch(const Cell& cell, const Handler& handler) noexcept {
  try {
    watch_->handling(cell.name, name_of(*handler.type));
  } catch (...) {  // The watch misses this message.
  }
}

/// Returns false if the turn must end before 'node', which then stays where it was.
bool Lane::handle(Node& node) {
  Cell& cell = *node.agent;
  if (cell.stage != Cell::Stage::Running || cell.stops.load(std::memory_order_relaxed)) [[unlikely]]
    return !has_to_wait(node);
  const Handler& handler = *node.handler;
  if (handler.limit == nullptr || take_from_limit(node)) [[likely]] {
    const auto waited = static_cast<std::uint64_t>(std::max<std::int64_t>((now_ - node.enqueued).count(), 0));
    cell.figures.wait.add(waited);
    if (watch_ != nullptr) [[unlikely]]
      tell_watch(cell, handler);
    Fate fate = Fate::Served;
    try {
      handler.call(handler.object, node.payload);
    } catch (...) {
      fate = failed(node);
    }
    if (fate == Fate::Parked) [[unlikely]]
      return true;
    if (fate == Fate::Served) [[likely]]
      bump(cell.figures.served);
  }
  free(node);
  if (cell.draining && cell.has_nothing_left()) home_->life.finish(cell);
  return true;
}

/// The agent of 'node' does not run yet. Returns true if it will as soon as this turn has ended; the messages behind 'node' must then wait
/// too. If another thread must first start another agent, the messages of other agents do not wait for that.
bool Lane::has_to_wait(Node& node) {
  Cell& cell = *node.agent;
  if (cell.stage != Cell::Stage::Made || cell.stops.load(std::memory_order_relaxed)) {
    discard_early(cell);
    discard(node);
    return false;
  }
  if (!starts_here_next(cell)) {
    cell.early.push(node);
    return false;
  }
  NodeList first;
  first.push(node);
  here_.prepend(first);
  return true;
}

/// True if the next agent to start in the group of 'cell', which has not started, belongs to this home.
bool Lane::starts_here_next(const Cell& cell) const noexcept {
  const GroupState& group = *cell.group;
  const std::size_t next = group.next_start.load(std::memory_order_relaxed);
  return next < group.cells.size() && &group.cells[next]->lane->home() == home_.get();
}

/// Called in the handler of the exception.
Lane::Fate Lane::failed(Node& node) noexcept {
  Cell& cell = *node.agent;
  bump(cell.figures.faults);
  const Reaction reaction = home_->core.react(cell, *node.handler, std::current_exception(), node.attempts);
  if (reaction == Reaction::StopAgent) home_->core.stop_group(*cell.group);
  if (reaction == Reaction::StopRuntime) home_->core.stop_all();
  return reaction == Reaction::Retry ? park(node) : Fate::Served;
}

Lane::Fate Lane::park(Node& node) noexcept {
  std::unique_ptr<ParkedMessage> parked(new (std::nothrow) ParkedMessage(*this, node));
  if (parked == nullptr) return Fate::Served;
  Cell& cell = *node.agent;
  if (TypeLimit* const limit = node.handler->limit) {
    drop_superseded();
    const std::lock_guard guard(lock());
    if (limit->merges() && limit->find(node.payload) != nullptr) {  // A newer message of its key arrived while it was handled.
      cell.figures.coalesced.fetch_add(1, std::memory_order_relaxed);
      return Fate::Superseded;
    }
    node.is_parked = true;
    node.parked = parked.get();
    limit->enter(*parked);
  }
  ++node.attempts;
  // Counted from now, not from the beginning of the turn: the handler may have taken long.
  parked.release()->enter(home_->scheduler.clock().now() + cell.agent_options().retry_delay);
  return Fate::Parked;
}

void Lane::try_again(ParkedMessage& parked) noexcept {
  Node& node = parked.node();
  bool is_superseded = false;
  {
    const std::unique_lock<std::mutex> guard = lock_behind_arrivals();
    is_superseded = parked.is_superseded;
    if (!is_superseded) {
      TypeLimit* const limit = node.handler->limit;
      if (limit != nullptr) limit->leave(parked);
      node.arrival = home_->scheduler.next_arrival();
      node.batch = Node::kInHand;
      node.is_parked = false;
      if (limit != nullptr) limit->enter(node);
      here_.push(node);
    }
  }
  if (is_superseded) return drop_superseded();
  parked.leave();
  delete &parked;
  note_oldest();
  if (!running_) wake();
}

void Lane::drop_superseded() noexcept {
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

void Lane::discard_parked(Cell& cell) noexcept {
  drop_superseded();
  while (cell.parked != nullptr) {
    ParkedMessage& parked = *cell.parked;
    if (TypeLimit* const limit = parked.node().handler->limit) {
      const std::lock_guard guard(lock());
      limit->leave(parked);
    }
    cell.figures.dropped.fetch_add(1, std::memory_order_relaxed);
    let_go(parked);
  }
}

/// 'parked' does not count against a limit any more, and is not retried.
void Lane::let_go(ParkedMessage& parked) noexcept {
  Node& node = parked.node();
  parked.leave();
  delete &parked;
  free(node);
  if (!running_) end_of_items();
}

/// Publishes the counts at the end of a turn, or after drops outside of a turn, because the next turn may be far away.
void Lane::end_of_items() noexcept {
  bump(gone_, std::exchange(gone_in_turn_, 0));
  if (!free_here_.has_too_many()) return;
  const std::lock_guard guard(lock());
  free_here_.give_back_to(places_);
}

/// Frees a message.
void Lane::free(Node& node) noexcept {
  if (node.handler->type->destroy != nullptr) node.handler->type->destroy(node.payload);
  bump(node.agent->figures.gone);
  ++gone_in_turn_;
  if (free_here_.full()) {
    const std::lock_guard guard(lock());
    free_here_.give_back_to(places_);
  }
  free_here_.keep(node);
}

/// Drops 'node', which is in no list.
void Lane::discard(Node& node) noexcept {
  Cell& cell = *node.agent;
  if (node.handler->limit == nullptr || take_from_limit(node)) {
    cell.figures.dropped.fetch_add(1, std::memory_order_relaxed);
  }
  free(node);
  if (!running_) end_of_items();
  if (cell.stage == Cell::Stage::Gone && cell.has_nothing_left()) home_->core.forget(cell);
}

/// Called before later messages are dropped: messages leave the limit of their type oldest first.
void Lane::discard_early(Cell& cell) noexcept {
  while (!cell.early.empty()) discard(cell.early.pop());
}

void Lane::put_in_order(NodeList& early) noexcept {
  if (early.empty()) return;
  here_.merge(early);
  note_oldest();
  wake();
}

void Lane::set_accepting(Cell& cell, bool accepting) noexcept {
  const std::lock_guard guard(lock());
  cell.accepting.store(accepting, std::memory_order_relaxed);
}

void Lane::close() noexcept {
  {
    const std::lock_guard guard(lock());
    closed_ = true;
  }
  while (wakers_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  if (scheduler() != nullptr) scheduler()->remove(*this);
}

void Lane::discard_all() noexcept {
  arrivals_.take();
  while (!here_.empty()) {
    discard(here_.pop());
  }
}

std::size_t Lane::depth() const {
  const std::uint64_t left = gone_.load(std::memory_order_acquire);
  const std::uint64_t came = read(posted_here_) + read(posted_elsewhere_);
  return came > left ? came - left : 0;
}

void Lane::absorb(const Figures& figures) noexcept { gone_agents_.add(figures); }

MessageFigures Lane::figures() const {
  MessageFigures copied = gone_agents_.copy();
  copied.queued = depth();
  copied.large = read(large_);
  copied.cut_turns = read(cut_turns_);
  copied.places = places_.made();
  // Reads the arrivals first: a message that is taken meanwhile is then seen in at least one place.
  const Instant arrived = arrivals_.oldest(level_);
  const Instant oldest = std::min(arrived, Instant::from_nanoseconds(oldest_here_.load(std::memory_order_relaxed)));
  if (oldest != Instant::never()) copied.oldest = std::max(time() - oldest, Duration{0});
  return copied;
}

}  // namespace rondo::message
