// Unix stream sockets for both ends: an owned descriptor, and an address that fits.
#pragma once

#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "rondo/base/result.h"

namespace rondo {

/// Owns a descriptor; closes it.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// InvalidArgument when 'path' is empty or longer than the kernel's 107 bytes.
Result<sockaddr_un> unix_address(const std::string& path);

/// A connected, close-on-exec stream socket. Unavailable when nobody listens there, NotFound when there is no such file.
Result<UniqueFd> connect_unix(const std::string& path);

}  // namespace rondo
