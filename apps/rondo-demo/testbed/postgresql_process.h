// PostgresqlProcess: the demo's own PostgreSQL, on a Unix socket in a new directory. It is ended by its pid.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::demo {

class PostgresqlProcess {
 public:
  /// Makes and starts a server in a directory under $TMPDIR, and waits until it answers. PostgreSQL refuses to run as root: for root it
  /// runs as the user postgres. NotFound without Debian's package postgresql-15, Unavailable if it ends before, DeadlineExceeded after 60
  /// s.
  static Result<std::unique_ptr<PostgresqlProcess>> start();
  /// Ends it at once (SIGINT), and removes the directory.
  ~PostgresqlProcess();
  PostgresqlProcess(const PostgresqlProcess&) = delete;
  PostgresqlProcess& operator=(const PostgresqlProcess&) = delete;

  /// The address of its database, as [jobs] store has it.
  std::string url() const { return "postgresql://rondo@/postgres?host=" + directory_; }
  pid_t pid() const noexcept { return pid_; }

 private:
  PostgresqlProcess() = default;
  Status make();
  Result<pid_t> spawn(const std::string& program, std::vector<std::string> words) const;
  std::string directory_;
  std::string programs_;
  pid_t pid_ = -1;
};

}  // namespace rondo::demo
