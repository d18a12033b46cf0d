// The journal's writer. The scheduler's thread fills a chunk without a lock and publishes each record with one store. Every few
// milliseconds the writer's thread makes a block of the new records and returns full chunks. A mutex guards only the list of chunks: the
// scheduler's thread takes it once a chunk, and the writer does not hold it while it writes. A slow disk therefore costs more chunks, and
// beyond their limit a counted loss. A full disk or a removed file costs a counted loss, stored in the head of the next block.
#include "journal/writer.h"

#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "journal/format.h"
#include "journal/lock.h"
#include "rondo/base/assert.h"
#include "rondo/journal/journal.h"

namespace rondo::journal {
namespace {

/// Large enough that the list is rarely touched, small enough to stay in a cache.
constexpr std::size_t kChunkBytes = 256 * 1024;
/// Chunks kept for reuse, so that the scheduler's thread rarely allocates from the system.
constexpr std::size_t kSpareChunks = 16;
/// How long the writer gathers records, so that a burst of records costs one block.
constexpr Duration kGather = 5ms;
/// How often an idle writer polls. The first record wakes it. But the scheduler's thread reads the idle flag without ordering against the
/// writer's sleep, so that wake can be missed. A fence would cost time for each record.
constexpr Duration kIdle = 200ms;
/// Room for the record that reports a loss.
constexpr std::size_t kLossBytes = 2 + kVarintBytes;
/// The time between attempts to rename: one every 5 ms would fill the log while a disk fails.
constexpr std::chrono::seconds kRenameAgain{1};
/// How often the writer checks that its file still has its name.
constexpr std::chrono::seconds kLookAtName{2};

struct Chunk {
  explicit Chunk(std::size_t size) : bytes(std::make_unique_for_overwrite<char[]>(size)), capacity(size) {}
  std::unique_ptr<char[]> bytes;
  std::size_t capacity;
  std::atomic<std::uint64_t> published{0};  // The number of records and (lower half) their bytes; written by the scheduler's thread.
  std::uint64_t written = 0;                // The part of 'published' that the writer has written.
};

/// Writes head and payload completely, or returns the errno.
int write_all(int fd, std::string_view head, std::string_view payload) noexcept {
  while (!head.empty() || !payload.empty()) {
    std::array<iovec, 2> parts{iovec{const_cast<char*>(head.data()), head.size()},
                               iovec{const_cast<char*>(payload.data()), payload.size()}};
    const ssize_t wrote = ::writev(fd, parts.data(), 2);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote == 0 ? EIO : errno;
    const auto step = static_cast<std::size_t>(wrote);
    const std::size_t of_head = std::min(step, head.size());
    head.remove_prefix(of_head);
    payload.remove_prefix(step - of_head);
  }
  return 0;
}

/// Decode Chunk::published.
constexpr std::size_t bytes_of(std::uint64_t published) { return static_cast<std::uint32_t>(published); }
constexpr std::uint32_t records_of(std::uint64_t published) { return static_cast<std::uint32_t>(published >> 32U); }

class Writer final : public JournalSink {
 public:
  explicit Writer(const JournalOptions& options)
      : options_(options), chunk_size_(std::clamp(options.buffer_bytes / 4, kChunkBytes / 256, kChunkBytes)) {}
  ~Writer() override;
  Status start();

  Status begin() override;
  char* room(std::size_t bytes) override;
  void put(std::size_t bytes) override;
  std::uint32_t name(std::string_view text) override;
  void clocks(Instant now, WallTime wall) override;

  void rotate() noexcept override;
  Status flush() override;
  JournalStats stats() const override;

 private:
  struct Part {
    Chunk* chunk;
    std::uint64_t published;
  };
  Chunk* next_chunk(std::size_t bytes);
  void put_loss();

  // Called on the writer's thread.
  void write_until_stopped();
  bool has_news() const;
  void recycle_oldest();
  bool reopen();
  void follow_name();
  bool has_file();
  void count_removed();
  void begin_next_file();
  Status rename_files();
  void check_size();
  bool has_room(std::size_t bytes);
  bool write_names();
  void write_records(std::string_view records, std::uint32_t count);
  bool write_block(BlockHead head, std::string_view payload);
  void count_error(Status error, Status Writer::*trouble);
  void end_trouble(Status Writer::*trouble);

  const JournalOptions options_;
  const std::size_t chunk_size_;

  // Used by the scheduler's thread.
  Chunk* current_ = nullptr;
  std::size_t used_ = 0;
  std::uint64_t in_chunk_ = 0;    // Records.
  std::uint64_t unreported_ = 0;  // Records lost since the last record that was accepted, not yet recorded.

  std::atomic<bool> idle_{false};
  std::atomic<std::uint64_t> records_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> dropped_{0};

  mutable std::mutex mutex_;
  std::condition_variable wake_writer_;
  std::condition_variable flushed_;
  // Guarded by the mutex.
  std::deque<std::unique_ptr<Chunk>> chunks_;  // Oldest first; the last one is being filled.
  std::vector<std::unique_ptr<Chunk>> spare_;
  std::size_t chunk_bytes_ = 0;
  std::vector<std::string> names_;
  std::int64_t wall_offset_ = 0;
  std::uint64_t write_errors_ = 0;
  std::uint64_t unwritten_ = 0;  // Records whose write failed, or whose file was removed.
  Status last_error_;            // Not yet returned by flush().
  Status newest_error_;          // Kept, also when it is over.
  Status write_trouble_;         // Why writing fails now; ok if it does not.
  Status rename_trouble_;        // Why renaming or reopening fails now; ok if it does not.
  std::uint64_t flush_asked_ = 0;
  std::uint64_t flush_done_ = 0;
  bool rotate_ = false;
  bool begun_ = false;  // The file is open.
  bool stop_ = false;

  // Writer's thread, once begun.
  UniqueFd file_;
  std::uint64_t file_size_ = 0;
  std::uint64_t in_file_ = 0;       // Records of this run in the file.
  std::vector<std::string> known_;  // Names that the writer has copied from names_.
  std::size_t names_in_file_ = 0;   // How many of known_ are in this file.
  bool file_has_names_ = false;     // The file contains a block of all names.
  std::uint64_t next_record_ = 1;
  std::uint64_t lost_ = 0;  // Records of the run that no file contains.
  std::int64_t offset_ = 0;
  std::chrono::steady_clock::time_point rename_again_;  // The earliest time of the next attempt to rename.
  std::chrono::steady_clock::time_point look_again_;    // The earliest time of the next look at the file's name.

  std::thread thread_;
};

/// Starts the writer with every signal blocked. Signals belong to the main thread, and SIGXFSZ (a file beyond its limit) must be an error
/// of a write here instead of ending the process.
Status Writer::start() {
  if (Status opened = options_.begin_later ? Status{} : begin(); !opened.ok()) return opened;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    thread_ = std::thread([this] { write_until_stopped(); });
  } catch (const std::system_error& error) {
    status = status_from_errno(error.code().value(), "cannot start the journal's writer thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

Status Writer::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (begun_) return {};
  }
  if (Status foreign = check_older(options_.file, options_.files); !foreign.ok()) return foreign;
  Result<UniqueFd> file = open_locked(options_.file);
  if (!file) return file.error();
  {
    const std::lock_guard lock(mutex_);
    file_ = std::move(*file);
    file_size_ = size_of(file_.get()).value_or(0);
    begun_ = true;
  }
  wake_writer_.notify_one();
  return {};
}

Writer::~Writer() {
  if (!thread_.joinable()) return;
  if (unreported_ > 0) {
    const std::uint64_t before = unreported_;
    if (room(1) == nullptr) unreported_ = before;  // Restored: no further record was lost.
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_writer_.notify_one();
  thread_.join();
}

// --- Scheduler's thread

char* Writer::room(std::size_t bytes) {
  const std::size_t wanted = bytes + (unreported_ > 0 ? kLossBytes : 0);
  if (current_ == nullptr || current_->capacity - used_ < wanted) {
    Chunk* const next = bytes <= kRecordBytes ? next_chunk(wanted) : nullptr;
    if (next == nullptr) {
      ++unreported_;
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return nullptr;
    }
    current_ = next;
    used_ = in_chunk_ = 0;
  }
  if (unreported_ > 0) put_loss();
  return current_->bytes.get() + used_;
}

void Writer::put(std::size_t bytes) {
  used_ += bytes;
  current_->published.store(++in_chunk_ << 32U | used_, std::memory_order_release);
  records_.store(records_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  if (idle_.load(std::memory_order_relaxed)) {
    {
      const std::lock_guard lock(mutex_);
      idle_.store(false, std::memory_order_relaxed);
    }
    wake_writer_.notify_one();
  }
}

void Writer::put_loss() {
  char* const begin = current_->bytes.get() + used_;
  Encoder to(begin + 1);
  to.byte(static_cast<std::uint8_t>(Kind::Lost));
  to.number(unreported_);
  put_length(begin, kLossBytes, static_cast<std::size_t>(to.at() - begin) - 1);
  unreported_ = 0;
  put(static_cast<std::size_t>(to.at() - begin));
}

/// Returns an empty chunk at the end of the list; null when the buffer is full.
Chunk* Writer::next_chunk(std::size_t bytes) {
  const std::size_t size = std::max(bytes, chunk_size_);
  bool nudge = false;
  Chunk* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (chunk_bytes_ + size > options_.buffer_bytes) {
      nudge = true;
    } else {
      if (size == chunk_size_ && !spare_.empty()) {
        chunks_.push_back(std::move(spare_.back()));
        spare_.pop_back();
      } else {
        chunks_.push_back(std::make_unique<Chunk>(size));
      }
      chunk_bytes_ += size;
      next = chunks_.back().get();
    }
  }
  if (nudge) wake_writer_.notify_one();
  return next;
}

std::uint32_t Writer::name(std::string_view text) {
  const std::lock_guard lock(mutex_);
  names_.emplace_back(text);
  return static_cast<std::uint32_t>(names_.size());
}

void Writer::clocks(Instant now, WallTime wall) {
  const std::lock_guard lock(mutex_);
  wall_offset_ = wall.nanoseconds() - now.nanoseconds();
}

// --- Any thread

void Writer::rotate() noexcept {
  {
    const std::lock_guard lock(mutex_);
    rotate_ = true;
  }
  wake_writer_.notify_one();
}

Status Writer::flush() {
  std::unique_lock lock(mutex_);
  if (!begun_) return {};  // Nothing may be written yet.
  const std::uint64_t ticket = ++flush_asked_;
  wake_writer_.notify_one();
  flushed_.wait(lock, [&] { return flush_done_ >= ticket; });
  return std::exchange(last_error_, Status{});
}

JournalStats Writer::stats() const {
  const std::lock_guard lock(mutex_);
  return {.records = records_.load(std::memory_order_relaxed),
          .bytes = bytes_.load(std::memory_order_relaxed),
          .dropped = dropped_.load(std::memory_order_relaxed) + unwritten_,
          .write_errors = write_errors_,
          .last_error = write_trouble_.ok() ? rename_trouble_ : write_trouble_,
          .newest_error = newest_error_};
}

// --- Writer's thread

bool Writer::has_news() const {
  return std::ranges::any_of(chunks_, [](const auto& chunk) { return chunk->published.load(std::memory_order_acquire) > chunk->written; });
}

void Writer::write_until_stopped() {
  std::vector<Part> parts;
  std::unique_lock lock(mutex_);
  wake_writer_.wait(lock, [this] { return begun_ || stop_; });
  while (begun_) {
    const auto urgent = [this] { return stop_ || rotate_ || flush_asked_ != flush_done_; };
    if (!urgent() && !has_news()) {
      idle_.store(true, std::memory_order_relaxed);
      wake_writer_.wait_for(lock, kIdle, [&] { return urgent() || !idle_.load(std::memory_order_relaxed); });
      idle_.store(false, std::memory_order_relaxed);
    }
    if (!urgent()) wake_writer_.wait_for(lock, kGather, urgent);

    const bool stopping = stop_;
    const bool rotating = std::exchange(rotate_, false);
    const std::uint64_t ticket = flush_asked_;
    offset_ = wall_offset_;
    parts.clear();
    for (const auto& chunk : chunks_) parts.push_back({chunk.get(), chunk->published.load(std::memory_order_acquire)});
    // Copied after the records were found, so it includes the names that they use.
    known_.insert(known_.end(), names_.begin() + static_cast<std::ptrdiff_t>(known_.size()), names_.end());
    lock.unlock();
    if (rotating) {
      reopen();
    } else {
      follow_name();
    }
    for (const Part& part : parts) {
      const std::size_t begin = bytes_of(part.chunk->written);
      write_records({part.chunk->bytes.get() + begin, bytes_of(part.published) - begin},
                    records_of(part.published) - records_of(part.chunk->written));
      part.chunk->written = part.published;
    }
    lock.lock();
    // All parts but the newest are full: the scheduler's thread has moved on to another chunk.
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) recycle_oldest();
    flush_done_ = ticket;
    flushed_.notify_all();
    if (stopping) return;
  }
}

/// Called with the mutex held.
void Writer::recycle_oldest() {
  std::unique_ptr<Chunk> chunk = std::move(chunks_.front());
  chunks_.pop_front();
  chunk_bytes_ -= chunk->capacity;
  if (chunk->capacity != chunk_size_ || spare_.size() >= kSpareChunks) return;
  chunk->published.store(0, std::memory_order_relaxed);
  chunk->written = 0;
  spare_.push_back(std::move(chunk));
}

bool Writer::reopen() {
  look_again_ = std::chrono::steady_clock::now() + kLookAtName;
  // If the name still leads to this file, the file stays open; the next write detects a truncation.
  if (!is_at(file_.get(), options_.file)) {
    count_removed();
    Result<UniqueFd> fresh = open_locked(options_.file);
    if (!fresh) {
      count_error(std::move(fresh).error(), &Writer::rename_trouble_);
      return false;
    }
    file_ = std::move(*fresh);  // This ends the lock on the old file.
    file_size_ = size_of(file_.get()).value_or(0);
    in_file_ = 0;
    file_has_names_ = false;
    if (lost_ > 0) write_names();  // Readers learn of the loss from the head, before the next record.
  }
  end_trouble(&Writer::rename_trouble_);
  return true;
}

/// If no file has the name, or the open file has no name, the file is made again; and an opening that failed is tried again. Another file
/// in the place of a renamed one may be one that logrotate has made, and is left until rotate().
void Writer::follow_name() {
  const auto now = std::chrono::steady_clock::now();
  if (now < look_again_) return;
  look_again_ = now + kLookAtName;
  if (is_at(file_.get(), options_.file)) return;
  const bool is_gone = ::access(options_.file.c_str(), F_OK) != 0 && errno == ENOENT;
  if (is_gone || is_removed(file_.get()) || !rename_trouble_.ok()) reopen();
}

/// Opens the next file if this one was removed. Returns false while that fails: records in a removed file would be lost without a count.
bool Writer::has_file() {
  if (!is_removed(file_.get())) return true;
  const bool has_failed = file_size_ == 0 && !rename_trouble_.ok();
  return (!has_failed || std::chrono::steady_clock::now() >= look_again_) && reopen();
}

/// Counts the records of a removed file as lost. How many records of earlier runs it had is not known.
void Writer::count_removed() {
  if (file_size_ == 0 || !is_removed(file_.get())) return;
  file_size_ = 0;
  const std::uint64_t count = std::exchange(in_file_, 0);
  lost_ += count;
  {
    const std::lock_guard lock(mutex_);
    unwritten_ += count;
  }
  count_error({StatusCode::DataLoss,
               "the journal '" + options_.file + "' was removed, and " + std::to_string(count) + " records of this run with it"},
              &Writer::rename_trouble_);
}

/// Renames FILE to FILE.1, FILE.1 to FILE.2, and so on; the oldest is removed. The lock stays with the renamed file and ends when the next
/// file is open.
Status Writer::rename_files() {
  if (Status foreign = check_older(options_.file, options_.files); !foreign.ok()) return foreign;
  const auto name = [this](unsigned number) { return number == 0 ? options_.file : options_.file + "." + std::to_string(number); };
  if (options_.files == 0 && ::unlink(options_.file.c_str()) != 0) {
    return status_from_errno(errno, "cannot remove the journal '" + options_.file + "'");
  }
  if (options_.files == 0) file_size_ = in_file_ = 0;  // Not lost: the options say that no older file is kept.
  for (unsigned number = options_.files; number > 0; --number) {
    if (::rename(name(number - 1).c_str(), name(number).c_str()) == 0 || errno == ENOENT) continue;
    return status_from_errno(errno, "cannot rename the journal '" + name(number - 1) + "'");
  }
  return {};
}

void Writer::begin_next_file() {
  if (std::chrono::steady_clock::now() < rename_again_) return;
  // If the name leads to another file, reopen() opens or refuses it.
  Status renamed = is_at(file_.get(), options_.file) ? rename_files() : Status{};
  if (renamed.ok() && reopen()) return;
  rename_again_ = std::chrono::steady_clock::now() + kRenameAgain;
  if (!renamed.ok()) count_error(std::move(renamed), &Writer::rename_trouble_);
}

/// A file that was truncated (logrotate's copytruncate) lacks the names.
void Writer::check_size() {
  const std::uint64_t size = size_of(file_.get()).value_or(file_size_);
  if (size >= file_size_) return;
  file_size_ = size;
  in_file_ = 0;
  file_has_names_ = false;
}

/// Makes room for 'bytes' more. A file that cannot be renamed does not grow without limit.
bool Writer::has_room(std::size_t bytes) {
  if (options_.file_bytes == 0) return true;
  const std::uint64_t wanted = file_size_ + kHeadBytes + bytes;
  if (file_size_ > 0 && wanted > options_.file_bytes) begin_next_file();
  return file_size_ == 0 || file_size_ + kHeadBytes + bytes <= 2 * options_.file_bytes;
}

/// Writes the names that this file lacks.
bool Writer::write_names() {
  if (file_has_names_ && names_in_file_ == known_.size()) return true;
  const std::size_t first = file_has_names_ ? names_in_file_ : 0;
  std::string payload;
  for (std::size_t i = first; i < known_.size(); ++i) {
    std::array<char, kVarintBytes> length{};
    Encoder to(length.data());
    to.number(known_[i].size());
    payload.append(length.data(), to.at()).append(known_[i]);
  }
  BlockHead head;
  head.kind = file_has_names_ ? BlockKind::Names : BlockKind::AllNames;
  head.first_record = first + 1;
  head.records = static_cast<std::uint32_t>(known_.size() - first);
  if (!write_block(head, payload)) return false;
  names_in_file_ = known_.size();
  file_has_names_ = true;
  return true;
}

void Writer::write_records(std::string_view records, std::uint32_t count) {
  if (records.empty()) return;
  check_size();
  const bool room = has_file() && has_room(records.size());
  BlockHead head;
  head.records = count;
  head.first_record = next_record_;
  next_record_ += count;
  if (room && write_names() && write_block(head, records)) {
    in_file_ += count;
    return end_trouble(&Writer::write_trouble_);
  }
  lost_ += count;
  const std::lock_guard lock(mutex_);
  unwritten_ += count;
}

/// Truncates a partly written block, so that the file ends with a whole block.
bool Writer::write_block(BlockHead head, std::string_view payload) {
  head.payload_bytes = static_cast<std::uint32_t>(payload.size());
  head.lost_before = lost_;
  head.wall_offset = offset_;
  seal(head, payload);
  const int error = write_all(file_.get(), {reinterpret_cast<const char*>(&head), kHeadBytes}, payload);
  if (error == 0) {
    file_size_ += kHeadBytes + payload.size();
    return true;
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(file_size_)) != 0) file_size_ = size_of(file_.get()).value_or(0);
  count_error(status_from_errno(error, "cannot write the journal '" + options_.file + "'"), &Writer::write_trouble_);
  return false;
}

void Writer::count_error(Status error, Status Writer::*trouble) {
  const std::lock_guard lock(mutex_);
  ++write_errors_;
  this->*trouble = error;
  newest_error_ = error;
  last_error_ = std::move(error);
}

void Writer::end_trouble(Status Writer::*trouble) {
  const std::lock_guard lock(mutex_);
  if (!(this->*trouble).ok()) this->*trouble = Status{};
}

}  // namespace

Result<std::unique_ptr<JournalSink>> open_writer(const JournalOptions& options) {
  auto writer = std::make_unique<Writer>(options);
  if (Status started = writer->start(); !started.ok()) return failure(std::move(started));
  return std::unique_ptr<JournalSink>{std::move(writer)};
}

}  // namespace rondo::journal
