// See plane_lock.h.
#include "dataplane/netlink/plane_lock.h"

#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/user_name.h"
#include "dataplane/netlink/network_namespace.h"
#include "rondo/base/text.h"

namespace rondo::netlink {

namespace {

// More than one, so that an unprivileged process that takes a name does not end the protection.
constexpr std::size_t kNames = 8;
constexpr int kAnswers = 4096;
// The most listening sockets of a namespace that are read to find one name.
constexpr int kDumpReads = 4096;
// Another process may take and release a name between the two questions; the answer is known as soon as both find the same state.
constexpr int kQuestions = 50;
constexpr unsigned kListening = 10;  // TCP_LISTEN, which AF_UNIX also uses.

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

/// The rest of the first line that begins with 'key'.
std::string line_of(const std::string& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return {};
}

std::string user_namespace_of(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + process + "/ns/user", error).string();
}

/// True if the process has CAP_NET_ADMIN. Empty if that cannot be known: the pid is not visible, or another process has it now. A process
/// of another user namespace has its capabilities only there.
std::optional<bool> has_net_admin(const PlaneLock::Holder& holder) {
  if (holder.process <= 0) return std::nullopt;
  const std::string status = "/proc/" + std::to_string(holder.process) + "/status";
  uid_t real = 0;
  uid_t effective = 0;
  std::uint64_t capabilities = 0;
  if (!(std::istringstream{line_of(status, "Uid:")} >> real >> effective) || effective != holder.user) return std::nullopt;
  if (!(std::istringstream{line_of(status, "CapEff:")} >> std::hex >> capabilities)) return std::nullopt;
  const std::string theirs = user_namespace_of(std::to_string(holder.process));
  if (theirs.empty() || theirs != user_namespace_of("self")) return std::nullopt;
  return (capabilities >> CAP_NET_ADMIN & 1U) != 0;
}

bool may_program(const PlaneLock::Holder& holder) { return has_net_admin(holder).value_or(holder.user == 0 || holder.user == ::geteuid()); }

struct Found {
  bool is_free = false;
  bool is_unknown = false;  // A process listens there, and the kernel does not report which.
  PlaneLock::Holder holder{};
};

/// The name and the user of a socket in the answer to a dump.
struct DiagnosedSocket {
  std::string_view name;
  std::uint32_t inode = 0;
  std::optional<uid_t> user;
};
DiagnosedSocket diagnosed(const nlmsghdr& message) {
  DiagnosedSocket found;
  // Each type of socket has its own names.
  if (static_cast<const unix_diag_msg*>(NLMSG_DATA(&message))->udiag_type != SOCK_STREAM) return found;
  found.inode = static_cast<const unix_diag_msg*>(NLMSG_DATA(&message))->udiag_ino;
  std::size_t left = NLMSG_PAYLOAD(&message, sizeof(unix_diag_msg));
  auto* attribute =
      reinterpret_cast<const rtattr*>(static_cast<const std::byte*>(NLMSG_DATA(&message)) + NLMSG_ALIGN(sizeof(unix_diag_msg)));
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    const auto* const data = static_cast<const char*>(RTA_DATA(attribute));
    if (attribute->rta_type == UNIX_DIAG_NAME) found.name = {data, RTA_PAYLOAD(attribute)};
    if (attribute->rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(attribute) >= sizeof(uid_t)) {
      uid_t user = 0;
      std::memcpy(&user, data, sizeof user);
      found.user = user;
    }
  }
  return found;
}

/// Returns the process that has the socket open, among those whose descriptors this process may read; 0: none of them.
pid_t process_of(std::uint32_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code gone;
    std::filesystem::directory_iterator fd(process.path() / "fd", gone);
    for (const std::filesystem::directory_iterator end; !gone && fd != end; fd.increment(gone)) {
      std::error_code closed;
      if (std::filesystem::read_symlink(fd->path(), closed) == wanted) return std::atoi(name.c_str());
    }
  }
  return 0;
}

/// Returns the process and the user whose socket listens under the name, as reported by the kernel, because a connection to a full queue is
/// refused without an answer. Empty if the kernel does not report it.
std::optional<PlaneLock::Holder> listener_of(const UniqueFd& diagnosis, const Name& name) {
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } dump{};
  dump.header.nlmsg_len = sizeof dump;
  dump.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  dump.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  dump.request.sdiag_family = AF_UNIX;
  dump.request.udiag_states = 1U << kListening;
  dump.request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID;
  if (!diagnosis || ::send(diagnosis.get(), &dump, sizeof dump, 0) < 0) return std::nullopt;
  const std::string_view wanted{name.address.sun_path, name.size - offsetof(sockaddr_un, sun_path)};
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  std::optional<PlaneLock::Holder> listener;
  for (int reads = 0; reads < kDumpReads; ++reads) {
    const ssize_t size = ::recv(diagnosis.get(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return std::nullopt;
    auto left = static_cast<std::size_t>(size);
    for (auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return listener;
      if (message->nlmsg_type == NLMSG_ERROR) return std::nullopt;
      const DiagnosedSocket found = diagnosed(*message);
      if (found.name == wanted && found.user) listener = {.process = process_of(found.inode), .user = *found.user};
    }
  }
  return std::nullopt;
}

/// Finds the process that listens under the name. The kernel keeps the credentials that it had when it called listen().
Found find_holder(const UniqueFd& socket, const UniqueFd& diagnosis, const Name& name) {
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
  if (found.is_free) return found;
  const std::optional<PlaneLock::Holder> listener = listener_of(diagnosis, name);
  found.is_unknown = !listener;
  if (listener) found.holder = *listener;
  return found;
}

Status refuse(const PlaneLock::Holder& holder, const std::string& where, std::uint8_t protocol) {
  return {StatusCode::AlreadyExists, to_string(holder) + " programs " + where + " with protocol number " + std::to_string(protocol) +
                                         " already, and each would delete what the other made: end that process, or choose another "
                                         "protocol number or network namespace (LinuxDataPlaneOptions; of rondod: dataplane.protocol, "
                                         "dataplane.network_namespace)"};
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

Result<PlaneLock> PlaneLock::take(const std::string& network_namespace, std::uint8_t protocol, Holder* holder) {
  auto where = NetworkNamespace::open(network_namespace);
  if (!where) return failure(std::move(where.error()));
  // One socket to listen with, and one for each name to check.
  std::array<UniqueFd, kNames + 1> sockets;
  UniqueFd diagnosis;
  const Status made = where->inside([&] {
    diagnosis = UniqueFd{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
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
  // Check all other names after listen(): of two processes that start simultaneously, at least one sees the other.
  for (std::size_t index = 0; index < kNames; ++index) {
    if (held == index) continue;
    Found found = find_holder(sockets[index], diagnosis, name_of(protocol, index));
    for (int question = 1; found.is_unknown && question < kQuestions; ++question) {
      found = find_holder(sockets[index], diagnosis, name_of(protocol, index));
    }
    if (found.is_free && held && index > *held) continue;  // bind() has found each earlier name taken.
    if (!found.is_free && (found.is_unknown || may_program(found.holder))) {
      const std::string place = network_namespace.empty() ? "this network namespace" : "network namespace " + network_namespace;
      if (holder != nullptr) *holder = found.holder;
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

}  // namespace rondo::netlink
