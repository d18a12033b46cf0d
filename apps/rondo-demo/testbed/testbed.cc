#include "rondo-demo/testbed/testbed.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "rondo/dataplane/dataplane.h"

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
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), ::environ);
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
  return Status{StatusCode::Unavailable, line + "failed: " + said};
}

Result<Testbed> Testbed::enter() {
  const auto uid = ::geteuid();
  const auto gid = ::getegid();
  const int flags = uid == 0 ? CLONE_NEWNET : CLONE_NEWNET | CLONE_NEWUSER;
  if (::unshare(flags) != 0) return failure(status_from_errno(errno, "making a network namespace"));
  if (uid != 0) {
    // Become root in a new user namespace, which CAP_NET_ADMIN over the new network namespace requires.
    for (const auto& [path, text] :
         {std::pair{"/proc/self/setgroups", std::string{"deny"}}, std::pair{"/proc/self/uid_map", "0 " + std::to_string(uid) + " 1"},
          std::pair{"/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"}}) {
      if (Status written = write_file(path, text); !written.ok()) return failure(std::move(written));
    }
  }
  const int far_side = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (far_side < 0) return failure(status_from_errno(errno, "opening the network namespace"));
  Testbed testbed{far_side};
  if (::unshare(CLONE_NEWNET) != 0) return failure(status_from_errno(errno, "making a second network namespace"));
  return testbed;
}

Status Testbed::without_ipv6(const std::string& port) { return write_file("/proc/sys/net/ipv6/conf/" + port + "/disable_ipv6", "1"); }

Testbed::~Testbed() {
  if (far_side_ >= 0) ::close(far_side_);
}

Status Testbed::make_ports(const std::vector<std::string>& ports) const {
  // The program that creates the links names the far side by a path through this process.
  const std::string far_side = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(far_side_);
  if (Status s = run_program({"ip", "link", "set", "lo", "up"}); !s.ok()) return s;
  // Use numbers that the far side does not use: the kernel announces a carrier immediately only for a device whose number differs from its
  // peer's (linkwatch), otherwise once a second.
  int index = 1000;
  for (const std::string& port : ports) {
    if (Status s = run_program({"ip", "link", "add", port, "index", std::to_string(++index), "type", "veth", "peer", "name", far_end(port),
                                "netns", far_side});
        !s.ok()) {
      return s;
    }
    if (Status s = run_program({"ip", "link", "set", port, "up"}); !s.ok()) return s;
  }
  // Uses a separate data plane that works in the other namespace.
  auto plane = make_linux_dataplane({.network_namespace = this->far_side()});
  if (!plane) return plane.error();
  const auto links = (*plane)->links();
  if (!links) return links.error();
  std::vector<Operation> up;
  for (const LinkEvent& link : *links) up.push_back({LinkSet{link.port, true, std::nullopt}, {}});
  (*plane)->apply(up);
  for (const Operation& operation : up) {
    if (!operation.status.ok()) return operation.status;
  }
  return {};
}

}  // namespace rondo::demo
