// FactBoard: the facts that one thread provides and another waits for. A home runtime and all its workers share one. Each is a member with
// a FactPort, a source through which news reach its thread. Any thread. One lock; it is held for one or two lookups and never while
// callbacks run.
//
// No wake-up is lost. A row is parked first, then its runtime calls await(). Under the lock await() checks the fact. If it holds, await()
// puts the announcement into the caller's own inbox; otherwise it makes the caller a waiter. announce() takes the waiters under the same
// lock, so the two calls are ordered. If announce() is first, await() sees it; if await() is first, announce() finds the waiter. If the
// board does not know a fact, it queries the kind's provider: the question goes into the provider's inbox. The provider answers from its
// own state on its own thread, after all its earlier announcements and withdrawals. The answer yes is an announcement. An inbox wakes its
// port when it becomes non-empty, under the lock, and a port that leaves news in its inbox reports backlog.
//
// The board may forget a fact without waiters at any time, because it can query the provider again. It therefore stores no facts of kinds
// that no other member has queried. Of the others it stores at most limits::kBoardFacts beside those that have waiters or an open
// question; then it forgets the fact that has been idle longest. A call costs O(1) a fact, however many have waiters. Three calls visit
// all facts: a member leaves, a provider is added, a provider retires. A growing hash map also copies its entries from time to time.
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

class FactBoard {
 public:
  using Member = std::uint32_t;

  /// One message to a member's port.
  struct News {
    enum class What : std::uint8_t {
      Announced,  // Rows of this member that wait for the fact are to be queued.
      Asked,      // The provider must check whether the fact holds and call answer().
      Began,      // For observers.
      Ended,
    };
    What what = What::Announced;
    Fact fact;
  };

  /// 'port' is woken when its inbox becomes non-empty. The member leaves before 'port' is destroyed.
  Member join(Source& port);
  void leave(Member member);
  /// Appends at most 'max' news. Returns true if more are left.
  bool take(Member member, std::size_t max, std::vector<News>& out);
  bool has_news(Member member) const;

  /// A kind has one provider among all members (assert). Members that already wait for facts of the kind receive their answers.
  void provide(Member member, FactKind kind, std::string owner);
  void retire(Member member, FactKind kind);
  /// Empty if no member provides facts of that kind.
  std::string provider(FactKind kind) const;

  /// 'member' provides the fact's kind: Orch::announce and Orch::withdraw check that.
  void announce(Member member, const Fact& fact);
  void withdraw(Member member, const Fact& fact);
  /// The provider's answer to News::What::Asked.
  void answer(Member member, const Fact& fact, bool holds);

  /// False also for a fact that the board does not know yet; the board then queries the provider.
  bool holds(const Fact& fact);
  /// Makes 'member' a waiter: its inbox receives an announcement, immediately if the fact holds.
  void await(Member member, const Fact& fact);
  void give_up(Member member, const Fact& fact);
  /// Queries the provider again about a fact that 'member' waits for, although the board has it as not holding: it may hold without an
  /// announcement.
  void ask_again(Member member, const Fact& fact);
  /// True if a member other than 'member' waits for the fact.
  bool is_awaited(Member member, const Fact& fact) const;
  /// From now on 'member' receives the announcements and withdrawals of the kind by other members.
  void observe(Member member, FactKind kind);
  /// The number of facts that were forgotten because of limits::kBoardFacts.
  std::uint64_t forgotten() const;

 private:
  static constexpr Member kNobody = UINT32_MAX;
  struct Kind;
  struct Entry {
    bool known = false;
    bool holds = false;
    bool asked = false;  // The question is in the provider's inbox, or the provider is about to answer it.
    bool idle = false;   // In the list of entries that may be forgotten.
    std::vector<Member> waiters;
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
    Member provider = kNobody;
    std::string owner;
    bool crosses = false;  // Another member has queried this kind, so announcements are stored.
    std::vector<Member> observers;
    Entries entries;
  };
  struct Inbox {
    Source* port = nullptr;  // Null when the member has left.
    std::deque<News> news;
    /// The news that observers still receive, merged by fact: at most one end and one beginning.
    struct Observed {
      bool ended = false;
      bool holds = false;
    };
    std::map<std::pair<std::string_view, std::string>, Observed> observed;
    std::deque<std::pair<FactKind, std::string>> observed_order;
    bool empty() const noexcept { return news.empty() && observed_order.empty(); }
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
  void tell(Member member, News news);
  void tell_waiters(Entry& entry);
  void tell_observers(Member from, const Kind& kind, const std::string& key, bool holds);
  void ask(Entry& entry);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Kind>> kinds_;  // Few entries.
  std::vector<Inbox> members_;
  Entry* oldest_ = nullptr;  // Idle entries of all kinds, in the order in which they became idle.
  Entry* newest_ = nullptr;
  std::size_t idle_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace rondo
