#include "orch/consumer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "orch/handler_fault.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

namespace {
// How many times in succession a fact of another thread may begin to hold just after the handler's check. After that the handler and the
// provider count as inconsistent.
constexpr std::uint8_t kRaces = 8;
}  // namespace

Consumer::Consumer(Identity identity, const ConsumeOptions& options, std::unique_ptr<Subscription> subscription, Handle handle,
                   HandleBatch handle_batch, std::shared_ptr<Objects> objects, Services services)
    : Source(identity.table, identity.priority),
      table_(std::move(identity.table)),
      retry_quota_(options.retry_quota),
      step_items_(handle_batch || objects ? std::max(options.batch_max, 1U) : limits::kItemsPerStep),
      rows_max_(options.rows_max),
      watches_staged_(options.watches_staged),
      services_(services),
      subscription_(std::move(subscription)),
      handle_(std::move(handle)),
      handle_batch_(std::move(handle_batch)),
      objects_(std::move(objects)),
      ledger_(
          services.scheduler.bulk_timers(), [this] { on_resolved(); }, options.set_replaces_delete,
          options.kind == TableKind::Watched ? Rows::Whole : options.rows),
      observers_(table_, ledger_, services.observers) {
  RONDO_ASSERT(int{!!handle_} + int{!!handle_batch_} + int{objects_ && objects_->is_reconciled()} == 1);
  if (objects_) table_of_objects_ = objects_->add(*this);
  stats_.table = table_;
  stats_.orch = std::move(identity.orch);
  needs_ = std::move(identity.needs);
  held_since_ = services_.scheduler.now();
  first_depth_ = subscription_->depth();
  set_weight(options.weight);
  services_.scheduler.add(*this);
  if (needs_.empty()) begin();
}

void Consumer::begin() {
  needs_.clear();
  subscription_->on_ready([this] {
    observers_.became_ready();
    wake();
  });
}

Consumer::~Consumer() { services_.facts.forget_ledger(ledger_); }

bool Consumer::ready() const {
  if (held_ || !needs_.empty()) return false;
  if ((ledger_.has_new() || has_again()) && (!objects_ || objects_->are_listed())) return true;
  return ledger_.size() < rows_max_ && !subscription_->empty();
}

std::string_view Consumer::awaited_table() const {
  if (needs_.empty()) return {};
  for (const auto& [table, other] : services_.consumers) {
    if (std::ranges::find(needs_, other->orch()) != needs_.end() && !other->has_handled_standing_rows()) return table;
  }
  return {};
}

/// A table that is written all the time may never be empty.
bool Consumer::has_taken_first_rows() const {
  return subscription_->caught_up() && (subscription_->empty() || keys_taken_ >= first_depth_);
}

bool Consumer::has_taken_standing_rows() const { return has_taken_first_rows() && ledger_.new_rows() == 0 && late_ == 0; }

bool Consumer::has_handled_standing_rows() const {
  if (standing_rows_handled_ || unsettled_) return standing_rows_handled_;
  return has_taken_standing_rows() && ledger_.in_flight() == 0;
}

void Consumer::note_standing_rows() {
  if (standing_rows_handled_) return;
  if (!unsettled_ && has_taken_standing_rows()) unsettled_ = ledger_.in_flight();
  if (unsettled_ != std::size_t{0}) return;
  standing_rows_handled_ = true;
  if (services_.standing != nullptr) services_.standing->wake();
}

void Consumer::hold() {
  if (!std::exchange(held_, true)) held_since_ = services_.scheduler.now();
}

void Consumer::release() {
  held_ = false;
  if (ready()) wake();
}

Turn Consumer::run(const Budget& budget) {
  Turn turn;
  if (held_ || !needs_.empty()) return turn;
  const bool was_idle = ledger_.in_flight() == 0;
  while (turn.items < budget.items && ready() && !step(std::min(step_items_, budget.items - turn.items), budget, turn)) {
  }
  if (objects_) static_cast<void>(objects_->begin_when_listed());
  if (was_idle && ledger_.in_flight() > 0) answered_ = services_.scheduler.now();
  if (is_full()) ++stats_.full_turns;
  note_standing_rows();
  turn.backlog = ready() ? Backlog::More : Backlog::Empty;
  return turn;
}

bool Consumer::step(std::uint32_t max, const Budget& budget, Turn& turn) {
  // Changes that a step cannot handle stay in the table, where merging them costs nothing here.
  const bool has_begun = !objects_ || objects_->has_begun();
  const std::uint32_t taken = take(max - (has_begun ? std::min<std::size_t>(max, ledger_.new_rows()) : 0));
  if (!has_begun && !objects_->begin_when_listed()) {
    turn.items += taken;
    return true;
  }
  ledger_.expect_resolved(max);
  return handle_batch_ ? step_by_batch(max, budget, turn) : step_one_by_one(max, budget, turn);
}

bool Consumer::step_by_batch(std::uint32_t max, const Budget& budget, Turn& turn) {
  const std::uint32_t checked = gather_tasks(max, budget.items);
  turn.items += checked;
  stats_.handled += tasks_.size();
  if (!tasks_.empty()) run_batch(tasks_);
  tasks_.clear();
  return checked == 0 || turn_is_over(budget, limits::kItemsPerStep);
}

/// Gathers each row just before its handler is called, so that the turn can end after any row, and a handler can hold its consumer.
bool Consumer::step_one_by_one(std::uint32_t max, const Budget& budget, Turn& turn) {
  for (std::uint32_t checked = 0; checked < max && !held_; ++checked) {
    if (gather_tasks(1, budget.items) == 0) return true;
    if (!tasks_.empty()) {
      ++stats_.handled;
      handle_ ? run_one(tasks_.front()) : run_object(tasks_.front());
      tasks_.clear();
    }
    if (turn_is_over(budget, ++turn.items)) return true;
  }
  return false;
}

std::uint32_t Consumer::take(std::size_t max) {
  const std::size_t room = rows_max_ - std::min(rows_max_, ledger_.size());
  if (room == 0 || max == 0) return 0;
  arrived_.clear();
  arrivals_.clear();
  subscription_->next_arrivals(std::min(max, room), arrivals_);
  subscription_->take(std::min(max, room), arrived_);
  stats_.taken += arrived_.size();
  observers_.took(arrived_.size(), subscription_->empty());
  for (const Change& change : arrived_) ledger_.expect(change.record().key_hash());
  const Instant now = services_.scheduler.now();
  std::size_t mark = 0;
  Instant came = now;
  for (std::size_t i = 0; i < arrived_.size(); ++i) {
    const Change& change = arrived_[i];
    // A Delete and the Set behind it are one key.
    if (i == 0 || arrived_[i - 1].op() != ChangeOp::Delete || arrived_[i - 1].key() != change.key()) {
      came = next_arrival(mark).value_or(now);
      ++keys_taken_;
    }
    if (change.op() == ChangeOp::Delete) ++stats_.taken_deletes;
    observers_.taken(change);
    const Ledger::Merged how = ledger_.merge(change, came, services_.facts);
    observers_.merged(change, how);
    if (how == Ledger::Merged::Refused) refuse(change);
    if (objects_ && check(change).ok()) objects_->take(table_of_objects_, change);
  }
  const auto taken = static_cast<std::uint32_t>(arrived_.size());
  arrived_.clear();
  return taken;
}

std::optional<Instant> Consumer::next_arrival(std::size_t& mark) {
  while (mark < arrivals_.size() && arrivals_[mark].keys == 0) ++mark;
  if (mark == arrivals_.size()) return std::nullopt;
  --arrivals_[mark].keys;
  return arrivals_[mark].at == Instant{} ? std::nullopt : std::optional{arrivals_[mark].at};
}

std::uint32_t Consumer::gather_tasks(std::uint32_t max, std::uint32_t turn_items) {
  const std::uint32_t retries = gather_again(retry_share(max, turn_items));
  std::uint32_t checked = retries;
  while (checked < max) {
    std::optional<Ledger::Task> task = ledger_.take_new();
    if (!task) break;
    ++checked;
    if (const Status unfit = check(task->change); !unfit.ok()) {
      refuse_task(*task, unfit);
    } else {
      tasks_.push_back(std::move(*task));
    }
  }
  return checked + gather_again(max - checked);
}

/// The stores refuse such a Set. So it is the row of another program, and no handler gets it.
Status Consumer::check(const Change& change) {
  return change.key().empty() ? Status{StatusCode::InvalidArgument, "the key is empty"} : check_record(change.record());
}

void Consumer::refuse_task(const Ledger::Task& task, const Status& why) {
  ++stats_.handled;
  observers_.handled(task.change);
  if (task.change.op() == ChangeOp::Delete) return answer_done(task.row);
  reject(task.row, task.change, why, true);
}

std::uint32_t Consumer::retry_share(std::uint32_t max, std::uint32_t turn_items) {
  // If only one kind has rows, it gets the whole step.
  if (!has_again()) return 0;
  if (!ledger_.has_new()) return max;
  // Spreads the quota over the steps in the proportion quota to 'turn_items', because a turn may end after any step. With one item a turn,
  // every second item is a retried row.
  const std::uint64_t quota = retry_quota_ != 0 ? retry_quota_ : turn_items / 2;
  const std::uint64_t part = turn_items > 1 ? 2 * std::min<std::uint64_t>(quota, turn_items - 1) : 1;
  const std::uint64_t whole = 2 * std::uint64_t{turn_items};
  retry_credit_ = retry_credit_ % whole + part * max;  // The remainder may be of a longer turn.
  const auto share = static_cast<std::uint32_t>(retry_credit_ / whole);
  retry_credit_ %= whole;
  return std::min(share, max);
}

void Consumer::on_resolved() {
  if (resolved_since_ == Instant{}) resolved_since_ = services_.scheduler.clock().now();
  wake();
}

std::uint32_t Consumer::gather_again(std::uint32_t max) {
  if (max > 0 && has_again() && resolved_since_ != Instant{}) {
    const Duration waited = services_.scheduler.clock().now() - std::exchange(resolved_since_, Instant{});
    stats_.longest_resolve_wait = std::max(stats_.longest_resolve_wait, waited);
  }
  std::uint32_t checked = 0;
  for (; checked < max && has_again(); ++checked) {
    const bool both = ledger_.has_resolved() && has_ended();
    ended_is_next_ = both ? !ended_is_next_ : has_ended();
    ended_is_next_ ? take_ended() : take_resolved();
  }
  return checked;
}

void Consumer::take_resolved() {
  const std::uint32_t row = ledger_.peek_resolved();
  const std::uint32_t missing = ledger_.first_missing(row, services_.facts);
  if (missing != Ledger::kNone) {
    ledger_.park_again(row, missing, services_.facts);
    if (observers_.any()) observers_.still_parked(row, ledger_.facts_of(row, services_.facts).front());
    return;
  }
  tasks_.push_back(ledger_.take_resolved(row, services_.scheduler.now(), services_.facts));
  ++stats_.retried;
  observers_.retried(row, tasks_.back().change);
}

void Consumer::take_ended() {
  Ledger::Ended ended = ledger_.take_ended(services_.scheduler.now(), services_.facts);
  if (ended.task) {
    ++stats_.redone;
    observers_.redone(ended.task->row, ended.task->change);
    tasks_.push_back(*std::move(ended.task));
  } else if (ended.queued != Ledger::kNone) {
    observers_.requeued(ended.queued);
  }
}

void Consumer::run_one(const Ledger::Task& task) {
  std::exception_ptr thrown;
  services_.current = Ticket{this, task.row, task.generation};
  ledger_.set_asked(task.row, services_.facts.ends());
  observers_.handled(task.change);
  try {
    answer(task.row, task.change, handle_(task.change));
    services_.current = Ticket{};
    return;
  } catch (...) {
    thrown = std::current_exception();
  }
  services_.current = Ticket{};
  ++stats_.thrown;
  // Unless our own code has a fault, the exception did not come from inside answer(); a row still in flight is the handler's.
  if (ledger_.is_current(task.row, task.generation)) answer_fault(task.row, task.change, status_of_exception(thrown));
}

/// A shortage of memory ends, and the handler is called again then. All else is a fault of the handler.
void Consumer::answer_fault(std::uint32_t row, const Change& change, const Status& fault) {
  if (fault.code() == StatusCode::ResourceExhausted) {
    delay(row, change, limits::kMemoryRetry, fault);
  } else {
    reject(row, change, fault);
  }
}

void Consumer::fill_batch(std::span<Ledger::Task> tasks) {
  batch_.changes_.clear();
  batch_.rows_.clear();
  batch_.generations_.clear();
  for (Ledger::Task& task : tasks) {
    batch_.changes_.push_back(std::move(task.change));
    batch_.rows_.push_back(task.row);
    batch_.generations_.push_back(task.generation);
  }
  batch_.answered_.assign(tasks.size(), 0);
}

void Consumer::run_batch(std::span<Ledger::Task> tasks) {
  for (const Ledger::Task& task : tasks) {
    ledger_.set_asked(task.row, services_.facts.ends());
    observers_.handled(task.change);
  }
  fill_batch(tasks);
  Status fault{StatusCode::Internal, "the handler gave no outcome"};
  bool thrown = false;
  try {
    handle_batch_(batch_);
  } catch (...) {
    thrown = true;
    ++stats_.thrown;
    fault = status_of_exception(std::current_exception());
  }
  std::vector<Ledger::Task> left;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (batch_.answered_[i] == 0) left.push_back({tasks[i].row, tasks[i].generation, std::move(batch_.changes_[i])});
  }
  batch_.changes_.clear();
  // One bad change must not fail its neighbours: their handler is called for each alone.
  const bool ask_again = thrown && tasks.size() > 1;
  for (Ledger::Task& task : left) {
    if (ask_again) {
      run_batch({&task, 1});
    } else {
      answer_fault(task.row, task.change, fault);
    }
  }
}

void Consumer::settle(const Ticket& ticket, const Outcome& outcome) {
  if (!ledger_.is_current(ticket.row, ticket.generation)) return;
  if (objects_ && objects_->is_reconciled()) return settle_object(objects_->of(ledger_.key(ticket.row)), outcome, true);
  if (outcome.kind() == Outcome::Kind::Done) {
    answer_done(ticket.row);
  } else {
    const Change change{ledger_.op(ticket.row), ledger_.flight(ticket.row)};
    answer(ticket.row, change, outcome);
  }
  note_settled();
  note_standing_rows();
  if (ready()) wake();
}

void Consumer::note_settled() {
  answered_ = services_.scheduler.now();
  if (unsettled_.value_or(0) > 0) --*unsettled_;
}

void Consumer::requeue(std::string_view key) {
  const std::uint32_t row = ledger_.find(key);
  if (row != Ledger::kNone && ledger_.state(row) != Ledger::State::InFlight) return;  // A change of it waits.
  const std::uint32_t bound = row != Ledger::kNone ? BoundRows::kNone : ledger_.bound().find(key, hash_key(key));
  if (bound != BoundRows::kNone) {
    ledger_.release_row(bound, services_.facts);
  } else {
    subscription_->requeue(key);
  }
}

void Consumer::answer_done(std::uint32_t row) {
  ++stats_.done;
  note_latency(row);
  observers_.done(row);
  forget_rejection(row);
  ledger_.unbind(row, services_.facts);
  settle_row(row);
}

/// With the scheduler's time of this turn: no clock is read.
void Consumer::note_latency(std::uint32_t row) {
  const Duration took = services_.scheduler.now() - ledger_.since(row);
  stats_.latency_ns.add(static_cast<std::uint64_t>(std::max<Duration::rep>(took.count(), 0)));
}

/// Called when a change is done or waits. A done row that is handled again does not end the rejection of a newer change.
void Consumer::forget_rejection(std::uint32_t row) {
  if (!rejections_.empty() && !ledger_.is_redone(row)) rejections_.forget(ledger_.key(row));
}

void Consumer::settle_row(std::uint32_t row) {
  const bool is_delete = ledger_.op(row) == ChangeOp::Delete;
  if (is_delete) subscription_->ack(Change{ChangeOp::Delete, ledger_.flight(row)});
  if (is_delete && objects_) objects_->forget(table_of_objects_, ledger_.key(row));
  ledger_.settle(row);
}

void Consumer::answer(std::uint32_t row, const Change& change, const Outcome& outcome) {
  switch (outcome.kind()) {
    case Outcome::Kind::Done: answer_done(row); return;
    case Outcome::Kind::DoneWhile: done_while(row, change, outcome.facts()); return;
    case Outcome::Kind::WaitFor: park(row, change, outcome.facts(), outcome.is_any()); return;
    case Outcome::Kind::RetryAfter: delay(row, change, outcome.delay(), outcome.why()); return;
    case Outcome::Kind::Reject:
      if (outcome.is_removed()) ledger_.unbind(row, services_.facts);
      reject(row, change, outcome.why(), outcome.is_of_key());
      return;
    case Outcome::Kind::Staged: observers_.ordered(row); return;
  }
}

void Consumer::park(std::uint32_t row, const Change& change, std::span<const Fact> facts, bool any) {
  if (facts.empty() || facts.size() > limits::kWaitsPerChange) {
    reject(row, change,
           Status{StatusCode::Internal, "the handler waits for " + std::to_string(facts.size()) + " facts; 1 to " +
                                            std::to_string(limits::kWaitsPerChange) + " are allowed"});
    return;
  }
  if (is_asked_again(row, change)) return;
  const auto is_missing = [this](const Fact& fact) { return !services_.facts.holds(fact); };
  const auto missing = std::ranges::find_if(facts, is_missing);
  if (any ? std::ranges::all_of(facts, is_missing) : missing != facts.end()) {
    forget_rejection(row);
    const bool is_replaced = ledger_.is_replaced(row);
    const auto listed = static_cast<std::size_t>(missing - facts.begin());
    if (ledger_.park(row, facts, listed, services_.scheduler.now(), services_.facts, any)) {
      note_parked();
      observers_.parked(row, change, facts, any);
    } else if (is_replaced) {
      observers_.replaced(row, change, facts);
    } else {
      observers_.superseded(row, change, facts);
    }
    return;
  }
  // Its facts hold. No other code has run on this thread since the handler's check, so the handler and the provider are inconsistent.
  // A fact of another thread may have begun to hold in between, but not every time.
  const bool raced = std::ranges::any_of(facts, [this](const Fact& fact) { return services_.facts.is_foreign(fact.kind); });
  ask_again(row, change, raced, facts.front(), "waits for");
}

void Consumer::ask_again(std::uint32_t row, const Change& change, bool raced, const Fact& fact, std::string_view what) {
  std::uint8_t& times = ledger_.spurious_waits(row);
  if (!raced || times >= kRaces) ++stats_.spurious_waits;
  if (times < (raced ? kRaces : 1)) {
    ++times;
    ledger_.requeue(row);
    observers_.again(row, change);
    return;
  }
  // The delay prevents an inconsistent handler and provider from spinning. After it the handler is called whether or not the fact holds:
  // its wait may include a request to the component that states the fact.
  delay(row, change, limits::kSpuriousWaitDelay,
        Status{StatusCode::Internal, "the handler " + std::string{what} + " " + fact.to_string() +
                                         (services_.facts.holds(fact) ? ", which holds" : ", which does not hold")});
}

bool Consumer::is_asked_again(std::uint32_t row, const Change& change) {
  if (!ledger_.take_end_in_flight(row, services_.facts)) return false;
  ledger_.requeue(row);
  observers_.again(row, change);
  return true;
}

Status Consumer::check_done_while(const Change& change, std::span<const Fact> facts) const {
  if (change.op() == ChangeOp::Delete) return Status{StatusCode::Internal, "the handler says that a Delete is done while facts hold"};
  if (!ledger_.rows_are_whole()) {
    return Status{StatusCode::Internal,
                  "the handler is done while facts hold, but is given written fields only: it needs ConsumeOptions::rows = "
                  "Rows::Whole, so that the row can be handled again"};
  }
  if (!facts.empty() && facts.size() <= limits::kWaitsPerChange) return {};
  return Status{StatusCode::Internal, "the handler is done while " + std::to_string(facts.size()) + " facts hold; 1 to " +
                                          std::to_string(limits::kWaitsPerChange) + " are allowed"};
}

void Consumer::done_while(std::uint32_t row, const Change& change, std::span<const Fact> facts) {
  if (Status fault = check_done_while(change, facts); !fault.ok()) {
    reject(row, change, fault);
    return;
  }
  // A fact may have ended between the handler's check and a staged answer, and may hold again: the applied state may be gone.
  const auto ended = std::ranges::find_if(facts, [this, row](const Fact& fact) {
    return services_.facts.count_ends_of(fact.kind) || !services_.facts.holds(fact) ||
           services_.facts.has_ended_since(fact, ledger_.asked(row));
  });
  if (ended != facts.end()) {
    ask_again(row, change, true, *ended, "is done while");
    return;
  }
  ++stats_.done;
  note_latency(row);
  observers_.done(row, facts);
  forget_rejection(row);
  ledger_.bind(row, facts, services_.facts);
}

void Consumer::delay(std::uint32_t row, const Change& change, Duration delay, const Status& given) {
  if (is_asked_again(row, change)) return;
  const Status why = with_short_reason(given);
  forget_rejection(row);
  const Instant now = services_.scheduler.now();
  const Instant due = now + std::max(delay, Duration{0});
  if (ledger_.park_until(row, due, why.ok() ? std::string{} : why.to_string(), now)) {
    note_parked();
    observers_.delayed(row, change, delay, due, why);
  } else {
    observers_.superseded(row, change, {}, due);
  }
}

void Consumer::note_parked() {
  ++stats_.parked_ever;
  stats_.parked_peak = std::max(stats_.parked_peak, ledger_.parked());
}

void Consumer::reject(std::uint32_t row, const Change& change, const Status& why, bool is_of_key) {
  const Status reason = why.ok() ? Status{StatusCode::Internal, "the handler gave no reason"} : with_short_reason(why);
  observers_.rejected(row, change, reason);
  report_reject(change, reason);
  // If no Set of this key can be applied, a Delete has nothing to remove, so the key is not rejected any more.
  if (is_of_key && change.op() == ChangeOp::Delete) {
    rejections_.forget(change.key());
  } else {
    keep_rejection(change, reason);
  }
  // The row remains as it was done before this change. If a fact that it depends on has ended meanwhile, it is handled again.
  ledger_.release_if_held(row);
  settle_row(row);
}

/// The change is dropped before a handler sees it, and the row keeps its waiting change.
void Consumer::refuse(const Change& change) {
  const Status why{StatusCode::ResourceExhausted, "with what waits for its key it would be over the limits of a record"};
  observers_.refused(change, why);
  report_reject(change, why);
}

Status Consumer::named(const Change& change, const Status& why) const { return why.with_context(table_ + " " + quoted(change.key())); }

void Consumer::report_reject(const Change& change, const Status& why) {
  ++stats_.rejected;
  const Status reason = named(change, why);
  stats_.last_reject = reason.to_string();
  if (services_.on_reject) services_.on_reject(table_, change, reason);
}

void Consumer::keep_rejection(const Change& change, const Status& why) {
  const bool dropped =
      rejections_.keep(change.key(), named(change, why), std::string{to_string(change.op())} + " rejected: " + why.to_string());
  if (dropped) ++stats_.rejections_forgotten;
}

ConsumerStats Consumer::stats() const {
  ConsumerStats stats = stats_;
  stats.rejected_rows = rejections_.size();
  if (const Status* const newest = rejections_.newest()) stats.standing_reject = newest->to_string();
  stats.queued = ledger_.queued() + ledger_.bound().ended() + subscription_->depth();
  stats.bound = ledger_.bound().size();
  stats.caught_up = subscription_->caught_up();
  stats.parked = ledger_.parked();
  const auto [delayed, first] = ledger_.delayed();
  stats.delayed_rows = delayed;
  if (delayed != 0) stats.first_delay = quoted(ledger_.key(first)) + ": " + std::string{ledger_.why(first)};
  stats.in_flight = ledger_.in_flight();
  if (is_full()) stats.full_at = rows_max_;
  stats.awaits = awaited_table();
  if ((held_ || !stats.awaits.empty()) && stats.queued > 0)
    stats.held_for = std::max(services_.scheduler.clock().now() - held_since_, Duration{1});
  if (stats.in_flight > 0 && !watches_staged_) stats.unanswered_for = std::max(services_.scheduler.clock().now() - answered_, Duration{1});
  if (!quarantine().ok()) stats.quarantine = quarantine().to_string();
  return stats;
}

}  // namespace rondo
