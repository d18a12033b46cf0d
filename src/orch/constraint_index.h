// ConstraintIndex: which facts are waited for, by whom, and who provides them. One for a runtime; every Orch's announce() comes here and
// every ledger parks here. Scheduler's thread. Lookups O(1) expected; announcing moves one list for each consumer that waits, never a row.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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
  /// Is its provider, if there is one, on another thread? Then it may begin to hold while a handler looks.
  bool is_foreign(ConstraintKind kind) const noexcept { return port_ != nullptr && provider_of(kind) == nullptr; }

  /// The wait list of 'ledger' for 'fact', made if there is none yet; a row joins it at once. Changes nothing where memory ends.
  std::uint32_t list_for(Ledger& ledger, const Constraint& fact);
  /// The list became empty without a resolution.
  void forget(Ledger& ledger, std::uint32_t list);
  /// Makes the rows of every ledger that wait for 'fact' ready; each ledger wakes its consumer. Returns the number of rows.
  std::size_t announce(const Constraint& fact);
  /// The same, and tells other threads.
  std::size_t announce_everywhere(const Constraint& fact);
  /// Tells other threads.
  void withdraw(const Constraint& fact);
  void observe(ConstraintKind kind);
  /// A ledger goes away, with all its rows. O(facts its rows wait for).
  void forget_ledger(const Ledger& ledger);

  /// Slots are below this number; one that nobody waits at has no waiters.
  std::uint32_t limit() const noexcept { return entries_.limit(); }
  const Waiters& waiters(std::uint32_t slot) const noexcept { return entries_[slot].waiters; }
  const Constraint& constraint(std::uint32_t slot) const noexcept { return entries_[slot].fact; }
  std::size_t size() const noexcept { return by_fact_.size(); }

 private:
  friend class Inspection;
  struct Entry {
    Constraint fact;
    std::uint64_t hash = 0;
    Waiters waiters;  // None when free.
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
  const Provider* provider_of(ConstraintKind kind) const noexcept;

  RowIndex by_fact_;
  Slab<Entry> entries_;
  FactPort* port_ = nullptr;
  std::vector<Provider> providers_;  // A handful: a search of it beats a hash.
};

}  // namespace rondo
