// SocketFile: a listening Unix socket and its file. The file may disappear while the socket listens (a user removes it, a folder under
// /run is made again). Then no caller can connect, so its owner checks periodically and listens again. Scheduler's thread; a check is one
// lstat.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo {

/// True if a stale socket, on which no process listens, is at 'path'; false if nothing is there. Anything else at 'path' is an error.
Result<bool> is_stale_socket(const std::string& path);

/// Waits for the end of a server at 'path' whose process is ending: to give back its memory takes seconds, and meanwhile its socket accepts
/// connections. AlreadyExists if a server is at 'path' that is not ending or takes longer than kAdminPredecessorTime. Blocks.
Status wait_for_predecessor(const std::string& path);

class SocketFile {
 public:
  SocketFile(std::string path, unsigned mode) : path_(std::move(path)), mode_(mode) {}
  /// Removes the file if it is still this object's.
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  /// Listens at the path and replaces a stale socket, and an empty file if this object has listened before. After an error an earlier
  /// socket of this object stays unchanged; otherwise it is closed.
  Status listen();
  /// True if the file is the one that listen() made.
  bool is_there() const;
  /// True if the file that made the last listen() fail has been replaced or removed, so that a new attempt may succeed.
  bool has_changed() const;

  /// The group of the file, or of this process if there is no file.
  gid_t group() const;
  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  /// The identity of a file; zeros: there is none.
  struct Place {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place find() const;
  Result<UniqueFd> bind_and_listen() const;

  const std::string path_;
  const unsigned mode_;
  UniqueFd fd_;
  Place ours_;
  Place in_the_way_;
};

}  // namespace rondo
