#include "store/durable/snapshot_taker.h"

#include <algorithm>
#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo::store::durable {

namespace {
/// Rows between two reads of the clock.
constexpr std::uint32_t kStep = 64;
/// A snapshot gets at least this part (1/kShare) of the users' waiting writes per commit, if these exceed a group. This bounds the log's
/// growth during the snapshot.
constexpr std::size_t kShare = 4;
}  // namespace

SnapshotTaker::SnapshotTaker(Scheduler& scheduler, Priority priority, LogWriter& writer, const std::vector<Kept>& kept,
                             std::uint64_t slack_bytes)
    : Source("durable-snapshot", priority), writer_(writer), kept_(kept), slack_bytes_(slack_bytes) {
  scheduler.add(*this);
}

void SnapshotTaker::poll() {
  if (taking_) return make_room();
  if (writer_.takes_snapshot()) return;
  // Other writes between the snapshot's records do not count.
  if (std::exchange(ended_, false)) content_bytes_ = std::min<std::uint64_t>(writer_.log_bytes(), writer_.snapshot().bytes);
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
  for (const Kept& kept : kept_) writer_.add_to_snapshot(LogRecord::of_table(kept.persister->number(), kept.table->spec()));
  make_room();
}

/// Makes room for a full group, so that each commit of a snapshot has the full size.
void SnapshotTaker::make_room() {
  const LogWriter::Volume& taken = writer_.snapshot();
  until_ = {taken.records + LogWriter::kGroupRecords, taken.bytes + LogWriter::kGroupBytes};
  share_until_ = taken.bytes + writer_.waiting_writes().bytes / kShare;
  wake();
}

RowPage SnapshotTaker::next_rows(const MemoryTable& table) const {
  const auto scan = [&](std::size_t max) {
    return *(table.spec().kind == TableKind::Staged ? table.scan_written(cursor_, max) : table.scan(cursor_, max));
  };
  RowPage page = scan(kStep);
  const std::size_t most = std::max(until_.bytes, share_until_);
  std::size_t fit = 0;
  for (std::size_t bytes = writer_.snapshot().bytes; fit < page.rows.size() && (fit == 0 || bytes < most); ++fit) {
    bytes += page.rows[fit].bytes();
  }
  return fit == page.rows.size() ? page : scan(fit);
}

bool SnapshotTaker::step(const Kept& kept) {
  if (rows_done_) {
    return kept.persister->write_owed(place_, [this, left = kStep]() mutable { return left-- > 0 && has_room(); });
  }
  RowPage page = next_rows(*kept.table);
  for (Record& row : page.rows) {
    writer_.add_to_snapshot({.kind = LogRecord::Kind::Row, .table = kept.persister->number(), .record = std::move(row)});
  }
  cursor_ = std::move(page.next);
  rows_done_ = cursor_.empty();
  return true;
}

Turn SnapshotTaker::run(const Budget& budget) {
  Turn turn;
  while (taking_ && turn.items < budget.items && has_room()) {
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
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

}  // namespace rondo::store::durable
