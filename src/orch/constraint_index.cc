#include "orch/constraint_index.h"

#include <algorithm>
#include <utility>

#include "orch/ledger.h"
#include "rondo/base/assert.h"
#include "rondo/store/record.h"

namespace rondo {

namespace {

void remove_waiter(ConstraintIndex::Waiters& waiters, const Ledger& ledger) {
  const auto it = std::ranges::find(waiters, &ledger, &ConstraintIndex::Waiter::ledger);
  if (it != waiters.end()) waiters.erase(it);
}

}  // namespace

const ConstraintIndex::Provider* ConstraintIndex::provider_of(ConstraintKind kind) const noexcept {
  for (const Provider& provider : providers_) {
    if (provider.kind.data() == kind.name().data() && provider.kind.size() == kind.name().size()) return &provider;
  }
  const auto it = std::ranges::find(providers_, kind.name(), &Provider::kind);
  return it == providers_.end() ? nullptr : &*it;
}

void ConstraintIndex::provide(ConstraintKind kind, std::string owner, Holds holds) {
  RONDO_ASSERT(provider_of(kind) == nullptr);
  providers_.push_back({kind.name(), std::move(owner), std::move(holds)});
}

void ConstraintIndex::retire_provider(ConstraintKind kind) {
  std::erase_if(providers_, [&](const Provider& provider) { return provider.kind == kind.name(); });
}

bool ConstraintIndex::holds(const Constraint& fact) const {
  const Provider* const provider = provider_of(fact.kind);
  return provider != nullptr && provider->holds(fact.key);
}

std::string_view ConstraintIndex::provider(ConstraintKind kind) const {
  const Provider* const provider = provider_of(kind);
  return provider == nullptr ? std::string_view{} : std::string_view{provider->owner};
}

std::uint64_t ConstraintIndex::hash_of(const Constraint& fact) noexcept {
  return hash_key(fact.key) ^ (hash_key(fact.kind.name()) * 0x9E3779B97F4A7C15ULL);
}

std::uint32_t ConstraintIndex::find(const Constraint& fact, std::uint64_t hash) const {
  return by_fact_.find(hash, [&](std::uint32_t slot) { return entries_[slot].fact == fact; });
}

std::uint32_t ConstraintIndex::list_for(Ledger& ledger, const Constraint& fact) {
  const std::uint64_t hash = hash_of(fact);
  std::uint32_t slot = find(fact, hash);
  if (slot == kNone) {
    slot = entries_.take();
    entries_[slot].fact = fact;
    entries_[slot].hash = hash;
    by_fact_.insert(hash, slot);
  }
  Waiters& waiters = entries_[slot].waiters;
  for (const Waiter& waiter : waiters) {
    if (waiter.ledger == &ledger) return waiter.list;
  }
  const std::uint32_t list = ledger.make_list(slot);
  waiters.push_back(Waiter{&ledger, list});
  return list;
}

void ConstraintIndex::drop(std::uint32_t slot) {
  Entry& entry = entries_[slot];
  by_fact_.erase(entry.hash, slot);
  entry.waiters.clear();
  entries_.give_back(slot);
}

void ConstraintIndex::forget(Ledger& ledger, std::uint32_t list) {
  const std::uint32_t slot = ledger.lists_[list].constraint;
  RONDO_ASSERT(slot != kNone && ledger.lists_[list].count == 0);
  Waiters& waiters = entries_[slot].waiters;
  remove_waiter(waiters, ledger);
  ledger.drop_list(list);
  if (waiters.empty()) drop(slot);
}

std::size_t ConstraintIndex::announce(const Constraint& fact) {
  if (by_fact_.size() == 0) return 0;
  const std::uint32_t slot = find(fact, hash_of(fact));
  if (slot == kNone) return 0;
  const Waiters waiters = std::move(entries_[slot].waiters);
  drop(slot);
  std::size_t total = 0;
  for (const Waiter& waiter : waiters) total += waiter.ledger->resolve(waiter.list);
  return total;
}

void ConstraintIndex::forget_ledger(const Ledger& ledger) {
  ledger.for_each_constraint([&](std::uint32_t slot, std::size_t) {
    remove_waiter(entries_[slot].waiters, ledger);
    if (entries_[slot].waiters.empty()) drop(slot);
    return true;
  });
}

}  // namespace rondo
