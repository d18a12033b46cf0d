#include "rondo/store/direct_server.h"

#include <utility>

#include "rondo/sched/scheduler.h"
#include "store/direct/direct_inbox.h"
#include "store/direct/endpoint.h"
#include "store/direct/fault_log.h"
#include "store/direct/key_check.h"
#include "store/direct/socket_monitor.h"
#include "store/direct/zmq_socket.h"

namespace rondo {

using store::DirectInbox;
using store::KeyCheck;
using store::SocketEvent;
using store::SocketMonitor;
using store::ZmqMessage;
using store::ZmqSocket;

std::string_view to_string(DirectFault fault) noexcept {
  switch (fault) {
    case DirectFault::Malformed: return "malformed";
    case DirectFault::TooLong: return "too-long";
    case DirectFault::UnknownTable: return "unknown-table";
    case DirectFault::BadEntry: return "bad-entry";
    case DirectFault::RefusedKey: return "refused-key";
    case DirectFault::Handshake: return "handshake";
  }
  return "?";
}

/// The source that reads: frames out of the socket, their entries into the tables.
class DirectServer::Parts final : public Source {
 public:
  Parts(Scheduler& scheduler, DirectServerOptions options)
      : Source("direct:server " + options.endpoint, options.priority),
        scheduler_(scheduler),
        options_(std::move(options)),
        faults_(options_.on_fault),
        inbox_([this](DirectFault fault, const Status& why) { faults_.add(fault, why, scheduler_.now()); }, [this] { wake(); }) {}

  ~Parts() override {
    if (fd_ >= 0) scheduler_.reactor().unwatch(fd_);
    monitor_.reset();
    socket_.close();
  }

  Status start() {
    if (options_.tables.empty()) return {Code::InvalidArgument, "a direct server without tables"};
    if (Status bad = check(options_); !bad.ok()) return bad;
    for (const DirectTableSpec& spec : options_.tables) {
      if (Status bad = inbox_.declare(spec); !bad.ok()) return bad;
    }
    if (Status failed = open_socket(); !failed.ok()) return failed;
    scheduler_.add(*this);
    fd_ = socket_.fd();
    if (Status failed = scheduler_.reactor().watch(fd_, Interest::Read, *this); !failed.ok()) return failed;
    wake();  // Whatever came before the watch: only a receive that finds nothing arms the descriptor.
    return {};
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    if (held_ || waits_) return turn;  // The descriptor stays as it is; release() and begin() wake us.
    for (; turn.items < budget.items; ++turn.items) {
      if (turn.items % limits::kItemsPerStep == limits::kItemsPerStep - 1 && time_is_up(budget)) break;
      if (!inbox_.has_frame()) {
        if (!receive()) return turn;
        if (!inbox_.has_frame()) continue;  // Dropped, or empty.
      }
      const bool was_paused = inbox_.is_paused();
      if (!inbox_.step()) {
        if (!was_paused) ++stats_.pauses;
        return turn;  // Whoever takes wakes us.
      }
    }
    turn.backlog = Backlog::More;
    return turn;
  }

  void hold() noexcept { held_ = true; }
  void release() {
    held_ = false;
    wake();
  }
  void begin() {
    waits_ = false;
    wake();
  }

  DirectInbox& inbox() noexcept { return inbox_; }
  const std::string& endpoint() const noexcept { return endpoint_; }
  const DirectServerStats& stats() noexcept {
    stats_.frames = inbox_.frames();
    stats_.entries = inbox_.entries();
    stats_.bytes = inbox_.bytes();
    for (std::size_t i = 0; i < kDirectFaults; ++i) stats_.faults[i] = faults_.total(i);
    return stats_;
  }

 private:
  Status open_socket() {
    Result<ZmqSocket> socket = ZmqSocket::open(context_, ZMQ_PULL);
    if (!socket) return socket.error();
    socket_ = std::move(*socket);
    if (Status failed = set_options(); !failed.ok()) return failed;
    Result<std::unique_ptr<SocketMonitor>> monitor = SocketMonitor::open(scheduler_, context_, socket_, "direct:server-peers", priority(),
                                                                         [this](const SocketEvent& event) { hear(event); });
    if (!monitor) return monitor.error();
    monitor_ = std::move(*monitor);
    if (Status failed = socket_.bind(options_.endpoint); !failed.ok()) return failed;
    endpoint_ = socket_.last_endpoint();
    return {};
  }

  Status set_options() {
    const std::pair<int, int> numbers[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_RCVHWM, options_.receive_frames},
        {ZMQ_IPV6, store::is_ipv6(options_.endpoint) ? 1 : 0},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 5},
        {ZMQ_TCP_KEEPALIVE_CNT, 5},
        {ZMQ_TCP_KEEPALIVE_INTVL, 1},
    };
    for (const auto& [option, value] : numbers) {
      if (Status failed = socket_.set(option, value); !failed.ok()) return failed;
    }
    // Twice the limit: a frame that is somewhat too long is dropped and counted; libzmq cuts the connection of one beyond this.
    const std::int64_t longest = 2 * static_cast<std::int64_t>(limits::kDirectFrameBytes);
    const std::string_view bytes{reinterpret_cast<const char*>(&longest), sizeof longest};
    if (Status failed = socket_.set(ZMQ_MAXMSGSIZE, bytes); !failed.ok()) return failed;
    if (!options_.curve) return {};
    if (Status failed = store::set_curve(socket_, *options_.curve); !failed.ok()) return failed;
    Result<std::unique_ptr<KeyCheck>> keys =
        KeyCheck::open(scheduler_, context_, options_.curve->allowed_clients, priority(), [this](std::string who) {
          faults_.add(DirectFault::RefusedKey, {Code::PermissionDenied, std::move(who)}, scheduler_.now());
        });
    if (!keys) return keys.error();
    keys_ = std::move(*keys);
    return {};
  }

  void hear(const SocketEvent& event) {
    if (event.kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) ++stats_.connections;
    if (event.kind != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && event.kind != ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) return;
    faults_.add(DirectFault::Handshake, {Code::Unavailable, "a peer at " + event.endpoint + " did not finish its handshake"},
                scheduler_.now());
  }

  /// One message out of the socket; false when none waits.
  bool receive() {
    message_.clear();
    if (!socket_.receive(message_)) return false;
    if (!message_.more()) {
      inbox_.open(message_.bytes());
      return true;
    }
    while (message_.more() && socket_.receive(message_)) {
    }
    faults_.add(DirectFault::Malformed, {Code::InvalidArgument, "a message of several parts"}, scheduler_.now());
    return true;
  }

  Scheduler& scheduler_;
  const DirectServerOptions options_;
  DirectServerStats stats_;
  store::FaultLog faults_;
  DirectInbox inbox_;
  store::ZmqContext context_;
  std::unique_ptr<KeyCheck> keys_;
  ZmqSocket socket_;
  std::unique_ptr<SocketMonitor> monitor_;
  ZmqMessage message_;  // What the inbox reads.
  std::string endpoint_;
  int fd_ = -1;
  bool held_ = options_.held;
  bool waits_ = options_.waits;
};

Status DirectServer::check(const DirectServerOptions& options) {
  if (options.receive_frames < 1) return {Code::InvalidArgument, "receive_frames is not positive"};
  if (Status bad = store::check_endpoint(options.endpoint); !bad.ok()) return bad;
  if (options.curve) return store::check_curve(*options.curve);
  if (options.open_to_network || store::is_local(options.endpoint)) return {};
  return {Code::PermissionDenied,
          options.endpoint + " can be reached from other machines by anybody: use CURVE, or ask for it with open_to_network"};
}

Result<std::unique_ptr<DirectServer>> DirectServer::open(Scheduler& scheduler, DirectServerOptions options) {
  auto parts = std::make_unique<Parts>(scheduler, std::move(options));
  if (Status failed = parts->start(); !failed.ok()) return failure(failed.with_context("direct server"));
  return std::unique_ptr<DirectServer>{new DirectServer(std::move(parts))};
}

DirectServer::DirectServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DirectServer::~DirectServer() = default;

Result<std::unique_ptr<Subscription>> DirectServer::subscribe(std::string_view database, std::string_view table,
                                                              const SubscribeOptions& options) {
  return parts_->inbox().subscribe(database, table, options);
}
Status DirectServer::write(std::string_view database, std::string_view table, Change change) {
  return parts_->inbox().write(database, table, std::move(change));
}
Result<std::size_t> DirectServer::staged(std::string_view database, std::string_view table) const {
  return parts_->inbox().staged(database, table);
}
void DirectServer::hold() { parts_->hold(); }
void DirectServer::release() { parts_->release(); }
void DirectServer::begin() { parts_->begin(); }
const std::string& DirectServer::endpoint() const noexcept { return parts_->endpoint(); }
const DirectServerStats& DirectServer::stats() const noexcept { return parts_->stats(); }
bool DirectServer::is_paused() const noexcept { return parts_->inbox().is_paused(); }

}  // namespace rondo
