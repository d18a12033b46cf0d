// Inspection: checks that a ledger and the index of facts are consistent, each in itself and with the other. Visits all rows,
// O(rows); for simulation and tests.
#pragma once

#include "orch/fact_index.h"
#include "orch/ledger.h"
#include "rondo/base/result.h"

namespace rondo {

class Inspection {
 public:
  Inspection(const Ledger& ledger, const FactIndex& index) : ledger_(ledger), index_(index) {}

  /// Returns ok, or Internal with the first inconsistency:
  /// - every row is in exactly one place (queued, in flight, or one wait list), and the counts are those of the places;
  /// - every wait list that is not resolved is in the index under its fact, and has rows;
  /// - every waiter of this ledger in the index is such a list;
  /// - every bound list is in the index under its fact, and its rows are linked both ways;
  /// - a row that waits for several facts is listed under the first fact that it stores.
  Status check() const;

 private:
  Status check_list(const Ledger::List& list, std::uint32_t of, Ledger::State state) const;
  Status check_waiting() const;
  Status check_resolved() const;
  Status check_index() const;
  Status check_bound() const;
  Status check_bound_list(std::uint32_t list) const;
  Status check_rows() const;
  Status wrong(std::uint32_t row, const char* what) const;

  const Ledger& ledger_;
  const FactIndex& index_;
};

}  // namespace rondo
