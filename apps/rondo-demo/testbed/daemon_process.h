// DaemonProcess: the demo's own rondod: writes its configuration, starts it, and ends it by its pid.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::demo {

/// The assignment of CPUs: one for the scheduler thread if there are two or more, and the others for everything else (programming,
/// feeding). Empty: any CPU.
struct CpuShares {
  std::vector<unsigned> scheduler;
  std::vector<unsigned> others;
};

struct DaemonOptions {
  std::string program;
  bool simulated = false;
  std::vector<std::string> ports = {};  // The ports of the simulated box.
  CpuShares cpus = {};
  std::size_t reserve_mib = 0;
  std::string store_url = {};       // Empty: its tables are in rondod itself.
  std::string journal = {};         // The absolute path of the journal; empty: none.
  bool jobs = false;                // It also runs jobs, which are in the file jobs.db of its directory, or in job_store.
  bool only_jobs = false;           // The same, without a data plane. It logs warnings only.
  std::string job_store = {};       // The URL of a database server.
  bool executors = false;           // With jobs or only_jobs: it has the group "demo" of executors, which report at a port of 127.0.0.1.
  std::string executor_token = {};  // Their access token; empty: one that is drawn.
  /// A listening socket at which it serves its API and console (console.h), without 'executors'; -1: none. It must stay open as long as the
  /// DaemonProcess.
  int console = -1;
  /// If given, rondod runs in the network namespace of this file, takes zebra's routes over FPM into table 100 of the kernel, and keeps its
  /// tables in a file of its directory. It logs warnings only.
  std::string frr_namespace = {};
};

class DaemonProcess {
 public:
  /// Starts rondod with a configuration and socket in a new directory under $TMPDIR. Waits until it answers. Unavailable if it ends
  /// before, DeadlineExceeded after 20 s.
  static Result<std::unique_ptr<DaemonProcess>> start(const DaemonOptions& options);
  /// Ends it (SIGTERM) if it still runs, and removes the directory.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  const std::string& socket() const noexcept { return socket_; }
  Result<std::unique_ptr<AdminClient>> connect() const { return AdminClient::connect(socket_); }
  /// SIGSTOP and SIGCONT.
  void hang() const;
  void go_on() const;
  /// Continues it, sends SIGTERM and waits. Returns its exit code, or 128 + signal.
  int stop();
  /// Kills it with SIGKILL, and waits.
  void kill();
  /// Starts it again, with the same configuration. Errors as start().
  Status launch();
  const std::string& directory() const noexcept { return directory_; }
  /// Where executors of the group "demo" report, and their access token. 0 and empty without DaemonOptions::executors.
  std::uint16_t http_port() const noexcept { return http_port_; }
  const std::string& executor_token() const noexcept { return executor_token_; }
  bool running();
  pid_t pid() const noexcept { return pid_; }

 private:
  DaemonProcess() = default;
  std::string program_;
  std::string frr_namespace_;
  int console_ = -1;
  std::string directory_;
  std::string socket_;
  std::uint16_t http_port_ = 0;
  std::string executor_token_;
  pid_t pid_ = -1;
  int exit_code_ = 0;
};

}  // namespace rondo::demo
