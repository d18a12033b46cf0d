// why: walks from a row that waits, by its first missing fact, to the row that would state that fact, and so on, until it comes to what
// nobody has written, what is under way, or a row it has seen before (a cycle).
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "orch/runtime_parts.h"
#include "rondo/base/limits.h"

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
  if (note.empty()) return;
  if (!link.note.empty()) link.note += "; ";
  link.note += note;
}

/// Fills in what the consumer of link.table knows about link.key; the first fact is one that does not hold, if there is one.
void look_up(WhyLink& link, const Consumer* consumer, const ConstraintIndex& constraints, Instant now) {
  if (consumer == nullptr) {
    add_note(link, "nobody consumes this table");
    return;
  }
  const Ledger& ledger = consumer->ledger();
  const std::uint32_t row = ledger.find(link.key);
  if (row == Ledger::kNone) {
    if (const std::string* rejection = consumer->rejection(link.key)) {
      link.state = WhyLink::State::Rejected;
      add_note(link, *rejection);
      return;
    }
    add_note(link, "nothing is owed for this key: it was never written, or it is done");
    return;
  }
  link.state = state_of(ledger, row);
  if (link.state != WhyLink::State::Parked) return;
  link.facts = ledger.facts_of(row, constraints);
  const auto missing = std::ranges::find_if(link.facts, [&](const Constraint& fact) { return !constraints.holds(fact); });
  if (missing != link.facts.end()) std::iter_swap(link.facts.begin(), missing);
  if (!link.facts.empty()) link.provider = std::string{constraints.provider(link.facts.front().kind)};
  if (ledger.due(row) > now) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(ledger.due(row) - now);
    add_note(link, "tried again in " + std::to_string(left.count()) + " ms");
  }
  add_note(link, std::string{ledger.why(row)});
}

}  // namespace

/// One step of the walk, as the thread of the table's consumer sees it.
struct Runtime::WhyStep {
  bool is_consumer = false;
  bool holds = false;  // The first fact: the row waits for its time alone.
  WhyLink link;
};

Runtime::WhyStep Runtime::why_step(const FactOrigin& at) const {
  const Parts& p = *parts_;
  WhyStep step;
  const auto consumer = p.consumers.find(at.table);
  step.is_consumer = consumer != p.consumers.end();
  step.link.table = at.table;
  step.link.key = at.key;
  step.link.note = at.note;
  look_up(step.link, step.is_consumer ? consumer->second : nullptr, p.constraints, p.scheduler->clock().now());
  if (!step.link.facts.empty()) step.holds = p.constraints.holds(step.link.facts.front());
  return step;
}

Runtime::WhyStep Runtime::why_step_anywhere(const FactOrigin& at) const {
  if (parts_->workers.empty() || parts_->consumers.contains(at.table)) return why_step(at);
  std::string busy;
  for (WhyStep& step : ask_workers<WhyStep>([at](Runtime& worker) { return worker.why_step(at); }, &busy)) {
    if (step.is_consumer) return std::move(step);
  }
  WhyStep step = why_step(at);
  if (!busy.empty()) add_note(step.link, "worker " + quoted(busy) + " is busy; ask again");
  return step;
}

std::optional<FactOrigin> Runtime::origin_anywhere(const Constraint& fact) const {
  using Origin = std::optional<FactOrigin>;
  const auto ask = [fact](const Runtime& runtime) {
    const auto known = runtime.parts_->origins.find(fact.kind.name());
    return known == runtime.parts_->origins.end() ? Origin{} : Origin{known->second(fact.key)};
  };
  if (Origin here = ask(*this)) return here;
  for (Origin& there : ask_workers<Origin>([ask](Runtime& worker) { return ask(worker); })) {
    if (there) return std::move(there);
  }
  return {};
}

Why Runtime::why(std::string_view table, std::string_view key) const {
  Why why;
  std::set<std::pair<std::string, std::string>> seen;
  FactOrigin at{std::string{table}, std::string{key}, {}};
  while (why.chain.size() < limits::kWhyDepth) {
    why.cycle = !seen.emplace(at.table, at.key).second;
    WhyStep step = why_step_anywhere(at);
    WhyLink& link = why.chain.emplace_back(std::move(step.link));
    if (why.cycle || link.facts.empty() || step.holds) return why;
    const Constraint& fact = link.facts.front();
    std::optional<FactOrigin> origin = origin_anywhere(fact);
    if (link.provider.empty()) add_note(link, "nobody provides facts of the kind " + quoted(fact.kind.name()));
    if (!origin) return why;
    at = *std::move(origin);
    if (at.table.empty()) {
      add_note(link, at.note);
      return why;
    }
  }
  add_note(why.chain.back(), "the chain is longer than the limit of " + std::to_string(limits::kWhyDepth) + " links");
  return why;
}

}  // namespace rondo
