// DaemonProcess: a rondod of our own: its configuration, its start, its end by its own pid.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::demo {

/// Who runs where: the scheduler's thread on a CPU of its own if there are two, everything else (programming, feeding) on the others.
/// Empty: anywhere.
struct CpuShares {
  std::vector<unsigned> scheduler;
  std::vector<unsigned> others;
};

class DaemonProcess {
 public:
  /// Starts 'program' with a configuration and socket in a directory of its own under $TMPDIR, and its tables at 'store_url' (empty: in
  /// itself). Waits until it answers; Unavailable if it ends before, DeadlineExceeded after 20 s.
  static Result<std::unique_ptr<DaemonProcess>> start(const std::string& program, bool simulated, const std::vector<std::string>& ports,
                                                      const CpuShares& cpus, const std::string& store_url = {});
  /// Ends it (SIGTERM) if it still runs and removes the directory.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  const std::string& socket() const noexcept { return socket_; }
  Result<std::unique_ptr<AdminClient>> connect() const { return AdminClient::connect(socket_); }
  /// SIGTERM, then waits. Its exit code, or 128 + signal.
  int stop();
  bool running();
  pid_t pid() const noexcept { return pid_; }

 private:
  DaemonProcess() = default;
  std::string directory_;
  std::string socket_;
  pid_t pid_ = -1;
  int exit_code_ = 0;
};

}  // namespace rondo::demo
