#include "orch/shared_facts.h"

#include <algorithm>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo {

using Lock = std::lock_guard<std::mutex>;

// --- Members.

SharedFacts::Subscriber SharedFacts::join(Source& port) {
  const Lock lock(mutex_);
  subscribers_.emplace_back();
  subscribers_.back().port = &port;
  return static_cast<Subscriber>(subscribers_.size() - 1);
}

void SharedFacts::leave(Subscriber subscriber) {
  const Lock lock(mutex_);
  subscribers_[subscriber] = Inbox{};
  for (const auto& kind : kinds_) {
    std::erase(kind->observers, subscriber);
    for (auto& [key, entry] : kind->entries) {
      std::erase(entry.waiters, subscriber);
      keep_or_list(entry);
    }
  }
  forget_oldest();
}

bool SharedFacts::take(Subscriber subscriber, std::size_t max, std::vector<Notification>& out) {
  const Lock lock(mutex_);
  Inbox& inbox = subscribers_[subscriber];
  std::size_t taken = 0;
  for (; taken < max && !inbox.notifications.empty(); ++taken) {
    out.push_back(std::move(inbox.notifications.front()));
    inbox.notifications.pop_front();
  }
  for (; taken < max && !inbox.observed_order.empty(); ++taken) {
    auto [kind, key] = std::move(inbox.observed_order.front());
    inbox.observed_order.pop_front();
    const auto node = inbox.observed.extract({kind.name(), key});
    if (node.mapped().ended) out.push_back({Notification::What::Ended, {kind, key}});
    if (node.mapped().holds) out.push_back({Notification::What::Began, {kind, std::move(key)}});
  }
  return !inbox.empty();
}

bool SharedFacts::has_notifications(Subscriber subscriber) const {
  const Lock lock(mutex_);
  return !subscribers_[subscriber].empty();
}

std::uint64_t SharedFacts::forgotten() const {
  const Lock lock(mutex_);
  return forgotten_;
}

void SharedFacts::notify(Subscriber subscriber, Notification notification) {
  Inbox& inbox = subscribers_[subscriber];
  if (inbox.port == nullptr) return;
  const bool first = inbox.empty();
  inbox.notifications.push_back(std::move(notification));
  if (first) inbox.port->wake_from_any_thread();
}

void SharedFacts::notify_observers(Subscriber from, const Kind& kind, const std::string& key, bool holds) {
  for (const Subscriber subscriber : kind.observers) {
    Inbox& inbox = subscribers_[subscriber];
    if (subscriber == from || inbox.port == nullptr) continue;
    const bool first = inbox.empty();
    const auto [it, is_new] = inbox.observed.try_emplace({kind.kind.name(), key});
    if (is_new) inbox.observed_order.emplace_back(kind.kind, key);
    if (!holds) it->second.ended = true;
    it->second.holds = holds;
    if (first) inbox.port->wake_from_any_thread();
  }
}

// --- Kinds and entries.

SharedFacts::Kind* SharedFacts::find(FactKind kind) const {
  const auto it = std::ranges::find_if(kinds_, [kind](const auto& known) { return known->kind == kind; });
  return it == kinds_.end() ? nullptr : it->get();
}

SharedFacts::Kind& SharedFacts::kind_of(FactKind kind) {
  if (Kind* known = find(kind)) return *known;
  kinds_.push_back(std::make_unique<Kind>());
  kinds_.back()->kind = kind;
  return *kinds_.back();
}

SharedFacts::Entry& SharedFacts::entry_of(Kind& kind, const std::string& key) {
  const auto [known, is_new] = kind.entries.try_emplace(key);
  Entry& entry = known->second;
  if (is_new) {
    entry.kind = &kind;
    entry.key = &known->first;
  }
  return entry;
}

/// A fact with waiters stays: there are at most as many as parked rows. A fact with an open question stays, because the answer needs its
/// entry.
void SharedFacts::keep_or_list(Entry& entry) {
  const bool idle = entry.waiters.empty() && !entry.asked;
  if (idle == entry.idle) return;
  if (!idle) return take_off_list(entry);
  entry.idle = true;
  entry.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
  ++idle_;
}

void SharedFacts::take_off_list(Entry& entry) {
  (entry.older != nullptr ? entry.older->newer : oldest_) = entry.newer;
  (entry.newer != nullptr ? entry.newer->older : newest_) = entry.older;
  entry.older = entry.newer = nullptr;
  entry.idle = false;
  --idle_;
}

void SharedFacts::forget_oldest() {
  while (idle_ > limits::kBoardFacts) {
    Entry& oldest = *oldest_;
    ++forgotten_;
    take_off_list(oldest);
    oldest.kind->entries.erase(oldest.kind->entries.find(*oldest.key));
  }
}

void SharedFacts::ask(Entry& entry) {
  if (entry.asked || entry.kind->provider == kNobody) return;
  entry.asked = true;
  notify(entry.kind->provider, {Notification::What::Asked, {entry.kind->kind, *entry.key}});
}

void SharedFacts::notify_waiters(Entry& entry) {
  for (const Subscriber subscriber : std::exchange(entry.waiters, {}))
    notify(subscriber, {Notification::What::Announced, {entry.kind->kind, *entry.key}});
}

// --- Providers.

void SharedFacts::provide(Subscriber subscriber, FactKind kind, std::string owner) {
  const Lock lock(mutex_);
  Kind& known = kind_of(kind);
  RONDO_ASSERT(known.provider == kNobody);
  known.provider = subscriber;
  known.owner = std::move(owner);
  for (auto& [key, entry] : known.entries) {
    if (!entry.waiters.empty()) ask(entry);
  }
}

void SharedFacts::retire(Subscriber subscriber, FactKind kind) {
  const Lock lock(mutex_);
  Kind* const known = find(kind);
  if (known == nullptr || known->provider != subscriber) return;
  known->provider = kNobody;
  known->owner.clear();
  for (auto& [key, entry] : known->entries) {
    entry.known = entry.holds = entry.asked = false;
    keep_or_list(entry);
  }
  forget_oldest();
}

std::string SharedFacts::provider(FactKind kind) const {
  const Lock lock(mutex_);
  const Kind* const known = find(kind);
  return known == nullptr ? std::string{} : known->owner;
}

void SharedFacts::announce(Subscriber subscriber, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  notify_observers(subscriber, *kind, fact.key, true);
  if (!kind->crosses) return;
  Entry& entry = entry_of(*kind, fact.key);
  entry.known = entry.holds = true;
  notify_waiters(entry);
  keep_or_list(entry);
  forget_oldest();
}

void SharedFacts::withdraw(Subscriber subscriber, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  notify_observers(subscriber, *kind, fact.key, false);
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return;
  known->second.known = true;
  known->second.holds = false;
}

void SharedFacts::answer(Subscriber subscriber, const Fact& fact, bool holds) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr || kind->provider != subscriber) return;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return;
  Entry& entry = known->second;
  entry.asked = false;
  entry.known = true;
  entry.holds = holds;
  if (holds) notify_waiters(entry);
  keep_or_list(entry);
  forget_oldest();
}

// --- Subscribers that wait.

bool SharedFacts::holds(const Fact& fact) {
  const Lock lock(mutex_);
  Kind& kind = kind_of(fact.kind);
  kind.crosses = true;
  if (kind.provider == kNobody) return false;
  Entry& entry = entry_of(kind, fact.key);
  if (!entry.known) ask(entry);
  keep_or_list(entry);
  const bool holds = entry.known && entry.holds;
  forget_oldest();
  return holds;
}

void SharedFacts::await(Subscriber subscriber, const Fact& fact) {
  const Lock lock(mutex_);
  Kind& kind = kind_of(fact.kind);
  kind.crosses = true;
  Entry& entry = entry_of(kind, fact.key);
  if (entry.known && entry.holds) {
    notify(subscriber, {Notification::What::Announced, fact});
    return;
  }
  if (std::ranges::find(entry.waiters, subscriber) == entry.waiters.end()) entry.waiters.push_back(subscriber);
  if (!entry.known) ask(entry);
  keep_or_list(entry);
}

void SharedFacts::give_up(Subscriber subscriber, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return;
  std::erase(known->second.waiters, subscriber);
  keep_or_list(known->second);
  forget_oldest();
}

void SharedFacts::ask_again(Subscriber subscriber, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end() || std::ranges::find(known->second.waiters, subscriber) == known->second.waiters.end()) return;
  ask(known->second);
}

bool SharedFacts::is_awaited(Subscriber subscriber, const Fact& fact) const {
  const Lock lock(mutex_);
  const Kind* const kind = find(fact.kind);
  if (kind == nullptr) return false;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return false;
  return std::ranges::any_of(known->second.waiters, [subscriber](Subscriber waiter) { return waiter != subscriber; });
}

void SharedFacts::observe(Subscriber subscriber, FactKind kind) {
  const Lock lock(mutex_);
  Kind& known = kind_of(kind);
  if (std::ranges::find(known.observers, subscriber) == known.observers.end()) known.observers.push_back(subscriber);
}

}  // namespace rondo
