#include "orch/parked.h"

#include <algorithm>
#include <utility>

#include "orch/runtime_view.h"

namespace rondo {

namespace {

ParkedRow parked_row(const RuntimeView& view, const Consumer& consumer, std::uint32_t row) {
  const Ledger& ledger = consumer.ledger();
  const Instant now = view.scheduler().clock().now();
  ParkedRow parked;
  parked.table = consumer.table();
  parked.key = std::string{ledger.key(row)};
  parked.op = ledger.op(row);
  parked.facts = ledger.facts_of(row, view.facts());
  parked.waited = now - ledger.since(row);
  if (ledger.due(row) > now) parked.retry_in = ledger.due(row) - now;
  parked.why = std::string{ledger.why(row)};
  return parked;
}

}  // namespace

std::vector<ParkedFact> parked_facts(const Runtime& runtime, std::size_t max) {
  const RuntimeView view(runtime);
  view.expect_here("parked_facts");
  std::vector<ParkedFact> found;
  const Instant now = view.scheduler().clock().now();
  for (const auto& [table, consumer] : view.consumers()) {
    const std::string& name = table;
    consumer->ledger().for_each_fact([&](std::uint32_t slot, std::size_t rows, Instant since) {
      if (found.size() >= max) return false;
      const Fact& fact = view.facts().fact(slot);
      std::string provider = view.facts().provider(fact.kind);
      const bool has_provider = !provider.empty();
      found.push_back({fact, name, rows, has_provider, std::move(provider), now - since});
      return true;
    });
  }
  using Found = std::vector<ParkedFact>;
  for (Found& theirs : view.ask_workers<Found>([max](Runtime& worker) { return parked_facts(worker, max); })) {
    for (ParkedFact& one : theirs) {
      if (found.size() < max) found.push_back(std::move(one));
    }
  }
  return found;
}

std::vector<ParkedFact> parked_facts(const Runtime& runtime, std::size_t max, std::uint32_t& place) {
  const RuntimeView view(runtime);
  view.expect_here("parked_facts");
  std::vector<ParkedFact> found;
  const Instant now = view.scheduler().clock().now();
  const std::uint32_t end = view.facts().limit();
  const std::uint32_t last = std::min(end, place + std::min(end - std::min(end, place), kPlacesOfParked));
  for (; place < last && found.size() < max; ++place) {
    for (const FactIndex::Waiter& waiter : view.facts().waiters(place)) {
      const Fact& fact = view.facts().fact(place);
      const auto owner =
          std::ranges::find_if(view.consumers(), [&](const auto& known) { return &known.second->ledger() == waiter.ledger; });
      const auto [rows, since] = waiter.ledger->waiting(waiter.list);
      std::string provider = view.facts().provider(fact.kind);
      const bool has_provider = !provider.empty();
      found.push_back(
          {fact, owner == view.consumers().end() ? std::string{} : owner->first, rows, has_provider, std::move(provider), now - since});
    }
  }
  if (place < end) return found;
  place = kNoPlace;
  using Found = std::vector<ParkedFact>;
  for (Found& theirs : view.ask_workers<Found>([max](Runtime& worker) { return parked_facts(worker, max); })) {
    std::ranges::move(theirs, std::back_inserter(found));
  }
  return found;
}

std::vector<ParkedRow> parked_rows(const Runtime& runtime, std::string_view table, std::size_t max) {
  const RuntimeView view(runtime);
  view.expect_here("parked_rows");
  std::vector<ParkedRow> found;
  const auto it = view.consumers().find(table);
  if (it == view.consumers().end()) {
    using Found = std::vector<ParkedRow>;
    for (Found& theirs :
         view.ask_workers<Found>([name = std::string{table}, max](Runtime& worker) { return parked_rows(worker, name, max); })) {
      if (!theirs.empty()) return std::move(theirs);
    }
    return found;
  }
  it->second->ledger().for_each_parked([&](std::uint32_t row) {
    if (found.size() >= max) return false;
    found.push_back(parked_row(view, *it->second, row));
    return true;
  });
  return found;
}

std::vector<ParkedRow> parked_rows(const Runtime& runtime, std::string_view table, std::size_t max, std::uint32_t& place) {
  const RuntimeView view(runtime);
  view.expect_here("parked_rows");
  const auto it = view.consumers().find(table);
  if (it == view.consumers().end()) {  // The table may belong to a worker.
    using Page = std::pair<std::vector<ParkedRow>, std::uint32_t>;
    const auto ask = [name = std::string{table}, max, from = place](Runtime& worker) {
      std::uint32_t behind = from;
      std::vector<ParkedRow> rows = parked_rows(worker, name, max, behind);
      return Page{std::move(rows), behind};
    };
    const std::uint32_t from = std::exchange(place, kNoPlace);
    if (from == kNoPlace) return {};
    for (Page& page : view.ask_workers<Page>(ask)) {
      if (page.first.empty() && page.second == kNoPlace) continue;
      place = page.second;
      return std::move(page.first);
    }
    return {};
  }
  const Ledger& ledger = it->second->ledger();
  std::vector<ParkedRow> found;
  const std::uint32_t end = ledger.limit();
  const std::uint32_t last = std::min(end, place + std::min(end - std::min(end, place), kPlacesOfParked));
  for (; place < last && found.size() < max; ++place) {
    if (ledger.state(place) != Ledger::State::Parked || ledger.is_resolved(place)) continue;
    found.push_back(parked_row(view, *it->second, place));
  }
  if (place >= end) place = kNoPlace;
  return found;
}

std::vector<RejectedRow> rejected_rows(const Runtime& runtime, std::string_view table, std::size_t max,
                                       const std::optional<std::string>& after) {
  const RuntimeView view(runtime);
  view.expect_here("rejected_rows");
  const auto it = view.consumers().find(table);
  if (it != view.consumers().end()) return it->second->rejections().rows(after, max);
  using Found = std::vector<RejectedRow>;
  const auto ask = [name = std::string{table}, max, after](Runtime& worker) { return rejected_rows(worker, name, max, after); };
  for (Found& theirs : view.ask_workers<Found>(ask)) {
    if (!theirs.empty()) return std::move(theirs);
  }
  return {};
}

}  // namespace rondo
