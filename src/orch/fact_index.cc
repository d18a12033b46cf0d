#include "orch/fact_index.h"

#include <algorithm>
#include <utility>

#include "orch/fact_port.h"
#include "orch/ledger.h"
#include "rondo/base/assert.h"
#include "rondo/store/record.h"

namespace rondo {

namespace {

void remove_waiter(FactIndex::Waiters& waiters, const Ledger& ledger) {
  const auto it = std::ranges::find(waiters, &ledger, &FactIndex::Waiter::ledger);
  if (it != waiters.end()) waiters.erase(it);
}

}  // namespace

const FactIndex::Provider* FactIndex::provider_of(FactKind kind) const noexcept {
  for (const Provider& provider : providers_) {
    const std::string_view known = provider.kind.name();
    if (known.data() == kind.name().data() && known.size() == kind.name().size()) return &provider;
  }
  const auto it = std::ranges::find(providers_, kind, &Provider::kind);
  return it == providers_.end() ? nullptr : &*it;
}

void FactIndex::connect(FactPort& port) {
  RONDO_ASSERT(port_ == nullptr);
  port_ = &port;
  for (const Provider& provider : providers_) port.shared_facts().provide(port.subscriber(), provider.kind, provider.owner);
  for (std::uint32_t slot = 0; slot < entries_.limit(); ++slot) {
    const Entry& entry = entries_[slot];
    if (!is_foreign(entry.fact.kind)) continue;
    if (!entry.waiters.empty()) port.shared_facts().await(port.subscriber(), entry.fact);
    if (!entry.bound.empty()) static_cast<void>(count_ends_of(entry.fact.kind));
  }
}

void FactIndex::provide(FactKind kind, std::string owner, Holds holds) {
  RONDO_ASSERT(provider_of(kind) == nullptr);
  if (port_ != nullptr) port_->shared_facts().provide(port_->subscriber(), kind, owner);
  providers_.push_back({kind, std::move(owner), std::move(holds)});
}

void FactIndex::retire_provider(FactKind kind) {
  if (port_ != nullptr) port_->shared_facts().retire(port_->subscriber(), kind);
  std::erase_if(providers_, [&](const Provider& provider) { return provider.kind == kind; });
}

bool FactIndex::holds(const Fact& fact) const {
  const Provider* const provider = provider_of(fact.kind);
  if (provider != nullptr) return provider->holds(fact.key);
  return port_ != nullptr && port_->shared_facts().holds(fact);
}

bool FactIndex::is_awaited(const Fact& fact) const {
  if (awaited_ != 0) {
    const std::uint32_t slot = find(fact, hash_of(fact));
    if (slot != kNone && !entries_[slot].waiters.empty()) return true;
  }
  return port_ != nullptr && port_->shared_facts().is_awaited(port_->subscriber(), fact);
}

std::string FactIndex::provider(FactKind kind) const {
  const Provider* const provider = provider_of(kind);
  if (provider != nullptr) return provider->owner;
  return port_ != nullptr ? port_->shared_facts().provider(kind) : std::string{};
}

std::uint64_t FactIndex::hash_of(const Fact& fact) noexcept {
  return hash_key(fact.key) ^ (hash_key(fact.kind.name()) * 0x9E3779B97F4A7C15ULL);
}

std::uint32_t FactIndex::find(const Fact& fact, std::uint64_t hash) const {
  return by_fact_.find(hash, [&](std::uint32_t slot) { return entries_[slot].fact == fact; });
}

std::uint32_t FactIndex::find_or_add(const Fact& fact) {
  const std::uint64_t hash = hash_of(fact);
  const std::uint32_t slot = find(fact, hash);
  return slot != kNone ? slot : add(fact, hash);
}

std::uint32_t FactIndex::list_for(Ledger& ledger, const Fact& fact) {
  const std::uint32_t slot = find_or_add(fact);
  Waiters& waiters = entries_[slot].waiters;
  for (const Waiter& waiter : waiters) {
    if (waiter.ledger == &ledger) return waiter.list;
  }
  std::uint32_t list = kNone;
  try {
    waiters.reserve(waiters.size() + 1);
    list = ledger.make_list(slot);
    waiters.push_back(Waiter{&ledger, list});
    if (waiters.size() == 1) ++awaited_;
    // await() follows the parking: the row is about to join the list on this thread, and the answer arrives in a later turn of this
    // thread.
    if (waiters.size() == 1 && is_foreign(fact.kind)) port_->shared_facts().await(port_->subscriber(), fact);
  } catch (...) {  // An allocation failed: a list without rows must not remain.
    if (list != kNone) {
      forget(ledger, list);
    } else if (waiters.empty()) {
      drop(slot);
    }
    throw;
  }
  return list;
}

std::uint32_t FactIndex::bound_list_for(Ledger& ledger, const Fact& fact) {
  const std::uint32_t slot = find_or_add(fact);
  Waiters& bound = entries_[slot].bound;
  for (const Waiter& one : bound) {
    if (one.ledger == &ledger) return one.list;
  }
  std::uint32_t list = kNone;
  try {
    bound.reserve(bound.size() + 1);
    list = ledger.bound().make_list(slot);
    bound.push_back(Waiter{&ledger, list});
  } catch (...) {
    if (list != kNone) {
      forget_bound(ledger, list);
    } else {
      drop(slot);
    }
    throw;
  }
  return list;
}

std::uint32_t FactIndex::add(const Fact& fact, std::uint64_t hash) {
  const std::uint32_t slot = entries_.take();
  try {
    entries_[slot].fact = fact;
    entries_[slot].hash = hash;
    entries_[slot].suspicions = 0;
    by_fact_.insert(hash, slot);
    if (by_fact_.size() == 1 && on_first_) on_first_();
  } catch (...) {
    entries_.give_back(slot);
    throw;
  }
  return slot;
}

/// Frees the slot of a fact that no row waits for or depends on.
void FactIndex::drop(std::uint32_t slot) {
  Entry& entry = entries_[slot];
  if (!entry.waiters.empty() || !entry.bound.empty()) return;
  by_fact_.erase(entry.hash, slot);
  entries_.give_back(slot);
}

void FactIndex::no_waiters(std::uint32_t slot) {
  --awaited_;
  if (is_foreign(entries_[slot].fact.kind)) port_->shared_facts().give_up(port_->subscriber(), entries_[slot].fact);
  drop(slot);
}

void FactIndex::forget(Ledger& ledger, std::uint32_t list) {
  const std::uint32_t slot = ledger.lists_[list].fact;
  RONDO_ASSERT(slot != kNone && ledger.lists_[list].count == 0);
  Waiters& waiters = entries_[slot].waiters;
  const bool was_waited_for = !waiters.empty();
  remove_waiter(waiters, ledger);
  ledger.drop_list(list);
  if (was_waited_for && waiters.empty()) {
    no_waiters(slot);
  } else {
    drop(slot);
  }
}

void FactIndex::forget_bound(Ledger& ledger, std::uint32_t list) {
  const std::uint32_t slot = ledger.bound().slot(list);
  RONDO_ASSERT(slot != kNone && ledger.bound().count(list) == 0);
  remove_waiter(entries_[slot].bound, ledger);
  ledger.bound().drop_list(list);
  drop(slot);
}

std::size_t FactIndex::announce(const Fact& fact) {
  if (awaited_ == 0) return 0;
  const std::uint32_t slot = find(fact, hash_of(fact));
  if (slot == kNone || entries_[slot].waiters.empty()) return 0;
  const Waiters waiters = std::exchange(entries_[slot].waiters, {});
  entries_[slot].suspicions = 0;
  no_waiters(slot);
  std::size_t total = 0;
  for (const Waiter& waiter : waiters) total += waiter.ledger->resolve(waiter.list, *this);
  return total;
}

std::size_t FactIndex::end(const Fact& fact) {
  const std::uint64_t hash = hash_of(fact);
  remember_end(hash);
  if (empty()) return 0;
  const std::uint32_t slot = find(fact, hash);
  if (slot == kNone) return 0;
  const Waiters bound = std::exchange(entries_[slot].bound, {});
  entries_[slot].suspicions = 0;
  drop(slot);
  std::size_t total = 0;
  for (const Waiter& one : bound) total += one.ledger->release(one.list);
  return total;
}

void FactIndex::remember_end(std::uint64_t hash) {
  recent_.push_back(hash);
  last_end_[hash] = ++ends_;
  if (recent_.size() <= kRecentEnds) return;
  const auto oldest = last_end_.find(recent_.front());
  if (oldest != last_end_.end() && ends_ - oldest->second >= kRecentEnds) last_end_.erase(oldest);
  recent_.pop_front();
}

bool FactIndex::has_ended_since(const Fact& fact, std::uint32_t since) const {
  const std::uint32_t ends = ends_ - since;
  if (ends == 0) return false;
  if (ends > recent_.size()) return true;
  const auto last = last_end_.find(hash_of(fact));
  return last != last_end_.end() && ends_ - last->second < ends;
}

bool FactIndex::count_ends_of(FactKind kind) {
  if (!is_foreign(kind) || std::ranges::find(counted_, kind) != counted_.end()) return false;
  counted_.push_back(kind);
  port_->shared_facts().observe(port_->subscriber(), kind);
  return true;
}

std::size_t FactIndex::announce_everywhere(const Fact& fact) {
  if (port_ != nullptr) port_->shared_facts().announce(port_->subscriber(), fact);
  return announce(fact);
}

std::size_t FactIndex::withdraw(const Fact& fact) {
  if (port_ != nullptr) port_->shared_facts().withdraw(port_->subscriber(), fact);
  return end(fact);
}

void FactIndex::ask_again(const Fact& fact) {
  if (is_foreign(fact.kind)) port_->shared_facts().ask_again(port_->subscriber(), fact);
}

void FactIndex::observe(FactKind kind) {
  if (port_ != nullptr) port_->shared_facts().observe(port_->subscriber(), kind);
}

void FactIndex::forget_ledger(const Ledger& ledger) {
  ledger.for_each_fact([&](std::uint32_t slot, std::size_t, Instant) {
    remove_waiter(entries_[slot].waiters, ledger);
    if (entries_[slot].waiters.empty()) no_waiters(slot);
    return true;
  });
  ledger.bound().for_each_slot([&](std::uint32_t slot) {
    remove_waiter(entries_[slot].bound, ledger);
    drop(slot);
  });
}

}  // namespace rondo
