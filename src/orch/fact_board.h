// FactBoard: the facts that one thread states and another waits for. One for a home runtime and all its workers; each is a member with a
// FactPort, a source through which news reach its thread. Any thread; one lock, held for a lookup or two and never while foreign code runs.
//
// No wake-up is lost. A row is parked first, then its runtime calls await(). Under the lock await() either finds that the fact holds, and
// puts the announcement into the caller's own inbox, or it finds that it does not, and makes the caller a waiter; announce() takes the
// waiters under the same lock. So of an await() and an announce() one comes first: if it is announce(), await() sees it; if it is await(),
// announce() finds the waiter. What the board does not know it asks: the kind's provider gets the question in its inbox and answers from
// its own state on its own thread, after whatever it announced or withdrew before; an answer of yes is an announcement. An inbox wakes its
// port when it becomes non-empty, under the lock, and a port that leaves something comes back by itself.
//
// What it knows of a fact nobody waits for may be forgotten at any time: it is asked for anew. So it stores nothing of kinds that nobody
// else asked about, and of the others no more than limits::kBoardFacts beside those that are waited for or asked about: one more, and the
// one that has been idle longest is forgotten. Each call costs O(1) a fact, however many are waited for, but for those of a member that
// leaves and of a provider that comes or goes, which look at all; a map that grows is copied now and then, as such maps are.
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

#include "rondo/orch/constraint.h"
#include "rondo/sched/source.h"

namespace rondo {

class FactBoard {
 public:
  using Member = std::uint32_t;

  /// What a member's port is told.
  struct News {
    enum class What : std::uint8_t {
      Announced,  // Rows of this member that wait for it are to be queued.
      Asked,      // Does it hold? answer().
      Began,      // For observers.
      Ended,
    };
    What what = What::Announced;
    Constraint fact;
  };

  /// 'port' is woken when there are news. It leaves before it is destroyed.
  Member join(Source& port);
  void leave(Member member);
  /// Appends at most 'max' news. True if there are more.
  bool take(Member member, std::size_t max, std::vector<News>& out);
  bool has_news(Member member) const;

  /// One provider a kind among all members (assert). Whoever waits for such facts already is answered.
  void provide(Member member, ConstraintKind kind, std::string owner);
  void retire(Member member, ConstraintKind kind);
  /// Empty if nobody provides facts of that kind.
  std::string provider(ConstraintKind kind) const;

  /// 'member' provides the fact's kind: Orch::announce and Orch::withdraw see to that.
  void announce(Member member, const Constraint& fact);
  void withdraw(Member member, const Constraint& fact);
  /// The provider's answer to News::What::Asked.
  void answer(Member member, const Constraint& fact, bool holds);

  /// False too for what is not known here yet; then the provider is asked.
  bool holds(const Constraint& fact);
  /// News of an announcement will come, at once if the fact holds.
  void await(Member member, const Constraint& fact);
  void give_up(Member member, const Constraint& fact);
  /// Asks the provider again about a fact that 'member' waits for, although it is known not to hold: it may hold without an announcement.
  void ask_again(Member member, const Constraint& fact);
  /// By anybody but 'member'?
  bool is_awaited(Member member, const Constraint& fact) const;
  /// Announcements and withdrawals of the kind, by others, are news from now on.
  void observe(Member member, ConstraintKind kind);
  /// Facts that were forgotten because of limits::kBoardFacts.
  std::uint64_t forgotten() const;

 private:
  static constexpr Member kNobody = UINT32_MAX;
  struct Kind;
  struct Entry {
    bool known = false;
    bool holds = false;
    bool asked = false;  // The question is in the provider's inbox, or about to be answered.
    bool idle = false;   // In the list of those that may be forgotten.
    std::vector<Member> waiters;
    Kind* kind = nullptr;
    const std::string* key = nullptr;
    Entry* older = nullptr;  // Of the idle ones.
    Entry* newer = nullptr;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
  };
  using Entries = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;
  struct Kind {
    ConstraintKind kind;
    Member provider = kNobody;
    std::string owner;
    bool crosses = false;  // Somebody else asked: announcements are kept.
    std::vector<Member> observers;
    Entries entries;
  };
  struct Inbox {
    Source* port = nullptr;  // None when it has left.
    std::deque<News> news;
    /// What observers are still to be told, merged by fact: at most an end and a beginning.
    struct Observed {
      bool ended = false;
      bool holds = false;
    };
    std::map<std::pair<std::string_view, std::string>, Observed> observed;
    std::deque<std::pair<ConstraintKind, std::string>> observed_order;
    bool empty() const noexcept { return news.empty() && observed_order.empty(); }
  };

  // All with mutex_ held.
  Kind* find(ConstraintKind kind) const;
  Kind& kind_of(ConstraintKind kind);
  Entry& entry_of(Kind& kind, const std::string& key);
  /// To be called when it may have become idle, or is no longer.
  void keep_or_list(Entry& entry);
  void take_off_list(Entry& entry);
  /// Not while entries are walked over or referred to.
  void forget_oldest();
  void tell(Member member, News news);
  void tell_waiters(Entry& entry);
  void tell_observers(Member from, const Kind& kind, const std::string& key, bool holds);
  void ask(Entry& entry);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Kind>> kinds_;  // A handful.
  std::vector<Inbox> members_;
  Entry* oldest_ = nullptr;  // Of the idle entries of all kinds, in the order in which they became so.
  Entry* newest_ = nullptr;
  std::size_t idle_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace rondo
