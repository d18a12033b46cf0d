#include "store/durable/snapshot_taker.h"

#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo::store::durable {

namespace {
/// Rows between two looks at the clock.
constexpr std::uint32_t kStep = 64;
/// While more than this waits for the disk, a snapshot does not add to it: a matter of speed alone. What may wait is
/// limits::kWaitingWrites.
constexpr std::size_t kBacklog = 65'536;
}  // namespace

SnapshotTaker::SnapshotTaker(Scheduler& scheduler, Priority priority, LogWriter& writer, const std::vector<Kept>& kept,
                             std::uint64_t slack_bytes)
    : Source("durable-snapshot", priority), writer_(writer), kept_(kept), slack_bytes_(slack_bytes) {
  scheduler.add(*this);
}

void SnapshotTaker::look() {
  if (taking_) return wake();  // It may have waited for the disk.
  if (writer_.takes_snapshot()) return;
  if (std::exchange(ended_, false)) content_bytes_ = writer_.log_bytes();
  if (writer_.log_bytes() > 2 * content_bytes_ + slack_bytes_) begin();
}

void SnapshotTaker::begin() {
  taking_ = true;
  at_ = 0;
  end_ = kept_.size();
  cursor_.clear();
  rows_done_ = false;
  place_ = {};
  writer_.begin_snapshot();
  for (const Kept& kept : kept_) writer_.add(LogRecord::of_table(kept.keeper->number(), kept.table->spec()));
  wake();
}

bool SnapshotTaker::step(const Kept& kept) {
  if (!rows_done_) {
    const bool staged = kept.table->spec().kind == TableKind::Staged;
    Result<RowPage> page = staged ? kept.table->scan_written(cursor_, kStep) : kept.table->scan(cursor_, kStep);
    for (Record& row : page->rows) {
      writer_.add({.kind = LogRecord::Kind::Row, .table = kept.keeper->number(), .record = std::move(row)});
    }
    cursor_ = std::move(page->next);
    rows_done_ = cursor_.empty();
    return true;
  }
  return kept.keeper->write_owed(place_, kStep);
}

Turn SnapshotTaker::run(const Budget& budget) {
  Turn turn;
  while (taking_ && turn.items < budget.items && writer_.waiting() < kBacklog) {
    if (at_ == end_) {
      taking_ = false;
      ended_ = true;
      writer_.end_snapshot();
      break;
    }
    if (!step(kept_[at_])) {
      ++at_;
      cursor_.clear();
      rows_done_ = false;
      place_ = {};
    }
    ++turn.items;
    if (time_is_up(budget)) break;
  }
  turn.backlog = taking_ && writer_.waiting() < kBacklog ? Backlog::More : Backlog::Empty;
  return turn;
}

}  // namespace rondo::store::durable
