#include "store/durable/log_writer.h"

#include <algorithm>
#include <utility>

namespace rondo::store::durable {

namespace {
/// The size of a log entry: large enough to make its overhead small, small enough that damage to one loses little.
constexpr std::size_t kEntryBytes = std::size_t{256} * 1024;
/// Old entries dropped in one commit, which costs the writing thread some tens of milliseconds. If more entries were written, that many are
/// dropped.
constexpr std::uint32_t kDropped = 32;
constexpr Duration kRetry = 1s;
/// Records freed between two reads of the clock.
constexpr std::size_t kFreed = 64;
}  // namespace

LogWriter::LogWriter(Scheduler& scheduler, const DurableStoreOptions& options, std::unique_ptr<LogFile> file, Completions& completions,
                     DurableStoreStats& stats)
    : Source("durable-log", options.completions),
      options_(options),
      clock_(scheduler.clock()),
      completions_(completions),
      stats_(stats),
      timer_("durable-log:timer", options.completions,
             [this] {
               due_ = true;
               wake();
             }),
      upkeep_timer_("durable-log:upkeep", options.completions, [this] { keep_up_again(); }),
      file_(std::move(file)) {
  scheduler.add(*this);
  scheduler.add(timer_);
  scheduler.add(upkeep_timer_);
  if (options_.mode == DurableStoreOptions::Mode::Thread) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

LogWriter::~LogWriter() {
  if (thread_.joinable() && scheduler() != nullptr) scheduler()->expect_same_process("the end of a durable store");
  if (options_.end_is_kill) {
    // The group being written may reach the disk or not; the gathered records do not.
    if (busy_) written_.wait(false, std::memory_order_acquire);
  } else {
    static_cast<void>(finish());
  }
  if (!thread_.joinable()) return;
  thread_.request_stop();
  signal();
  thread_.join();
}

// --- Scheduler's thread

void LogWriter::add(LogRecord record) {
  gathered_.bytes += record.record.bytes();
  gathered_.records.push_back(std::move(record));
  if (is_due()) {
    wake();
  } else if (!timer_.is_armed()) {
    timer_.arm_at(clock_.now() + options_.interval);  // Armed also while the disk works, so that its time counts towards the interval.
  }
}

void LogWriter::when_written(WriteDone done) {
  if (!done) return;
  gathered_.dones.push_back(std::move(done));
  if (!busy_) wake();
}

void LogWriter::begin_snapshot() {
  snapshot_ = Snapshot::Begun;
  taken_ = {};
  gathered_.begins_snapshot = true;
}

void LogWriter::add_to_snapshot(LogRecord record) {
  gathered_.of_snapshot.add(record);
  taken_.add(record);
  add(std::move(record));
}

void LogWriter::end_snapshot() {
  snapshot_ = Snapshot::Ended;
  gathered_.ends_snapshot = true;
  due_ = true;
  if (!busy_) wake();
}

bool LogWriter::is_due() const {
  if (busy_) return false;
  if (!trouble_.ok()) return due_;  // Retry once a second.
  if (gathered_.records.empty() && gathered_.dones.empty() && !gathered_.ends_snapshot) return false;
  return due_ || options_.durability == Durability::EveryBatch || !gathered_.dones.empty() || gathered_.records.size() >= kGroupRecords ||
         gathered_.bytes >= kGroupBytes;
}

void LogWriter::hand_over() {
  due_ = false;
  timer_.disarm();
  // A group that could not be written is still in under_way_ and is retried first.
  if (under_way_->records.empty() && !under_way_->ends_snapshot) std::swap(*under_way_, gathered_);
  busy_ = true;
  if (options_.mode == DurableStoreOptions::Mode::Inline) {
    write(*under_way_);
    do keep_up();
    while (drop_until_ > 0 && upkeep_.ok());
    answer();
    return;
  }
  handed_over_.store(true, std::memory_order_release);
  signal();
}

void LogWriter::poll_file() {
  if (busy_ || waiting() > 0 || !trouble_.ok()) return;
  hand_over();  // An empty group.
  wake();
}

void LogWriter::signal() {
  signals_.fetch_add(1, std::memory_order_seq_cst);
  signals_.notify_one();
}

void LogWriter::answer() {
  busy_ = false;
  Group& group = *under_way_;
  report(group.dones, group.status);
  trouble_ = std::move(group.status);
  group.status = Status{};
  if (!trouble_.ok()) {
    report(gathered_.dones, trouble_);  // The records gathered meanwhile cannot be written now either.
    ++stats_.failed;
    note_health();
    due_ = false;
    timer_.arm_at(clock_.now() + kRetry);
    return;
  }
  note_health();
  if (!group.records.empty() || group.ends_snapshot) {
    ++stats_.commits;
    stats_.longest_commit = std::max(stats_.longest_commit, group.took);
    stats_.commit_ns.add(static_cast<std::uint64_t>(group.took.count()));
  }
  stats_.records += group.records.size();
  stats_.bytes += group.written_bytes;
  if (group.begins_snapshot) log_bytes_ = 0;
  log_bytes_ += group.written_bytes;
  if (group.ends_snapshot) {
    ++stats_.snapshots;
    snapshot_ = Snapshot::None;
  }
  spent_.push_back(std::move(group.records));
  group = Group{};
  if (on_written_) on_written_();
  if (!is_due() && !gathered_.records.empty() && !timer_.is_armed()) timer_.arm_at(clock_.now() + options_.interval);
}

void LogWriter::note_health() {
  stats_.writes_fail = !trouble_.ok();
  if (trouble_.ok() && upkeep_trouble_.ok()) {
    stats_.failing_since = Instant{};
  } else if (stats_.failing_since == Instant{}) {
    stats_.failing_since = clock_.now();
  }
}

void LogWriter::take_upkeep() {
  {
    const std::lock_guard lock(upkeep_mutex_);
    upkeep_trouble_ = upkeep_reported_;
  }
  note_health();
  if (upkeep_trouble_.ok()) return;
  ++stats_.failed_upkeep;
  upkeep_timer_.arm_at(clock_.now() + kRetry);
}

void LogWriter::keep_up_again() {
  if (options_.mode == DurableStoreOptions::Mode::Inline) {
    do keep_up();
    while (drop_until_ > 0 && upkeep_.ok());
    return;
  }
  upkeep_again_.store(true, std::memory_order_release);
  signal();
}

void LogWriter::report(std::deque<WriteDone>& dones, const Status& status) {
  if (!dones.empty()) answered_.push_back({std::exchange(dones, {}), status});
}

void LogWriter::post_some(std::size_t max) {
  for (; max > 0 && !answered_.empty(); --max) {
    Answered& answered = answered_.front();
    completions_.post(std::move(answered.dones.front()), answered.status);
    answered.dones.pop_front();
    if (answered.dones.empty()) answered_.pop_front();
  }
}

bool LogWriter::free_some(const Budget& budget) {
  while (!answered_.empty()) {
    post_some(kFreed);
    if (time_is_up(budget)) return false;
  }
  while (!spent_.empty()) {
    std::deque<LogRecord>& records = spent_.front();
    for (std::size_t freed = 0; freed < kFreed && !records.empty(); ++freed) records.pop_front();
    if (records.empty()) spent_.pop_front();
    if (time_is_up(budget)) return false;
  }
  return true;
}

Result<Backlog> LogWriter::collect() { return has_backlog() ? Backlog::More : Backlog::Empty; }

Turn LogWriter::run(const Budget& budget) {
  if (written_.exchange(false, std::memory_order_acquire)) answer();
  if (is_due()) hand_over();
  if (upkeep_news_.exchange(false, std::memory_order_acquire)) take_upkeep();
  static_cast<void>(free_some(budget));
  return {.items = 1, .backlog = has_backlog() ? Backlog::More : Backlog::Empty};
}

bool LogWriter::has_backlog() const {
  return written_.load(std::memory_order_acquire) || upkeep_news_.load(std::memory_order_acquire) || is_due() || !spent_.empty() ||
         !answered_.empty();
}

Status LogWriter::finish() {
  for (bool is_looked_after = false;;) {
    if (busy_) {
      written_.wait(false, std::memory_order_acquire);
      written_.store(false, std::memory_order_relaxed);
      answer();
      if (!trouble_.ok()) break;
    }
    // Also if nothing waits: the file may have been removed since the last write.
    if (waiting() == 0 && gathered_.dones.empty() && std::exchange(is_looked_after, true)) break;
    hand_over();
    if (!busy_ && !trouble_.ok()) break;
  }
  post_some(SIZE_MAX);
  return trouble_;
}

// --- The writing thread

void LogWriter::work(const std::stop_token& stop) {
  for (;;) {
    // Read the count of signals before the checks: a signal after this read changes it, and the wait below returns immediately.
    const std::uint32_t seen = signals_.load(std::memory_order_seq_cst);
    if (stop.stop_requested()) return;
    if (handed_over_.exchange(false, std::memory_order_acquire)) {
      write(*under_way_);
      written_.store(true, std::memory_order_release);
      written_.notify_one();
      wake_from_any_thread();
      if (upkeep_.ok()) keep_up();  // Also when the next group is waiting: otherwise the file would grow under continuous writes.
    } else if (upkeep_again_.exchange(false, std::memory_order_acquire) || (drop_until_ > 0 && upkeep_.ok())) {
      keep_up();
    } else {
      signals_.wait(seen, std::memory_order_seq_cst);
    }
  }
}

void LogWriter::write(Group& group) {
  const Instant start = clock_.now();
  if (group.begins_snapshot) snapshot_after_ = file_->last();
  std::size_t used = 0;
  for (const LogRecord& record : group.records) {
    if (used == 0 || entries_[used - 1].size() >= kEntryBytes) {
      if (used == entries_.size()) entries_.emplace_back();
      entries_[used++].clear();
    }
    encode(record, entries_[used - 1]);
  }
  group.written_bytes = 0;
  for (std::size_t i = 0; i < used; ++i) group.written_bytes += entries_[i].size();
  written_entries_ = used;
  group.status = used == 0 ? file_->check_names() : file_->append({entries_.data(), used});
  if (group.status.ok() && group.ends_snapshot) drop_until_ = snapshot_after_;
  if (entries_.size() > 2 * kGroupBytes / kEntryBytes) entries_.resize(kGroupBytes / kEntryBytes);
  group.took = clock_.now() - start;
}

/// Does one step of the upkeep. SQLite's log is moved first: if that fails, dropping entries would make it grow. While
/// nothing is written, the log is moved whatever its size: SQLite reads a damaged log only up to the damage, so rows should not stay there.
void LogWriter::keep_up() {
  Status end = file_->checkpoint(written_entries_ == 0);
  if (end.ok() && drop_until_ > 0) {
    const Result<bool> more = file_->drop_until(drop_until_, std::max(kDropped, static_cast<std::uint32_t>(written_entries_)));
    if (!more) end = Status{more.error()}.with_context("dropping what was written anew");
    if (more && !*more) drop_until_ = 0;
    if (more) end = file_->checkpoint(false);
  }
  if (end.ok() && upkeep_.ok()) return;
  upkeep_ = end;
  {
    const std::lock_guard lock(upkeep_mutex_);
    upkeep_reported_ = std::move(end);
  }
  upkeep_news_.store(true, std::memory_order_release);
  wake_from_any_thread();
}

}  // namespace rondo::store::durable
