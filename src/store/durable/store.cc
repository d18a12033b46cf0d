// See rondo/store/durable_store.h.
#include "rondo/store/durable_store.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "store/durable/file_replacement.h"
#include "store/durable/link_target.h"
#include "store/durable/log_content.h"
#include "store/durable/log_file.h"
#include "store/durable/log_writer.h"
#include "store/durable/snapshot_taker.h"
#include "store/durable/store_lock.h"
#include "store/durable/table_persister.h"
#include "store/memory/memory_store.h"
#include "store/table_rules.h"

namespace rondo {

using store::durable::FileReplacement;
using store::durable::LogContent;
using store::durable::LogFile;
using store::durable::LogRecord;
using store::durable::LogWriter;
using store::durable::SnapshotTaker;
using store::durable::StoreLock;
using store::durable::TablePersister;

namespace {

/// A file is rewritten at open if it is this many times larger than its content. A running store that writes at the disk's full speed
/// reaches seven times, just before a snapshot ends and the old part is dropped. Only a series of short lives makes a file larger.
constexpr std::uint64_t kTooLarge = 8;
/// The pages of an empty SQLite log, with a margin.
constexpr std::uint64_t kEmptyFile = 65'536;

LogFile::Mode mode_of(Durability durability) { return durability == Durability::None ? LogFile::Mode::Write : LogFile::Mode::WriteSynced; }

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

/// Files with these suffixes belong to other stores.
Status check_name(const std::string& path) {
  for (const std::string_view reserved : {"-wal", "-shm", "-journal", "-lock", "-new"}) {
    if (!path.ends_with(reserved)) continue;
    return {StatusCode::InvalidArgument,
            "opening " + quoted(path) + ": a name that ends in " + std::string{reserved} + " is one of the files beside another store"};
  }
  return {};
}

struct OpenedLog {
  std::unique_ptr<LogFile> file;
  LogContent content;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // The approximate bytes of the log.
  std::vector<Status> damage;
  std::string damaged_file;
  Status not_shrunk;
};

Result<OpenedLog> read_log(const std::string& path, LogFile::Mode mode) {
  Result<std::unique_ptr<LogFile>> file = LogFile::open(path, mode);
  if (!file) return failure(file.error());
  OpenedLog log{.file = std::move(*file), .content = {}, .entries = 0, .damage = {}, .damaged_file = {}, .not_shrunk = {}};
  LogFile::Reading reading = log.file->read([&log](std::string_view entry) { return log.content.add(entry); });
  if (!reading.failed.ok()) return failure(std::move(reading.failed));
  log.entries = reading.entries;
  log.bytes = reading.bytes;
  log.damage = std::move(reading.damage);
  std::ranges::move(log.content.drop_nameless(), std::back_inserter(log.damage));
  return log;
}

/// Opens the log. A file that is damaged or far too large is replaced by a new one. A damaged file without any entry that can be read is
/// refused: in its place there would be empty tables.
Result<OpenedLog> open_log(const DurableStoreOptions& options, WallTime now) {
  const LogFile::Mode mode = mode_of(options.durability);
  const FileReplacement replacement{options.path, mode};
  if (Status bad = replacement.undo(); !bad.ok()) return failure(std::move(bad));
  const std::uint64_t size = size_of(options.path) + size_of(options.path + "-wal");
  Result<OpenedLog> log = read_log(options.path, mode);
  if (!log) return log;
  const std::uint64_t content_bytes = log->content.bytes();
  if (!log->damage.empty() && log->entries == 0) {
    return failure(StatusCode::DataLoss,
                   "opening " + quoted(options.path) + ": nothing of it can be read: " + log->damage.front().to_string());
  }
  if (!log->damage.empty()) {
    log->content.close_holes();
    const Status replaced = replacement.replace_damaged(log->file, log->content, now, log->damaged_file);
    if (!replaced.ok()) return failure(replaced.with_context("the file is damaged (" + log->damage.front().to_string() + ") and"));
    log->bytes = content_bytes;
  } else if (size > kTooLarge * content_bytes + options.slack_bytes + kEmptyFile) {
    log->not_shrunk = replacement.replace_by_smaller(log->file, log->content);
    if (log->file == nullptr) return failure(std::move(log->not_shrunk));
    if (log->not_shrunk.ok()) log->bytes = content_bytes;
  }
  return log;
}

}  // namespace

std::string_view to_string(Durability durability) noexcept {
  switch (durability) {
    case Durability::None: return "none";
    case Durability::Interval: return "interval";
    case Durability::EveryBatch: return "every-batch";
  }
  return "?";
}

struct DurableStore::Impl {
  Impl(Scheduler& scheduler, const DurableStoreOptions& given, StoreLock held, std::unique_ptr<LogFile> file)
      : options(given),
        clock(scheduler.clock()),
        lock(std::move(held)),
        memory(scheduler, "durable-store", given.completions),
        writer(scheduler, given, std::move(file), memory.completions(), stats),
        snapshots(scheduler, given.snapshots, writer, kept, given.slack_bytes) {
    writer.on_written([this] { snapshots.poll(); });
  }
  ~Impl() { writer.on_written({}); }  // The writer is destroyed last and writes the remaining records.

  /// Fills the tables from the log, for later consumers.
  void restore(LogContent& content);
  void restore_table(LogContent::Table& found, std::uint32_t number);
  SnapshotTaker::Kept& keep(store::MemoryTable& table, std::uint32_t number);
  Status refuse() const;

  const DurableStoreOptions options;
  const Clock& clock;
  const StoreLock lock;
  DurableStoreStats stats;
  store::MemoryStore memory;
  LogWriter writer;
  std::vector<SnapshotTaker::Kept> kept;
  std::map<std::string, TableSpec, std::less<>> undeclared;  // Tables of the file that were not declared in this process.
  std::uint32_t next_number = 0;
  SnapshotTaker snapshots;
};

void DurableStore::Impl::restore(LogContent& content) {
  snapshots.set_content_bytes(content.bytes());
  for (std::uint32_t number = 0; number < content.tables().size(); ++number) {
    if (LogContent::Table* const found = content.tables()[number].get(); found != nullptr) restore_table(*found, number);
  }
  next_number = static_cast<std::uint32_t>(content.tables().size());
}

void DurableStore::Impl::restore_table(LogContent::Table& found, std::uint32_t number) {
  // The Deletes that wait for consumers may exceed the limit.
  TableSpec roomy = found.spec;
  roomy.rows_max = limits::kTableRows;
  if (!memory.declare(roomy).ok()) return;
  store::MemoryTable& table = *memory.find(found.spec.name);
  TablePersister& persister = *keep(table, number).persister;
  for (std::uint32_t id = 0; id < found.rows.end_id(); ++id) {
    LogContent::Row& row = found.rows[id];
    if (!row.record) continue;
    ++stats.restored;
    if (row.deleted) {
      persister.add_pending_delete(row.record);
      static_cast<void>(table.write(Change{ChangeOp::Delete, row.record}));
    } else {
      table.restore(row.record);
    }
  }
  persister.set_first_entry(found.entries.empty() ? found.dropped + 1 : found.entries.begin()->first);
  for (auto& [entry, change] : found.entries) {
    ++stats.restored;
    persister.add_pending_entry(change);
    table.restore_entry(std::move(change));
  }
  table.set_rows_max(found.spec.rows_max);
  table.persist_with(&persister);
  undeclared.emplace(found.spec.name, found.spec);
}

SnapshotTaker::Kept& DurableStore::Impl::keep(store::MemoryTable& table, std::uint32_t number) {
  kept.push_back({&table, std::make_unique<TablePersister>(number, writer)});
  return kept.back();
}

/// Returns why the store refuses a write now.
Status DurableStore::Impl::refuse() const {
  const Status& trouble = writer.trouble();
  const LogWriter::Volume waiting = writer.waiting_writes();
  const bool full = waiting.records >= options.waiting_max || waiting.bytes >= options.waiting_bytes_max;
  if (!trouble.ok() && (full || options.durability == Durability::EveryBatch)) return trouble.with_context("nothing can be written down");
  if (!full) return {};
  return {StatusCode::ResourceExhausted,
          std::to_string(waiting.records) + " records of " + std::to_string(waiting.bytes) + " bytes wait for " + quoted(options.path)};
}

Result<std::unique_ptr<DurableStore>> DurableStore::open(Scheduler& scheduler, DurableStoreOptions options) {
  options.path = store::durable::link_target(options.path);
  if (Status bad = check_name(options.path); !bad.ok()) return failure(std::move(bad));
  Result<StoreLock> lock = StoreLock::take(options.path);
  if (!lock) return failure(lock.error());
  Result<OpenedLog> log = open_log(options, scheduler.clock().wall_now());
  if (!log) return failure(log.error());
  auto parts = std::make_unique<Impl>(scheduler, options, std::move(*lock), std::move(log->file));
  parts->writer.set_log_bytes(log->bytes);
  for (const Status& lost : log->damage) parts->stats.damage.push_back(lost.to_string());
  parts->stats.damaged_file = std::move(log->damaged_file);
  if (!log->not_shrunk.ok()) parts->stats.not_shrunk = log->not_shrunk.to_string();
  parts->restore(log->content);
  return std::unique_ptr<DurableStore>{new DurableStore(std::move(parts))};
}

DurableStore::DurableStore(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
DurableStore::~DurableStore() = default;

Status DurableStore::declare(const TableSpec& spec) {
  Impl& parts = *impl_;
  const auto known = parts.undeclared.find(spec.name);
  if (known != parts.undeclared.end() && known->second.kind == spec.kind) {
    if (Status bad = store::check_spec(spec); !bad.ok()) return bad;
    parts.memory.find(spec.name)->set_rows_max(spec.rows_max);
    parts.undeclared.erase(known);
    return {};
  }
  const bool is_new = parts.memory.find(spec.name) == nullptr;
  if (Status bad = parts.memory.declare(spec); !bad.ok() || !is_new || spec.kind == TableKind::Channel) return bad;
  store::MemoryTable& table = *parts.memory.find(spec.name);
  const std::uint32_t number = parts.next_number++;
  parts.writer.add(LogRecord::of_table(number, spec));
  table.persist_with(parts.keep(table, number).persister.get());
  return {};
}

std::vector<TableSpec> DurableStore::tables() const { return impl_->memory.tables(); }

Status DurableStore::write(std::string_view table, Change change, WriteDone done) {
  Impl& parts = *impl_;
  const store::MemoryTable* const known = parts.memory.find(table);
  const bool is_kept = known != nullptr && known->spec().kind != TableKind::Channel;
  if (is_kept) {
    if (Status no = parts.refuse(); !no.ok()) {
      ++parts.stats.refused;
      return no.with_context("table " + quoted(table));
    }
  }
  if (!is_kept || parts.options.durability != Durability::EveryBatch) {
    return parts.memory.write(table, std::move(change), std::move(done));
  }
  if (Status bad = parts.memory.write(table, std::move(change)); !bad.ok()) return bad;
  parts.writer.when_written(std::move(done));
  return {};
}

WriteAnswer DurableStore::write_answer(std::string_view table) const {
  const store::MemoryTable* const known = impl_->memory.find(table);
  if (known == nullptr) return WriteAnswer::Confirmed;
  const bool waits = known->spec().kind != TableKind::Channel && impl_->options.durability == Durability::EveryBatch;
  return waits ? WriteAnswer::Stored : WriteAnswer::Accepted;
}

bool DurableStore::outlives_process(std::string_view table) const {
  const store::MemoryTable* const known = impl_->memory.find(table);
  return known != nullptr && known->spec().kind != TableKind::Channel;
}

Result<std::unique_ptr<Subscription>> DurableStore::subscribe(std::string_view table, const SubscribeOptions& options) {
  return impl_->memory.subscribe(table, options);
}

void DurableStore::get(std::string_view table, std::string_view key, GetDone done) { impl_->memory.get(table, key, std::move(done)); }

void DurableStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  impl_->memory.scan(table, cursor, max, std::move(done));
}

void DurableStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  impl_->memory.scan_written(table, cursor, max, std::move(done));
}

Result<Store::Size> DurableStore::size(std::string_view table) const { return impl_->memory.size(table); }
Status DurableStore::health() const {
  const LogWriter& writer = impl_->writer;
  return writer.trouble().ok() ? writer.upkeep_trouble() : writer.trouble();
}
const DurableStoreStats& DurableStore::stats() const noexcept {
  impl_->stats.waiting = impl_->writer.waiting();
  impl_->stats.waiting_bytes = impl_->writer.waiting_bytes();
  return impl_->stats;
}

StoreReport DurableStore::report() const {
  const DurableStoreStats& stats = this->stats();
  const std::string file = "file " + impl_->options.path;
  StoreReport report{.damage = stats.damage};
  if (const Status trouble = health(); !trouble.ok()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(impl_->clock.now() - stats.failing_since).count();
    const std::string since = "for " + std::to_string(seconds) + " s, ";
    const std::string what = stats.writes_fail ? "nothing could be written " + since + std::to_string(stats.waiting) +
                                                     " records wait and are lost when the daemon ends before that is mended: "
                                               : "it could not be kept small " + since + "it grows while writes go on: ";
    report.troubles.push_back(file + ": " + what + std::string{trouble.message()});
  }
  if (!stats.damage.empty()) {
    report.troubles.push_back(file + " was damaged when it was opened, " + std::to_string(stats.damage.size()) +
                              " parts are lost (the first: " + stats.damage.front() + "); kept as " + stats.damaged_file +
                              "; feed the tables again");
    for (std::string& lost : report.damage) lost = file + " (kept as " + stats.damaged_file + "): " + lost;
  }
  return report;
}

void DurableStore::poll() { impl_->writer.poll_file(); }
std::size_t DurableStore::unfinished() const { return impl_->writer.waiting(); }

Status DurableStore::finish() {
  Status written = impl_->writer.finish();
  if (written.ok()) return written;
  const std::size_t records = impl_->writer.waiting();  // None waits if the file itself was deleted with its content.
  const std::string what = records > 0 ? std::to_string(records) + " records are not in " + impl_->options.path + ": " : std::string{};
  return {StatusCode::DataLoss, what + written.to_string()};
}

}  // namespace rondo
