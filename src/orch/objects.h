// Objects: the rows of the tables of one Orch::consume_into(), by object, or those of one table with ConsumeOptions::keeps_rows as a single
// object. Shared by the consumers of the tables, which add what they take. With the embedded store a row is a reference to the record that
// the table has. Scheduler's thread. Memory: some 80 bytes a row beside its record, 200 an object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/orch/orch.h"
#include "rondo/store/change.h"

namespace rondo {

class Objects {
 public:
  struct Row {
    std::uint32_t table = 0;  // The number of its consumer.
    Record record;
    bool is_present = true;  // False: its Delete is not settled yet.
  };
  struct ByKey {
    using is_transparent = void;
    using Name = std::pair<std::uint32_t, std::string_view>;
    static Name name(const Row& row) noexcept { return {row.table, row.record.key()}; }
    static const Name& name(const Name& name) noexcept { return name; }
    bool operator()(const auto& a, const auto& b) const noexcept { return name(a) < name(b); }
  };
  struct Object {
    std::set<Row, ByKey> rows = {};
    std::vector<Ticket> flight = {};  // The changes of its staged reconciliation; empty: there is none.
    std::vector<Ticket> late = {};    // Changes that came meanwhile.
  };

  using ObjectOf = std::function<std::string(std::string_view key)>;
  using Reconcile = std::function<Outcome(std::string_view object, std::span<const TableRow> rows)>;
  /// Both empty: the rows are one object, which is never reconciled.
  Objects(ObjectOf name_of, Reconcile reconcile) : name_of_(std::move(name_of)), reconcile_(std::move(reconcile)) {}

  bool is_reconciled() const noexcept { return static_cast<bool>(reconcile_); }
  Outcome reconcile(std::string_view key, const Object& object) const;
  std::uint32_t add(Consumer& consumer);
  const std::vector<Consumer*>& consumers() const noexcept { return consumers_; }
  /// The object of a row; it is made if it is absent. Valid while it has rows or a flight.
  Object& of(std::string_view key) { return objects_[name(key)]; }
  void take(std::uint32_t table, const Change& change);
  /// The Delete of the row is settled.
  void forget(std::uint32_t table, std::string_view key);
  /// The rows of a table whose keys begin with 'prefix'. O(log rows + result) for a single object, otherwise O(rows).
  std::vector<Record> rows(std::uint32_t table, std::string_view prefix) const;
  /// True if every row that the tables had at the start is here. A full ledger counts: its table could not go on.
  bool are_listed() const;
  /// The same, and from then on without a check: wakes the consumers that waited for it. A consumer calls it after it has taken changes and
  /// at the end of its turn, where a replay can tell from its record.
  bool begin_when_listed();
  bool has_begun() const noexcept { return has_begun_; }

 private:
  std::string name(std::string_view key) const { return name_of_ ? name_of_(key) : std::string{}; }

  const ObjectOf name_of_;
  const Reconcile reconcile_;
  std::vector<Consumer*> consumers_;
  std::map<std::string, Object, std::less<>> objects_;
  bool has_begun_ = false;
};

}  // namespace rondo
