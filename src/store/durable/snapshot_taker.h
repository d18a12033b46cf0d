// SnapshotTaker: writes the tables anew, row by row, when the log has grown far beyond them, so that the old part of the log can go. A turn
// hands over a few rows; what is written meanwhile goes to the log behind them, so the newest record of each key still counts. The lowest
// priority: it has time. For each group that was written it hands over about another one, whatever else waits, so it comes to its end also
// where writes come as fast as the disk takes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/sched/source.h"
#include "store/durable/log_writer.h"
#include "store/durable/table_keeper.h"
#include "store/memory/memory_table.h"

namespace rondo::store::durable {

class SnapshotTaker final : public Source {
 public:
  /// A table, with the number and the keeper that it has in the log.
  struct Kept {
    MemoryTable* table = nullptr;
    std::unique_ptr<TableKeeper> keeper;
  };
  /// 'kept' grows at its end only, and outlives this.
  SnapshotTaker(Scheduler& scheduler, Priority priority, LogWriter& writer, const std::vector<Kept>& kept, std::uint64_t slack_bytes);

  /// About how much the tables held when the file was read.
  void set_content_bytes(std::uint64_t bytes) noexcept { content_bytes_ = bytes; }
  /// Begins if it is time. After each group that was written.
  void look();

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return taking_ && has_room(); }

 private:
  void begin();
  void make_room();
  bool has_room() const noexcept {
    const LogWriter::Volume& taken = writer_.snapshot();
    return (taken.records < until_.records && taken.bytes < until_.bytes) || taken.bytes < share_until_;
  }
  /// A few rows, Deletes or entries of the table that it is at. False when the table is through.
  bool step(const Kept& kept);
  /// At least one, and no more than there is room for but for one.
  RowPage next_rows(const MemoryTable& table) const;

  LogWriter& writer_;
  const std::vector<Kept>& kept_;
  const std::uint64_t slack_bytes_;
  bool taking_ = false;
  LogWriter::Volume until_;      // What it may have handed over before the next group is written,
  std::size_t share_until_ = 0;  // or so many bytes, where that is more.
  std::size_t at_ = 0;           // The table.
  std::size_t end_ = 0;          // Tables that were there when it began; later ones are in the log after that.
  std::string cursor_;           // In its rows.
  bool rows_done_ = false;
  TableKeeper::Place place_;
  bool ended_ = false;               // Handed over, and perhaps not written yet.
  std::uint64_t content_bytes_ = 0;  // What the tables held at the last one.
};

}  // namespace rondo::store::durable
