// SnapshotTaker: writes the tables again, row by row, when the log has grown far beyond them. The old part of the log can then be dropped.
// Each turn hands over a few rows. Concurrent writes follow them in the log, so the newest record of each key still counts. It has the
// lowest priority, because it is not urgent. For each written group it hands over about one more group, whatever else waits. So it also
// finishes when writes arrive as fast as the disk accepts them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/sched/source.h"
#include "store/durable/log_writer.h"
#include "store/durable/table_persister.h"
#include "store/memory/memory_table.h"

namespace rondo::store::durable {

class SnapshotTaker final : public Source {
 public:
  /// A table, with its number and persister in the log.
  struct Kept {
    MemoryTable* table = nullptr;
    std::unique_ptr<TablePersister> persister;
  };
  /// 'kept' only grows at its end, and outlives this object.
  SnapshotTaker(Scheduler& scheduler, Priority priority, LogWriter& writer, const std::vector<Kept>& kept, std::uint64_t slack_bytes);

  /// The approximate size of the tables when the file was read.
  void set_content_bytes(std::uint64_t bytes) noexcept { content_bytes_ = bytes; }
  /// Begins a snapshot if the log is large enough. Call this after each written group.
  void poll();

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return taking_ && has_room(); }

 private:
  void begin();
  void make_room();
  bool has_room() const noexcept {
    const LogWriter::Volume& taken = writer_.snapshot();
    return (taken.records < until_.records && taken.bytes < until_.bytes) || taken.bytes < share_until_;
  }
  /// Hands over a few rows, Deletes or entries of the current table. False when the table is finished.
  bool step(const Kept& kept);
  /// Returns at least one row; the last row may exceed the room.
  RowPage next_rows(const MemoryTable& table) const;

  LogWriter& writer_;
  const std::vector<Kept>& kept_;
  const std::uint64_t slack_bytes_;
  bool taking_ = false;
  LogWriter::Volume until_;      // The volume that may be handed over before the next group is written.
  std::size_t share_until_ = 0;  // The same in bytes, as a share of the users' writes; the larger bound applies.
  std::size_t at_ = 0;           // The index of the current table.
  std::size_t end_ = 0;          // The number of tables at the beginning; later tables follow in the log.
  std::string cursor_;           // The position in the table's rows.
  bool rows_done_ = false;
  TablePersister::Place place_;
  bool ended_ = false;               // Everything was handed over; the last group may not be written yet.
  std::uint64_t content_bytes_ = 0;  // The size of the tables at the last snapshot.
};

}  // namespace rondo::store::durable
