#include "rondo-demo/box.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

extern char** environ;

namespace rondo::demo {

namespace {

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? Status{} : status_from_errno(errno != 0 ? errno : EIO, "writing " + path);
}

std::string read_all(int fd) {
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

}  // namespace

Status run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return status_from_errno(errno, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  const std::string said = error == 0 ? read_all(ends[0]) : std::string{};
  ::close(ends[0]);
  if (error != 0) return status_from_errno(error, "starting " + words[0]);
  int result = 0;
  if (::waitpid(pid, &result, 0) != pid) return status_from_errno(errno, "waiting for " + words[0]);
  if (WIFEXITED(result) && WEXITSTATUS(result) == 0) return {};
  std::string line;
  for (const std::string& word : words) line += word + ' ';
  return Status{Code::Unavailable, line + "failed: " + said};
}

Status Box::enter_namespace() {
  const auto uid = ::geteuid();
  const auto gid = ::getegid();
  const int flags = uid == 0 ? CLONE_NEWNET : CLONE_NEWNET | CLONE_NEWUSER;
  if (::unshare(flags) != 0) return status_from_errno(errno, "making a network namespace");
  if (uid != 0) {
    // Root within a user namespace of our own, which is what CAP_NET_ADMIN over the new network namespace takes.
    if (Status s = write_file("/proc/self/setgroups", "deny"); !s.ok()) return s;
    if (Status s = write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1"); !s.ok()) return s;
    if (Status s = write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"); !s.ok()) return s;
  }
  return {};
}

Status Box::make_ports(const std::vector<std::string>& ports) {
  if (Status s = run_program({"ip", "link", "set", "lo", "up"}); !s.ok()) return s;
  for (const std::string& port : ports) {
    if (Status s = run_program({"ip", "link", "add", port, "type", "veth", "peer", "name", far_end(port)}); !s.ok()) return s;
    for (const std::string& end : {port, far_end(port)}) {
      // Not being able to quieten a device is no reason not to use it.
      const Status quiet = write_file("/proc/sys/net/ipv6/conf/" + end + "/accept_dad", "0");
      static_cast<void>(quiet);
      if (Status s = run_program({"ip", "link", "set", end, "up"}); !s.ok()) return s;
    }
  }
  return {};
}

}  // namespace rondo::demo
