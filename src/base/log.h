// Log: lines for operators: a constant message plus key/value pairs. Libraries return a Status; the program owns the one Log and logs the
// error once. A line is one write(2) to standard error: "time level message key=value". If standard error is the journal, a "<4>" style
// prefix replaces the time. Lines of one call site are rate limited; the next line that is written reports how many were not. A disabled
// level costs one comparison; a written line about a microsecond plus the system call.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"

namespace rondo {

enum class LogLevel : std::uint8_t { Debug, Info, Warn, Error, Off };

/// "debug", "info", "warn", "error" or "off". Static storage.
std::string_view to_string(LogLevel level) noexcept;
/// The inverse of to_string; empty for any other text.
std::optional<LogLevel> log_level(std::string_view name) noexcept;

/// The value of a pair. It refers to its text, and is valid until the end of the logging expression.
class LogValue {
 public:
  LogValue(std::string_view text) noexcept : kind_(Kind::Text), text_(text) {}
  LogValue(const std::string& text) noexcept : kind_(Kind::Text), text_(text) {}
  LogValue(const char* text) noexcept : kind_(Kind::Text), text_(text) {}
  LogValue(bool value) noexcept : kind_(Kind::Text), text_(value ? "true" : "false") {}
  LogValue(double value) noexcept : kind_(Kind::Real), real_(value) {}
  LogValue(std::signed_integral auto value) noexcept : kind_(Kind::Signed), signed_(value) {}
  LogValue(std::unsigned_integral auto value) noexcept : kind_(Kind::Unsigned), unsigned_(value) {}
  LogValue(const Status& status) noexcept : kind_(Kind::Status), status_(&status) {}

  /// Appends the value. Text with spaces, quotes, '=' or control characters is quoted and escaped, so that the output stays one line.
  void append_to(std::string& line) const;

 private:
  enum class Kind : std::uint8_t { Text, Real, Signed, Unsigned, Status };
  Kind kind_;
  std::string_view text_;
  union {
    double real_ = 0;
    std::int64_t signed_;
    std::uint64_t unsigned_;
    const Status* status_;
  };
};

struct LogPair {
  std::string_view key;
  LogValue value;
};

struct LogOptions {
  LogLevel level = LogLevel::Info;
  /// Burst and rate of one call site, in lines and lines a second. A burst of 0: no limit.
  std::uint32_t burst_lines = 20;
  std::uint32_t lines_per_second = 5;
  /// True if lines have the journal's prefix. Unset: stderr_is_journal() decides.
  std::optional<bool> journal;
  /// Receives each line with its newline. Empty: standard error. Called under the log's lock.
  std::function<void(std::string_view line)> writer;
  /// Also receives each written line, for example to keep the newest ones. Called under the log's lock.
  std::function<void(std::string_view line)> copy = {};
};

/// True when the service manager has connected standard error to the journal ($JOURNAL_STREAM names its device and inode).
bool stderr_is_journal() noexcept;

/// Any thread. Never fails: a line that cannot be written is counted (lost_lines).
class Log {
 public:
  /// 'clock' must outlive the log.
  explicit Log(const Clock& clock, LogOptions options = {});
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogLevel level) const noexcept { return level >= level_.load(std::memory_order_relaxed) && level != LogLevel::Off; }
  void set_level(LogLevel level) noexcept { level_.store(level, std::memory_order_relaxed); }

  void debug(std::string_view message, std::initializer_list<LogPair> pairs = {}, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    if (enabled(LogLevel::Debug)) write(LogLevel::Debug, message, pairs, file, line);
  }
  void info(std::string_view message, std::initializer_list<LogPair> pairs = {}, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
    if (enabled(LogLevel::Info)) write(LogLevel::Info, message, pairs, file, line);
  }
  void warn(std::string_view message, std::initializer_list<LogPair> pairs = {}, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
    if (enabled(LogLevel::Warn)) write(LogLevel::Warn, message, pairs, file, line);
  }
  void error(std::string_view message, std::initializer_list<LogPair> pairs = {}, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    if (enabled(LogLevel::Error)) write(LogLevel::Error, message, pairs, file, line);
  }

  /// Lines that the rate limit suppressed since the start.
  std::uint64_t suppressed_lines() const;
  /// Lines that could not be written, or for which a function of LogOptions threw.
  std::uint64_t lost_lines() const;

 private:
  struct Impl;
  void write(LogLevel level, std::string_view message, std::initializer_list<LogPair> pairs, const char* file, int line);

  std::atomic<LogLevel> level_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
