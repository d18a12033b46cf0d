// The text of log lines, the token bucket of each call site, and the write. base/log.h has the contract.
#include "base/log.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

#include "rondo/base/text.h"

namespace rondo {
namespace {

/// The lines that one call site may still write. Tokens are counted in nanoseconds of credit, so that no fraction is lost.
struct Bucket {
  Instant filled;
  std::int64_t credit_ns = 0;
  std::uint64_t suppressed = 0;
};

bool needs_quotes(std::string_view text) noexcept {
  return text.empty() || text.find_first_of(" \"=\\") != std::string_view::npos || safe_length(text) != text.size();
}

void append_quoted(std::string& line, std::string_view text) {
  line += '"';
  while (!text.empty()) {
    const std::size_t plain = text.find_first_of("\"\\\n");
    line.append(visible_text(text.substr(0, plain)));
    if (plain == std::string_view::npos) break;
    line.append(1, '\\').append(1, text[plain] == '\n' ? 'n' : text[plain]);
    text.remove_prefix(plain + 1);
  }
  line += '"';
}

void append_text(std::string& line, std::string_view text) {
  if (needs_quotes(text)) {
    append_quoted(line, text);
  } else {
    line.append(text);
  }
}

template <class Number>
void append_number(std::string& line, Number value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  line.append(buffer, end);
}

/// RFC 3339 in UTC with milliseconds.
void append_time(std::string& line, WallTime time) {
  const std::int64_t seconds = time.nanoseconds() / 1'000'000'000;
  const auto milliseconds = static_cast<int>(time.nanoseconds() / 1'000'000 % 1000);
  const std::time_t calendar = seconds;
  std::tm parts{};
  gmtime_r(&calendar, &parts);
  char buffer[40];
  const std::size_t length = std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &parts);
  line.append(buffer, length);
  std::snprintf(buffer, sizeof buffer, ".%03dZ", milliseconds);
  line.append(buffer);
}

/// The syslog severities of sd-daemon(3).
std::string_view journal_prefix(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug: return "<7>";
    case LogLevel::Info: return "<6>";
    case LogLevel::Warn: return "<4>";
    case LogLevel::Error: return "<3>";
    case LogLevel::Off: break;
  }
  return "<6>";
}

/// How long a line waits for the reader of a full pipe or terminal, which may be busy for a moment. The lines behind it do not wait.
constexpr int kWaitForReaderMs = 100;
/// A pipe that has room takes this much at once.
constexpr std::size_t kAtOnce = PIPE_BUF;

/// Does not block, and raises no signal when the reader of the pipe has ended. 'stalled': the line before found no room.
bool write_stderr(std::string_view line, bool stalled) noexcept {
  while (!line.empty()) {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&room, 1, stalled ? 0 : kWaitForReaderMs) != 1 || (room.revents & POLLOUT) == 0 || (room.revents & POLLERR) != 0)
      return false;
    const ssize_t written = ::write(STDERR_FILENO, line.data(), std::min(line.size(), kAtOnce));
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

struct Log::Impl {
  const Clock& clock;
  LogOptions options;
  bool journal = false;
  mutable std::mutex mutex;
  std::map<std::pair<const char*, int>, Bucket> sites;  // By call site; the program text bounds their number.
  std::string line;
  std::uint64_t suppressed = 0;
  std::uint64_t lost = 0;
  bool stalled = false;  // The newest line found no room.

  /// See Log::write(). Throws what a function of the options throws.
  void write(LogLevel level, std::string_view message, std::initializer_list<LogPair> pairs, const char* file, int line_number);

  /// Returns true if the site may write now; 'held_back' is then the number of lines that it skipped before this one.
  bool admit(const char* file, int line_number, std::uint64_t& held_back) {
    if (options.burst_lines == 0) return true;
    const std::int64_t price = 1'000'000'000 / std::max<std::int64_t>(options.lines_per_second, 1);
    const std::int64_t full = price * options.burst_lines;
    const Instant now = clock.now();
    const auto [place, fresh] = sites.try_emplace({file, line_number}, Bucket{now, full, 0});
    Bucket& bucket = place->second;
    if (!fresh) bucket.credit_ns = std::min(full, bucket.credit_ns + std::min(full, (now - bucket.filled).count()));
    bucket.filled = now;
    if (bucket.credit_ns < price) {
      ++bucket.suppressed;
      ++suppressed;
      return false;
    }
    bucket.credit_ns -= price;
    held_back = std::exchange(bucket.suppressed, 0);
    return true;
  }
};

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug: return "debug";
    case LogLevel::Info: return "info";
    case LogLevel::Warn: return "warn";
    case LogLevel::Error: return "error";
    case LogLevel::Off: return "off";
  }
  return "unknown";
}

std::optional<LogLevel> log_level(std::string_view name) noexcept {
  for (const LogLevel level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error, LogLevel::Off}) {
    if (name == to_string(level)) return level;
  }
  return std::nullopt;
}

void LogValue::append_to(std::string& line) const {
  switch (kind_) {
    case Kind::Text: append_text(line, text_); return;
    case Kind::Real: append_number(line, real_); return;
    case Kind::Signed: append_number(line, signed_); return;
    case Kind::Unsigned: append_number(line, unsigned_); return;
    case Kind::Status: append_text(line, status_->to_string()); return;
  }
}

bool stderr_is_journal() noexcept {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  if (stream == nullptr) return false;
  unsigned long long device = 0;
  unsigned long long inode = 0;
  if (std::sscanf(stream, "%llu:%llu", &device, &inode) != 2) return false;
  struct stat status {};
  return ::fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

Log::Log(const Clock& clock, LogOptions options) : level_(options.level) {
  const bool journal = options.journal.value_or(stderr_is_journal());
  impl_ = std::unique_ptr<Impl>(new Impl{clock, std::move(options), journal, {}, {}, {}, 0, 0, false});
}

Log::~Log() = default;

std::uint64_t Log::suppressed_lines() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->suppressed;
}

std::uint64_t Log::lost_lines() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->lost;
}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<LogPair> pairs, const char* file, int line_number) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  try {
    impl_->write(level, message, pairs, file, line_number);
  } catch (...) {  // A function of LogOptions, or memory.
    ++impl_->lost;
  }
}

void Log::Impl::write(LogLevel level, std::string_view message, std::initializer_list<LogPair> pairs, const char* file, int line_number) {
  std::uint64_t held_back = 0;
  if (!admit(file, line_number, held_back)) return;
  line.clear();
  if (journal) {
    line.append(journal_prefix(level));
  } else {
    append_time(line, clock.wall_now());
    line += ' ';
  }
  line.append(to_string(level)).append(1, ' ').append(message);
  for (const LogPair& pair : pairs) {
    line.append(1, ' ').append(pair.key).append(1, '=');
    pair.value.append_to(line);
  }
  if (held_back != 0) {
    line.append(" suppressed=");
    append_number(line, held_back);
  }
  line += '\n';
  if (options.writer) {
    options.writer(line);
  } else {
    stalled = !write_stderr(line, stalled);
    if (stalled) ++lost;
  }
  if (options.copy) options.copy(line);
}

}  // namespace rondo
