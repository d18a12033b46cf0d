// ExecutorProcess: an executor (executor.h) as a child process, which is ended, stopped and continued by its pid.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::demo {

struct ExecutorProcessOptions {
  std::string scheduler;  // ExecutorOptions::scheduler.
  std::string group;
  std::string token;
  std::string log_path;  // Where it writes the log ids of its orders.
  Duration work{0};
  Duration beat{1s};
};

class ExecutorProcess {
 public:
  /// Starts this program as `rondo-demo executor`, and waits until it listens. Unavailable if it ends before.
  static Result<std::unique_ptr<ExecutorProcess>> start(const ExecutorProcessOptions& options);
  /// Calls stop().
  ~ExecutorProcess();
  ExecutorProcess(const ExecutorProcess&) = delete;
  ExecutorProcess& operator=(const ExecutorProcess&) = delete;

  /// "http://127.0.0.1:4242".
  const std::string& address() const noexcept { return address_; }
  /// Sends SIGKILL and waits.
  void kill();
  /// SIGSTOP: the kernel accepts its connections, and it answers nothing.
  void hang();
  /// SIGCONT.
  void go_on();
  /// Continues it, sends SIGTERM and waits.
  void stop();
  /// The log ids of the orders that have arrived at it, in their order. A last line without its end is left out.
  std::vector<std::int64_t> orders() const;

 private:
  ExecutorProcess() = default;
  void wait_for_end();
  std::string log_path_;
  std::string address_;
  pid_t pid_ = -1;
};

/// A TCP port of loopback that is free at present.
Result<std::uint16_t> free_port();

}  // namespace rondo::demo
