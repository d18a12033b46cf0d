#include "table_life.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "orch/parked.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"

namespace rondo::swarm {

namespace {

constexpr std::size_t kTables = 6;
constexpr std::array<FactKind, kTables> kRows{FactKind{"row-0"}, FactKind{"row-1"}, FactKind{"row-2"},
                                              FactKind{"row-3"}, FactKind{"row-4"}, FactKind{"row-5"}};
constexpr std::array<FactKind, kTables> kUnlocked{FactKind{"unlocked-0"}, FactKind{"unlocked-1"}, FactKind{"unlocked-2"},
                                                  FactKind{"unlocked-3"}, FactKind{"unlocked-4"}, FactKind{"unlocked-5"}};

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const noexcept { return hash_key(key); }
};

/// Parses "2:k7,0:k1" as facts.
std::vector<Fact> facts_of(std::string_view needs) {
  std::vector<Fact> facts;
  while (!needs.empty()) {
    const std::size_t comma = std::min(needs.find(','), needs.size());
    const std::string_view need = needs.substr(0, comma);
    facts.push_back({kRows[static_cast<std::size_t>(need.front() - '0')], std::string{need.substr(2)}});
    needs.remove_prefix(std::min(comma + 1, needs.size()));
  }
  return facts;
}

}  // namespace

/// One table's Orch. It knows about the simulation only as the source of its random numbers.
class TableOrch final : public Orch {
 public:
  TableOrch(Runtime& runtime, const TableShape& shape, const bool& is_calm, std::uint64_t seed)
      : Orch(runtime, shape.name, shape.priority),
        shape_(shape),
        is_calm_(is_calm),
        random_(seed),
        timer_(shape.name + " device", shape.priority, [this] { work(); }) {
    runtime.scheduler().add(timer_);
    if (shape.in_batches) {
      consume_batches(
          shape.name, [this](Batch& batch) { handle(batch); }, shape.options);
    } else {
      consume(
          shape.name, [this](std::string_view key, const Fields& fields) { return set(key, fields); },
          [this](std::string_view key) { return remove(key); }, shape.options);
    }
    provide(kRows[shape.number], [this](std::string_view key) { return rows_.contains(key); });
    provide(kUnlocked[shape.number], [this](std::string_view key) { return !locked_.contains(key); });
  }

  void unlock_all() {
    for (const std::string& key : std::exchange(locked_, {})) announce({kUnlocked[shape_.number], key});
  }
  /// For a table whose rows are done only while other rows exist: returns what an applied row lacks, if any.
  Status check() const {
    if (!shape_.binds) return {};
    for (const auto& [key, needs] : rows_) {
      for (const Fact& fact : facts_of(needs)) {
        if (!holds(fact)) return {StatusCode::Internal, shape_.name + ": " + key + " is applied without " + fact.to_string()};
      }
    }
    return {};
  }
  void toggle_lock(const std::string& key) {
    if (!shape_.has_locks) return;
    if (locked_.erase(key) == 0) {
      locked_.insert(key);
      withdraw({kUnlocked[shape_.number], key});
    } else {
      announce({kUnlocked[shape_.number], key});
    }
  }

 private:
  enum class Way : std::uint8_t { Now, Later, Staged, Reject, Throw };
  struct Operation {
    Change change;
    Ticket ticket;
    int left = 0;  // Polls of the device until it is done.
  };

  Way draw_way() {
    if (is_calm_) return random_.chance(shape_.stages) ? Way::Staged : Way::Now;
    const double drawn = random_.real01();
    double bound = shape_.later;
    if (drawn < bound) return Way::Later;
    if (drawn < (bound += shape_.stages)) return Way::Staged;
    if (drawn < (bound += shape_.rejects)) return Way::Reject;
    return drawn < bound + shape_.throws ? Way::Throw : Way::Now;
  }
  Outcome later() {
    return Outcome::retry_after(std::chrono::microseconds{random_.below(5000)}, Status{StatusCode::Unavailable, "not now"});
  }

  /// Returns what prevents the change from being applied now, if anything.
  std::optional<Outcome> hindrance(ChangeOp op, std::string_view key, const Fields& fields) {
    if (op == ChangeOp::Delete) {
      const Fact unlocked{kUnlocked[shape_.number], std::string{key}};
      if (!holds(unlocked)) return Outcome::wait_for(unlocked);
      return {};
    }
    const std::optional<std::string_view> needs = fields.find("needs");
    if (!needs || needs->empty()) return {};
    std::vector<Fact> facts = facts_of(*needs);
    const auto missing = std::ranges::find_if(facts, [this](const Fact& fact) { return !holds(fact); });
    if (missing == facts.end()) return {};
    if (shape_.binds) leave(key);
    if (random_.chance(0.5)) return Outcome::wait_for(*missing);  // Waits for one fact at a time, or for all.
    return Outcome::wait_for(std::move(facts));
  }

  Outcome answer(ChangeOp op, std::string_view key, const Fields& fields, const Change* change, Way way) {
    if (std::optional<Outcome> hindered = hindrance(op, key, fields)) return *std::move(hindered);
    if (shape_.binds && op == ChangeOp::Set && (way == Way::Reject || way == Way::Throw)) leave_if_applied(key, fields);
    switch (way) {
      case Way::Later: return later();
      case Way::Reject: return Outcome::reject({StatusCode::InvalidArgument, "refused"});
      case Way::Throw: throw std::runtime_error("thrown");
      case Way::Staged:
        if (change != nullptr) return Outcome::staged();  // A batch stages its rows itself.
        stage(op == ChangeOp::Delete ? Change::remove(key) : copy(key, fields), current_ticket());
        return Outcome::staged();
      case Way::Now: break;
    }
    apply(op, key, fields);
    if (!shape_.binds || op == ChangeOp::Delete) return Outcome::done();
    std::vector<Fact> facts = facts_of(fields.find("needs").value_or(""));
    if (facts.empty()) return Outcome::done();
    return facts.size() == 1 ? Outcome::done_while(facts.front()) : Outcome::done_while(std::move(facts));
  }
  static Change copy(std::string_view key, const Fields& fields) {
    const std::vector<Field> all(fields.begin(), fields.end());
    return Change::set(key, all);
  }

  Outcome set(std::string_view key, const Fields& fields) { return answer(ChangeOp::Set, key, fields, nullptr, draw_way()); }
  Outcome remove(std::string_view key) { return answer(ChangeOp::Delete, key, {}, nullptr, draw_way()); }
  void handle(Batch& batch) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Change change = batch[i];
      const Outcome outcome = answer(change.op(), change.key(), change.fields(), &change, draw_way());
      if (outcome.kind() == Outcome::Kind::Staged) {
        stage(change, batch.stage(i));
      } else if (outcome.kind() == Outcome::Kind::Done) {
        batch.done(i);
      } else {
        batch.answer(i, outcome);
      }
    }
  }

  void apply(ChangeOp op, std::string_view key, const Fields& fields) {
    if (op == ChangeOp::Delete) return leave(key);
    rows_.insert_or_assign(std::string{key}, std::string{fields.find("needs").value_or("")});
    announce({kRows[shape_.number], std::string{key}});
  }
  void leave(std::string_view key) {
    if (rows_.erase(std::string{key}) > 0) withdraw({kRows[shape_.number], std::string{key}});
  }

  /// A handler that refuses a row which it applied before removes it: the row may be handled again.
  void leave_if_applied(std::string_view key, const Fields& fields) {
    const auto applied = rows_.find(key);
    if (applied != rows_.end() && applied->second == fields.find("needs").value_or("")) leave(key);
  }

  void stage(Change change, const Ticket& ticket) {
    under_way_.push_back({std::move(change), ticket, static_cast<int>(random_.below(3))});
    if (!timer_.is_armed()) timer_.arm_at(runtime().clock().now() + 1ms);
  }
  void work() {
    for (Operation& operation : std::exchange(under_way_, {})) {
      if (operation.left-- > 0) {
        under_way_.push_back(std::move(operation));
        continue;
      }
      const Change& change = operation.change;
      Way way = draw_way();
      if (way == Way::Staged || way == Way::Throw) way = Way::Now;
      settle(operation.ticket, answer(change.op(), change.key(), change.fields(), nullptr, way));
    }
    if (!under_way_.empty()) timer_.arm_at(runtime().clock().now() + 1ms);
  }

  const TableShape& shape_;
  const bool& is_calm_;
  Random random_;
  std::unordered_map<std::string, std::string, KeyHash, std::equal_to<>> rows_;  // The facts that each applied row needs, by key.
  std::set<std::string, std::less<>> locked_;
  std::vector<Operation> under_way_;
  TimerSource timer_;
};

sim::WorldOptions TableLife::drawn_world(Random& random, std::uint64_t seed) {
  sim::WorldOptions options;
  options.seed = seed;
  options.store = static_cast<sim::StoreKind>(random.below(3));
  if (random.chance(0.9)) options.faults = sim::FaultPlan::drawn(random);
  options.policy = drawn_policy(random);
  return options;
}

/// Listens to the writes of the life's clients to a Queue and to a Channel.
class EventOrch final : public Orch {
 public:
  EventOrch(Runtime& runtime, const TableLife::Events& events, SimClock& clock, std::uint64_t seed)
      : Orch(runtime, "events", events.priority), clock_(clock), random_(seed), takes_(events.takes), throws_(events.throws) {
    const auto listen_to = [this, &runtime](const TableLife::EventTable& table, std::function<void()> on_gap) {
      const Status declared = runtime.store().declare({.name = table.name, .kind = table.kind, .rows_max = table.room});
      RONDO_ASSERT(declared.ok());
      listen(
          table.name, [this, told = table.told](const Change& event) { hear(event, *told); }, table.kind, std::move(on_gap));
    };
    listen_to(events.queue, {});
    listen_to(events.channel, [told = events.told_channel] { told->gap(); });
  }

 private:
  void hear(const Change& event, ToldEvents& told) {
    if (takes_ > Duration{0})
      clock_.advance(Duration{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(takes_.count())))});
    told.heard(static_cast<std::uint64_t>(event.fields().integer("number", 0, INT64_MAX).value()));
    if (random_.chance(throws_)) throw std::runtime_error("thrown");  // The event is lost; the next is handled.
  }

  SimClock& clock_;
  Random random_;
  const Duration takes_;
  const double throws_;
};

TableLife::TableLife(std::uint64_t seed) : random_(seed * 7919 + 1) {
  sim::WorldOptions options = drawn_world(random_, seed);
  is_far_ = options.store == sim::StoreKind::Remote;
  const bool has_events = random_.chance(0.5);
  if (has_events && options.store == sim::StoreKind::Durable && random_.chance(0.3)) {
    // So that crashes occur between an entry's handler and the disk write that records it as handled.
    options.faults.crash_every = std::chrono::milliseconds{random_.between(20, 200)};
    options.faults.commit_high = std::chrono::milliseconds{random_.between(5, 50)};
  }
  world_ = std::make_unique<sim::World>(std::move(options));
  keys_ = random_.between(2, 24);
  draw_shapes();
  if (has_events) draw_events();
  world_->check_at_rest("rows", [this] { return check(); });
  world_->start([this](Runtime& runtime) -> std::shared_ptr<void> {
    orchs_.clear();
    for (const TableShape& shape : shapes_) orchs_.push_back(&runtime.add<TableOrch>(shape, is_calm_, world_->random().next()));
    if (events_) runtime.add<EventOrch>(*events_, world_->clock(), world_->random().next());
    return nullptr;
  });
}

TableLife::~TableLife() = default;

void TableLife::draw_shapes() {
  const std::size_t count = random_.between(2, kTables);
  for (std::size_t number = 0; number < count; ++number) {
    TableShape shape;
    shape.number = number;
    shape.name = "T" + std::to_string(number);
    shape.priority = Priority{static_cast<unsigned>(random_.below(4))};
    shape.in_batches = random_.chance(0.4);
    shape.has_needs = random_.chance(0.7);
    shape.binds = shape.has_needs && random_.chance(0.5);
    shape.has_locks = random_.chance(0.4);
    shape.options.kind = random_.chance(0.8) ? TableKind::Staged : TableKind::Watched;
    shape.options.retry_quota = static_cast<std::uint32_t>(random_.below(4));
    shape.options.batch_max = static_cast<std::uint32_t>(random_.between(1, 8));
    // Rows that wait for facts stay in the ledger: a small one could never take the rows that announce the facts.
    if (!shape.has_needs && !shape.has_locks && random_.chance(0.5)) shape.options.rows_max = random_.between(1, 4);
    shape.options.set_replaces_delete = random_.chance(0.3);
    shape.options.weight = static_cast<std::uint32_t>(random_.between(1, 3));
    if (random_.chance(0.6)) shape.later = random_.real01() * 0.2;
    if (random_.chance(0.6)) shape.stages = random_.real01() * 0.4;
    if (random_.chance(0.3)) shape.rejects = random_.real01() * 0.1;
    if (random_.chance(0.3)) shape.throws = random_.real01() * 0.1;
    shapes_.push_back(std::move(shape));
  }
}

void TableLife::draw_events() {
  Events& events = events_.emplace();
  events.priority = Priority{static_cast<unsigned>(random_.below(4))};
  if (random_.chance(0.3)) events.throws = random_.real01() * 0.1;
  if (random_.chance(0.4)) events.takes = Duration{static_cast<std::int64_t>(random_.between(1, 3'000'000))};
  const auto room = [this] { return random_.chance(0.5) ? random_.between(1, 16) : limits::kQueuedEvents; };
  auto queue = std::make_unique<ToldQueue>();
  auto channel = std::make_unique<ToldChannel>();
  events.told_queue = queue.get();
  events.told_channel = channel.get();
  events.queue = {.name = "Q", .kind = TableKind::Queue, .room = room(), .told = queue.get()};
  events.channel = {.name = "C", .kind = TableKind::Channel, .room = room(), .told = channel.get()};
  world_->add(std::move(queue));
  world_->add(std::move(channel));
}

void TableLife::write_event(const EventTable& table) {
  const std::uint64_t number = table.told->next();
  const std::string text = std::to_string(number);
  const Field fields[] = {{"number", text}};
  // A remote store refuses before it does anything; one in the process has the event when it accepts it.
  const bool is_far = is_far_;
  const Status accepted = world_->runtime().store().write(
      table.name, Change::event("happens", drawn_key(), fields), [told = table.told, number, is_far](const Status& end) {
        const bool refused = is_far && (end.code() == StatusCode::Unavailable || end.code() == StatusCode::ResourceExhausted);
        told->ended(number, end.ok(), refused);
      });
  if (!accepted.ok()) table.told->ended(number, false, true);
}

std::string TableLife::drawn_key() { return "k" + std::to_string(random_.below(keys_)); }

std::string TableLife::drawn_needs() {
  std::string needs;
  for (std::uint64_t i = 0, count = random_.below(4); i < count; ++i) {
    if (!needs.empty()) needs += ",";
    needs += std::to_string(random_.below(shapes_.size())) + ":" + drawn_key();
  }
  return needs;
}

void TableLife::write(const TableShape& shape) {
  const std::string key = drawn_key();
  if (random_.chance(0.25)) return world_->remove(shape.name, key);
  // A Watched table delivers whole rows, so the whole row is written; a Staged one merges.
  const bool whole = shape.options.kind == TableKind::Watched;
  const std::string stamp = std::to_string(++stamp_);
  const std::string needs = shape.has_needs ? drawn_needs() : std::string{};
  std::vector<Field> fields;
  if (whole || random_.chance(0.7)) fields.push_back({"a", stamp});
  if (whole || random_.chance(0.5)) fields.push_back({"b", stamp});
  if (whole || (shape.has_needs && random_.chance(0.6))) fields.push_back({"needs", needs});
  world_->set(shape.name, key, fields);
}

void TableLife::act() {
  is_calm_ = false;
  for (std::uint64_t i = 0, count = random_.between(1, 3); i < count; ++i) write(shapes_[random_.below(shapes_.size())]);
  if (events_ && random_.chance(0.4)) {
    const EventTable& table = random_.chance(0.5) ? events_->queue : events_->channel;
    for (std::uint64_t i = 0, count = random_.chance(0.7) ? 1 : random_.between(2, 40); i < count; ++i) write_event(table);
  }
  if (random_.chance(0.5)) orchs_[random_.below(orchs_.size())]->toggle_lock(drawn_key());
}

void TableLife::calm_down() {
  is_calm_ = true;
  for (TableOrch* const orch : orchs_) orch->unlock_all();
}

Status TableLife::check() const {
  for (const TableOrch* const orch : orchs_) {
    if (Status bad = orch->check(); !bad.ok()) return bad;
  }
  // Deletes wait only for locks, and there are none now. So every unsettled row waits for rows of tables.
  for (const TableShape& shape : shapes_) {
    for (const ParkedRow& row : parked_rows(std::as_const(*world_).runtime(), shape.name, 1000)) {
      if (row.op == ChangeOp::Delete)
        return {StatusCode::Internal, shape.name + ": the Delete of " + row.key + " waits though nothing is locked"};
    }
  }
  return {};
}

}  // namespace rondo::swarm
