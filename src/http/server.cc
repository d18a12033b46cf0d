#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include "http/listener.h"

namespace rondo::http {

namespace {

/// Connections that a turn accepts.
constexpr std::uint32_t kAcceptsATurn = 16;
/// How soon the server accepts again after the system had no descriptor or memory.
constexpr Duration kAcceptAgain = 100ms;

}  // namespace

Server::Server(Scheduler& scheduler, ServerOptions options, Handler handler)
    : Source("http", options.priority),
      scheduler_(scheduler),
      host_{.options = std::move(options),
            .handler = std::move(handler),
            .on_closed =
                [this] {
                  ++closed_;
                  --host_.figures.connections;
                  wake();
                }},
      listener_(host_.options.listener),
      retry_("http accept", host_.options.priority, [this] {
        static_cast<void>(collect());
        wake();
      }) {}

Server::~Server() {
  connections_.clear();
  if (listener_) scheduler_.reactor().unwatch(listener_.get());
}

namespace {

/// Descriptors stay for the rest of the program: half of a small limit, and 256 of a large one.
std::size_t within_descriptors(std::size_t connections) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return connections;
  const std::size_t all = descriptors.rlim_cur;
  return std::min(connections, std::max(all / 2, all - std::min<std::size_t>(all, 256)));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(Scheduler& scheduler, ServerOptions options, Handler handler) {
  options.connections = within_descriptors(options.connections);
  std::unique_ptr<Server> server{new Server(scheduler, std::move(options), std::move(handler))};
  if (Status status = server->prepare_tls(); !status.ok()) return failure(std::move(status));
  if (Status status = server->listen(); !status.ok()) return failure(std::move(status));
  scheduler.add(*server);
  scheduler.add(server->retry_);
  if (Status status = scheduler.reactor().watch(server->listener_.get(), Interest::Read, *server); !status.ok()) {
    return failure(status.with_context("the HTTP server"));
  }
  server->may_accept_ = true;
  server->wake();
  return server;
}

Status Server::prepare_tls() {
  const ServerOptions& options = host_.options;
  if (options.certificate_file.empty() && options.key_file.empty()) return {};
  if (options.certificate_file.empty()) return {StatusCode::InvalidArgument, "the server has a key, and no certificate"};
  if (options.key_file.empty()) return {StatusCode::InvalidArgument, "the server has a certificate, and no key"};
  Result<TlsContext> opened = open_tls(options.certificate_file, options.key_file);
  if (!opened) return std::move(opened.error());
  host_.tls = std::move(*opened);
  return {};
}

Status Server::listen() {
  if (listener_) {
    if (Status status = prepare_listener(listener_.get()); !status.ok()) return status;
  } else {
    Result<UniqueFd> made = listen_at(host_.options.address, host_.options.port);
    if (!made) return std::move(made.error());
    listener_ = std::move(*made);
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) return status_from_errno(errno, "getsockname");
  port_ = port_of(bound);
  endpoint_ = endpoint_text(bound);
  return {};
}

Result<Backlog> Server::collect() {
  may_accept_ = static_cast<bool>(listener_);
  return Backlog::More;
}

Turn Server::run(const Budget& budget) {
  Turn turn;
  reap();
  turn.items = std::max(accept_some(std::min(budget.items, kAcceptsATurn)), 1U);
  if (host_.is_stopping && connections_.empty() && on_stopped_) std::exchange(on_stopped_, {})();
  turn.backlog = may_accept_ || closed_ > 0 ? Backlog::More : Backlog::Empty;
  return turn;
}

std::uint32_t Server::accept_some(std::uint32_t most) {
  std::uint32_t accepted = 0;
  while (may_accept_ && accepted < most) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    UniqueFd fd{::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    ++accepted;
    if (fd) {
      accept(std::move(fd), from);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      may_accept_ = false;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ++host_.figures.not_accepted;
      may_accept_ = false;
      retry_.arm_at(scheduler_.now() + kAcceptAgain);
    }
    // Other errors belong to the connection that was to be accepted (accept(2)): the next one follows.
  }
  return accepted;
}

void Server::accept(UniqueFd fd, const sockaddr_storage& peer) {
  if (host_.figures.connections >= host_.options.connections && !make_room()) {
    ++host_.figures.refused_connections;
    return;
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto connection = std::make_unique<Connection>(scheduler_, std::move(fd), endpoint_text(peer), network_of(peer), host_);
  if (!connection->start().ok()) {
    ++host_.figures.not_accepted;
    return;
  }
  ++host_.figures.accepted;
  ++host_.figures.connections;
  connections_.push_back(std::move(connection));
}

/// Closes the connection that has been idle longest. If more connections are unfinished than idle, closes an unfinished one instead: the
/// oldest one of the network that has the most. So a client that begins many requests loses its own connections, and not those of others
/// that have connected and not yet sent. False if each connection has a request under way. O(connections).
bool Server::make_room() {
  std::size_t idle = 0;
  std::size_t unfinished = 0;
  std::size_t most = 0;  // Unfinished connections of one network.
  std::unordered_map<std::uint64_t, std::size_t> of_network;
  for (const auto& connection : connections_) {
    if (connection->is_idle()) ++idle;
    if (!connection->is_unfinished()) continue;
    ++unfinished;
    most = std::max(most, ++of_network[connection->network()]);
  }
  const auto may_go = [&](const Connection& one) {
    return unfinished > idle ? one.is_unfinished() && of_network[one.network()] == most : one.is_idle();
  };
  Connection* oldest = nullptr;
  for (const auto& connection : connections_) {
    if (may_go(*connection) && (oldest == nullptr || connection->since() < oldest->since())) oldest = connection.get();
  }
  if (oldest == nullptr) return false;
  ++host_.figures.gave_way;
  oldest->close();
  return true;
}

void Server::reap() {
  if (closed_ == 0) return;
  std::erase_if(connections_, [](const auto& connection) { return connection->is_closed(); });
  closed_ = 0;
}

void Server::stop() {
  host_.is_stopping = true;
  may_accept_ = false;
  if (listener_) scheduler_.reactor().unwatch(listener_.get());
  listener_.reset();
  for (const auto& connection : connections_) connection->stop();
  wake();
}

}  // namespace rondo::http
