// WriteBehind: copies changes into tables of a store, in batches and in order for each key, and keeps them until the store has confirmed
// them. Waiting changes merge by key. A failed change is written again before any newer one; if a Delete failed, its Set is written again,
// too. The same changes of a key in the same order give the same row. A source; scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"
#include "store/memory/staged_table.h"

namespace rondo::store {

struct WriteBehindOptions {
  Priority priority;
  std::size_t keys_max = 1;  // For each table.
  Duration retry{0};
  std::function<void(std::string_view table, const Status& why)> on_trouble;
};

class WriteBehind final : public Source {
 public:
  /// Joins 'scheduler'. 'store' must have the tables. It must outlive this object or be destroyed together with it: the store then makes no
  /// more callbacks.
  WriteBehind(Scheduler& scheduler, Store& store, WriteBehindOptions options);
  ~WriteBehind() override;

  void add_table(const std::string& name);
  /// 'told' is called when room() has become positive. One callback for each table.
  void on_room(std::string_view table, std::function<void()> told);
  /// The number of keys that add() still accepts.
  std::size_t room(std::string_view table) const;
  /// The caller must check room() first.
  void add(std::string_view table, const Change& change);
  std::size_t waiting() const;
  std::size_t under_way() const noexcept { return batch_.size(); }
  std::uint64_t written() const noexcept { return written_; }
  std::uint64_t retries() const noexcept { return retries_; }
  std::uint64_t left_out() const noexcept { return left_out_; }
  /// Passes everything that the store accepts to the store, without waiting for the results.
  void flush();

  Turn run(const Budget& budget) override;

 private:
  struct Table {
    std::string name;
    std::shared_ptr<StagedTable> staged;
    std::unique_ptr<Subscription> waiting;
    std::function<void()> told;
    bool was_full = false;
  };
  enum class State : std::uint8_t { ToWrite, UnderWay, Confirmed, LeftOut };
  struct Item {
    Table* table;
    Change change;
    State state = State::ToWrite;
  };

  std::size_t fill();
  void write_items();
  void finish(std::size_t index, const Status& status);
  bool leave_out(Item& item, const Status& why, bool is_trouble);
  void pause();
  void go_on();
  void write_failed_again();

  Store& store_;
  Scheduler& scheduler_;
  const WriteBehindOptions options_;
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  std::vector<Item> batch_;
  std::vector<Change> taken_;
  std::size_t next_ = 0;       // The first item of the batch that was not passed to the store.
  std::size_t under_way_ = 0;  // Items passed to the store and not confirmed.
  bool progressed_ = false;    // The store has accepted an item since the last pause.
  bool failed_ = false;        // An accepted item has failed and must be written again.
  bool reported_ = false;      // The batch's trouble was reported.
  unsigned tries_ = 0;         // Pauses without progress.
  std::uint64_t written_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t left_out_ = 0;
  TimerSource timer_;
};

}  // namespace rondo::store
