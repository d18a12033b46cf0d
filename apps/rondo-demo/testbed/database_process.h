// DatabaseProcess: the demo's own PostgreSQL or MariaDB, on a Unix socket in a new directory. It is ended by its pid.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::demo {

enum class DatabaseKind { Postgresql, Mariadb };

class DatabaseProcess {
 public:
  /// Makes and starts a server in a directory under $TMPDIR, and waits until it answers. Neither kind runs as root: for root it runs as the
  /// user of its package. NotFound without Debian's package postgresql-15 or mariadb-server, Unavailable if it ends before,
  /// DeadlineExceeded after 60 s.
  static Result<std::unique_ptr<DatabaseProcess>> start(DatabaseKind kind);
  /// Ends it at once, and removes the directory.
  ~DatabaseProcess();
  DatabaseProcess(const DatabaseProcess&) = delete;
  DatabaseProcess& operator=(const DatabaseProcess&) = delete;

  /// The address of its database, as [jobs] store has it.
  std::string url() const;
  /// "PostgreSQL" or "MariaDB".
  const char* name() const noexcept;
  pid_t pid() const noexcept { return pid_; }

 private:
  using Words = std::vector<std::string>;

  explicit DatabaseProcess(DatabaseKind kind) : kind_(kind) {}
  Status make();
  /// The commands that make the files of the server, that are the server, and that succeed when it can be used.
  Words making() const;
  Words serving() const;
  Words asking() const;
  /// Starts a command as the user of the server.
  Result<pid_t> spawn(Words words) const;
  DatabaseKind kind_;
  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace rondo::demo
