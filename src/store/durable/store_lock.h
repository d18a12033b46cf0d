// StoreLock: who holds it has the durable file of a name for itself. SQLite's own lock is one of the file that had the name when it was
// opened: a file that is repaired is replaced by another one, and on the way there nobody has either. It is a file beside it, NAME-lock,
// which has no bytes and stays: to remove it would let two hold a lock of that name.
#pragma once

#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::store::durable {

class StoreLock {
 public:
  /// Held until this goes, or the process ends. Unavailable: another process has it. PermissionDenied, NotFound: the folder, or a file
  /// that is there, cannot be written. FailedPrecondition: there is no lock yet, and no store either that it could be of; none is made.
  static Result<StoreLock> take(const std::string& path);

 private:
  explicit StoreLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace rondo::store::durable
