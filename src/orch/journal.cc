// Journal: formats each record straight into a chunk of memory and leaves the disk to a thread of its own. The scheduler's thread holds the
// mutex while it formats one line (about 0.1 us); the writer holds it only to take the filled chunks, never while it writes. So the cost of
// a slow disk is a fuller buffer, of a full buffer a counted drop, and of a full disk a counted loss: nothing here ever waits for the disk.
#include "rondo/orch/journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace rondo {

namespace {

/// A chunk of text; a longer line gets a chunk of its own. Large enough that a write() is cheap, small enough to come from a pool.
constexpr std::size_t kChunkBytes = 256 * 1024;
/// Chunks kept for reuse.
constexpr std::size_t kSpareChunks = 16;
/// The writer lets lines gather this long, so that a storm costs one wake and one write() for many of them.
constexpr Duration kGather = 5ms;
/// More text than this is written at once.
constexpr std::size_t kGatherBytes = 4 * kChunkBytes;

// "\xHH" for every byte that would break a line or a field.
constexpr bool needs_escape(unsigned char byte) noexcept { return byte < 0x20 || byte == 0x7f || byte == '|' || byte == '\\'; }

constexpr auto kEscapes = [] {
  std::array<bool, 256> table{};
  for (unsigned i = 0; i < 256; ++i) table[i] = needs_escape(static_cast<unsigned char>(i));
  return table;
}();

/// Tests eight bytes at once (the classic "has a zero byte" and "has a byte less than n" of word arithmetic; exact as a yes or no).
constexpr bool word_needs_escape(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  const auto zero_in = [](std::uint64_t value) { return (value - kOnes) & ~value; };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  return ((control | zero_in(word ^ (kOnes * 0x7f)) | zero_in(word ^ (kOnes * '|')) | zero_in(word ^ (kOnes * '\\'))) & kHighs) != 0;
}

bool is_clean(std::string_view text) noexcept {
  const char* at = text.data();
  std::size_t left = text.size();
  while (left >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    if (word_needs_escape(word)) return false;
    at += 8;
    left -= 8;
  }
  for (; left > 0; --left, ++at) {
    if (kEscapes[static_cast<unsigned char>(*at)]) return false;
  }
  return true;
}

std::size_t escaped_size(std::string_view text) noexcept {
  std::size_t size = text.size();
  for (const char c : text) {
    if (kEscapes[static_cast<unsigned char>(c)]) size += 3;
  }
  return size;
}

char* put(char* out, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* put(char* out, char c) noexcept {
  *out = c;
  return out + 1;
}

char* put_escaped(char* out, std::string_view text) noexcept {
  if (is_clean(text)) return put(out, text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!kEscapes[byte]) {
      *out++ = c;
      continue;
    }
    *out++ = '\\';
    *out++ = 'x';
    *out++ = kDigits[byte >> 4U];
    *out++ = kDigits[byte & 0xfU];
  }
  return out;
}

/// "TABLE:key|SET|name:value|name:value", sized with 'size_of' each text.
template <class SizeOf>
std::size_t change_size(std::string_view table, const Change& change, SizeOf size_of) {
  std::size_t size = size_of(table) + 1 + size_of(change.key()) + 1 + size_of(change.verb());
  for (const Field field : change.fields()) size += 2 + size_of(field.name) + size_of(field.value);
  return size;
}

char* put_change(char* out, std::string_view table, const Change& change) {
  out = put(put_escaped(out, table), ':');
  out = put(put_escaped(out, change.key()), '|');
  out = put_escaped(out, change.verb());
  for (const Field field : change.fields()) {
    out = put(put_escaped(put(out, '|'), field.name), ':');
    out = put_escaped(out, field.value);
  }
  return out;
}

/// The bytes a change may need: the bound when it fits a chunk (cheap), else the exact number.
std::size_t change_room(std::string_view table, const Change& change) {
  const std::size_t plain = change_size(table, change, [](std::string_view text) { return text.size(); });
  if (plain < kChunkBytes / 8) return 4 * plain;
  return change_size(table, change, escaped_size);
}

/// Local time in SONiC's form, "2024-09-11.18:55:38.383953". The calendar is consulted once a second.
class Stamp {
 public:
  static constexpr std::size_t kSize = 26;

  void set(WallTime now) noexcept {
    const std::int64_t ns = now.nanoseconds();
    std::int64_t second = ns / 1'000'000'000;
    if (ns % 1'000'000'000 < 0) --second;
    if (second != second_) {
      set_calendar(second);
      second_ = second;
    }
    auto micros = static_cast<unsigned>((ns - second * 1'000'000'000) / 1000);
    for (std::size_t digit = kSize; digit-- > kSize - 6;) {
      text_[digit] = static_cast<char>('0' + micros % 10);
      micros /= 10;
    }
  }
  std::string_view text() const noexcept { return {text_.data(), kSize}; }

 private:
  void set_calendar(std::int64_t second) noexcept {
    const auto time = static_cast<std::time_t>(second);
    std::tm local{};
    std::array<char, 64> text{};
    // A year of five digits does not fit the form; it and an impossible time are told as the zero of calendars.
    const bool fits =
        localtime_r(&time, &local) != nullptr && std::strftime(text.data(), text.size(), "%Y-%m-%d.%H:%M:%S.", &local) == kSize - 6;
    put(text_.data(), fits ? std::string_view{text.data(), kSize - 6} : std::string_view{"0000-00-00.00:00:00."});
  }

  std::array<char, kSize> text_{};
  std::int64_t second_ = INT64_MIN;
};

struct Chunk {
  explicit Chunk(std::size_t bytes) : text(std::make_unique_for_overwrite<char[]>(bytes)), capacity(bytes) {}
  std::unique_ptr<char[]> text;
  std::size_t capacity;
  std::size_t used = 0;
};

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

Result<Descriptor> open_for_appending(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return failure(status_from_errno(errno, "cannot open the journal file '" + path + "'"));
  return Descriptor{fd};
}

/// Writes until all is out or an error, which it puts into 'error'. Returns the bytes that got out.
std::size_t write_some(int fd, std::string_view text, int& error) noexcept {
  std::size_t wrote = 0;
  while (wrote < text.size()) {
    const ssize_t step = ::write(fd, text.data() + wrote, text.size() - wrote);
    if (step > 0) {
      wrote += static_cast<std::size_t>(step);
    } else if (step == 0 || errno != EINTR) {
      error = step == 0 ? EIO : errno;
      break;
    }
  }
  return wrote;
}

std::string loss_note(std::string_view stamp, std::uint64_t records, std::string_view why) {
  std::string note{stamp};
  note.append("|recording lost ").append(std::to_string(records)).append(" records: ").append(why).push_back('\n');
  return note;
}

}  // namespace

/// The buffer that both threads share, and the writer. Members say who owns them.
struct Journal::Impl {
  /// One file.
  struct File {
    std::string path;
    // Guarded by mutex.
    std::vector<Chunk> chunks;  // Filled from the back; the last one has room.
    std::uint64_t dropped = 0;  // Records dropped since the last one that was taken, not yet told in the file.
    // Writer's thread.
    Descriptor descriptor;
    std::uint64_t lost = 0;  // Records whose write failed, not yet told in the file.
    std::string lost_why;
    bool in_line = false;  // The file ends within a line, after a failed write.
  };

  Impl(const JournalOptions& options, WallTime now) : bytes_max(options.buffer_bytes) { stamp.set(now); }
  ~Impl();
  Status start();

  // Scheduler's thread.
  template <class Format>
  void append(File& file, std::size_t room, Format format);
  Chunk& chunk_for(File& file, std::size_t room);

  // Writer's thread.
  void write_until_stopped();
  void reopen();
  void write_out(File& file, std::vector<Chunk>& chunks, std::uint64_t dropped, std::string_view stamp_text);
  bool write_all(File& file, std::string_view text, bool is_note);
  void recycle(std::vector<Chunk>& chunks);
  void count_error(Status error, std::uint64_t lost);

  const std::size_t bytes_max;
  std::array<File, 2> files;  // swss.rec and retry.rec; an empty path is a file that is not written.
  Stamp stamp;                // Written by the scheduler's thread under the mutex.

  mutable std::mutex mutex;
  std::condition_variable wake_writer;
  std::condition_variable flushed;
  // Guarded by mutex.
  std::vector<Chunk> spare;
  std::size_t waiting_bytes = 0;  // In the chunks and in the writer's hands.
  JournalStats stats;
  Status last_error;
  std::uint64_t flush_asked = 0;
  std::uint64_t flush_done = 0;
  bool idle = false;  // The writer waits without a time limit and must be woken by the first line.
  bool rotate = false;
  bool stop = false;

  std::thread writer;
};

/// Starts the writer with every signal blocked: signals belong to the main thread, and SIGXFSZ (a file beyond its limit) must be an error
/// of write() here, not the end of the process.
Status Journal::Impl::start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    writer = std::thread([this] { write_until_stopped(); });
  } catch (const std::system_error& error) {
    status = status_from_errno(error.code().value(), "cannot start the journal's writer thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

Journal::Impl::~Impl() {
  if (!writer.joinable()) return;
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  wake_writer.notify_one();
  writer.join();
}

/// The chunk to write 'room' bytes to.
Chunk& Journal::Impl::chunk_for(File& file, std::size_t room) {
  if (!file.chunks.empty() && file.chunks.back().capacity - file.chunks.back().used >= room) return file.chunks.back();
  if (room > kChunkBytes || spare.empty()) return file.chunks.emplace_back(std::max(room, kChunkBytes));
  file.chunks.push_back(std::move(spare.back()));
  spare.pop_back();
  return file.chunks.back();
}

/// Appends one line: the stamp, what 'format' writes (at most 'room' bytes), and the newline; or drops it.
template <class Format>
void Journal::Impl::append(File& file, std::size_t room, Format format) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex);
    std::string note;
    if (file.dropped > 0) note = loss_note(stamp.text(), file.dropped, "the buffer was full");
    room += note.size() + Stamp::kSize + 2;
    // The bound may overstate a line fourfold; only near the limit is that worth a difference, and there dropping is right.
    if (waiting_bytes + room > bytes_max) {
      ++file.dropped;
      ++stats.dropped;
      wake = std::exchange(idle, false);
    } else {
      Chunk& chunk = chunk_for(file, room);
      char* const begin = chunk.text.get() + chunk.used;
      char* out = put(put(put(begin, note), stamp.text()), '|');
      out = put(format(out), '\n');
      const auto size = static_cast<std::size_t>(out - begin);
      chunk.used += size;
      waiting_bytes += size;
      file.dropped = 0;
      ++stats.lines;
      wake = std::exchange(idle, false) || (waiting_bytes >= kGatherBytes && waiting_bytes - size < kGatherBytes);
    }
  }
  if (wake) wake_writer.notify_one();
}

void Journal::Impl::write_until_stopped() {
  std::array<std::vector<Chunk>, 2> taken;
  std::array<std::uint64_t, 2> dropped{};
  std::unique_lock lock(mutex);
  for (;;) {
    const auto urgent = [this] { return stop || rotate || flush_asked != flush_done; };
    const auto has_work = [this] {
      return !files[0].chunks.empty() || !files[1].chunks.empty() || files[0].dropped + files[1].dropped > 0;
    };
    if (!urgent() && !has_work()) {
      idle = true;
      wake_writer.wait(lock, [&] { return urgent() || !idle; });
      idle = false;
    }
    if (!urgent()) wake_writer.wait_for(lock, kGather, [&] { return urgent() || waiting_bytes >= kGatherBytes; });

    const bool stopping = stop;
    const bool rotating = std::exchange(rotate, false);
    const std::uint64_t ticket = flush_asked;
    for (std::size_t i = 0; i < files.size(); ++i) {
      taken[i].swap(files[i].chunks);
      dropped[i] = std::exchange(files[i].dropped, 0);
    }
    const std::string stamp_text{stamp.text()};
    lock.unlock();
    if (rotating) reopen();
    for (std::size_t i = 0; i < files.size(); ++i) write_out(files[i], taken[i], dropped[i], stamp_text);
    lock.lock();
    for (auto& chunks : taken) recycle(chunks);
    flush_done = ticket;
    flushed.notify_all();
    if (stopping) return;
  }
}

void Journal::Impl::reopen() {
  for (File& file : files) {
    if (file.path.empty()) continue;
    Result<Descriptor> fresh = open_for_appending(file.path);
    if (!fresh) {
      count_error(std::move(fresh).error(), 0);
      continue;
    }
    file.descriptor = *std::move(fresh);
    file.in_line = false;
  }
}

/// Writes the chunks, then what was dropped after them.
void Journal::Impl::write_out(File& file, std::vector<Chunk>& chunks, std::uint64_t dropped, std::string_view stamp_text) {
  if (chunks.empty() && dropped == 0) return;
  if (file.lost > 0 && write_all(file, loss_note(stamp_text, file.lost, file.lost_why), true)) file.lost = 0;
  for (const Chunk& chunk : chunks) write_all(file, {chunk.text.get(), chunk.used}, false);
  if (dropped > 0 && !write_all(file, loss_note(stamp_text, dropped, "the buffer was full"), true)) file.lost += dropped;
}

/// Writes whole lines. On failure the rest is lost and counted; a file that was left within a line gets its newline first next time.
bool Journal::Impl::write_all(File& file, std::string_view text, bool is_note) {
  int error = 0;
  if (file.in_line && write_some(file.descriptor.get(), "\n", error) == 1) file.in_line = false;
  const std::size_t wrote = error == 0 ? write_some(file.descriptor.get(), text, error) : 0;
  if (wrote > 0) file.in_line = text[wrote - 1] != '\n';
  if (error == 0) return true;

  text.remove_prefix(wrote);
  const auto lines = is_note ? 0U : static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  const Status status = status_from_errno(error, "cannot write the journal file '" + file.path + "'");
  file.lost += lines;
  file.lost_why = status.message();
  count_error(status, lines);
  return false;
}

void Journal::Impl::count_error(Status error, std::uint64_t lost) {
  const std::lock_guard lock(mutex);
  ++stats.write_errors;
  stats.dropped += lost;
  last_error = std::move(error);
}

/// Gives the room back. Called with the mutex held.
void Journal::Impl::recycle(std::vector<Chunk>& chunks) {
  for (Chunk& chunk : chunks) {
    waiting_bytes -= chunk.used;
    chunk.used = 0;
    if (chunk.capacity == kChunkBytes && spare.size() < kSpareChunks) spare.push_back(std::move(chunk));
  }
  chunks.clear();
}

Journal::Journal() = default;
Journal::~Journal() = default;

Journal::Journal(std::unique_ptr<Impl> impl) noexcept
    : impl_(std::move(impl)), changes_(!impl_->files[0].path.empty()), retries_(!impl_->files[1].path.empty()) {}

Result<std::unique_ptr<Journal>> Journal::open(const JournalOptions& options, const Clock& clock) {
  if (options.directory.empty() || (!options.record_changes && !options.record_retries)) return std::make_unique<Journal>();
  auto impl = std::make_unique<Impl>(options, clock.wall_now());
  if (options.record_changes) impl->files[0].path = options.directory + "/" + options.prefix + "swss.rec";
  if (options.record_retries) impl->files[1].path = options.directory + "/" + options.prefix + "retry.rec";
  for (Impl::File& file : impl->files) {
    if (file.path.empty()) continue;
    Result<Descriptor> descriptor = open_for_appending(file.path);
    if (!descriptor) return failure(std::move(descriptor).error());
    file.descriptor = *std::move(descriptor);
  }
  if (Status status = impl->start(); !status.ok()) return failure(std::move(status));
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

void Journal::record_consumed(std::string_view table, const Change& change) {
  impl_->append(impl_->files[0], change_room(table, change), [&](char* out) { return put_change(out, table, change); });
}

void Journal::record_moved(std::string_view direction, std::string_view table, const Change& change) {
  impl_->append(impl_->files[1], direction.size() + change_room(table, change),
                [&](char* out) { return put_change(put(out, direction), table, change); });
}

void Journal::record_resolved(const Constraint& fact, std::size_t rows) {
  constexpr std::string_view kSays = ") resolution notified -> ";
  constexpr std::size_t kDigits = 20;
  const std::size_t room = escaped_size(fact.kind.name()) + escaped_size(fact.key) + kSays.size() + kDigits + 9;
  impl_->append(impl_->files[1], room, [&](char* out) {
    out = put(put_escaped(put(out, '('), fact.kind.name()), ", ");
    out = put(put_escaped(out, fact.key), kSays);
    out = std::to_chars(out, out + kDigits, rows).ptr;
    return put(out, " tasks");
  });
}

void Journal::set_time(WallTime now) noexcept {
  if (!impl_) return;
  const std::lock_guard lock(impl_->mutex);
  impl_->stamp.set(now);
}

void Journal::rotate() noexcept {
  if (!impl_) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->rotate = true;
  }
  impl_->wake_writer.notify_one();
}

Status Journal::flush() {
  if (!impl_) return {};
  std::unique_lock lock(impl_->mutex);
  const std::uint64_t ticket = ++impl_->flush_asked;
  impl_->wake_writer.notify_one();
  impl_->flushed.wait(lock, [&] { return impl_->flush_done >= ticket; });
  return std::exchange(impl_->last_error, Status{});
}

JournalStats Journal::stats() const {
  if (!impl_) return {};
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

}  // namespace rondo
