// SimDisk: the part of an embedded store's tables that outlives a process, in memory; and SimDurableStore, the embedded store on it.
// Changes of a table are written to the disk in groups, as in store/durable at Durability::EveryBatch. A crash loses the unwritten end of
// the present group. A disk failure has the same effect as there: waiting writes fail, new writes are refused, and the store retries. The
// world owns the disk, the process the store. Scheduler's thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/sched/timer.h"
#include "sim/key_map.h"
#include "store/memory/memory_store.h"

namespace rondo::sim {

class SimDisk {
 public:
  struct Row {
    Record record;
    bool deleted = false;  // The consumer has not dealt with the Delete yet.
  };
  struct Table {
    TableSpec spec;
    KeyMap<Row> rows;
    std::deque<Change> entries;  // For a Queue.
  };
  /// One logged change of a table.
  struct Line {
    enum class Kind : std::uint8_t { Keep, KeepDelete, Forget, Append, DeleteDealtWith, EntryDealtWith };
    Kind kind = Kind::Keep;
    Table* table = nullptr;
    Change change;
  };

  Table& table(const TableSpec& spec);
  const std::map<std::string, Table, std::less<>>& tables() const noexcept { return tables_; }
  void add(Line line) { group_.push_back(std::move(line)); }
  bool has_group() const noexcept { return !group_.empty(); }
  /// Writes the group to the disk. On failure returns the error and keeps the group.
  Status commit();
  /// The process has ended; a random number of the group's lines had reached the disk. Returns how many had not.
  std::size_t crash(Random& random);

  // Faults.
  void set_trouble(Status trouble) { trouble_ = std::move(trouble); }
  const Status& trouble() const noexcept { return trouble_; }
  void stand_still(Instant until) noexcept { still_until_ = until; }
  Instant still_until() const noexcept { return still_until_; }

 private:
  static void apply(Line& line);
  /// Applies the first 'count' lines of the group and drops the rest.
  void apply(std::size_t count);

  std::map<std::string, Table, std::less<>> tables_;
  std::vector<Line> group_;
  Status trouble_;
  Instant still_until_;
};

class SimDurableStore final : public Store {
 public:
  /// The tables have the contents of 'disk'; their rows are delivered in an order drawn from 'random'. A group is written to the disk
  /// after at most 'commit_high'; 0: each write immediately. All arguments must outlive the store.
  SimDurableStore(Scheduler& scheduler, SimDisk& disk, Random& random, Duration commit_high);
  ~SimDurableStore() override;

  Status declare(const TableSpec& spec) override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;

  std::vector<TableSpec> tables() const override { return memory_.tables(); }
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    return memory_.subscribe(table, options);
  }
  void get(std::string_view table, std::string_view key, GetDone done) override { memory_.get(table, key, std::move(done)); }
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override {
    memory_.scan(table, cursor, max, std::move(done));
  }
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override {
    memory_.scan_written(table, cursor, max, std::move(done));
  }
  Result<Size> size(std::string_view table) const override { return memory_.size(table); }
  Status health() const override { return trouble_; }

 private:
  class Keeper;
  void restore(const SimDisk::Table& kept);
  void keep(store::MemoryTable& table, SimDisk::Table& kept);
  void added();
  void commit();
  void arm(Duration delay);
  /// Calls the callbacks of the waiting writes with the result of the last group.
  void notify();

  SimDisk& disk_;
  Random& random_;
  const Duration commit_high_;
  std::vector<std::unique_ptr<Keeper>> keepers_;
  store::MemoryStore memory_;
  std::vector<WriteDone> waiting_;  // Callbacks that wait for the disk.
  Status trouble_;                  // The error of the last group.
  TimerSource timer_;
};

}  // namespace rondo::sim
