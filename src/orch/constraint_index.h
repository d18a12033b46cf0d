// ConstraintIndex: which facts rows wait for or depend on, in which ledgers, and which Orch provides each kind. One for a runtime: every
// announce() and withdraw() comes here; every ledger parks and binds rows here. Scheduler's thread. Lookups are O(1) expected; a fact that
// begins or ends moves one list for each consumer, never a row.
#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/row_index.h"
#include "base/slab.h"
#include "rondo/orch/constraint.h"

namespace rondo {

class FactPort;
class Ledger;

class ConstraintIndex {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  /// The rows of one ledger that wait for one fact.
  struct Waiter {
    Ledger* ledger = nullptr;
    std::uint32_t list = kNone;
  };
  using Waiters = boost::container::small_vector<Waiter, 1>;  // Most facts are waited for by one consumer.

  ConstraintIndex() = default;
  ConstraintIndex(const ConstraintIndex&) = delete;
  ConstraintIndex& operator=(const ConstraintIndex&) = delete;

  using Holds = std::function<bool(std::string_view key)>;
  /// From now on facts whose kind nobody provides here are those of other threads. 'port' outlives the index.
  void connect(FactPort& port);
  /// One provider a kind.
  void provide(ConstraintKind kind, std::string owner, Holds holds);
  void retire_provider(ConstraintKind kind);
  bool holds(const Constraint& fact) const;
  /// Is a row listed under 'fact'? See Orch::is_awaited.
  bool is_awaited(const Constraint& fact) const;
  /// Empty if nobody provides facts of that kind.
  std::string provider(ConstraintKind kind) const;
  /// Does an Orch of this thread provide facts of that kind?
  bool is_provided(ConstraintKind kind) const noexcept { return provider_of(kind) != nullptr; }
  /// Is its provider, if there is one, on another thread? Then it may begin to hold while a handler looks.
  bool is_foreign(ConstraintKind kind) const noexcept { return port_ != nullptr && provider_of(kind) == nullptr; }

  /// The wait list of 'ledger' for 'fact', made if there is none yet; a row joins it at once. Changes nothing where memory ends.
  std::uint32_t list_for(Ledger& ledger, const Constraint& fact);
  /// The list became empty without a resolution.
  void forget(Ledger& ledger, std::uint32_t list);
  /// The list of the rows of 'ledger' that are done while 'fact' holds, made if there is none yet; a row joins it immediately. Changes
  /// nothing if memory ends.
  std::uint32_t bound_list_for(Ledger& ledger, const Constraint& fact);
  /// That list became empty without an end of the fact.
  void forget_bound(Ledger& ledger, std::uint32_t list);
  /// Makes the rows of every ledger that wait for 'fact' ready; each ledger wakes its consumer. Returns the number of rows.
  std::size_t announce(const Constraint& fact);
  /// The same, and tells other threads.
  std::size_t announce_everywhere(const Constraint& fact);
  /// Makes the rows of every ledger that are done while 'fact' holds ready to be handled again; each ledger wakes its consumer. Returns the
  /// number of rows.
  std::size_t end(const Constraint& fact);
  /// The same, and tells other threads.
  std::size_t withdraw(const Constraint& fact);
  /// Counts the facts that ended, modulo 2^32.
  std::uint32_t ends() const noexcept { return ends_; }
  /// Did the fact end since ends() was 'since'? It may hold again. Also true if so many facts ended since that this is not known.
  bool has_ended_since(const Constraint& fact, std::uint32_t since) const;
  /// From now on the ends of facts of 'kind' are counted, also if another thread provides them. True if they were not before.
  bool count_ends_of(ConstraintKind kind);
  void observe(ConstraintKind kind);
  /// A ledger goes away, with all its rows. O(facts its rows wait for).
  void forget_ledger(const Ledger& ledger);

  /// Slots are below this number; one that nobody waits at has no waiters.
  std::uint32_t limit() const noexcept { return entries_.limit(); }
  const Waiters& waiters(std::uint32_t slot) const noexcept { return entries_[slot].waiters; }
  /// The lists of rows that are done while the fact of a slot holds.
  const Waiters& bound(std::uint32_t slot) const noexcept { return entries_[slot].bound; }
  const Constraint& constraint(std::uint32_t slot) const noexcept { return entries_[slot].fact; }
  /// For the FactSweep: how many times in a row it found that what the fact's provider says is not what its Orch has announced. An
  /// announcement and an end begin anew.
  std::uint8_t& suspicions(std::uint32_t slot) noexcept { return entries_[slot].suspicions; }
  /// Facts that rows wait for.
  std::size_t size() const noexcept { return awaited_; }
  /// No row waits for a fact or depends on one.
  bool empty() const noexcept { return by_fact_.size() == 0; }
  /// Called when the index stops being empty.
  void on_first(std::function<void()> first) { on_first_ = std::move(first); }
  /// Asks the provider on another thread again whether a fact holds that rows here wait for. The answer comes as an announcement.
  void ask_again(const Constraint& fact);

 private:
  friend class Inspection;
  struct Entry {
    Constraint fact;
    std::uint64_t hash = 0;
    Waiters waiters;              // Rows that wait for it.
    Waiters bound;                // Rows that are done while it holds. A free slot has neither.
    std::uint8_t suspicions = 0;  // See suspicions().
  };
  struct Provider {
    ConstraintKind kind;
    std::string owner;
    Holds holds;
  };
  static std::uint64_t hash_of(const Constraint& fact) noexcept;
  std::uint32_t find(const Constraint& fact, std::uint64_t hash) const;
  std::uint32_t add(const Constraint& fact, std::uint64_t hash);
  void drop(std::uint32_t slot);
  void remember_end(std::uint64_t hash);
  std::uint32_t find_or_add(const Constraint& fact);
  /// The last waiter has gone: other threads need not tell about the fact any more, and an entry without rows goes.
  void no_waiters(std::uint32_t slot);
  const Provider* provider_of(ConstraintKind kind) const noexcept;

  RowIndex by_fact_;
  Slab<Entry> entries_;
  FactPort* port_ = nullptr;
  std::vector<Provider> providers_;  // A handful: a search of it beats a hash.
  std::size_t awaited_ = 0;
  static constexpr std::size_t kRecentEnds = 4096;
  std::uint32_t ends_ = 0;
  std::deque<std::uint64_t> recent_;  // Hashes of the facts that ended last, oldest first: the last one made ends() what it is.
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> last_end_;  // Of those, by hash: what ends() was then.
  std::vector<ConstraintKind> counted_;                               // Kinds of other threads whose ends are counted.
  std::function<void()> on_first_;
};

}  // namespace rondo
