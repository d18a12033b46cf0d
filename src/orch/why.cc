// why: walks from a row that waits, by its first missing fact, to the row that would state that fact, and so on, until it comes to what
// nobody has written, what is under way, or a row it has seen before (a cycle).
#include <algorithm>
#include <chrono>
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

Why Runtime::why(std::string_view table, std::string_view key) const {
  const Parts& p = *parts_;
  const Instant now = p.scheduler->clock().now();
  Why why;
  std::set<std::pair<std::string, std::string>> seen;
  FactOrigin at{std::string{table}, std::string{key}, {}};
  while (why.chain.size() < limits::kWhyDepth) {
    why.cycle = !seen.emplace(at.table, at.key).second;
    const auto consumer = p.consumers.find(at.table);
    WhyLink& link = why.chain.emplace_back();
    link.table = std::move(at.table);
    link.key = std::move(at.key);
    link.note = std::move(at.note);
    look_up(link, consumer == p.consumers.end() ? nullptr : consumer->second, p.constraints, now);
    if (why.cycle || link.facts.empty()) return why;
    const Constraint& fact = link.facts.front();
    if (p.constraints.holds(fact)) return why;  // It waits for its time alone.
    const auto origin = p.origins.find(fact.kind.name());
    if (link.provider.empty()) add_note(link, "nobody provides facts of the kind " + quoted(fact.kind.name()));
    if (origin == p.origins.end()) return why;
    at = origin->second(fact.key);
    if (at.table.empty()) {
      add_note(link, at.note);
      return why;
    }
  }
  add_note(why.chain.back(), "the chain is longer than the limit of " + std::to_string(limits::kWhyDepth) + " links");
  return why;
}

}  // namespace rondo
