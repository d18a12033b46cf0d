// ChangeIds: which writes of one row each step of its trace carries out. Each write has a number. Writes merge in their table and at their
// consumer (store/store.h, orch/ledger.h), and this class repeats both merges with the numbers alone, from what a RowTap reports. So a row
// carries no number, and only a trace costs anything. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "orch/runtime_events.h"

namespace rondo::commands {

class ChangeIds {
 public:
  using Ids = std::vector<std::uint64_t>;
  /// Of more writes that merged, the newest are kept.
  static constexpr std::size_t kMerged = 16;

  /// 'is_in_flight': the row has orders under way, of a change whose number is unknown.
  explicit ChangeIds(bool is_in_flight) {
    if (is_in_flight) flight_.emplace();
  }

  /// The table has accepted a write, and the consumer will take it, perhaps merged with others.
  void written(ChangeOp op, std::uint64_t id) { staged_.add(op, {id}); }
  /// Returns the writes that the event is about, the oldest first; none if they came before this object. 'next_id' returns a number for a
  /// change that was taken and whose write is unknown.
  Ids heard(const RowEvent& event, const std::function<std::uint64_t()>& next_id);
  /// The writes that are taken, and wait.
  Ids waiting() const;

 private:
  /// The writes in the changes of a key that wait: a Delete, a Set, or a Delete before a Set.
  struct Changes {
    Ids of_delete;
    Ids of_set;
    void add(ChangeOp op, const Ids& ids);
    /// Writes that are older than all others.
    void put_back(ChangeOp op, const Ids& ids);
    /// The change that is handled next. A Set comes after the Delete before it, or has replaced it.
    Ids take(ChangeOp op);
  };
  Ids take_handled(ChangeOp op);

  Changes staged_;             // In the table.
  Changes waiting_;            // At the consumer.
  Ids taken_;                  // The newest change that was taken.
  std::optional<Ids> flight_;  // The change with orders under way.
  Ids done_;                   // The row as it is done.
};

}  // namespace rondo::commands
