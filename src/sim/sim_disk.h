// SimDisk: what of an embedded store's tables outlives a process, in memory; and SimDurableStore, the embedded store upon it. What a table
// says goes to the disk in groups, as in store/durable at Durability::EveryBatch, and a crash loses the end of the group that is not there
// yet. A disk that fails is met as there, too: what waits fails, what comes is refused, and it is tried again. The disk is the world's, the
// store is a process's. Scheduler's thread.
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
    bool deleted = false;  // The consumer has yet to deal with that.
  };
  struct Table {
    TableSpec spec;
    KeyMap<Row> rows;
    std::deque<Change> entries;  // Of a Queue.
  };
  /// One line of what tables say.
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
  /// The group is on the disk, or cannot get there: then why, and it stays.
  Status commit();
  /// The process is gone: so many of the group's lines were there already. Returns how many were not.
  std::size_t crash(Random& random);

  // What goes wrong.
  void set_trouble(Status trouble) { trouble_ = std::move(trouble); }
  const Status& trouble() const noexcept { return trouble_; }
  void stand_still(Instant until) noexcept { still_until_ = until; }
  Instant still_until() const noexcept { return still_until_; }

 private:
  static void apply(Line& line);
  /// The first 'count' lines of the group; the rest is forgotten.
  void apply(std::size_t count);

  std::map<std::string, Table, std::less<>> tables_;
  std::vector<Line> group_;
  Status trouble_;
  Instant still_until_;
};

class SimDurableStore final : public Store {
 public:
  /// The tables are as 'disk' says; their rows are told in an order drawn from 'random'. A group goes to the disk in at most 'commit_high';
  /// 0: each write at once. All must outlive it.
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
  /// Those that wait hear how the last group ended.
  void tell();

  SimDisk& disk_;
  Random& random_;
  const Duration commit_high_;
  std::vector<std::unique_ptr<Keeper>> keepers_;
  store::MemoryStore memory_;
  std::vector<WriteDone> waiting_;  // For the disk.
  Status trouble_;                  // Of the last group.
  TimerSource timer_;
};

}  // namespace rondo::sim
