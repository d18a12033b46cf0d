// DatabaseLock: the lock of a database of jobs for one scheduler. Two schedulers on one database would both fire its runs. SQLite's own
// locks belong to its connections, and end with each transaction.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "rondo/base/status.h"

namespace rondo::jobs::sqlite {

class DatabaseLock {
 public:
  /// Locks the name, with an empty file beside the database, and the file itself, which may have other names. What is no regular file, or
  /// cannot be opened, is left to SQLite, whose error says more. AlreadyExists while another DatabaseLock has it. Ok if this one has it.
  Status take(const std::string& path);
  /// The process that has the lock; 0: none, or it is unknown. Takes no lock. Not while this process has the database open.
  static pid_t owner(const std::string& path);
  /// True if a process has the lock.
  static bool is_taken(const std::string& path);

 private:
  UniqueFd name_;
  UniqueFd file_;  // Open until the database is closed, whether it is locked or not: to close it ends the locks that SQLite holds.
  bool is_held_ = false;
};

}  // namespace rondo::jobs::sqlite
