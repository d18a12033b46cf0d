// The standard checkers. Each keeps a plain model of the property it checks, updated by the events of the world.
#include "sim/checkers.h"
#include "orch/parked.h"
#include "sim/turn_seen.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orch/consumer.h"
#include "orch/inspection.h"
#include "orch/runtime_view.h"
#include "rondo/sim/world.h"
#include "sim/key_map.h"

namespace rondo::sim {

Checker::~Checker() = default;

namespace {

Status fault(std::string what) { return {StatusCode::Internal, std::move(what)}; }

std::string text_of(const Record& record) {
  if (!record) return "no row";
  std::string text = "{";
  for (const Field field : record.fields()) {
    text.append(text.size() > 1 ? " " : "").append(field.name).append("=").append(std::string{field.value.substr(0, 64)});
  }
  return text + "}";
}

/// True if every field of 'a' is in 'b' with the same value.
bool is_within(const Record& a, const Record& b) {
  return a.is_copy_of(b) ||
         std::ranges::all_of(a.fields(), [&b](const Field& field) { return b.fields().find(field.name) == field.value; });
}
bool same_fields(const Record& a, const Record& b) { return a.fields().size() == b.fields().size() && is_within(a, b); }
Record overlaid(const Record& older, const Record& newer) { return older ? Record::merged(older, newer) : newer; }

std::string place(std::string_view table, std::string_view key) { return std::string{table} + " " + quoted(key); }

const Consumer* consumer_of(const World& world, std::string_view table) {
  const RuntimeView view(world.runtime());
  const auto found = view.consumers().find(table);
  return found == view.consumers().end() ? nullptr : found->second;
}

bool gives_whole_rows(const World& world, std::string_view table) {
  const Consumer* const consumer = consumer_of(world, table);
  return consumer != nullptr && consumer->ledger().rows_are_whole();
}

/// The Set that was just taken replaces the Delete of its key (ConsumeOptions::set_replaces_delete).
bool replaces_delete(const World& world, const Event& event, bool delete_waits) {
  if (event.change->op() != ChangeOp::Set || !delete_waits) return false;
  const Consumer* const consumer = consumer_of(world, event.table);
  if (consumer == nullptr || !consumer->ledger().set_replaces_delete()) return false;
  const Ledger& ledger = consumer->ledger();
  const std::uint32_t row = ledger.find(event.change->key());
  if (row == Ledger::kNone) return false;
  if (ledger.state(row) == Ledger::State::InFlight) return ledger.rows_are_whole();
  if (ledger.state(row) == Ledger::State::Queued) return true;
  if (ledger.due(row) != Instant{}) return false;
  return !ledger.is_resolved(row) || ledger.facts_of(row, RuntimeView(world.runtime()).facts()).size() > 1;
}

}  // namespace

std::string_view to_string(Event::Kind kind) noexcept {
  switch (kind) {
    case Event::Kind::Begins: return "a process begins";
    case Event::Kind::Emptied: return "the tables are empty";
    case Event::Kind::Written: return "written";
    case Event::Kind::Unsure: return "perhaps written";
    case Event::Kind::Taken: return "taken";
    case Event::Kind::Chosen: return "retried";
    case Event::Kind::Redone: return "redone";
    case Event::Kind::Asked: return "asked";
    case Event::Kind::Done: return "done";
    case Event::Kind::Rejected: return "rejected";
    case Event::Kind::Waits: return "waits";
    case Event::Kind::Delayed: return "delayed";
    case Event::Kind::Replaced: return "replaced";
    case Event::Kind::Again: return "asked again";
    case Event::Kind::Announced: return "announced";
    case Event::Kind::Withdrawn: return "withdrawn";
    case Event::Kind::Fault: return "fault";
  }
  return "?";
}

Status Checker::see(const World&, const Event&) { return {}; }
Status Checker::after_turn(const World&) { return {}; }
Status Checker::at_rest(const World&) { return {}; }

// --- NothingLost

struct NothingLost::Book {
  struct Row {
    Record written;           // The row that the store has confirmed; empty: no row.
    Record told;              // The row that the present process has taken and applied.
    bool is_known = false;    // A write to the row was accepted.
    bool is_unsure = false;   // True until a Delete is confirmed.
    bool is_partial = false;  // The handler refused a part of it.
    bool has_delete = false;  // Only a Delete waits.
  };
  TableMap<KeyMap<Row>> tables;

  Row& row(const Event& event) { return entry_of(tables[event.table], event.change->record()); }
  template <class What>
  void for_each(const What& what) {
    for (auto& [table, rows] : tables) {
      for (auto& [key, row] : rows) what(row);
    }
  }
};

NothingLost::NothingLost() : book_(std::make_unique<Book>()) {}
NothingLost::~NothingLost() = default;

Status NothingLost::see(const World& world, const Event& event) {
  const bool is_set = event.change != nullptr && event.change->op() == ChangeOp::Set;
  switch (event.kind) {
    case Event::Kind::Begins:
      book_->for_each([](Book::Row& row) {
        row.told = Record{};
        row.is_partial = row.has_delete = false;
      });
      return {};
    case Event::Kind::Emptied: book_->for_each([](Book::Row& row) { row = Book::Row{}; }); return {};
    case Event::Kind::Written: {
      Book::Row& row = book_->row(event);
      row.is_known = true;
      row.written = is_set ? overlaid(row.written, event.change->record()) : Record{};
      if (!is_set) row.is_unsure = false;
      return {};
    }
    case Event::Kind::Unsure: {
      Book::Row& row = book_->row(event);
      row.is_known = row.is_unsure = true;
      return {};
    }
    case Event::Kind::Taken: {
      Book::Row& row = book_->row(event);
      if (replaces_delete(world, event, row.has_delete)) row.told = Record{};
      row.has_delete = !is_set;
      return {};
    }
    case Event::Kind::Done: {
      Book::Row& row = book_->row(event);
      const bool is_whole = gives_whole_rows(world, event.table);
      row.told = is_set ? overlaid(is_whole ? Record{} : row.told, event.change->record()) : Record{};
      if (!is_set) row.is_partial = false;
      return {};
    }
    case Event::Kind::Replaced: book_->row(event).told = Record{}; return {};  // The Set behind it is taken as the whole row.
    case Event::Kind::Rejected: book_->row(event).is_partial = true; return {};
    default: return {};
  }
}

Status NothingLost::at_rest(const World& world) {
  const RuntimeView view(world.runtime());
  for (const auto& [table, consumer] : view.consumers()) {
    const KeyMap<Book::Row>* const rows = book_->tables.find(table);
    if (rows == nullptr) continue;
    for (const auto& [key, row] : *rows) {
      if (!row.is_known || row.is_unsure || row.is_partial || consumer->ledger().find(key) != Ledger::kNone) continue;
      if (static_cast<bool>(row.written) != static_cast<bool>(row.told)) {
        return fault(place(table, key) + (row.written ? ": a Set" : ": a Delete") + " is lost: written " + text_of(row.written) +
                     ", done " + text_of(row.told));
      }
      if (!row.written) continue;
      if (!same_fields(row.written, row.told))
        return fault(place(table, key) + ": the last write did not win: written " + text_of(row.written) + ", done " + text_of(row.told));
    }
  }
  return {};
}

// --- OrderPerKey

struct OrderPerKey::Model {
  struct Row {
    Record set;  // The waiting Set.
    Record flight;
    bool has_delete = false;
    bool in_flight = false;
    bool flight_is_delete = false;
    bool is_empty() const noexcept { return !set && !has_delete && !in_flight; }
  };
  // Empty entries stay, because their keys recur.
  TableMap<KeyMap<Row>> tables;

  static Status asked(Row& row, const Event& event);
  static void put_back(Row& row, bool is_whole);
};

Status OrderPerKey::Model::asked(Row& row, const Event& event) {
  const bool is_delete = event.change->op() == ChangeOp::Delete;
  if (row.in_flight) {  // Handled again: another change of its batch made the handler fail.
    const bool same = row.flight_is_delete == is_delete && (is_delete || same_fields(row.flight, event.change->record()));
    return same ? Status{} : fault("a second change of the key is handled while the first has no outcome");
  }
  if (row.is_empty()) return fault("the handler is asked about a change that was not taken, or is done");
  if (row.has_delete != is_delete) return fault(is_delete ? "a Delete is asked about where a Set is next" : "a Set overtakes a Delete");
  row.in_flight = true;
  row.flight_is_delete = is_delete;
  if (is_delete) {
    row.has_delete = false;
    return {};
  }
  row.flight = std::exchange(row.set, Record{});
  if (same_fields(row.flight, event.change->record())) return {};
  return fault("the handler is asked about " + text_of(event.change->record()) + " and not " + text_of(row.flight));
}

void OrderPerKey::Model::put_back(Row& row, bool is_whole) {
  row.in_flight = false;
  if (row.flight_is_delete) {
    row.has_delete = true;
  } else if (!row.has_delete) {
    if (!row.set || !is_whole) row.set = row.set ? Record::merged(row.flight, row.set) : row.flight;
  }
  row.flight = Record{};
}

OrderPerKey::OrderPerKey() : model_(std::make_unique<Model>()) {}
OrderPerKey::~OrderPerKey() = default;

Status OrderPerKey::see(const World& world, const Event& event) {
  if (event.kind == Event::Kind::Begins) model_->tables.clear();
  if (event.kind < Event::Kind::Taken || event.kind > Event::Kind::Again || event.kind == Event::Kind::Chosen) return {};
  KeyMap<Model::Row>& rows = model_->tables[event.table];
  Model::Row& row = entry_of(rows, event.change->record());
  Status result;
  switch (event.kind) {
    case Event::Kind::Taken:
      if (replaces_delete(world, event, row.has_delete)) row.has_delete = false;
      if (event.change->op() == ChangeOp::Set) {
        row.set = overlaid(gives_whole_rows(world, event.table) ? Record{} : row.set, event.change->record());
      } else {
        row.has_delete = true;
        row.set = Record{};
      }
      return {};
    case Event::Kind::Redone:
      if (row.is_empty()) row.set = event.change->record();
      return {};
    case Event::Kind::Asked: result = Model::asked(row, event); break;
    default:
      if (!row.in_flight || row.flight_is_delete != (event.change->op() == ChangeOp::Delete)) {
        return fault(place(event.table, event.change->key()) + ": an outcome of a change that is not in flight");
      }
      if (event.kind == Event::Kind::Replaced && !row.set) return fault("a Delete is replaced by nothing");
      if (event.kind == Event::Kind::Waits || event.kind == Event::Kind::Delayed || event.kind == Event::Kind::Again) {
        Model::put_back(row, gives_whole_rows(world, event.table));
      } else {
        row.in_flight = false;
        row.flight = Record{};
      }
      return {};
  }
  return result.ok() ? result : result.with_context(place(event.table, event.change->key()));
}

Status OrderPerKey::at_rest(const World& world) {
  for (const auto& [table, consumer] : RuntimeView(world.runtime()).consumers()) {
    const KeyMap<Model::Row>& rows = model_->tables[table];
    const Ledger& ledger = consumer->ledger();
    const auto unsettled =
        static_cast<std::size_t>(std::ranges::count_if(rows, [](const auto& entry) { return !entry.second.is_empty(); }));
    if (unsettled != ledger.size()) {
      return fault(table + ": the ledger has " + std::to_string(ledger.size()) + " rows and not " + std::to_string(unsettled));
    }
    for (const auto& [key, row] : rows) {
      if (row.is_empty()) continue;
      const std::uint32_t found = ledger.find(key);
      if (found == Ledger::kNone) return fault(place(table, key) + ": the ledger has forgotten it");
      const bool is_delete = row.in_flight ? row.flight_is_delete : row.has_delete;
      if ((ledger.op(found) == ChangeOp::Delete) != is_delete) return fault(place(table, key) + ": the ledger has another operation");
    }
  }
  return {};
}

// --- NoHandlerTooEarly

struct NoHandlerTooEarly::Waits {
  struct Row {
    std::vector<Fact> facts;
    bool any = false;  // One of the facts is enough.
    Instant until;     // Instant{}: the row waits for the facts.
    std::uint64_t since = 0;
    bool waits = false;
    bool in_flight = false;
    bool has_newer = false;       // A newer change was taken while it is in flight.
    ChangeOp op = ChangeOp::Set;  // Operation of the change that waits or is in flight.
  };
  TableMap<KeyMap<Row>> tables;
  TableMap<KeyMap<std::uint64_t>> announced;  // The newest announcement of each fact, by kind and key.
  std::uint64_t clock = 0;

  Status chosen(const World& world, Row& row);
};

Status NoHandlerTooEarly::Waits::chosen(const World& world, Row& row) {
  if (!row.waits) return fault("a row that does not wait is retried");
  row.waits = false;
  if (row.until != Instant{}) {
    if (world.now() >= row.until) return {};
    return fault("retried " + std::to_string((row.until - world.now()).count()) + " ns before its time");
  }
  const FactIndex& index = RuntimeView(world.runtime()).facts();
  if (row.facts.size() == 1 || row.any) {
    for (const Fact& fact : row.facts) {
      KeyMap<std::uint64_t>& of_kind = announced[fact.kind.name()];
      const auto found = of_kind.find(std::string_view{fact.key});
      if ((found != of_kind.end() && found->second > row.since) || index.holds(fact)) return {};
    }
    return fault("retried before " + row.facts.front().to_string() + " was announced");
  }
  for (const Fact& fact : row.facts) {
    if (!index.holds(fact)) return fault("retried while " + fact.to_string() + " does not hold");
  }
  return {};
}

NoHandlerTooEarly::NoHandlerTooEarly() : waits_(std::make_unique<Waits>()) {}
NoHandlerTooEarly::~NoHandlerTooEarly() = default;

Status NoHandlerTooEarly::see(const World& world, const Event& event) {
  Waits& waits = *waits_;
  if (event.kind == Event::Kind::Begins) {
    waits.tables.clear();
    waits.announced.clear();
  }
  if (event.kind == Event::Kind::Announced) {
    const Fact& fact = event.facts.front();
    entry_of(waits.announced[fact.kind.name()], std::string_view{fact.key}) = ++waits.clock;
  }
  if (event.kind < Event::Kind::Taken || event.kind > Event::Kind::Again) return {};
  Waits::Row& row = entry_of(waits.tables[event.table], event.change->record());
  switch (event.kind) {
    case Event::Kind::Taken:
      row.has_newer = true;
      if (row.waits && (row.op == ChangeOp::Set || replaces_delete(world, event, true))) row.waits = false;
      return {};
    case Event::Kind::Chosen:
      // A wait that a newer change of the key has ended may have been resolved before.
      if (!row.waits && row.has_newer) return {};
      if (Status bad = waits.chosen(world, row); !bad.ok()) return bad.with_context(place(event.table, event.change->key()));
      return {};
    case Event::Kind::Redone: row.waits = false; return {};
    case Event::Kind::Asked:
      if (row.waits) return fault(place(event.table, event.change->key()) + ": the handler is asked while the change waits");
      row.in_flight = true;
      row.has_newer = false;
      row.op = event.change->op();
      return {};
    case Event::Kind::Waits:
    case Event::Kind::Delayed:
      row.in_flight = false;
      row.waits = row.op == ChangeOp::Delete || !row.has_newer;
      row.facts.assign(event.facts.begin(), event.facts.end());
      row.any = event.any;
      row.until = event.until;
      row.since = ++waits.clock;
      return {};
    default: row.in_flight = false; return {};
  }
}

// --- LedgersAgree

Status LedgersAgree::after_turn(const World& world) { return ++turns_ % period_ == 0 ? at_rest(world) : Status{}; }

Status LedgersAgree::at_rest(const World& world) {
  const RuntimeView view(world.runtime());
  for (const auto& [table, consumer] : view.consumers()) {
    if (Status bad = Inspection(consumer->ledger(), view.facts()).check(); !bad.ok()) return bad.with_context(table);
  }
  return {};
}

// --- BoundsHold

namespace {

std::string name_of(const TurnSeen& seen) {
  return seen.source == nullptr ? "a source that has gone" : "source " + quoted(seen.source->name());
}
std::string nanoseconds(Duration time) { return std::to_string(time.count()) + " ns"; }

Status check_turn(const TurnSeen& seen) {
  if (seen.turn.items > seen.budget.items) {
    return fault(name_of(seen) + ": a turn of " + std::to_string(seen.turn.items) + " items; its budget is " +
                 std::to_string(seen.budget.items));
  }
  if (seen.overstayed > Duration{0}) {
    return fault(name_of(seen) + ": continued for " + nanoseconds(seen.overstayed) + " after its time was up");
  }
  if (seen.waited > seen.promised) {
    return fault(name_of(seen) + ": waited for its turn for " + nanoseconds(seen.waited) + "; " + nanoseconds(seen.promised) +
                 " at most are promised");
  }
  if (seen.overdue != nullptr) return fault("source " + quoted(seen.overdue->name()) + ": waited for its turn for longer than is promised");
  if (seen.consumer != nullptr && seen.consumer->ledger().size() > seen.consumer->rows_max()) {
    return fault(seen.consumer->table() + ": the ledger has " + std::to_string(seen.consumer->ledger().size()) + " rows, at most " +
                 std::to_string(seen.consumer->rows_max()) + " are allowed");
  }
  return {};
}

}  // namespace

Status BoundsHold::after_turn(const World& world) {
  if (Status bad = check_turn(world.last_turn()); !bad.ok()) return bad;
  const SchedulerStats& stats = RuntimeView(world.runtime()).scheduler().stats();
  if (stats.sweep_rescues > 0)
    return fault("a wake-up was lost: the sweep has rescued a source; this turn was of " + name_of(world.last_turn()));
  if (stats.quarantined > 0) return fault("a source is quarantined");
  return {};
}

// --- ParkedRowsAreExplained

Status ParkedRowsAreExplained::after_turn(const World& world) {
  const ForgottenFacts& forgotten = world.runtime().forgotten_facts();
  return forgotten.newest.empty() ? Status{} : fault(forgotten.newest);
}

Status ParkedRowsAreExplained::at_rest(const World& world) {
  const RuntimeView view(world.runtime());
  const FactIndex& index = view.facts();
  Status wrong;
  for (const auto& [name, consumer] : view.consumers()) {
    const std::string& table = name;
    consumer->ledger().for_each_fact([&](std::uint32_t slot, std::size_t rows, Instant) {
      const Fact& fact = index.fact(slot);
      const std::string what = table + ": " + std::to_string(rows) + " rows wait for " + fact.to_string();
      if (index.holds(fact)) {
        wrong = fault(what + ", which holds: it was not announced");
      } else if (index.provider(fact.kind).empty()) {
        const std::vector<ParkedFact> told = report_ ? report_(world.runtime()) : parked_facts(world.runtime(), SIZE_MAX);
        const bool is_reported =
            std::ranges::any_of(told, [&](const ParkedFact& one) { return one.fact == fact && one.table == table && !one.has_provider; });
        if (!is_reported) wrong = fault(what + ", which no Orch provides, and no report names it");
      }
      return wrong.ok();
    });
    if (!wrong.ok()) return wrong;
  }
  return {};
}

// --- EndedFactsAreWithdrawn

Status EndedFactsAreWithdrawn::see(const World&, const Event& event) {
  switch (event.kind) {
    case Event::Kind::Begins: announced_.clear(); return {};
    case Event::Kind::Announced: announced_.insert_or_assign(event.facts.front().to_string(), event.facts.front()); return {};
    case Event::Kind::Withdrawn: announced_.erase(event.facts.front().to_string()); return {};
    default: return {};
  }
}

Status EndedFactsAreWithdrawn::at_rest(const World& world) {
  const FactIndex& index = RuntimeView(world.runtime()).facts();
  for (const auto& [text, fact] : announced_) {
    if (!index.holds(fact))
      return fault(text + " was announced and does not hold any more, but was not withdrawn by " + index.provider(fact.kind));
  }
  return {};
}

std::vector<std::unique_ptr<Checker>> standard_checkers() {
  std::vector<std::unique_ptr<Checker>> all;
  all.push_back(std::make_unique<NothingLost>());
  all.push_back(std::make_unique<OrderPerKey>());
  all.push_back(std::make_unique<NoHandlerTooEarly>());
  all.push_back(std::make_unique<LedgersAgree>());
  all.push_back(std::make_unique<BoundsHold>());
  all.push_back(std::make_unique<ParkedRowsAreExplained>());
  all.push_back(std::make_unique<EndedFactsAreWithdrawn>());
  return all;
}

}  // namespace rondo::sim
