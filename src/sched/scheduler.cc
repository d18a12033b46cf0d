// The scheduler's loop: poll, pick a source, run its turn, apply the backlog it reports. It reads the time once a turn: the end of one
// turn is the start of the next. Nothing here allocates after construction, except the message of a quarantine.
#include "rondo/sched/scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "base/pause.h"
#include "base/prefetch.h"
#include "rondo/base/text.h"
#include "sched/limits.h"
#include "sched/reactor_event.h"
#include "sched/scheduler_inside.h"
#include "sched/turn_observer.h"
#include "sched/turn_overrides.h"
#include "sched/turn_record.h"

namespace rondo {

namespace {
/// Maximum events per call of the reactor.
constexpr std::size_t kEvents = 256;
/// Prefetch distance while dispatching events.
constexpr std::size_t kEventsAhead = 4;
/// Maximum calls of the reactor per poll, so that a storm of descriptors cannot hold the loop. After one more turn, the next poll takes
/// the rest.
constexpr unsigned kRounds = 64;
/// Maximum age of the CPU time's reading before a long turn.
constexpr Duration kCpuTimePeriod = 250us;
/// A source must be found idle with a backlog twice before it counts as rescued, because a message may be present shortly before its wake.
/// Two passes per period keep the sweep's documented period.
constexpr Duration kSweepStep = limits::kSweepPeriod / 2;

std::string about(const Source& source, std::string_view what) {
  std::string text{"source '"};
  text.append(source.name()).append("' ").append(what);
  return text;
}
bool is_real(const Clock& clock) noexcept { return dynamic_cast<const SystemClock*>(&clock) != nullptr; }
/// For a catch block: what 'call' of the source threw. Omits the message text if an allocation fails.
Status thrown_in(std::string_view call, const Source& source) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& error) {
      const std::string text = shorten(error.what(), limits::kReasonBytes);
      return Status{StatusCode::Internal, about(source, "threw in " + std::string{call} + ": " + text)};
    } catch (...) {
      return Status{StatusCode::Internal, about(source, "threw something unknown in " + std::string{call})};
    }
  } catch (...) {
    return Status::out_of_memory();
  }
}
}  // namespace

Scheduler::Scheduler(const Clock& clock, Reactor& reactor, std::unique_ptr<Policy> policy)
    : process_(::getpid()),
      clock_(clock),
      reactor_(reactor),
      policy_(std::move(policy)),
      now_(clock.now()),
      timers_(now_),
      events_(kEvents),
      turns_since_poll_(limits::kTurnsWithoutPoll),
      next_sweep_(now_ + kSweepStep),
      may_gather_(is_real(clock) && has_other_processors()),
      bulk_timers_(now_) {
  RONDO_EXPECT(policy_ != nullptr, "a Scheduler was given no policy");
  policy_->number_by(arrivals_);
  charged_until_ = policy_since_ = now_;
}

Scheduler::~Scheduler() {
  RONDO_EXPECT(first_added_ == nullptr,
               "a Scheduler is destroyed before its source '" + first_added_->name_ + "'; destroy first what owns the source");
  RONDO_ASSERT(first_inbox_ == nullptr);
}

void Scheduler::called_elsewhere(const Source& source, std::string_view call) {
  RONDO_EXPECT(false, std::string{call} + " of source '" + source.name_ + "' was called on another thread than the scheduler's, which " +
                          "owns it; use Source::wake_from_any_thread or Runtime::post");
}

void Scheduler::add(Source& source) {
  expect_here(source, "Scheduler::add");
  RONDO_EXPECT(source.scheduler() == nullptr, "source '" + source.name_ + "' is added to a scheduler and belongs to one");
  // The steps that may throw come first.
  source.waits_ = std::make_unique<Log2Histogram>();
  if (!source.before_all_) policy_->joined(source);
  // The old value may be of another policy or scheduler, and the bound shown beside it does not apply to that.
  source.stats_.longest_wait = Duration{0};
  if (source.before_all_) most_before_all_ = std::max(most_before_all_, ++before_all_);
  if (overrides_ != nullptr) overrides_->before_source(source);
  source.observed_number_ = observer_ != nullptr ? observer_->source_added(source) : 0;
  source.state_ = running_ == &source ? Source::State::Running : Source::State::Idle;
  source.quarantine_ = Status{};
  source.is_quarantined_.store(false, std::memory_order_relaxed);
  source.suspected_ = false;
  source.added_next_ = nullptr;
  source.added_previous_ = last_added_;
  (last_added_ != nullptr ? last_added_->added_next_ : first_added_) = &source;
  last_added_ = &source;
  source.number_ = ++last_number_;
  // From now on other threads can wake the source. has_backlog() finds earlier items, such as a post that found no scheduler. A thread
  // that guards the backlog by a lock either sees the scheduler here, or its items are seen by has_backlog().
  source.scheduler_.store(this, std::memory_order_release);
  // A source that adds itself again in its own turn reports its backlog at the end of that turn.
  if (running_ == &source) return;
  try {
    if (source.has_backlog()) wake(source);
  } catch (...) {
    remove(source);
    throw;
  }
}

void Scheduler::remove(Source& source) {
  expect_not_elsewhere(source, "Scheduler::remove (or the destructor)");
  RONDO_EXPECT(source.scheduler() == this, "source '" + source.name_ + "' is removed from a scheduler that it does not belong to");
  forget_in_observer(source);
  if (record_ != nullptr) record_->keep_name(source);
  if (source.state_ == Source::State::Ready) take_out(source);
  source.before_all_ ? static_cast<void>(--before_all_) : policy_->departed(source);
  source.waits_.reset();
  reactor_.unwatch_all(source);  // Invalidates events that refer to the source.
  source.scheduler_.store(nullptr, std::memory_order_release);
  forget_remote_wake(source);
  (source.added_previous_ != nullptr ? source.added_previous_->added_next_ : first_added_) = source.added_next_;
  (source.added_next_ != nullptr ? source.added_next_->added_previous_ : last_added_) = source.added_previous_;
  source.state_ = Source::State::Detached;
}

void Scheduler::put_first(Source& source) noexcept {
  source.next_ = nullptr;
  Source** end = &first_of_all_;
  while (*end != nullptr) end = &(*end)->next_;
  *end = &source;
}

/// Removes a ready source from the ready sources.
void Scheduler::take_out(Source& source) {
  if (!source.before_all_) return policy_->removed(source);
  for (Source** link = &first_of_all_; *link != nullptr; link = &(*link)->next_) {
    if (*link != &source) continue;
    *link = source.next_;
    return;
  }
}

void Scheduler::set_policy(std::unique_ptr<Policy> policy) {
  RONDO_EXPECT(policy != nullptr && policy->empty(), "Scheduler::set_policy was given none, or one that is in use");
  policy->number_by(arrivals_);
  policy->follow(*policy_);
  for (Source* source = first_added_; source != nullptr; source = source->added_next_) {
    if (!source->before_all_) policy->joined(*source);
    source->stats_.longest_wait = Duration{0};
  }
  while (Source* source = policy_->pick()) policy->resumed(*source);
  policy_ = std::move(policy);
  policy_since_ = now_;
  if (observer_ != nullptr) observer_->policy_changed(policy_->settings());
}

Duration Scheduler::bound(const Source& source) const {
  // The running turn, and for each other source of this kind one turn, each followed by one turn of another source.
  if (source.before_all_) return (2 * most_before_all_ - 1) * (stats_.longest_turn + stats_.longest_gap);
  const Duration bound = policy_->bound(source);
  return bound == Duration::max() ? bound : bound + stats_.longest_gap;
}

/// Counts only the wait under the present policy for the longest wait, because the bound shown beside it is that policy's.
[[gnu::always_inline]] inline void Scheduler::count_wait(Source& source) noexcept {
  source.waits_->add(static_cast<std::uint64_t>((now_ - source.ready_since_).count()));
  const Instant since = std::max(source.ready_since_, policy_since_);
  source.stats_.longest_wait = std::max(source.stats_.longest_wait, now_ - since);
}

/// Updates the figures of a turn that began at 'start' and ended just now.
[[gnu::always_inline]] inline void Scheduler::account(Source& source, const Turn& turn, Instant start) {
  const Duration ran = now_ - start;
  SourceStats& stats = source.stats_;
  ++stats.turns;
  stats.items += turn.items;
  stats.ran += ran;
  const bool is_long = ran.count() > limits::kLongTurn.count();
  if (is_long || ran > stats.longest_turn) [[unlikely]] {
    const Duration on_cpu = std::clamp(clock_.thread_cpu_time() - cpu_time_, Duration{0}, ran);
    if (ran > stats.longest_turn) {
      stats.longest_turn = ran;
      stats.longest_turn_cpu = on_cpu;
    }
    if (is_long) {
      ++stats_.long_turns;
      if (on_long_turn_) [&]() noexcept { on_long_turn_({source.name(), start, ran, on_cpu}); }();
    }
  }
}

[[gnu::always_inline]] inline void Scheduler::give_turn(Source& source) {
  const Instant start = now_;
  const bool by_policy = !source.before_all_;
  source.state_ = Source::State::Running;
  source.woken_in_turn_ = false;
  items_asked_ = 0;
  check_after_ = source.long_items_ ? 1 : limits::kItemsWithoutPoll;
  running_ = &source;
  time_was_up_ = false;
  begin_beat();
  count_wait(source);
  // The turn of a before-all source is a gap between the turns of others: it is charged with the next of them.
  if (!by_policy && policy_->empty()) charged_until_ = start;
  if (by_policy) stats_.longest_gap = std::max(stats_.longest_gap, start - charged_until_);

  if (observer_ != nullptr) observer_->turn_begins(source.observed_number_, start);
  Turn turn;
  Status failed;
  const Budget budget = by_policy ? policy_->budget(source) : Budget{.items = limits::kBatchItems, .time = limits::kTurnTime};
  try {
    turn = source.run(budget);
  } catch (...) {
    failed = thrown_in("run()", source);
  }
  running_ = nullptr;
  end_beat();
  now_ = clock_.now();
  const Duration ran = now_ - start;
  ++turns_since_poll_;
  if (ran > limits::kPollAfter || items_asked_ >= check_after_ || now_ >= next_poll_) turns_since_poll_ = limits::kTurnsWithoutPoll;
  source.long_items_ = ran > turn.items * limits::kPollAfter;
  ++stats_.turns;
  if (turn.items >= budget.items) ++stats_.full_turns;
  if (time_was_up_) ++stats_.timed_out_turns;
  if (ran > stats_.longest_turn) stats_.longest_turn = ran;
  stats_.turn_ns.add(static_cast<std::uint64_t>(ran.count()));
  account(source, turn, start);

  if (source.woken_in_turn_) turn.backlog = Backlog::More;
  const bool stays = source.state_ == Source::State::Running && failed.ok();
  if (!stays) turn.backlog = Backlog::Empty;  // Removed or failed in its turn: the policy still accounts for it.
  if (observer_ != nullptr) observer_->turn_ends(turn, now_);
  if (record_ != nullptr) [[unlikely]]
    record_->add(source, turn, start, now_);
  if (by_policy) {
    const Duration took = now_ - charged_until_;
    policy_->served(source, turn, took);
    charged_until_ = now_;
  } else if (turn.backlog == Backlog::More) {
    put_first(source);
  }
  if (stays) {
    if (turn.backlog == Backlog::More) {
      source.state_ = Source::State::Ready;
      if (!source.goes_on_) source.busy_since_ = source.ready_since_;
      source.goes_on_ = true;
      source.ready_since_ = now_;
    } else {
      source.state_ = Source::State::Idle;
    }
  } else if (!failed.ok()) {
    quarantine(source, std::move(failed));
  }
}

bool Scheduler::anybody_is_ready() const { return first_of_all_ != nullptr || !policy_->empty(); }

/// Returns the next source: before-all sources first, but never twice in succession while others wait; then the policy's choice.
[[gnu::always_inline]] inline Source* Scheduler::next() {
  if (first_of_all_ != nullptr && (!was_before_all_ || policy_->empty())) [[unlikely]] {
    was_before_all_ = true;
    return std::exchange(first_of_all_, first_of_all_->next_);
  }
  was_before_all_ = false;
  return policy_->pick();
}

/// Returns true if all pending events have been seen.
bool Scheduler::gather_if_due() {
  if (turns_since_poll_ < limits::kTurnsWithoutPoll) {
    take_in(false);
    return false;
  }
  ++stats_.due_polls;
  gather(Instant{});
  return turns_since_poll_ < limits::kTurnsWithoutPoll;
}

/// No source is known to be ready. Returns true if one may be ready after this call.
bool Scheduler::find_others(bool saw_all) {
  was_before_all_ = false;
  if (is_dense_) {
    let_gather();
    if (anybody_is_ready()) return true;
  }
  if (saw_all) return false;
  gather(Instant{});
  return anybody_is_ready();
}

[[gnu::always_inline]] inline bool Scheduler::step() {
  bool saw_all = false;
  if (turns_since_poll_ >= limits::kTurnsWithoutPoll || has_remote_wakes()) [[unlikely]]
    saw_all = gather_if_due();
  if (first_of_all_ == nullptr && policy_->empty() && !find_others(saw_all)) return false;
  give_turn(*next());
  return true;
}

bool Scheduler::turn() {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: turns are given in a turn; a handler returns, and does not call run(), turn() or their like");
  const Inside inside(*this);
  now_ = clock_.now();
  return step();
}

std::uint64_t Scheduler::run_until_idle(std::uint64_t max_turns) {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: turns are given in a turn; a handler returns, and does not call run(), turn() or their like");
  const Inside inside(*this);
  turns_since_poll_ = limits::kTurnsWithoutPoll;
  std::uint64_t turns = 0;
  while (turns < max_turns && step()) ++turns;
  return turns;
}

void Scheduler::run() {
  expect_same_process("Scheduler::run or run_for");
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: turns are given in a turn; a handler returns, and does not call run(), turn() or their like");
  const Inside inside(*this);
  turns_since_poll_ = limits::kTurnsWithoutPoll;
  while (!stopping()) {
    if (!step()) wait(Instant::never());
  }
}

std::uint64_t Scheduler::run_for(Duration span) {
  expect_same_process("Scheduler::run or run_for");
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: turns are given in a turn; a handler returns, and does not call run(), turn() or their like");
  const Inside inside(*this);
  if (span < Duration{0}) return 0;
  gather(Instant{});
  const Instant end = now_ + span;
  const std::uint64_t at_once = span == Duration{0} ? count_ready() : 0;
  std::uint64_t turns = 0;
  while ((now_ < end || turns < at_once) && !stopping()) {
    if (step()) {
      ++turns;
    } else if (now_ < end) {
      wait(end);
    } else {
      break;
    }
  }
  return turns;
}

/// Makes an idle source ready.
[[gnu::always_inline]] inline void Scheduler::make_ready(Source& source) {
  source.state_ = Source::State::Ready;
  source.suspected_ = false;
  source.goes_on_ = false;
  source.ready_since_ = now_;
  ++source.stats_.wakes;
  if (running_ == nullptr && policy_->empty()) charged_until_ = now_;
  if (observer_ != nullptr) observer_->woken(source.observed_number_);
  if (source.before_all_) [[unlikely]] {
    put_first(source);
  } else {
    policy_->arrived(source);
  }
}

void Scheduler::wake(Source& source) {
  if (source.state_ == Source::State::Idle) {
    if (running_ == nullptr && !gathering_) {
      now_ = clock_.now();  // Called from outside the loop: the last reading may be old.
      if (observer_ != nullptr) observer_->clock_read(now_);
    }
    make_ready(source);
  } else if (source.state_ == Source::State::Running) {
    source.woken_in_turn_ = true;
  }
}

void Scheduler::gather(Instant deadline) {
  gathering_ = true;
  turns_since_poll_ = 0;
  std::size_t count = poll_events(deadline);
  now_ = clock_.now();
  next_poll_ = now_ + limits::kPollPeriod;
  begin_beat();
  if (observer_ != nullptr) observer_->clock_read(now_);
  for (unsigned round = 1;; ++round) {
    dispatch(count);
    if (count < events_.size()) break;
    if (round == kRounds) {
      turns_since_poll_ = limits::kTurnsWithoutPoll;
      break;
    }
    count = poll_events(Instant{});
  }
  if (has_remote_wakes()) take_in(true);
  expire_timers();
  if (now_ >= next_sweep_) sweep();
  if (now_ >= next_cpu_time_) {
    cpu_time_ = clock_.thread_cpu_time();
    next_cpu_time_ = now_ + kCpuTimePeriod;
  }
  end_beat();
  gathering_ = false;
}

// The inboxes come first. If a thread wakes a source and then leaves an item for another one, a call that finds the item also finds the
// earlier wake before the next turn.
void Scheduler::take_in(bool at_once) {
  const bool gathered = std::exchange(gathering_, true);
  if (at_once || is_hand_out_due(now_)) hand_out();
  drain_remote_wakes();
  gathering_ = gathered;
}

// No wake-up is lost between "nothing to do" and "asleep". The loop first sets its flag that it sleeps (A), then reads the list (B). A
// waker first adds the source to the list (C), then reads the flag (D). All four are sequentially consistent, so they have one total
// order. Either C comes before B, and the loop sees the source and does not wait; or A comes before D, and the waker interrupts the wait.
// If several threads wake it, only the thread that resets the flag writes to the descriptor. A wake while the loop is awake costs no system
// call.
std::size_t Scheduler::poll_events(Instant deadline) {
  ++stats_.polls;
  const bool waits = deadline > now_;
  if (waits) {
    sleeping_.store(true, std::memory_order_seq_cst);                             // A
    const bool listed = remote_head_.load(std::memory_order_seq_cst) != nullptr;  // B
    if (listed || inboxes_have_any() || remote_pending_ != nullptr || stopping()) deadline = Instant{};
  } else {
    deadline = Instant{};
  }
  const Result<std::size_t> count = reactor_.poll(deadline, events_);
  if (waits) sleeping_.store(false, std::memory_order_relaxed);
  RONDO_ASSERT(count.has_value());  // The reactor fails only through a fault of our own: a bad descriptor or argument.
  return *count;
}

void Scheduler::wake_remote(Source& source) noexcept {
  // The source is already listed, or another thread is about to list it. In both cases it is collected after this call, because the flag
  // is reset (by an exchange that reads this one) before collect() runs.
  if (source.remote_wake_.exchange(true, std::memory_order_acq_rel)) return;
  Source* head = remote_head_.load(std::memory_order_relaxed);
  do {
    source.remote_next_ = head;
  } while (!remote_head_.compare_exchange_weak(head, &source, std::memory_order_seq_cst, std::memory_order_relaxed));  // C
  end_sleep();
}

void Scheduler::end_sleep() noexcept {
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(false, std::memory_order_seq_cst)) {  // D
    reactor_.interrupt();
  }
}

/// Moves the list of other threads, which is newest first, behind our own list, which is oldest first.
void Scheduler::take_remote_wakes() noexcept {
  Source* newest = remote_head_.exchange(nullptr, std::memory_order_acquire);
  seen_wake_ = nullptr;
  Source* oldest = nullptr;
  while (newest != nullptr) {
    Source* next = newest->remote_next_;
    newest->remote_next_ = oldest;
    oldest = newest;
    newest = next;
  }
  Source** end = &remote_pending_;
  while (*end != nullptr) end = &(*end)->remote_next_;
  *end = oldest;
}

/// Stage one of 'source'. Returns true if run() would find work. A source that fails is quarantined, or may have left.
[[gnu::always_inline]] inline bool Scheduler::collect(Source& source) {
  if (source.state_ == Source::State::Quarantined) return false;
  Status failed;
  collecting_ = &source;
  try {
    const Result<Backlog> answer = source.collect();
    collecting_ = nullptr;
    if (answer.has_value()) return *answer == Backlog::More && source.scheduler() == this;
    failed = answer.error().with_context(about(source, "could not collect"));
    if (failed.ok()) failed = Status{StatusCode::Internal, about(source, "returned an error without a code from collect()")};
  } catch (...) {
    failed = thrown_in("collect()", source);
  }
  collecting_ = nullptr;
  if (source.scheduler() == this) quarantine(source, std::move(failed));
  return false;
}

void Scheduler::drain_remote_wakes() {
  take_remote_wakes();
  while (remote_pending_ != nullptr) {
    Source& source = *remote_pending_;
    remote_pending_ = source.remote_next_;  // Read before the flag is reset, because another thread may list the source again after that.
    source.remote_wake_.exchange(false, std::memory_order_acq_rel);
    if (source.scheduler() != this) continue;  // Removed while another thread was about to list it.
    ++stats_.remote_wakes;
    if (collect(source)) wake(source);
  }
}

void Scheduler::forget_remote_wake(Source& source) noexcept {
  if (!source.remote_wake_.load(std::memory_order_acquire)) return;
  take_remote_wakes();
  for (Source** link = &remote_pending_; *link != nullptr; link = &(*link)->remote_next_) {
    if (*link != &source) continue;
    *link = source.remote_next_;
    source.remote_wake_.store(false, std::memory_order_release);
    return;
  }
}

void Scheduler::dispatch(std::size_t count) {
  const std::uint64_t ended_watches = reactor_.ended_watches();
  for (std::size_t i = 0; i < count; ++i) {
    const ReactorEvent& event = events_[i];
    if (i + kEventsAhead < count) prefetch_to_write(events_[i + kEventsAhead].source);
    // An earlier collect() may have removed or destroyed the source, or replaced the descriptor.
    if (reactor_.ended_watches() != ended_watches && !reactor_.is_current(event)) continue;
    Source& source = *event.source;
    if (collect(source)) {
      if (source.state_ == Source::State::Idle) make_ready(source);
    } else if (event.error && reactor_.is_in_error(event)) {
      // SONiC's Select loop would report the descriptor without end (finding 3 of the SONiC study). This loop reports it once, with its
      // name, and stops polling it.
      quarantine(source, Status{StatusCode::Unavailable, about(source, "left descriptor " + std::to_string(event.fd) +
                                                                           " in error or hung up: collect() found nothing to do")});
    }
  }
}

void Scheduler::expire_timers() {
  if (next_timer() > now_) return;
  if (overrides_ != nullptr && !overrides_->timers_due()) return;
  if (observer_ != nullptr) observer_->timers_fire();
  timers_.expire(now_, limits::kTimersPerTurn);
  bulk_timers_.expire(now_, limits::kTimersPerTurn);
  if (next_timer() > now_) return;
  ++stats_.timer_bursts;
  turns_since_poll_ = limits::kTurnsWithoutPoll;  // Polls the rest after one turn of other sources.
}

void Scheduler::sweep() {
  next_sweep_ = now_ + kSweepStep;
  Source* next = nullptr;
  for (Source* source = first_added_; source != nullptr; source = next) {
    next = source->added_next_;  // Read before, because a source that is quarantined may be destroyed.
    try {
      sweep(*source);
    } catch (...) {
      quarantine(*source, thrown_in("has_backlog()", *source));
    }
  }
}

void Scheduler::sweep(Source& source) {
  if (source.state_ != Source::State::Idle || !source.has_backlog()) {
    source.suspected_ = false;
  } else if (!source.suspected_) {
    source.suspected_ = true;
  } else {
    ++stats_.sweep_rescues;
    wake(source);
  }
}

void Scheduler::quarantine(Source& source, Status why) {
  if (source.state_ == Source::State::Ready) {
    take_out(source);
    forget_in_observer(source);  // Otherwise a reader of the record would see it as waiting.
  }
  reactor_.unwatch_all(source);
  // A source that removed itself before it failed is reported too.
  if (source.state_ != Source::State::Detached) source.state_ = Source::State::Quarantined;
  source.quarantine_ = std::move(why);
  source.is_quarantined_.store(true, std::memory_order_relaxed);
  ++stats_.quarantined;
  if (on_quarantine_) [&]() noexcept { on_quarantine_(source, source.quarantine_); }();
}

void Scheduler::for_each_source(const std::function<void(const Source&)>& visit) const {
  for (const Source* source = first_added_; source != nullptr; source = source->added_next_) visit(*source);
}

void Scheduler::on_long_turn(std::function<void(const LongTurn&)> callback) { on_long_turn_ = std::move(callback); }
void Scheduler::on_quarantine(std::function<void(const Source&, const Status&)> callback) { on_quarantine_ = std::move(callback); }

}  // namespace rondo
