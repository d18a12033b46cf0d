// Process: one command in a session and process group of its own. It is forked first and waits; go() lets it execute the program, when the
// worker has written down its id. Its input is a file in memory with the input of its command line, or the null device without one; it gets
// one pipe for output and errors.
//
// When the worker dies, the kernel kills the program (PR_SET_PDEATHSIG); what the program started itself is killed by the next start of
// the worker, or by the service manager (KillMode=control-group).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/result.h"
#include "worker/command_line.h"

namespace rondo::worker {

struct UserIds {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};
/// NotFound for an unknown user; PermissionDenied if this process cannot become that user. Empty for "" and for the present user.
Result<std::optional<UserIds>> user_ids(const std::string& name);

/// Adds what the user of a command implies: HOME, LOGNAME, USER and SHELL, where its environment does not set them, and where it begins.
/// SHELL is /bin/sh, as in crontab(5): the shell of a service's user may be one that only refuses a login.
void imply_user(CommandRule& rule);

/// How a program ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;    // 0: it exited.
  Status unstarted;  // Why the program could not be executed.
  bool cut = false;  // It left processes in its group, which reap() has killed.
};

class Process {
 public:
  static Result<Process> fork(const CommandRule& rule, const CommandLine& line, const std::optional<UserIds>& user);
  Process(Process&& other) noexcept = default;
  Process& operator=(Process&&) = delete;
  /// Kills the group if reap() was not called.
  ~Process();

  /// Executes the program.
  void go() noexcept { start_.reset(); }
  pid_t id() const noexcept { return id_; }
  /// Readable when there is output. Non-blocking.
  int output() const noexcept { return output_.get(); }
  /// Readable when the program has ended.
  int ended() const noexcept { return pidfd_.get(); }
  void close_output() noexcept { output_.reset(); }
  bool has_ended() const noexcept;
  /// Sends a signal to the whole group.
  void signal(int number) const noexcept;
  /// When ended() is readable: kills the rest of the group, and returns how the program ended. ProcessEnd::cut needs a caller that is the
  /// subreaper of its descendants.
  ProcessEnd reap();

 private:
  Process() = default;
  [[noreturn]] static void run_child(int start, int input, int output, int trouble, const CommandRule& rule, char* const* arguments,
                                     char* const* environment, const std::optional<UserIds>& user, pid_t worker);
  pid_t id_ = -1;
  UniqueFd output_;
  UniqueFd pidfd_;
  UniqueFd start_;    // Closing it lets the child go on.
  UniqueFd trouble_;  // The child writes an errno if it cannot execute the program.
  bool is_reaped_ = false;
};

/// The start time of a process since the boot of the machine, in ticks; nothing if there is no such process.
std::optional<std::uint64_t> start_time_of(pid_t process);

}  // namespace rondo::worker
