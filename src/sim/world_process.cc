// world_process.cc: the process of a world: its parts, its end and restart, and its observers.
#include <optional>
#include <utility>

#include "orch/runtime_view.h"
#include "rondo/base/assert.h"
#include "rondo/store/memory_store.h"
#include "sched/sim_reactor.h"
#include "sim/checkers.h"
#include "sim/turn_seen.h"
#include "sim/world_impl.h"
#include "store/field_views.h"

namespace rondo::sim {

namespace {

/// Calls a function as a checker.
class FunctionChecker final : public Checker {
 public:
  FunctionChecker(std::string name, std::function<Status()> check) : name_(std::move(name)), check_(std::move(check)) {}
  std::string_view name() const noexcept override { return name_; }
  Status at_rest(const World&) override { return check_(); }

 private:
  std::string name_;
  std::function<Status()> check_;
};

/// The kind of event as which the world's checkers see it; nullopt if they do not see it.
std::optional<Event::Kind> kind_of(const RowEvent& event) noexcept {
  switch (event.what) {
    case RowEvent::What::Taken: return Event::Kind::Taken;
    case RowEvent::What::Retried: return Event::Kind::Chosen;
    case RowEvent::What::Redone:
    case RowEvent::What::Requeued: return Event::Kind::Redone;
    case RowEvent::What::Handled: return Event::Kind::Asked;
    case RowEvent::What::Done: return Event::Kind::Done;
    case RowEvent::What::Rejected: return Event::Kind::Rejected;
    case RowEvent::What::Parked: return Event::Kind::Waits;
    case RowEvent::What::Delayed: return Event::Kind::Delayed;
    case RowEvent::What::Replaced: return Event::Kind::Replaced;
    case RowEvent::What::Superseded: return event.facts.empty() ? Event::Kind::Delayed : Event::Kind::Waits;
    case RowEvent::What::Again: return Event::Kind::Again;
    case RowEvent::What::Merged:
    case RowEvent::What::Unparked:
    case RowEvent::What::Ordered:
    case RowEvent::What::StillParked:
    case RowEvent::What::Refused:
    case RowEvent::What::Resolved: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

World::Impl::Impl(World& owner)
    : world(owner),
      random(owner.seed() * 0x9E3779B97F4A7C15ULL + 1),
      producer(owner, owner.options_->deletes_before_rewriting),
      executor_faults(
          owner, [this](std::string_view what) { happened(what); }, [this](std::uint64_t number) { trace.orders(number); }),
      faults(owner, *this, random.split(), owner.options_->plane),
      checkers(standard_checkers()),
      turns(owner.clock_) {}

// --- Events

void World::Impl::report(const Event& event) {
  last_event = world.now();
  trace.add(last_event, world.turns_, event);
  for (const std::unique_ptr<Checker>& checker : checkers) {
    if (Status bad = checker->see(world, event); !bad.ok()) fail(checker->name(), bad);
  }
}

void World::Impl::fail(std::string_view checker, const Status& why) {
  if (violation) return;
  violation = std::string{checker} + " at turn " + std::to_string(world.turns_) + ": ";
  violation->append(why.message());
}

void World::Impl::row(const RowEvent& event) {
  const std::optional<Event::Kind> kind = kind_of(event);
  if (!kind) return;
  const bool waits = *kind == Event::Kind::Waits || *kind == Event::Kind::Replaced;
  report({.kind = *kind,
          .table = event.table,
          .change = event.change,
          .facts = waits ? event.facts : std::span<const Fact>{},
          .any = event.any,
          .until = event.due});
}

void World::Impl::announcing(const Fact& fact) { report({.kind = Event::Kind::Announced, .facts = {&fact, 1}}); }

void World::Impl::withdrawing(const Fact& fact) { report({.kind = Event::Kind::Withdrawn, .facts = {&fact, 1}}); }

/// For the checkers, the fact begins and ends at the same time.
void World::Impl::asking_again(const Fact& fact) {
  announcing(fact);
  withdrawing(fact);
}

void World::Impl::store_write_ended(std::string_view table, const Change& change, const Status& end) {
  // A remote store refuses before it has an effect. An embedded store has applied an accepted write, and can only fail to keep it.
  const bool refused = remote != nullptr && (end.code() == StatusCode::Unavailable || end.code() == StatusCode::ResourceExhausted ||
                                             end.code() == StatusCode::InvalidArgument);
  if (!refused) report({.kind = end.ok() ? Event::Kind::Written : Event::Kind::Unsure, .table = table, .change = &change});
}

void World::Impl::after_turn() {
  trace.turn(world.now(), turns.last());
  for (const std::unique_ptr<Checker>& checker : checkers) {
    if (Status bad = checker->after_turn(world); !bad.ok()) fail(checker->name(), bad);
  }
}

void World::Impl::check_at_rest() {
  for (const std::unique_ptr<Checker>& checker : checkers) {
    if (Status bad = checker->at_rest(world); !bad.ok()) fail(checker->name(), bad);
  }
}

std::string World::Impl::moving() const {
  std::string ready;
  runtime->scheduler().for_each_source([&](const Source& source) {
    if (source.is_ready() && ready.empty()) ready = "source '" + std::string{source.name()} + "' is ready";
  });
  if (!ready.empty()) return ready;
  if (const Status health = store->health(); !health.ok()) return "the store is not well: " + std::string{health.message()};
  if (store->unanswered() > 0) return std::to_string(store->unanswered()) + " writes have no answer";
  if (!producer.is_content()) {
    const std::string row = producer.doubted();
    return row.empty() ? "a write is under way" : "a write is to be repeated: " + row;
  }
  for (const auto& [table, consumer] : RuntimeView(*runtime).consumers()) {
    const ConsumerStats stats = consumer->stats();
    if (stats.queued > 0) return table + ": " + std::to_string(stats.queued) + " changes are queued";
    if (stats.in_flight > 0) return table + ": " + std::to_string(stats.in_flight) + " changes are in flight";
    const Ledger& ledger = consumer->ledger();
    std::string timed;
    ledger.for_each_parked([&](std::uint32_t row) {
      if (ledger.due(row) == Instant{}) return true;
      timed = table + ": " + quoted(ledger.key(row)) + " is tried again and again: " + std::string{ledger.why(row)};
      return false;
    });
    if (!timed.empty()) return timed;
  }
  return executor_faults.moving();
}

// --- The process

std::unique_ptr<Store> World::Impl::make_store(Scheduler& scheduler) {
  const WorldOptions& options = *world.options_;
  const auto on_disk = [this](Duration commit_high) {
    return [this, commit_high](Scheduler& of) { return std::make_unique<SimDurableStore>(of, tables, random, commit_high); };
  };
  std::unique_ptr<Store> made;
  if (options.make_store) {
    made = options.make_store(scheduler);
    RONDO_EXPECT(made != nullptr, "WorldOptions::make_store made no store");
  } else if (options.store == StoreKind::Remote) {
    auto far = std::make_unique<SimStore>(scheduler, SimStoreOptions{.seed = random.next(),
                                                                     .on_fault = [this](std::string_view what) { happened(what); },
                                                                     .server = on_disk(Duration{0})});
    remote = far.get();
    made = std::move(far);
  } else if (options.store == StoreKind::Durable) {
    made = on_disk(faults.plan().commit_high)(scheduler);
  } else {
    made = make_memory_store(scheduler);
  }
  auto seen = std::make_unique<ObservedStore>(
      std::move(made), [this](std::string_view table, const Change& change, const Status& end) { store_write_ended(table, change, end); });
  store = seen.get();
  return seen;
}

void World::Impl::begin_process() {
  ++processes;
  const WorldOptions& options = *world.options_;
  report({.kind = Event::Kind::Begins});
  if (processes > 1 && options.store == StoreKind::Embedded && !options.make_store) report({.kind = Event::Kind::Emptied});
  RuntimeOptions made;
  made.policy = options.policy;
  made.clock = &world.clock_;
  made.reactor = world.reactor_.get();
  made.log_rejects = false;
  if (options.make_observer) made.observer = options.make_observer(world.clock_);
  made.store = [this, observer = made.observer.get()](Scheduler& scheduler) {
    turns.follow(scheduler,
                 observer != nullptr ? observer->events().turn_observer() : nullptr);  // Called before the first source is added.
    return make_store(scheduler);
  };
  runtime = std::make_unique<Runtime>(std::move(made));
  faults.apply_to_store();
  RuntimeView::attach(*runtime, *this);
  RuntimeView::attach(*runtime, executor_faults);
  parts = program(*runtime);
}

void World::Impl::end_process() {
  store->for_each_unanswered(
      [this](std::string_view table, const Change& change) { report({.kind = Event::Kind::Unsure, .table = table, .change = &change}); });
  executor_faults.set_crashing(true);
  parts.reset();
  runtime.reset();
  executor_faults.set_crashing(false);
  store = nullptr;
  remote = nullptr;
  if (tables.crash(random) > 0) happened("the end of a group of writes is lost");
}

void World::start(Program program) {
  Impl& in = inside();
  RONDO_EXPECT(in.runtime == nullptr && in.processes == 0, "World::start was called twice");
  in.program = std::move(program);
  in.faults.follow(options_->faults);
  in.begin_process();
}

void World::crash(Duration down_for) {
  Impl& in = inside();
  in.crash_due = false;
  in.happened("the process ends");
  in.end_process();
  clock_.advance(down_for);
  in.producer.process_ended(options_->store == StoreKind::Embedded && !options_->make_store);
  in.begin_process();
}

Runtime& World::runtime() noexcept {
  RONDO_EXPECT(impl_ != nullptr && impl_->runtime != nullptr, "World::runtime before World::start");
  return *impl_->runtime;
}
const Runtime& World::runtime() const noexcept {
  RONDO_EXPECT(impl_ != nullptr && impl_->runtime != nullptr, "World::runtime before World::start");
  return *impl_->runtime;
}

SimDataPlane& World::plane() {
  Impl& in = inside();
  if (in.plane == nullptr) {
    SimDataPlaneOptions made = options_->plane;
    made.seed = seed();
    made.spend = [this](Duration time) {
      impl_->trace.orders(impl_->plane->digest());
      clock_.advance(time + impl_->faults.drawn(impl_->faults.plan().order_time_high));
    };
    in.plane = std::make_unique<SimDataPlane>(std::move(made));
  }
  return *in.plane;
}

void World::set(std::string_view table, std::string_view key, FieldList fields) { set(table, key, FieldViews{fields}.all()); }
void World::set(std::string_view table, std::string_view key, std::span<const Field> fields) { inside().producer.set(table, key, fields); }
void World::remove(std::string_view table, std::string_view key) { inside().producer.remove(table, key); }
bool World::is_confirmed(std::string_view table, std::string_view key) { return inside().producer.is_confirmed(table, key); }
void World::set_faults(const FaultPlan& faults) { inside().faults.follow(faults); }
void World::add(std::unique_ptr<Checker> checker) { inside().checkers.push_back(std::move(checker)); }
void World::check_at_rest(std::string name, std::function<Status()> check) {
  add(std::make_unique<FunctionChecker>(std::move(name), std::move(check)));
}
void World::note(std::string_view what) { inside().happened(what); }

const std::optional<std::string>& World::violation() const noexcept {
  static const std::optional<std::string> kNone;
  return impl_ == nullptr ? kNone : impl_->violation;
}

std::string World::report() const {
  std::string text = random_.describe() + ", " + std::to_string(turns_) + " turns, " + std::to_string(crashes()) + " crashes";
  if (violation()) text += "\nviolation of " + *violation();
  if (impl_ != nullptr) text += "\nthe last events:\n" + impl_->trace.text();
  return text;
}

std::string World::last_event() const { return impl_ == nullptr ? std::string{} : impl_->trace.last(); }
const TurnSeen& World::last_turn() const noexcept {
  static const TurnSeen kNone;
  return impl_ == nullptr ? kNone : impl_->turns.last();
}
std::uint64_t World::crashes() const noexcept { return impl_ == nullptr || impl_->processes == 0 ? 0 : impl_->processes - 1; }
std::uint64_t World::hash() const noexcept { return impl_ == nullptr ? 0 : impl_->trace.hash(); }

}  // namespace rondo::sim
