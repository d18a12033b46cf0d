// RedisProcess: the demo's own redis-server, on a Unix socket in a new directory, without persistence. It is ended by its pid.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::demo {

class RedisProcess {
 public:
  /// Starts `redis-server`, or the same program under the name that Debian's redis-tools gives it, in a directory under $TMPDIR. Waits
  /// until it accepts connections. NotFound without the program, Unavailable if it ends before, DeadlineExceeded after 20 s.
  static Result<std::unique_ptr<RedisProcess>> start();
  /// Ends it (SIGTERM) and removes the directory.
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  /// Its address, in the form of rondod's configuration.
  std::string url() const { return "unix://" + socket_; }
  pid_t pid() const noexcept { return pid_; }

 private:
  RedisProcess() = default;
  Status spawn();
  bool accepts() const;
  std::string directory_;
  std::string socket_;
  pid_t pid_ = -1;
};

}  // namespace rondo::demo
