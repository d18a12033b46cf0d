// See peer.h.
#include "admin/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rondo {

Caller caller_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  Caller caller;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return caller;
  caller.user = credentials.uid;
  caller.process = credentials.pid;
  caller.is_privileged = credentials.uid == 0 || credentials.uid == ::geteuid();
  return caller;
}

bool is_ending(const Caller& caller) {
  if (caller.process <= 0) return false;
  std::ifstream file("/proc/" + std::to_string(caller.process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  // "PID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS ...": proc(5). A name may contain parentheses.
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string state;
  std::string unused;
  unsigned long flags = 0;
  fields >> state >> unused >> unused >> unused >> unused >> unused >> flags;
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of the kernel.
  return state == "Z" || state == "X" || (flags & kExiting) != 0;
}

namespace {

/// Returns the peer's primary group for files, and its supplementary groups.
std::vector<gid_t> groups_of(int fd) {
  std::vector<gid_t> groups(64);
  for (;;) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const int answer = ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
    const std::size_t count = size / sizeof(gid_t);
    if (answer != 0 && (errno != ERANGE || count <= groups.size())) {
      groups.clear();
      break;
    }
    groups.resize(count);
    if (answer == 0) break;
  }
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) groups.push_back(credentials.gid);
  return groups;
}

}  // namespace

Rights rights_of(int fd, const Caller& caller, gid_t write_group, gid_t read_group) {
  if (caller.is_privileged) return Rights::Write;
  const std::vector<gid_t> groups = groups_of(fd);
  if (std::ranges::find(groups, write_group) != groups.end()) return Rights::Write;
  return std::ranges::find(groups, read_group) != groups.end() ? Rights::Read : Rights::None;
}

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::Viewer: return "viewer";
    case Role::Worker: return "worker";
    case Role::Operator: return "operator";
    case Role::Admin: return "admin";
  }
  return "unknown";
}

std::string name_of(const Caller& caller) {
  return caller.token.empty() ? "user " + std::to_string(caller.user) : "token '" + caller.token + "'";
}

Status may_not_call(std::string_view what, const Caller& caller) {
  std::string why{what};
  if (caller.role == Role::Viewer && caller.token.empty())
    return {StatusCode::PermissionDenied, why + " writes, and " + name_of(caller) + " may only read"};
  return {StatusCode::PermissionDenied, why + " is not for " + name_of(caller) + " with the role " + std::string{to_string(caller.role)}};
}

Status not_of_group(std::string_view what, const Caller& caller) {
  return {StatusCode::PermissionDenied,
          std::string{what} + " is not for " + name_of(caller) + ", which has the group '" + caller.group + "' alone"};
}

}  // namespace rondo
