// FactIndex: which facts rows wait for or depend on, in which ledgers, and which Orch provides each kind. A runtime has one: every
// announce() and withdraw() calls it, and every ledger parks and binds its rows in it. Scheduler's thread. Lookups are O(1) expected. A
// fact that begins or ends moves one list for each consumer, never single rows.
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
#include "rondo/orch/fact.h"

namespace rondo {

class FactPort;
class Ledger;

class FactIndex {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  /// The rows of one ledger that wait for one fact.
  struct Waiter {
    Ledger* ledger = nullptr;
    std::uint32_t list = kNone;
  };
  using Waiters = boost::container::small_vector<Waiter, 1>;  // Most facts are waited for by one consumer.

  FactIndex() = default;
  FactIndex(const FactIndex&) = delete;
  FactIndex& operator=(const FactIndex&) = delete;

  using Holds = std::function<bool(std::string_view key)>;
  /// Connects the index to other threads: from now on it treats facts without a provider here as facts of other threads. 'port' outlives
  /// the index.
  void connect(FactPort& port);
  /// A kind has at most one provider.
  void provide(FactKind kind, std::string owner, Holds holds);
  void retire_provider(FactKind kind);
  bool holds(const Fact& fact) const;
  /// True if a row is listed under 'fact'. See Orch::is_awaited.
  bool is_awaited(const Fact& fact) const;
  /// Empty if no Orch provides facts of that kind.
  std::string provider(FactKind kind) const;
  /// True if an Orch of this thread provides facts of that kind.
  bool is_provided(FactKind kind) const noexcept { return provider_of(kind) != nullptr; }
  /// True if a provider of this kind could be on another thread. Such a fact may begin to hold while a handler runs.
  bool is_foreign(FactKind kind) const noexcept { return port_ != nullptr && provider_of(kind) == nullptr; }

  /// Returns the wait list of 'ledger' for 'fact' and makes it if it is absent. The caller adds a row to it immediately. Changes nothing
  /// if an allocation fails.
  std::uint32_t list_for(Ledger& ledger, const Fact& fact);
  /// Removes a list that became empty although its fact was not announced.
  void forget(Ledger& ledger, std::uint32_t list);
  /// Returns the list of the rows of 'ledger' that are done while 'fact' holds and makes it if it is absent. The caller adds a row to it
  /// immediately. Changes nothing if an allocation fails.
  std::uint32_t bound_list_for(Ledger& ledger, const Fact& fact);
  /// Removes a bound list that became empty although its fact has not ended.
  void forget_bound(Ledger& ledger, std::uint32_t list);
  /// Makes the rows of every ledger that wait for 'fact' ready; each ledger wakes its consumer. Returns the number of rows.
  std::size_t announce(const Fact& fact);
  /// As announce(), and notifies other threads.
  std::size_t announce_everywhere(const Fact& fact);
  /// Makes the rows of every ledger that are done while 'fact' holds ready to be handled again; each ledger wakes its consumer. Returns the
  /// number of rows.
  std::size_t end(const Fact& fact);
  /// As end(), and notifies other threads.
  std::size_t withdraw(const Fact& fact);
  /// Counts the facts that ended, modulo 2^32.
  std::uint32_t ends() const noexcept { return ends_; }
  /// True if the fact ended after ends() was 'since', even if it holds again. Also true if more facts ended since then than the index
  /// remembers.
  bool has_ended_since(const Fact& fact, std::uint32_t since) const;
  /// Starts to count the ends of facts of 'kind', also if another thread provides them. Returns true if they were not counted before.
  bool count_ends_of(FactKind kind);
  void observe(FactKind kind);
  /// Removes all rows of a ledger that is being destroyed. O(facts its rows wait for).
  void forget_ledger(const Ledger& ledger);

  /// Slots are below this number. A slot that no row waits at has no waiters.
  std::uint32_t limit() const noexcept { return entries_.limit(); }
  const Waiters& waiters(std::uint32_t slot) const noexcept { return entries_[slot].waiters; }
  /// The lists of rows that are done while the fact of a slot holds.
  const Waiters& bound(std::uint32_t slot) const noexcept { return entries_[slot].bound; }
  const Fact& fact(std::uint32_t slot) const noexcept { return entries_[slot].fact; }
  /// For the FactSweep: how many passes in succession found that the provider's answer differs from what its Orch has announced. An
  /// announcement and an end reset it.
  std::uint8_t& suspicions(std::uint32_t slot) noexcept { return entries_[slot].suspicions; }
  /// The number of facts that rows wait for.
  std::size_t size() const noexcept { return awaited_; }
  /// True if no row waits for a fact or depends on one.
  bool empty() const noexcept { return by_fact_.size() == 0; }
  /// Called when the index stops being empty.
  void on_first(std::function<void()> first) { on_first_ = std::move(first); }
  /// Queries the provider on another thread again about a fact that rows here wait for. If the fact holds, the answer arrives as an
  /// announcement.
  void ask_again(const Fact& fact);

 private:
  friend class Inspection;
  struct Entry {
    Fact fact;
    std::uint64_t hash = 0;
    Waiters waiters;              // Rows that wait for it.
    Waiters bound;                // Rows that are done while it holds. A free slot has neither.
    std::uint8_t suspicions = 0;  // See suspicions().
  };
  struct Provider {
    FactKind kind;
    std::string owner;
    Holds holds;
  };
  static std::uint64_t hash_of(const Fact& fact) noexcept;
  std::uint32_t find(const Fact& fact, std::uint64_t hash) const;
  std::uint32_t add(const Fact& fact, std::uint64_t hash);
  void drop(std::uint32_t slot);
  void remember_end(std::uint64_t hash);
  std::uint32_t find_or_add(const Fact& fact);
  /// The last waiter was removed: unsubscribes from the fact on other threads and removes an entry without rows.
  void no_waiters(std::uint32_t slot);
  const Provider* provider_of(FactKind kind) const noexcept;

  RowIndex by_fact_;
  Slab<Entry> entries_;
  FactPort* port_ = nullptr;
  std::vector<Provider> providers_;  // Few entries: a linear search is faster than a hash.
  std::size_t awaited_ = 0;
  static constexpr std::size_t kRecentEnds = 4096;
  std::uint32_t ends_ = 0;
  // Hashes of the facts that ended last, oldest first. The newest corresponds to the present value of ends().
  std::deque<std::uint64_t> recent_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> last_end_;  // For each hash in recent_: the value of ends() at its last end.
  std::vector<FactKind> counted_;                                     // Kinds of other threads whose ends are counted.
  std::function<void()> on_first_;
};

}  // namespace rondo
