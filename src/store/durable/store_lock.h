// StoreLock: its holder has exclusive use of a durable file's name. SQLite's own lock belongs to the file that had the name when it was
// opened. During a repair another file takes the name, and for a moment neither file is locked. The lock is an empty file NAME-lock beside
// the store. It is never removed: that would let two processes hold a lock of the same name.
#pragma once

#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::store::durable {

class StoreLock {
 public:
  /// The lock is held until this object is destroyed or the process ends. Unavailable: another process holds it. PermissionDenied,
  /// NotFound: the folder or an existing file cannot be written. FailedPrecondition: there is no lock file yet and 'path' is not a store;
  /// no lock file is made.
  static Result<StoreLock> take(const std::string& path);

 private:
  explicit StoreLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace rondo::store::durable
