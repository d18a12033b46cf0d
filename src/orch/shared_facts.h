// SharedFacts: the facts that one thread provides and another waits for. A home runtime and all its workers share one. Each is a subscriber
// with a FactPort, a source through which notifications reach its thread. Any thread. One lock; it is held for one or two lookups and never
// while callbacks run.
//
// No wake-up is lost. A row is parked first, then its runtime calls await(). Under the lock await() checks the fact. If it holds, await()
// puts the announcement into the caller's own inbox; otherwise it makes the caller a waiter. announce() takes the waiters under the same
// lock, so the two calls are ordered. If announce() is first, await() sees it; if await() is first, announce() finds the waiter. If it
// does not know a fact, it queries the kind's provider: the question goes into the provider's inbox. The provider answers from its
// own state on its own thread, after all its earlier announcements and withdrawals. The answer yes is an announcement. An inbox wakes its
// port when it becomes non-empty, under the lock, and a port that leaves notifications in its inbox reports backlog.
//
// It may forget a fact without waiters at any time, because it can query the provider again. It therefore stores no facts of kinds
// that no other subscriber has queried. It stores at most limits::kBoardFacts other facts beside those that have waiters or an open
// question; then it forgets the fact that has been idle longest. A call costs O(1) a fact, however many have waiters. Three calls visit
// all facts: a subscriber leaves, a provider is added, a provider retires. A growing hash map also copies its entries from time to time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rondo/orch/fact.h"
#include "rondo/sched/source.h"

namespace rondo {

class SharedFacts {
 public:
  using Subscriber = std::uint32_t;

  /// One message to a subscriber's port.
  struct Notification {
    enum class What : std::uint8_t {
      Announced,  // Rows of this subscriber that wait for the fact are to be queued.
      Asked,      // The provider must check whether the fact holds and call answer().
      Began,      // For observers.
      Ended,
    };
    What what = What::Announced;
    Fact fact;
  };

  /// 'port' is woken when its inbox becomes non-empty. The subscriber leaves before 'port' is destroyed.
  Subscriber join(Source& port);
  void leave(Subscriber subscriber);
  /// Appends at most 'max' notifications. Returns true if more are left.
  bool take(Subscriber subscriber, std::size_t max, std::vector<Notification>& out);
  bool has_notifications(Subscriber subscriber) const;

  /// A kind has one provider among all subscribers (assert). Subscribers that already wait for facts of the kind receive their answers.
  void provide(Subscriber subscriber, FactKind kind, std::string owner);
  void retire(Subscriber subscriber, FactKind kind);
  /// Empty if no subscriber provides facts of that kind.
  std::string provider(FactKind kind) const;

  /// 'subscriber' provides the fact's kind: Orch::announce and Orch::withdraw check that.
  void announce(Subscriber subscriber, const Fact& fact);
  void withdraw(Subscriber subscriber, const Fact& fact);
  /// The provider's answer to Notification::What::Asked.
  void answer(Subscriber subscriber, const Fact& fact, bool holds);

  /// False also for a fact that is not known yet; the provider is then queried.
  bool holds(const Fact& fact);
  /// Makes 'subscriber' a waiter: its inbox receives an announcement, immediately if the fact holds.
  void await(Subscriber subscriber, const Fact& fact);
  void give_up(Subscriber subscriber, const Fact& fact);
  /// Queries the provider again about a fact that 'subscriber' waits for, although the last answer was no: it may hold without an
  /// announcement.
  void ask_again(Subscriber subscriber, const Fact& fact);
  /// True if a subscriber other than 'subscriber' waits for the fact.
  bool is_awaited(Subscriber subscriber, const Fact& fact) const;
  /// From now on 'subscriber' receives the announcements and withdrawals of the kind by other subscribers.
  void observe(Subscriber subscriber, FactKind kind);
  /// The number of facts that were forgotten because of limits::kBoardFacts.
  std::uint64_t forgotten() const;

 private:
  static constexpr Subscriber kNobody = UINT32_MAX;
  struct Kind;
  struct Entry {
    bool known = false;
    bool holds = false;
    bool asked = false;  // The question is in the provider's inbox, or the provider is about to answer it.
    bool idle = false;   // In the list of entries that may be forgotten.
    std::vector<Subscriber> waiters;
    Kind* kind = nullptr;
    const std::string* key = nullptr;
    Entry* older = nullptr;  // The neighbours in the list of idle entries.
    Entry* newer = nullptr;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
  };
  using Entries = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;
  struct Kind {
    FactKind kind;
    Subscriber provider = kNobody;
    std::string owner;
    bool crosses = false;  // Another subscriber has queried this kind, so announcements are stored.
    std::vector<Subscriber> observers;
    Entries entries;
  };
  struct Inbox {
    Source* port = nullptr;  // Null when the subscriber has left.
    std::deque<Notification> notifications;
    /// The notifications that observers still receive, merged by fact: at most one end and one beginning.
    struct Observed {
      bool ended = false;
      bool holds = false;
    };
    std::map<std::pair<std::string_view, std::string>, Observed> observed;
    std::deque<std::pair<FactKind, std::string>> observed_order;
    bool empty() const noexcept { return notifications.empty() && observed_order.empty(); }
  };

  // The functions below require mutex_ to be held.
  Kind* find(FactKind kind) const;
  Kind& kind_of(FactKind kind);
  Entry& entry_of(Kind& kind, const std::string& key);
  /// Call it when the entry may have become idle or is no longer idle.
  void keep_or_list(Entry& entry);
  void take_off_list(Entry& entry);
  /// Do not call it while the caller iterates over entries or holds a reference to one.
  void forget_oldest();
  void notify(Subscriber subscriber, Notification notification);
  void notify_waiters(Entry& entry);
  void notify_observers(Subscriber from, const Kind& kind, const std::string& key, bool holds);
  void ask(Entry& entry);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Kind>> kinds_;  // Few entries.
  std::vector<Inbox> subscribers_;
  Entry* oldest_ = nullptr;  // Idle entries of all kinds, in the order in which they became idle.
  Entry* newest_ = nullptr;
  std::size_t idle_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace rondo
