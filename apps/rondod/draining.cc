// Daemon: its end. It finishes the work that was accepted, for a bounded time, and says what would be lost.
#include <algorithm>
#include <utility>

#include "rondod/daemon.h"
#include "rondod/limits.h"
#include "rondod/stores/placement.h"

namespace rondo::daemon {

Status Daemon::finish_files() {
  Status lost;
  for (const std::unique_ptr<TableFile>& file : files_) {
    const Status written = file->finish();
    if (written.ok()) continue;
    const std::uint64_t records = file->figures().waiting;
    log_.error("accepted writes are lost: the file cannot be written", {{"file", file->path()}, {"records", records}, {"why", written}});
    // None waits if the file itself was deleted with its content.
    const std::string what = records > 0 ? std::to_string(records) + " records are not in " + file->path() + ": " : std::string{};
    if (lost.ok()) lost = {StatusCode::DataLoss, what + written.to_string()};
  }
  return lost;
}

void Daemon::flush_journal() {
  if (journal_ == nullptr) return;
  static_cast<void>(journal_->flush());  // Its result may be of an earlier trouble that was already logged.
  if (const Status why = journal_->stats().last_error; !why.ok()) log_.error("journal not written", {{"why", why}});
}

UnflushedWork Daemon::unflushed_work() const {
  UnflushedWork left{.rows = unkept_rows(config_, runtime_->consumers())};
  for (const auto& writes : redis_.stores()) {
    left.writes += writes->unanswered();
    if (writes->unanswered() == 0) continue;
    log_.error("accepted writes have no answer and may be lost", {{"store", writes->where()}, {"count", writes->unanswered()}});
  }
  for (const auto& feed : feeds_) left.changes += feed->figures().staged + feed->figures().behind;
  return left;
}

void Daemon::begin_drain() {
  commands_->stop_serving();
  for (const auto& feed : feeds_) feed->hold();
  if (fpm_ != nullptr) fpm_->stop();
  drain_until_ = runtime_->clock().now() + limits::kDaemonDrain;
  drain_timer_->arm_every(10ms, runtime_->clock().now());
}

void Daemon::drain() {
  const bool is_late = runtime_->clock().now() >= drain_until_;
  // From now on the next holder handles new rows.
  gives_back_ = gives_back_ || is_drained();
  if (is_late || (gives_back_ && redis_.release_leases())) runtime_->stop();
}

void Daemon::give_way(Status why) {
  if (!gave_way_.ok()) return;
  log_.error("ending", {{"why", why}});
  gave_way_ = std::move(why);
  runtime_->stop();
}

bool Daemon::is_drained() const {
  const auto consumers = runtime_->consumers();
  const auto is_written = [](const std::unique_ptr<DirectFeed>& feed) {
    const DirectFigures figures = feed->figures();
    return figures.staged == 0 && figures.behind == 0;
  };
  const auto is_answered = [](const std::unique_ptr<OpenRedis>& writes) { return writes->unanswered() == 0; };
  const auto is_on_disk = [](const std::unique_ptr<TableFile>& file) { return file->figures().waiting == 0; };
  // A run that has not ended stays in the database, and runs again after the next start.
  const auto is_handled = [this](const ConsumerStats& c) { return (c.queued == 0 && c.in_flight == 0) || is_run_table(config_, c.table); };
  return (agent_ == nullptr || agent_->programmer().in_flight() == 0) && std::ranges::all_of(files_, is_on_disk) &&
         std::ranges::all_of(feeds_, is_written) && std::ranges::all_of(redis_.stores(), is_answered) &&
         std::ranges::all_of(consumers, is_handled);
}

}  // namespace rondo::daemon
