// why: walks from a waiting row over each missing fact to the row that would state that fact, and so on. A path ends at a row that was
// never written, at a row under way, or at a row visited before. If that row waits for this one, it is a cycle. Depth first, so that all
// links of the first missing fact are adjacent.
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/thrown.h"
#include "orch/runtime_impl.h"
#include "rondo/base/limits.h"
#include "rondo/base/text.h"

namespace rondo {

namespace {

WhyLink::State state_of(const Ledger& ledger, std::uint32_t row) {
  switch (ledger.state(row)) {
    case Ledger::State::Free: return WhyLink::State::Absent;
    case Ledger::State::Queued: return WhyLink::State::Queued;
    case Ledger::State::InFlight: return WhyLink::State::InFlight;
    case Ledger::State::Parked: return ledger.is_resolved(row) ? WhyLink::State::Queued : WhyLink::State::Parked;
  }
  return WhyLink::State::Absent;
}

void add_note(WhyLink& link, const std::string& note) {
  if (note.empty() || link.note.find(note) != std::string::npos) return;
  if (!link.note.empty()) link.note += "; ";
  link.note += note;
}

/// The Orchs that provide the missing facts, which are the first ones; if none is missing, the first fact.
std::string providers_of(const WhyLink& link, const FactIndex& index) {
  const std::size_t facts = std::min(std::max<std::size_t>(link.missing, 1), link.facts.size());
  std::vector<std::string> names;
  std::string text;
  for (std::size_t i = 0; i < facts; ++i) {
    std::string name{index.provider(link.facts[i].kind)};
    if (name.empty() || std::ranges::find(names, name) != names.end()) continue;
    text += (text.empty() ? "" : ", ") + name;
    names.push_back(std::move(name));
  }
  return text;
}

/// The row's change has left its table and is not in the ledger. 'worker': the name of the consumer's worker; empty for none.
void look_up_fetched(WhyLink& link, const Consumer& consumer, std::string_view worker) {
  link.state = WhyLink::State::Queued;
  add_note(link,
           worker.empty() ? "its consumer has not taken it yet" : "it waits for worker " + quoted(worker) + ", which has not taken it yet");
  if (consumer.is_held()) add_note(link, "Orch " + quoted(consumer.orch()) + " holds the table");
  if (const std::string_view first = consumer.awaited_table(); !first.empty())
    add_note(link, "the standing rows of " + std::string{first} + " come first");
}

/// Fills in the state of link.key in the consumer of link.table.
void look_up(WhyLink& link, const Consumer* consumer, const FactIndex& index, Instant now, std::string_view worker) {
  if (consumer == nullptr) {
    add_note(link, "no Orch consumes this table");
    return;
  }
  const Ledger& ledger = consumer->ledger();
  const std::uint32_t row = ledger.find(link.key);
  if (row == Ledger::kNone) {
    if (consumer->has_fetched(link.key)) return look_up_fetched(link, *consumer, worker);
    if (const std::string* rejection = consumer->rejections().text_of(link.key)) {
      link.state = WhyLink::State::Rejected;
      add_note(link, *rejection);
      return;
    }
    // A server alone knows which keys its waiting changes have.
    add_note(link, consumer->waiting() == 0
                       ? std::string{"no change is pending for this key: it was never written, or it is done"}
                       : "its consumer has taken no change of this key that is not done; keys that wait in the table: " +
                             std::to_string(consumer->waiting()) + ", and it may be one of them");
    return;
  }
  link.state = state_of(ledger, row);
  link.op = ledger.op(row);
  if (link.state != WhyLink::State::Parked) return;
  link.facts = ledger.facts_of(row, index);
  link.any_fact = ledger.waits_for_any(row);
  if (link.any_fact) add_note(link, "one of these " + std::to_string(link.facts.size()) + " facts is enough");
  // A row is listed under a fact that did not hold when the row was parked. If the fact holds now, the next sweep queues the row again.
  if (!link.facts.empty() && index.holds(link.facts.front()) && !ledger.is_resolved(row)) {
    add_note(link, link.facts.front().to_string() + " holds, but was not announced by " + index.provider(link.facts.front().kind));
  }
  const auto held = std::ranges::stable_partition(link.facts, [&](const Fact& fact) { return !index.holds(fact); });
  link.missing = link.facts.size() - held.size();
  link.provider = providers_of(link, index);
  if (ledger.due(row) > now) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(ledger.due(row) - now);
    add_note(link, "tried again in " + std::to_string(left.count()) + " ms");
  }
  add_note(link, std::string{ledger.why(row)});
}

/// Names a quarantined source that a row may wait for: its consumer, or for a row in flight any other, because an executor is a source
/// and no one knows whose answer the row waits for.
void note_quarantine(WhyLink& link, const Consumer& consumer, const Scheduler& scheduler) {
  if (!consumer.quarantine().ok()) {
    add_note(link, "its consumer is quarantined and gets no more turns: " + consumer.quarantine().to_string());
  }
  if (link.state != WhyLink::State::InFlight || scheduler.stats().quarantined == 0) return;
  const Source* found = nullptr;
  scheduler.for_each_source([&](const Source& source) {
    if (&source != &consumer && !source.quarantine().ok()) found = &source;
  });
  if (found == nullptr) return;
  add_note(link,
           "if " + quoted(found->name()) + " answers for it, no answer will come: it is quarantined: " + found->quarantine().to_string());
}

/// Adds the Orch's knowledge of the row to the ledger's. 'in' is the state of the earlier orders, even if a change is pending.
void add_plane(WhyLink& link, const Consumer& consumer, RowInPlane in, const FactIndex& index) {
  const bool is_owed = link.state != WhyLink::State::Absent;
  const bool is_delete = link.op == ChangeOp::Delete;
  if (is_owed) link.before = in.state;
  if (is_owed && !is_delete && (in.state == PlaneState::Installed || in.state == PlaneState::Withdrawn)) {
    add_note(link, "what was asked for before is " + std::string{to_string(in.state)});
  }
  switch (link.state) {
    case WhyLink::State::Queued:
    case WhyLink::State::InFlight:
      link.plane = PlaneState::Pending;
      if (in.state == PlaneState::Pending) add_note(link, in.note);
      return;
    case WhyLink::State::Parked: {
      const bool is_known = in.state == PlaneState::Foreign || in.state == PlaneState::Refused;
      link.plane = is_known ? in.state : PlaneState::Waiting;
      if (in.state == PlaneState::Refused) add_note(link, in.note);
      return;
    }
    case WhyLink::State::Unknown: return;
    case WhyLink::State::Rejected:
      if (consumer.rejections().is_of_kernel(link.key)) link.plane = PlaneState::Refused;
      return;
    case WhyLink::State::Absent: break;
  }
  if (in.state == PlaneState::Unknown) {
    if (in.note.empty()) return;
    // The Orch knows more of a row that is over than its table does.
    link.note = std::exchange(link.origin_note, {});
    add_note(link, in.note);
    link.origin_note = link.note;
    return;
  }
  link.plane = in.state;
  link.note = link.origin_note;
  add_note(link, in.note);
  link.facts = std::move(in.facts);
  link.missing = link.facts.size();
  link.provider = providers_of(link, index);
}

/// What the Orch knows of the row of 'link'. An exception of its function is kept as link.plane_error.
RowInPlane state_in_plane(WhyLink& link, const Runtime::StateOf& state_of, const Record* row) {
  try {
    return state_of(link.key, row);
  } catch (...) {
    const Status thrown = thrown_by("the function of Runtime::explain_state for this table", std::current_exception());
    link.plane_error = "the state is unknown: " + shorten(thrown.message(), limits::kReasonBytes);
    return {};
  }
}

/// The rows that could make a fact with the key 'key' true. An exception of the program's function takes the place of a row, as a note.
std::vector<FactOrigin> origins_of(const std::function<std::vector<FactOrigin>(std::string_view)>& tell, const std::string& key) {
  try {
    return tell(key);
  } catch (...) {
    const Status thrown = thrown_by("the function of Runtime::explain for this fact", std::current_exception());
    return {FactOrigin{"", "", "the row that makes it true is unknown: " + shorten(thrown.message(), limits::kReasonBytes)}};
  }
}

}  // namespace

/// One step of the walk, on the thread of the table's consumer.
struct Runtime::WhyStep {
  bool is_consumer = false;
  WhyLink link;
};

Runtime::WhyStep Runtime::why_step(const FactOrigin& at, const Record* row) const {
  const Impl& p = *impl_;
  WhyStep step;
  const auto consumer = p.consumers.find(at.table);
  step.is_consumer = consumer != p.consumers.end();
  step.link.table = at.table;
  step.link.key = at.key;
  step.link.note = at.note;
  step.link.origin_note = at.note;
  look_up(step.link, step.is_consumer ? consumer->second : nullptr, p.facts, p.scheduler->clock().now(),
          p.bridge == nullptr ? std::string_view{} : p.bridge->name());
  const auto teller = p.states.find(at.table);
  const bool is_told = step.is_consumer && teller != p.states.end();
  RowInPlane in = is_told ? state_in_plane(step.link, teller->second.state_of, row) : RowInPlane{};
  if (step.link.state == WhyLink::State::InFlight && (in.state != PlaneState::Pending || in.note.empty()))
    add_note(step.link, "ordered, and Orch " + quoted(consumer->second->orch()) + " has not settled it yet (Outcome::staged)");
  if (is_told) {
    add_plane(step.link, *consumer->second, std::move(in), p.facts);
    if (step.link.plane != PlaneState::Unknown) step.link.plane_error.clear();  // The ledger knows it.
    add_note(step.link, step.link.plane_error);
  }
  if (step.is_consumer && step.link.state != WhyLink::State::Absent) note_quarantine(step.link, *consumer->second, *p.scheduler);
  // A row that the store has but the consumer has not read: no change is pending for it yet.
  const bool is_known = step.link.state != WhyLink::State::Absent || step.link.plane != PlaneState::Unknown;
  if (row != nullptr && step.is_consumer && !is_known && !consumer->second->is_caught_up()) {
    step.link.state = WhyLink::State::Queued;
    step.link.plane = PlaneState::Pending;
    step.link.note = at.note;
    add_note(step.link, "its consumer has not read all rows of its table yet");
  }
  return step;
}

namespace {

std::string no_answer_of(const Worker& worker) {
  const std::string name = "worker " + quoted(worker.name());
  return worker.has_stopped_itself() ? name + " was stopped by its own code, and handles its tables no more" : name + " is busy; ask again";
}

}  // namespace

Runtime::WhyStep Runtime::why_step_anywhere(const FactOrigin& at, BusyWorkers& busy, const Record* row) const {
  if (impl_->workers.empty() || impl_->consumers.contains(at.table)) return why_step(at, row);
  const auto ask = [at, copy = row == nullptr ? Record{} : *row](Runtime& worker) { return worker.why_step(at, copy ? &copy : nullptr); };
  for (WhyStep& step : ask_workers<WhyStep>(ask, &busy)) {
    if (step.is_consumer) return std::move(step);
  }
  WhyStep step = why_step(at, row);
  const Worker* const owner = worker_of(at.table);
  if (std::ranges::find(busy.workers, owner) != busy.workers.end()) {
    step.link.state = WhyLink::State::Unknown;
    step.link.note = at.note;
    add_note(step.link, "only a worker knows what became of the row: " + no_answer_of(*owner));
    return step;
  }
  if (!busy.workers.empty()) add_note(step.link, no_answer_of(*busy.workers.front()));
  return step;
}

std::vector<FactOrigin> Runtime::origins_anywhere(const Fact& fact, BusyWorkers& busy) const {
  using Origins = std::optional<std::vector<FactOrigin>>;
  const auto ask = [fact](const Runtime& runtime) {
    const auto known = runtime.impl_->origins.find(fact.kind.name());
    return known == runtime.impl_->origins.end() ? Origins{} : Origins{origins_of(known->second, fact.key)};
  };
  if (Origins here = ask(*this)) return std::move(*here);
  for (Origins& there : ask_workers<Origins>([ask](Runtime& worker) { return ask(worker); }, &busy)) {
    if (there) return std::move(*there);
  }
  return {};
}

/// The state of the walk: the rows to visit next, the nearest last.
struct Runtime::WhyWalk {
  struct Next {
    FactOrigin at;
    std::size_t parent = 0;
    std::optional<Fact> fact = {};
    std::size_t any_of = 1;
  };
  const Runtime& runtime;
  BusyWorkers busy;
  Why why = {};
  std::vector<Next> open = {};
  std::set<std::pair<std::string, std::string>> seen = {};
  std::size_t facts = 0;

  bool is_above(const WhyLink& link) const {
    for (std::size_t at = link.parent;; at = why.chain[at].parent) {
      if (why.chain[at].table == link.table && why.chain[at].key == link.key) return true;
      if (why.chain[at].parent == at) return false;
    }
  }

  void visit(Next next) {
    const bool first_time = seen.emplace(next.at.table, next.at.key).second;
    WhyLink link = runtime.why_step_anywhere(next.at, busy).link;
    link.parent = next.parent;
    link.fact = std::move(next.fact);
    link.any_of = next.any_of;
    const std::size_t index = why.chain.size();
    why.chain.push_back(std::move(link));
    if (first_time) return follow(index);
    add_note(why.chain[index], is_above(why.chain[index]) ? "this way it waits for itself" : "see above for what it waits for");
  }

  /// The origins of 'fact'; where a fact stands for rows, these rows.
  std::vector<FactOrigin> origins_of(const Fact& fact, std::size_t depth = 0) {
    std::vector<FactOrigin> all;
    for (FactOrigin& origin : runtime.origins_anywhere(fact, busy)) {
      if (!origin.fact || depth == limits::kWhyDepth) {
        all.push_back(std::move(origin));
        continue;
      }
      std::vector<FactOrigin> rows = origins_of(*origin.fact, depth + 1);
      all.insert(all.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    }
    return all;
  }

  /// Adds the rows that could make the fact of 'like' true to 'below', or their notes to 'link' where there is no row.
  void add_origins(WhyLink& link, std::vector<FactOrigin> origins, Next like, std::vector<Next>& below) {
    like.any_of = std::max<std::size_t>(origins.size(), 1);
    facts += like.any_of - 1;
    if (origins.size() > limits::kWhyDepth) {
      why.cut_short = true;
      origins.resize(limits::kWhyDepth);
    }
    for (FactOrigin& origin : origins) {
      if (origin.table.empty()) {
        add_note(link, origin.note);
        continue;
      }
      like.at = std::move(origin);
      below.push_back(like);
    }
  }

  /// True if the asked row is in the largest set of rows that wait for each other. Each row of the set waits for a fact that only rows of
  /// the set could state, so no row outside the set can end the wait.
  bool is_stuck() const {
    std::map<std::pair<std::string, std::string>, std::size_t> first;
    struct Alternatives {
      std::size_t any_of = 1;
      std::vector<std::size_t> known = {};
    };
    std::map<std::tuple<std::size_t, std::string_view, std::string>, Alternatives> rows_of_fact;
    for (std::size_t i = 0; i < why.chain.size(); ++i) {
      const WhyLink& link = why.chain[i];
      const std::size_t row = first.try_emplace({link.table, link.key}, i).first->second;
      if (!link.fact) continue;
      const bool any = why.chain[link.parent].any_fact;  // The rows of all its facts are alternatives.
      Alternatives& rows = rows_of_fact[{link.parent, any ? "" : link.fact->kind.name(), any ? "" : link.fact->key}];
      rows.any_of = link.any_of;
      rows.known.push_back(row);
    }
    std::set<std::size_t> stuck;
    for (const auto& entry : first) stuck.insert(entry.second);
    // Each pass removes at least one row from the set, or is the last.
    for (std::size_t before = 0; before != stuck.size();) {
      before = stuck.size();
      std::set<std::size_t> waiting;
      for (const auto& [fact, rows] : rows_of_fact) {
        const bool all_stuck = std::ranges::all_of(rows.known, [&](std::size_t row) { return stuck.contains(row); });
        if (all_stuck && rows.known.size() == rows.any_of) waiting.insert(std::get<0>(fact));
      }
      std::erase_if(stuck, [&](std::size_t row) { return !waiting.contains(row); });
    }
    return stuck.contains(0);
  }

  /// Adds the rows that each missing fact of a link leads to, or a note where there is no row.
  void follow(std::size_t index) {
    WhyLink& link = why.chain[index];
    facts += link.facts.size();
    std::vector<Next> below;
    std::string kinds;
    std::size_t alternatives = 0;
    for (std::size_t i = 0; i < link.missing; ++i) {
      const Fact& fact = link.facts[i];
      const bool unprovided = runtime.impl_->facts.provider(fact.kind).empty();
      const std::string kind = quoted(fact.kind.name());
      if (unprovided && kinds.find(kind) == std::string::npos) {
        add_note(link, "no Orch provides facts of the kind " + kind);
        kinds += kind;
      }
      std::vector<FactOrigin> origins = origins_of(fact);
      alternatives += std::max<std::size_t>(origins.size(), 1);
      add_origins(link, std::move(origins), {{}, index, fact}, below);
    }
    if (link.any_fact) std::ranges::for_each(below, [alternatives](Next& next) { next.any_of = alternatives; });
    open.insert(open.end(), std::make_move_iterator(below.rbegin()), std::make_move_iterator(below.rend()));
  }
};

WhyLink Runtime::row_state(std::string_view table, std::string_view key) const {
  impl_->expect_here("row_state");
  BusyWorkers busy{.until = impl_->clock->now() + limits::kWhyWait};
  return why_step_anywhere(FactOrigin{std::string{table}, std::string{key}, {}}, busy).link;
}

WhyLink Runtime::row_state(std::string_view table, const Record& row) const {
  impl_->expect_here("row_state");
  BusyWorkers busy{.until = impl_->clock->now() + limits::kWhyWait};
  return why_step_anywhere(FactOrigin{std::string{table}, std::string{row.key()}, {}}, busy, &row).link;
}

Why Runtime::why(std::string_view table, std::string_view key) const {
  impl_->expect_here("why");
  WhyWalk walk{*this, {.until = impl_->clock->now() + limits::kWhyWait}};
  walk.open.push_back({FactOrigin{std::string{table}, std::string{key}, {}}});
  while (!walk.open.empty()) {
    const bool deep = walk.why.chain.size() >= limits::kWhyDepth;
    if (deep || walk.facts >= limits::kWhyFacts) {
      walk.why.cut_short = true;
      add_note(walk.why.chain.back(), deep ? "the chain is longer than the limit of " + std::to_string(limits::kWhyDepth) + " links"
                                           : "more than the limit of " + std::to_string(limits::kWhyFacts) + " facts are waited for");
      break;
    }
    WhyWalk::Next next = std::move(walk.open.back());
    walk.open.pop_back();
    walk.visit(std::move(next));
  }
  walk.why.cycle = walk.is_stuck();
  walk.why.cut_short = walk.why.cut_short || walk.busy.is_late;
  return std::move(walk.why);
}

}  // namespace rondo
