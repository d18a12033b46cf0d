// SocketFile: a listening Unix socket and its file. The file may go while the socket listens (somebody removes it, a folder under /run is
// made anew): nobody can connect then, so its owner looks now and again and has it made anew. Scheduler's thread; a look is one lstat.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo {

/// Whether a socket at 'path' is stale, which nobody answers on; false: nothing is there. Everything else that is there is refused.
Result<bool> is_stale_socket(const std::string& path);

class SocketFile {
 public:
  SocketFile(std::string path, unsigned mode) : path_(std::move(path)), mode_(mode) {}
  /// Removes the file, if it is still ours.
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  /// Listens at the path, in place of a stale socket. An earlier socket of this object stays as it is after an error, and is closed else.
  Status listen();
  /// Whether the file is the one that listen() made.
  bool is_there() const;
  /// Another file than the one that made the last listen() fail is at the path, or none: it may go better now.
  bool has_changed() const;

  /// The group of the file, or of this process if there is no file.
  gid_t group() const;
  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  /// Of a file; zeros: there is none.
  struct Place {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place look() const;
  Result<UniqueFd> bind_and_listen() const;

  const std::string path_;
  const unsigned mode_;
  UniqueFd fd_;
  Place ours_;
  Place in_the_way_;
};

}  // namespace rondo
