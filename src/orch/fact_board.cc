#include "orch/fact_board.h"

#include <algorithm>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo {

using Lock = std::lock_guard<std::mutex>;

// --- Members.

FactBoard::Member FactBoard::join(Source& port) {
  const Lock lock(mutex_);
  members_.emplace_back();
  members_.back().port = &port;
  return static_cast<Member>(members_.size() - 1);
}

void FactBoard::leave(Member member) {
  const Lock lock(mutex_);
  members_[member] = Inbox{};
  for (const auto& kind : kinds_) {
    std::erase(kind->observers, member);
    for (auto& [key, entry] : kind->entries) {
      std::erase(entry.waiters, member);
      keep_or_list(entry);
    }
  }
  forget_oldest();
}

bool FactBoard::take(Member member, std::size_t max, std::vector<News>& out) {
  const Lock lock(mutex_);
  Inbox& inbox = members_[member];
  std::size_t taken = 0;
  for (; taken < max && !inbox.news.empty(); ++taken) {
    out.push_back(std::move(inbox.news.front()));
    inbox.news.pop_front();
  }
  for (; taken < max && !inbox.observed_order.empty(); ++taken) {
    auto [kind, key] = std::move(inbox.observed_order.front());
    inbox.observed_order.pop_front();
    const auto node = inbox.observed.extract({kind.name(), key});
    if (node.mapped().ended) out.push_back({News::What::Ended, {kind, key}});
    if (node.mapped().holds) out.push_back({News::What::Began, {kind, std::move(key)}});
  }
  return !inbox.empty();
}

bool FactBoard::has_news(Member member) const {
  const Lock lock(mutex_);
  return !members_[member].empty();
}

std::uint64_t FactBoard::forgotten() const {
  const Lock lock(mutex_);
  return forgotten_;
}

void FactBoard::tell(Member member, News news) {
  Inbox& inbox = members_[member];
  if (inbox.port == nullptr) return;
  const bool first = inbox.empty();
  inbox.news.push_back(std::move(news));
  if (first) inbox.port->wake_from_any_thread();
}

void FactBoard::tell_observers(Member from, const Kind& kind, const std::string& key, bool holds) {
  for (const Member member : kind.observers) {
    Inbox& inbox = members_[member];
    if (member == from || inbox.port == nullptr) continue;
    const bool first = inbox.empty();
    const auto [it, is_new] = inbox.observed.try_emplace({kind.kind.name(), key});
    if (is_new) inbox.observed_order.emplace_back(kind.kind, key);
    if (!holds) it->second.ended = true;
    it->second.holds = holds;
    if (first) inbox.port->wake_from_any_thread();
  }
}

// --- Kinds and entries.

FactBoard::Kind* FactBoard::find(FactKind kind) const {
  const auto it = std::ranges::find_if(kinds_, [kind](const auto& known) { return known->kind == kind; });
  return it == kinds_.end() ? nullptr : it->get();
}

FactBoard::Kind& FactBoard::kind_of(FactKind kind) {
  if (Kind* known = find(kind)) return *known;
  kinds_.push_back(std::make_unique<Kind>());
  kinds_.back()->kind = kind;
  return *kinds_.back();
}

FactBoard::Entry& FactBoard::entry_of(Kind& kind, const std::string& key) {
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
void FactBoard::keep_or_list(Entry& entry) {
  const bool idle = entry.waiters.empty() && !entry.asked;
  if (idle == entry.idle) return;
  if (!idle) return take_off_list(entry);
  entry.idle = true;
  entry.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
  ++idle_;
}

void FactBoard::take_off_list(Entry& entry) {
  (entry.older != nullptr ? entry.older->newer : oldest_) = entry.newer;
  (entry.newer != nullptr ? entry.newer->older : newest_) = entry.older;
  entry.older = entry.newer = nullptr;
  entry.idle = false;
  --idle_;
}

void FactBoard::forget_oldest() {
  while (idle_ > limits::kBoardFacts) {
    Entry& oldest = *oldest_;
    ++forgotten_;
    take_off_list(oldest);
    oldest.kind->entries.erase(oldest.kind->entries.find(*oldest.key));
  }
}

void FactBoard::ask(Entry& entry) {
  if (entry.asked || entry.kind->provider == kNobody) return;
  entry.asked = true;
  tell(entry.kind->provider, {News::What::Asked, {entry.kind->kind, *entry.key}});
}

void FactBoard::tell_waiters(Entry& entry) {
  for (const Member member : std::exchange(entry.waiters, {})) tell(member, {News::What::Announced, {entry.kind->kind, *entry.key}});
}

// --- Providers.

void FactBoard::provide(Member member, FactKind kind, std::string owner) {
  const Lock lock(mutex_);
  Kind& known = kind_of(kind);
  RONDO_ASSERT(known.provider == kNobody);
  known.provider = member;
  known.owner = std::move(owner);
  for (auto& [key, entry] : known.entries) {
    if (!entry.waiters.empty()) ask(entry);
  }
}

void FactBoard::retire(Member member, FactKind kind) {
  const Lock lock(mutex_);
  Kind* const known = find(kind);
  if (known == nullptr || known->provider != member) return;
  known->provider = kNobody;
  known->owner.clear();
  for (auto& [key, entry] : known->entries) {
    entry.known = entry.holds = entry.asked = false;
    keep_or_list(entry);
  }
  forget_oldest();
}

std::string FactBoard::provider(FactKind kind) const {
  const Lock lock(mutex_);
  const Kind* const known = find(kind);
  return known == nullptr ? std::string{} : known->owner;
}

void FactBoard::announce(Member member, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  tell_observers(member, *kind, fact.key, true);
  if (!kind->crosses) return;
  Entry& entry = entry_of(*kind, fact.key);
  entry.known = entry.holds = true;
  tell_waiters(entry);
  keep_or_list(entry);
  forget_oldest();
}

void FactBoard::withdraw(Member member, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  tell_observers(member, *kind, fact.key, false);
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return;
  known->second.known = true;
  known->second.holds = false;
}

void FactBoard::answer(Member member, const Fact& fact, bool holds) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr || kind->provider != member) return;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return;
  Entry& entry = known->second;
  entry.asked = false;
  entry.known = true;
  entry.holds = holds;
  if (holds) tell_waiters(entry);
  keep_or_list(entry);
  forget_oldest();
}

// --- Members that wait.

bool FactBoard::holds(const Fact& fact) {
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

void FactBoard::await(Member member, const Fact& fact) {
  const Lock lock(mutex_);
  Kind& kind = kind_of(fact.kind);
  kind.crosses = true;
  Entry& entry = entry_of(kind, fact.key);
  if (entry.known && entry.holds) {
    tell(member, {News::What::Announced, fact});
    return;
  }
  if (std::ranges::find(entry.waiters, member) == entry.waiters.end()) entry.waiters.push_back(member);
  if (!entry.known) ask(entry);
  keep_or_list(entry);
}

void FactBoard::give_up(Member member, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return;
  std::erase(known->second.waiters, member);
  keep_or_list(known->second);
  forget_oldest();
}

void FactBoard::ask_again(Member member, const Fact& fact) {
  const Lock lock(mutex_);
  Kind* const kind = find(fact.kind);
  if (kind == nullptr) return;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end() || std::ranges::find(known->second.waiters, member) == known->second.waiters.end()) return;
  ask(known->second);
}

bool FactBoard::is_awaited(Member member, const Fact& fact) const {
  const Lock lock(mutex_);
  const Kind* const kind = find(fact.kind);
  if (kind == nullptr) return false;
  const auto known = kind->entries.find(fact.key);
  if (known == kind->entries.end()) return false;
  return std::ranges::any_of(known->second.waiters, [member](Member waiter) { return waiter != member; });
}

void FactBoard::observe(Member member, FactKind kind) {
  const Lock lock(mutex_);
  Kind& known = kind_of(kind);
  if (std::ranges::find(known.observers, member) == known.observers.end()) known.observers.push_back(member);
}

}  // namespace rondo
