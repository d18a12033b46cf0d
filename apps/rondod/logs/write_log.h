// WriteLog: logs which user wrote. A command that writes has its own line; the frames of bulk writes are summed, and flush() logs a line
// for each user, process and table. Scheduler thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "rondo/admin/server.h"
#include "rondo/base/log.h"

namespace rondo::daemon {

class WriteLog {
 public:
  explicit WriteLog(Log& log) : log_(log) {}
  ~WriteLog() { flush(); }
  WriteLog(const WriteLog&) = delete;
  WriteLog& operator=(const WriteLog&) = delete;

  void add(const AdminWrite& write);
  /// Call from time to time.
  void flush();

 private:
  using Writer = std::tuple<std::uint32_t, std::int32_t, std::string>;  // User, process, table.

  const std::string& name_of(std::uint32_t user);

  Log& log_;
  std::map<Writer, std::uint64_t> rows_;
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace rondo::daemon
