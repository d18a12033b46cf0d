#include "rondo/store/durable_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "rondo/sched/scheduler.h"
#include "store/durable/log_content.h"
#include "store/durable/log_file.h"
#include "store/durable/log_writer.h"
#include "store/durable/snapshot_taker.h"
#include "store/durable/store_lock.h"
#include "store/durable/table_keeper.h"
#include "store/memory/memory_store.h"
#include "store/table_rules.h"

namespace rondo {

using store::durable::LogContent;
using store::durable::LogFile;
using store::durable::LogRecord;
using store::durable::LogWriter;
using store::durable::SnapshotTaker;
using store::durable::StoreLock;
using store::durable::TableKeeper;

namespace {

LogFile::Mode mode_of(Durability durability) { return durability == Durability::None ? LogFile::Mode::Write : LogFile::Mode::WriteSynced; }

/// A name beside 'path' that nothing has.
std::string free_name(const std::string& path) {
  for (unsigned number = 1;; ++number) {
    std::string name = path + ".damaged-" + std::to_string(number);
    if (!std::filesystem::exists(name) && !std::filesystem::exists(name + "-wal")) return name;
  }
}

Status rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  return error ? status_from_errno(error.value(), "renaming " + quoted(from) + " to " + quoted(to)) : Status{};
}

/// If a process ended while it replaced the file: it is still the damaged one, but its log may have gone aside already.
Status undo_replacement(const std::string& path) {
  std::error_code none;
  std::string aside;
  for (unsigned number = 1; std::filesystem::exists(aside = path + ".damaged-" + std::to_string(number), none); ++number) {
    if (!std::filesystem::equivalent(path, aside, none)) continue;
    if (std::filesystem::exists(aside + "-wal", none)) {
      if (Status bad = rename(aside + "-wal", path + "-wal"); !bad.ok()) return bad;
    }
    std::filesystem::remove(aside, none);
    return {};
  }
  return {};
}

/// So that the names outlive a power cut. A folder that may not be read, or a file system that cannot, is taken as it is.
Status sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const UniqueFd opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened ? ::fsync(opened.get()) == 0 || errno == EINVAL || errno == ENOTSUP : errno == EACCES) return {};
  return status_from_errno(errno, "syncing the folder " + quoted(folder.string()));
}

/// An empty file with the rights of another one and, as far as that is permitted, its owner.
Status make_like(const std::string& other, const std::string& path) {
  struct stat found {};
  if (::stat(other.c_str(), &found) != 0) return status_from_errno(errno, "looking at " + quoted(other));
  const UniqueFd made{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!made) return status_from_errno(errno, "making " + quoted(path));
  constexpr uid_t kSame = static_cast<uid_t>(-1);
  const bool is_owned = ::fchown(made.get(), found.st_uid, found.st_gid) == 0 || ::fchown(made.get(), kSame, found.st_gid) == 0;
  // The group's rights are for that group.
  const mode_t rights = found.st_mode & (is_owned ? 0777U : 0707U);
  return ::fchmod(made.get(), rights) == 0 ? Status{} : status_from_errno(errno, "making " + quoted(path));
}

/// Puts what could be read into a new file in the place of the damaged one, which gets the name 'aside'.
Result<std::unique_ptr<LogFile>> replace(const std::string& path, LogFile::Mode mode, const LogContent& content, const std::string& aside) {
  const std::string repaired = path + ".repaired";
  for (const char* const suffix : {"", "-wal", "-shm"}) std::filesystem::remove(repaired + suffix);
  if (Status bad = make_like(path, repaired); !bad.ok()) return failure(std::move(bad));
  {
    Result<std::unique_ptr<LogFile>> made = LogFile::open(repaired, LogFile::Mode::WriteSynced);
    if (!made) return failure(made.error());
    const std::vector<std::string> entries = content.entries();
    if (Status bad = (*made)->append(entries); !bad.ok()) return failure(std::move(bad));
  }
  if (std::filesystem::exists(repaired + "-wal")) return failure(Code::ResourceExhausted, "writing " + quoted(repaired) + " did not end");
  // The damaged one's log must not meet the new file. The name itself is never without a file, whenever the process ends; that of a
  // damaged file whose log has gone is another name of it: see undo_replacement().
  std::error_code error;
  std::filesystem::create_hard_link(path, aside, error);
  if (error) return failure(status_from_errno(error.value(), "keeping " + quoted(path) + " as " + quoted(aside)));
  if (std::filesystem::exists(path + "-wal")) {
    if (Status bad = rename(path + "-wal", aside + "-wal"); !bad.ok()) return failure(std::move(bad));
  }
  if (Status bad = rename(repaired, path); !bad.ok()) return failure(std::move(bad));
  if (Status bad = sync_folder_of(path); !bad.ok()) return failure(std::move(bad));
  return LogFile::open(path, mode);
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

struct DurableStore::Parts {
  Parts(Scheduler& scheduler, const DurableStoreOptions& given, StoreLock held, std::unique_ptr<LogFile> file)
      : options(given),
        lock(std::move(held)),
        memory(scheduler, "durable-store", given.completions),
        writer(scheduler, given, std::move(file), memory.completions(), stats),
        snapshots(scheduler, given.snapshots, writer, kept, given.slack_bytes) {
    writer.on_written([this] { snapshots.look(); });
  }
  ~Parts() { writer.on_written({}); }  // The writer, which goes last, writes what is left.

  /// The tables as the log says, for consumers to come.
  void restore(LogContent& content);
  void restore_table(LogContent::Table& found, std::uint32_t number);
  SnapshotTaker::Kept& keep(store::MemoryTable& table, std::uint32_t number);
  Status refuse() const;

  const DurableStoreOptions options;
  const StoreLock lock;
  DurableStoreStats stats;
  store::MemoryStore memory;
  LogWriter writer;
  std::vector<SnapshotTaker::Kept> kept;
  std::map<std::string, TableSpec, std::less<>> undeclared;  // Tables of the file that nobody has declared in this process.
  std::uint32_t next_number = 0;
  SnapshotTaker snapshots;
};

void DurableStore::Parts::restore(LogContent& content) {
  std::uint64_t bytes = 0;
  for (std::uint32_t number = 0; number < content.tables().size(); ++number) {
    LogContent::Table* const found = content.tables()[number].get();
    if (found == nullptr) continue;
    restore_table(*found, number);
    for (std::uint32_t id = 0; id < found->rows.end_id(); ++id) {
      if (found->rows[id].record) bytes += found->rows[id].record.bytes();
    }
  }
  next_number = static_cast<std::uint32_t>(content.tables().size());
  snapshots.set_content_bytes(bytes);
}

void DurableStore::Parts::restore_table(LogContent::Table& found, std::uint32_t number) {
  // Deletes that wait for their consumers may be more than the limit.
  TableSpec roomy = found.spec;
  roomy.rows_max = limits::kTableRows;
  if (!memory.declare(roomy).ok()) return;
  store::MemoryTable& table = *memory.find(found.spec.name);
  TableKeeper& keeper = *keep(table, number).keeper;
  for (std::uint32_t id = 0; id < found.rows.end_id(); ++id) {
    LogContent::Row& row = found.rows[id];
    if (!row.record) continue;
    ++stats.restored;
    if (row.deleted) {
      keeper.owe_delete(row.record);
      static_cast<void>(table.write(Change{Op::Delete, row.record}));
    } else {
      table.restore(row.record);
    }
  }
  keeper.set_first_entry(found.entries.empty() ? found.dropped + 1 : found.entries.begin()->first);
  for (auto& [entry, change] : found.entries) {
    ++stats.restored;
    keeper.owe_entry(change);
    table.restore_entry(std::move(change));
  }
  table.set_rows_max(found.spec.rows_max);
  table.keep_with(&keeper);
  undeclared.emplace(found.spec.name, found.spec);
}

SnapshotTaker::Kept& DurableStore::Parts::keep(store::MemoryTable& table, std::uint32_t number) {
  kept.push_back({&table, std::make_unique<TableKeeper>(number, writer)});
  return kept.back();
}

/// Why a write cannot be taken now.
Status DurableStore::Parts::refuse() const {
  const Status& trouble = writer.trouble();
  const LogWriter::Volume waiting = writer.waiting_writes();
  const bool full = waiting.records >= options.waiting_max || waiting.bytes >= options.waiting_bytes_max;
  if (!trouble.ok() && (full || options.durability == Durability::EveryBatch)) return trouble.with_context("nothing can be written down");
  if (!full) return {};
  return {Code::ResourceExhausted,
          std::to_string(waiting.records) + " records of " + std::to_string(waiting.bytes) + " bytes wait for " + quoted(options.path)};
}

Result<std::unique_ptr<DurableStore>> DurableStore::open(Scheduler& scheduler, DurableStoreOptions options) {
  const LogFile::Mode mode = mode_of(options.durability);
  Result<StoreLock> lock = StoreLock::take(options.path);
  if (!lock) return failure(lock.error());
  if (Status bad = undo_replacement(options.path); !bad.ok()) return failure(std::move(bad));
  Result<std::unique_ptr<LogFile>> file = LogFile::open(options.path, mode);
  if (!file) return failure(file.error());
  LogContent content;
  LogFile::Reading reading = (*file)->read([&content](std::string_view entry) { return content.add(entry); });
  if (!reading.failed.ok()) return failure(std::move(reading.failed));
  std::ranges::move(content.drop_nameless(), std::back_inserter(reading.damage));
  std::string aside;
  if (!reading.damage.empty()) {
    aside = free_name(options.path);
    content.close_holes();
    file->reset();
    file = replace(options.path, mode, content, aside);
    if (!file) return failure(file.error().with_context("the file is damaged (" + reading.damage.front().to_string() + ") and"));
  }
  auto parts = std::make_unique<Parts>(scheduler, options, std::move(*lock), std::move(*file));
  parts->writer.set_log_bytes(reading.bytes);
  for (const Status& lost : reading.damage) parts->stats.damage.push_back(lost.to_string());
  parts->stats.damaged_file = aside;
  parts->restore(content);
  return std::unique_ptr<DurableStore>{new DurableStore(std::move(parts))};
}

DurableStore::DurableStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DurableStore::~DurableStore() = default;

Status DurableStore::declare(const TableSpec& spec) {
  Parts& parts = *parts_;
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
  table.keep_with(parts.keep(table, number).keeper.get());
  return {};
}

std::vector<TableSpec> DurableStore::tables() const { return parts_->memory.tables(); }

Status DurableStore::write(std::string_view table, Change change, WriteDone done) {
  Parts& parts = *parts_;
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

Result<std::unique_ptr<Subscription>> DurableStore::subscribe(std::string_view table) { return parts_->memory.subscribe(table); }

void DurableStore::get(std::string_view table, std::string_view key, GetDone done) { parts_->memory.get(table, key, std::move(done)); }

void DurableStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  parts_->memory.scan(table, cursor, max, std::move(done));
}

void DurableStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  parts_->memory.scan_written(table, cursor, max, std::move(done));
}

Result<Store::Size> DurableStore::size(std::string_view table) const { return parts_->memory.size(table); }
Status DurableStore::health() const {
  const LogWriter& writer = parts_->writer;
  return writer.trouble().ok() ? writer.upkeep_trouble() : writer.trouble();
}
const DurableStoreStats& DurableStore::stats() const noexcept {
  parts_->stats.waiting = parts_->writer.waiting();
  parts_->stats.waiting_bytes = parts_->writer.waiting_bytes();
  return parts_->stats;
}
Status DurableStore::finish() { return parts_->writer.finish(); }

}  // namespace rondo
