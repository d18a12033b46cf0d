// RowTap: a function that receives what an operator follows in one table: changes taken, parked, resolved, retried, ordered, done or
// rejected. It serves `rondo watch` and `rondo trace`. TableTaps: the taps of one table, one of the observers of its consumer while there
// is a tap. A table without a tap pays nothing for it, and an event does not become more expensive with taps of other keys.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orch/runtime_events.h"
#include "rondo/store/record.h"

namespace rondo {

class TableTaps;

/// Reports events until it is destroyed or its consumer is. Scheduler's thread. The listener is called inside turns of the consumer: it
/// must be short, must not throw, and must not make or destroy a tap.
class RowTap {
 public:
  /// Receives Taken, Retried, Redone, Ordered, Done, Rejected, Parked, Delayed, Replaced, Superseded, Again and Resolved. A refused change
  /// is reported as Rejected, without a row. RowEvent::change is only set with Taken.
  using Listener = std::function<void(const RowEvent& event)>;
  /// Receives only the changes that the consumer takes. It costs a fraction of a Listener.
  using TakenListener = std::function<void(const Change& change)>;
  ~RowTap();
  RowTap(const RowTap&) = delete;
  RowTap& operator=(const RowTap&) = delete;

 private:
  friend class TableTaps;
  RowTap(TableTaps& taps, std::string key, Listener listener) : taps_(&taps), key_(std::move(key)), listener_(std::move(listener)) {}
  RowTap(TableTaps& taps, TakenListener listener) : taps_(&taps), taken_(std::move(listener)) {}
  TableTaps* taps_;        // Null once its consumer is gone.
  const std::string key_;  // Used by a tap in TableTaps::by_key_.
  Listener listener_;
  TakenListener taken_;  // One of the two.
};

class TableTaps final : public RuntimeEvents {
 public:
  /// 'observers' outlives it, and has this as its last element while there is a tap.
  explicit TableTaps(std::vector<RuntimeEvents*>& observers) : observers_(observers) {}
  ~TableTaps() override;

  std::unique_ptr<RowTap> add(RowTap::Listener listener);
  /// Only for the events of the row of 'key', and Resolved.
  std::unique_ptr<RowTap> add(std::string_view key, RowTap::Listener listener);
  std::unique_ptr<RowTap> add_taken(RowTap::TakenListener listener);

  bool empty() const noexcept { return taken_.empty() && all_.empty() && by_key_.empty(); }
  /// One lookup, whatever the number of taps with a key.
  void row(const RowEvent& event) override;
  /// Passes Resolved to all but add_taken()'s.
  void resolved(const RowEvent& event) const;

 private:
  friend class RowTap;
  struct Hash {
    std::size_t operator()(std::string_view key) const noexcept { return hash_key(key); }
  };
  using List = std::vector<RowTap*>;

  void added();
  void remove(const RowTap& tap);
  template <class Function>
  void for_each(const Function& function) const;

  std::vector<RuntimeEvents*>& observers_;
  List taken_;
  List all_;  // Without a key.
  std::unordered_multimap<std::string_view, RowTap*, Hash> by_key_;
};

}  // namespace rondo
