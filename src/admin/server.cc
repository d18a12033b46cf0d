// The listening end: the socket file, accepting, and the connections' lives.
#include "rondo/admin/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "admin/connection.h"
#include "admin/unix_socket.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo {
namespace {

/// Connections that the kernel holds until a turn takes them: no bound of ours, which is limits::kAdminConnections.
constexpr int kListenBacklog = 64;
/// Stalled connections are looked for so often, and more often where a stall is short.
constexpr Duration kCheckPeriod = 1s;
constexpr Duration kCheckPeriodLeast = 10ms;

/// Whether a socket at 'path' is stale, which nobody answers on; false: nothing is there. Everything else that is there is refused.
Result<bool> is_stale(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return failure(status_from_errno(errno, "look at '" + path + "'"));
  }
  if (!S_ISSOCK(status.st_mode)) return failure(Code::InvalidArgument, "'" + path + "' exists and is not a socket");
  const Result<UniqueFd> peer = connect_unix(path);
  if (peer) return failure(Code::AlreadyExists, "another server answers on '" + path + "'");
  if (peer.error().origin_errno() != ECONNREFUSED && peer.error().origin_errno() != ENOENT) return failure(Status{peer.error()});
  return true;
}

/// Makes room for a socket at 'path'.
Status clear_path(const std::string& path) {
  const Result<bool> stale = is_stale(path);
  if (!stale) return stale.error();
  if (!*stale) return {};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return status_from_errno(errno, "remove the stale socket '" + path + "'");
  return {};
}

/// The file mode is set before listen(), so nobody can connect in between.
Result<UniqueFd> listen_on(const std::string& path, unsigned mode) {
  const Result<sockaddr_un> address = unix_address(path);
  if (!address) return failure(address.error());
  if (const Status cleared = clear_path(path); !cleared.ok()) return failure(cleared);
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return failure(status_from_errno(errno, "socket"));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failure(status_from_errno(errno, "bind '" + path + "'"));
  }
  if (::chmod(path.c_str(), mode) != 0) return failure(status_from_errno(errno, "set the mode of '" + path + "'"));
  if (::listen(fd.get(), kListenBacklog) != 0) return failure(status_from_errno(errno, "listen on '" + path + "'"));
  return fd;
}

}  // namespace

/// Accepts callers in its turns and frees those that have closed.
class AdminServer::Listener final : public Source {
 public:
  Listener(Scheduler& scheduler, const CommandRegistry& commands, AdminServerOptions options, BulkSinkFactory make_sink)
      : Source("admin:listener", options.priority),
        scheduler_(scheduler),
        commands_(commands),
        options_(std::move(options)),
        make_sink_(std::move(make_sink)),
        timer_("admin:stalls", options_.priority, [this] { check(); }) {}

  ~Listener() override {
    connections_.clear();
    if (!fd_) return;
    scheduler_.reactor().unwatch(fd_.get());
    struct stat status {};
    const bool ours = ::lstat(options_.path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
    if (ours) ::unlink(options_.path.c_str());
  }

  Status start() {
    Result<UniqueFd> fd = listen_on(options_.path, options_.mode);
    if (!fd) return fd.error();
    fd_ = std::move(*fd);
    struct stat status {};
    if (::lstat(options_.path.c_str(), &status) != 0) return status_from_errno(errno, "look at '" + options_.path + "'");
    device_ = status.st_dev;
    inode_ = status.st_ino;
    scheduler_.add(*this);
    scheduler_.add(timer_);
    return scheduler_.reactor().watch(fd_.get(), Interest::Read, *this);
  }

  Result<Backlog> collect() override {
    acceptable_ = true;
    return Backlog::More;
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    if (closed_ != 0) reap();
    while (acceptable_ && turn.items < budget.items) {
      accept_one();
      ++turn.items;
    }
    turn.backlog = acceptable_ ? Backlog::More : Backlog::Empty;
    return turn;
  }

  bool has_backlog() const override { return acceptable_ || closed_ != 0; }

  const AdminServerOptions& options() const noexcept { return options_; }
  const AdminServerStats& stats() const noexcept { return stats_; }

 private:
  void accept_one() {
    UniqueFd fd{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED) return;
      acceptable_ = false;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // Out of descriptors or memory: those who wait are looked at again at the next check.
      ++stats_.connection_errors;
      retry_accept_ = true;
      arm_timer();
      return;
    }
    if (connections_.size() >= options_.connections) {
      refuse(fd.get());
    } else {
      admit(std::move(fd));
    }
  }

  void admit(UniqueFd fd) {
    ++stats_.accepted;
    auto connection = std::make_unique<AdminConnection>("admin:caller-" + std::to_string(stats_.accepted), scheduler_, std::move(fd),
                                                        commands_, make_sink_ ? make_sink_() : nullptr, options_, stats_, [this] {
                                                          ++closed_;
                                                          wake();
                                                        });
    if (!connection->start().ok()) {
      ++stats_.connection_errors;
      return;
    }
    connections_.push_back(std::move(connection));
    stats_.connections = connections_.size();
    arm_timer();
  }

  /// Best effort: a fresh socket's buffer takes the frame, or the caller sees only the end.
  void refuse(int fd) {
    ++stats_.refused_connections;
    const std::string frame = error_frame(
        0, Status{Code::ResourceExhausted, "all " + std::to_string(options_.connections) + " connections of the admin socket are in use"});
    const ssize_t sent = ::send(fd, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) ++stats_.connection_errors;
  }

  void reap() {
    closed_ = 0;
    std::erase_if(connections_, [](const std::unique_ptr<AdminConnection>& connection) { return connection->is_closed(); });
    stats_.connections = connections_.size();
    if (connections_.empty() && !retry_accept_) timer_.disarm();
  }

  void arm_timer() {
    const Duration period = std::clamp(options_.stall / 4, kCheckPeriodLeast, kCheckPeriod);
    if (!timer_.is_armed()) timer_.arm_every(period, scheduler_.now() + period);
  }

  void check() {
    const Instant now = scheduler_.now();
    for (const std::unique_ptr<AdminConnection>& connection : connections_) connection->check(now);
    if (std::exchange(retry_accept_, false)) {
      acceptable_ = true;
      wake();
    }
  }

  Scheduler& scheduler_;
  const CommandRegistry& commands_;
  const AdminServerOptions options_;
  const BulkSinkFactory make_sink_;
  AdminServerStats stats_;
  UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool acceptable_ = false;
  bool retry_accept_ = false;
  std::size_t closed_ = 0;  // Connections to free.
  TimerSource timer_;
  std::vector<std::unique_ptr<AdminConnection>> connections_;
};

AdminServer::AdminServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
AdminServer::~AdminServer() = default;

Result<std::unique_ptr<AdminServer>> AdminServer::open(Scheduler& scheduler, const CommandRegistry& commands, AdminServerOptions options,
                                                       BulkSinkFactory make_sink) {
  auto listener = std::make_unique<Listener>(scheduler, commands, std::move(options), std::move(make_sink));
  if (const Status started = listener->start(); !started.ok()) return failure(started.with_context("admin socket"));
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(listener)));
}

Status AdminServer::check_path(const std::string& path) {
  if (const Result<sockaddr_un> address = unix_address(path); !address) return address.error();
  if (const Result<bool> stale = is_stale(path); !stale) return stale.error();
  const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
  const std::string where = folder.empty() ? "." : folder.string();
  return status_from_errno(::access(where.c_str(), W_OK | X_OK) == 0 ? 0 : errno, "bind '" + path + "'");
}

const AdminServerStats& AdminServer::stats() const noexcept { return listener_->stats(); }
const std::string& AdminServer::path() const noexcept { return listener_->options().path; }

}  // namespace rondo
