// WriteLog: logs which user wrote. A command that writes has its own line, and each row of a small batch; large batches and the frames of
// bulk writes are summed, and flush() logs a line for each user, process and table. Beyond the rate of lines that a log writes, commands
// and rows are summed, too: no write goes without a line.
// Scheduler thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "admin/server.h"
#include "base/log.h"

namespace rondo::daemon {

class WriteLog {
 public:
  explicit WriteLog(Log& log) : log_(log) {}
  ~WriteLog() { flush(); }
  WriteLog(const WriteLog&) = delete;
  WriteLog& operator=(const WriteLog&) = delete;

  void add(const AdminWrite& write);
  /// Call once a second.
  void flush();

 private:
  using Writer = std::tuple<std::uint32_t, std::int32_t, std::string>;  // User, process, table or command.
  /// Lines of single commands. A Log suppresses more than 20 lines, and then 5 a second.
  static constexpr unsigned kBurst = 16;
  static constexpr unsigned kLinesOfSecond = 4;

  /// Failed calls have a rate of their own, so nobody hides the writes of others behind them.
  void add_failed(const AdminWrite& write);
  const std::string& name_of(std::uint32_t user);

  Log& log_;
  unsigned credit_ = kBurst;
  unsigned row_credit_ = kBurst;  // Rows of small batches.
  unsigned failed_credit_ = kBurst;
  std::map<Writer, std::uint64_t> rows_;
  std::map<Writer, std::uint64_t> calls_;
  std::map<Writer, std::uint64_t> failed_;
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace rondo::daemon
