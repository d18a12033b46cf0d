// See plane_lock.h.
#include "rondod/plane_lock.h"

#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "dataplane/netlink/network_namespace.h"
#include "rondo/base/text.h"
#include "rondod/user_names.h"

namespace rondo::daemon {

namespace {

// More than one, so that a process without rights that takes a name does not end the protection.
constexpr std::size_t kNames = 8;
constexpr int kAnswers = 4096;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

Name name_of(std::uint8_t protocol, std::size_t index) {
  Name name;
  const std::string text = "rondod/protocol-" + std::to_string(protocol) + "/" + std::to_string(index);
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());  // The leading 0 makes it abstract.
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

const sockaddr* general(const Name& name) { return reinterpret_cast<const sockaddr*>(&name.address); }

/// Its first line that begins with 'key', without it.
std::string line_of(const std::string& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return {};
}

/// Whether the process of this pid is still of this user and may program a data plane.
bool has_net_admin(const PlaneLock::Holder& holder) {
  if (holder.process <= 0) return false;
  const std::string status = "/proc/" + std::to_string(holder.process) + "/status";
  uid_t real = 0;
  uid_t effective = 0;
  std::uint64_t capabilities = 0;
  if (!(std::istringstream{line_of(status, "Uid:")} >> real >> effective) || effective != holder.user) return false;
  if (!(std::istringstream{line_of(status, "CapEff:")} >> std::hex >> capabilities)) return false;
  return (capabilities >> CAP_NET_ADMIN & 1U) != 0;
}

bool may_program(const PlaneLock::Holder& holder) { return holder.user == 0 || holder.user == ::geteuid() || has_net_admin(holder); }

struct Found {
  bool is_free = false;
  PlaneLock::Holder holder{};
};

/// Who listens behind the name. The credentials are those of the moment of its listen(), kept by the kernel.
Found find_holder(const UniqueFd& socket, const Name& name) {
  Found found;
  if (::connect(socket.get(), general(name), name.size) == 0) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
      found.holder = {.process = credentials.pid, .user = credentials.uid};
      return found;
    }
  }
  found.is_free = errno == ECONNREFUSED;
  found.holder.user = static_cast<uid_t>(-1);
  return found;
}

Status refuse(const PlaneLock::Holder& holder, const std::string& where, std::uint8_t protocol) {
  return {Code::AlreadyExists, to_string(holder) + " programs " + where + " with protocol number " + std::to_string(protocol) +
                                   " already, and each would delete what the other made: end that process, or choose another "
                                   "dataplane.protocol or dataplane.network_namespace"};
}

Status no_socket() { return status_from_errno(errno, "opening the socket of its lock"); }

}  // namespace

std::string to_string(const PlaneLock::Holder& holder) {
  if (holder.user == static_cast<uid_t>(-1)) return "an unknown process";
  const std::string name = user_name(holder.user);
  const std::string user = "user " + (name.empty() ? std::to_string(holder.user) : visible_text(name));
  if (holder.process <= 0) return "a process of another container (" + user + ")";
  const std::string program = line_of("/proc/" + std::to_string(holder.process) + "/comm", "");
  return "pid " + std::to_string(holder.process) + " (" + (program.empty() ? "" : visible_text(program) + ", ") + user + ")";
}

Result<PlaneLock> PlaneLock::take(const std::string& network_namespace, std::uint8_t protocol) {
  auto where = netlink::NetworkNamespace::open(network_namespace);
  if (!where) return failure(std::move(where.error()));
  // One to listen with, and one to look at each name.
  std::array<UniqueFd, kNames + 1> sockets;
  const Status made = where->inside([&sockets] {
    for (UniqueFd& socket : sockets) {
      socket = UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
      if (!socket) return no_socket();
    }
    return Status{};
  });
  if (!made.ok()) return failure(made);
  PlaneLock lock;
  UniqueFd& own = sockets.back();
  std::optional<std::size_t> held;
  for (std::size_t index = 0; index < kNames && !held; ++index) {
    const Name name = name_of(protocol, index);
    if (::bind(own.get(), general(name), name.size) == 0) {
      held = index;
    } else if (errno != EADDRINUSE) {
      return failure(no_socket());
    }
  }
  if (held) {
    if (::listen(own.get(), SOMAXCONN) != 0) return failure(no_socket());
    lock.listener_ = std::move(own);
  }
  // All other names, and after listen(): of two that start at the same time at least one sees the other.
  for (std::size_t index = 0; index < kNames; ++index) {
    if (held == index) continue;
    const Found found = find_holder(sockets[index], name_of(protocol, index));
    if (found.is_free && held && index > *held) continue;  // bind() has found each name before it taken.
    if (!found.is_free && may_program(found.holder)) {
      const std::string place = network_namespace.empty() ? "this network namespace" : "network namespace " + network_namespace;
      return failure(refuse(found.holder, place, protocol));
    }
    lock.strangers_.push_back(found.holder);
  }
  return lock;
}

void PlaneLock::answer() const noexcept {
  for (int count = 0; count < kAnswers; ++count) {
    const UniqueFd caller{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!caller) return;
  }
}

}  // namespace rondo::daemon
