// See rondo/store/zmq_server.h.
#include "rondo/store/zmq_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "rondo/store/zmq_limits.h"
#include "store/zmq/endpoint.h"
#include "store/zmq/fault_log.h"
#include "store/zmq/inbox.h"
#include "store/zmq/key_check.h"
#include "store/zmq/peer_guard.h"
#include "store/zmq/socket.h"
#include "store/zmq/socket_monitor.h"

namespace rondo {

using store::KeyCheck;
using store::PeerGuard;
using store::SocketEvent;
using store::SocketMonitor;
using store::ZmqInbox;
using store::ZmqMessage;
using store::ZmqSocket;

namespace {

/// The highest priority: a queue of unhandled connection events would leave the connections unbounded.
constexpr Priority kPeersPriority = Priority::p0;
/// The interval between measurements of partial frames, and the shorter one after much data arrived.
constexpr Duration kLook = 1s;
constexpr Duration kSoon = 50ms;
/// Bytes that libzmq adds to a frame. CURVE adds the name of a command, a nonce, an authenticator and flags (ZMTP 3.1, CurveZMQ).
constexpr std::size_t kFraming = 9;
constexpr std::size_t kCurveFraming = 9 + 33;

std::size_t connections_most(const ZmqServerOptions& options) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return options.connections;
  return std::min(options.connections, std::max<std::size_t>(descriptors.rlim_cur / 4, 1));
}

}  // namespace

/// The source that reads frames from the socket and applies their entries to the tables.
class ZmqServer::Impl final : public Source {
 public:
  Impl(Scheduler& scheduler, ZmqServerOptions options)
      : Source("direct:server " + options.endpoint, options.priority),
        scheduler_(scheduler),
        options_(std::move(options)),
        faults_(options_.on_fault),
        guard_({.connections = connections_most(options_),
                .per_address = options_.connections_per_address,
                .frame_bytes = options_.frame_memory,
                .framing = options_.curve ? kCurveFraming : kFraming},
               [this](PeerGuard::Cause cause, const Status& why) {
                 faults_.add(cause == PeerGuard::Cause::TooMany ? ZmqFault::TooManyPeers : ZmqFault::FrameMemory, why, scheduler_.now());
               }),
        poll_timer_("direct:look " + options_.endpoint, options_.priority, [this] { poll(); }),
        inbox_([this](ZmqFault fault, const Status& why) { faults_.add(fault, why, scheduler_.now()); }, [this] { wake(); }) {}

  ~Impl() override {
    if (fd_ >= 0) scheduler_.reactor().unwatch(fd_);
    monitor_.reset();
    socket_.close();
  }

  Status start() {
    if (options_.tables.empty()) return {StatusCode::InvalidArgument, "a direct server without tables"};
    if (Status bad = check(options_); !bad.ok()) return bad;
    for (const ZmqTableSpec& spec : options_.tables) {
      if (Status bad = inbox_.declare(spec); !bad.ok()) return bad;
    }
    inbox_.take_time_of(scheduler_);
    if (Status failed = open_socket(); !failed.ok()) return failed;
    scheduler_.add(*this);
    scheduler_.add(poll_timer_);
    fd_ = socket_.fd();
    if (Status failed = scheduler_.reactor().watch(fd_, Interest::Read, *this); !failed.ok()) return failed;
    wake();  // Messages may have arrived before the watch, and only a receive that returns false arms the descriptor.
    return {};
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    if (held_ || waits_) return turn;  // The descriptor stays unread; release() and begin() wake this source.
    for (; turn.items < budget.items; ++turn.items) {
      if (turn.items % limits::kItemsPerStep == limits::kItemsPerStep - 1 && time_is_up(budget)) break;
      if (!inbox_.has_frame()) {
        if (!receive()) return turn;
        if (!inbox_.has_frame()) continue;  // The frame was dropped or empty.
      }
      const bool was_paused = inbox_.is_paused();
      if (!inbox_.step()) {
        if (!was_paused) ++stats_.pauses;
        return turn;  // The consumer's next take() wakes this source.
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

  ZmqInbox& inbox() noexcept { return inbox_; }
  const std::string& endpoint() const noexcept { return endpoint_; }
  const ZmqServerStats& stats() noexcept {
    stats_.frames = inbox_.frames();
    stats_.entries = inbox_.entries();
    stats_.bytes = inbox_.bytes();
    stats_.open_connections = guard_.connections();
    stats_.connections_most = guard_.limits().connections;
    stats_.frame_bytes = guard_.frame_bytes();
    for (std::size_t i = 0; i < kZmqFaults; ++i) stats_.faults[i] = faults_.total(i);
    return stats_;
  }

 private:
  Status open_socket() {
    Result<ZmqSocket> socket = ZmqSocket::open(context_, ZMQ_PULL);
    if (!socket) return socket.error();
    socket_ = std::move(*socket);
    if (Status failed = set_options(); !failed.ok()) return failed;
    Result<std::unique_ptr<SocketMonitor>> monitor = SocketMonitor::open(scheduler_, context_, socket_, "direct:server-peers",
                                                                         kPeersPriority, [this](const SocketEvent& event) { hear(event); });
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
        {ZMQ_HANDSHAKE_IVL, static_cast<int>(kZmqHandshakeTime / 1ms)},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 5},
        {ZMQ_TCP_KEEPALIVE_CNT, 5},
        {ZMQ_TCP_KEEPALIVE_INTVL, 1},
    };
    for (const auto& [option, value] : numbers) {
      if (Status failed = socket_.set(option, value); !failed.ok()) return failed;
    }
    // Twice the limit: a frame slightly too long is dropped and counted. For a longer one libzmq closes the connection.
    const std::int64_t longest = 2 * static_cast<std::int64_t>(limits::kZmqFrameBytes);
    const std::string_view bytes{reinterpret_cast<const char*>(&longest), sizeof longest};
    if (Status failed = socket_.set(ZMQ_MAXMSGSIZE, bytes); !failed.ok()) return failed;
    if (!options_.curve) return {};
    if (Status failed = store::set_curve(socket_, *options_.curve); !failed.ok()) return failed;
    Result<std::unique_ptr<KeyCheck>> keys =
        KeyCheck::open(scheduler_, context_, options_.curve->allowed_clients, priority(), [this](std::string who) {
          faults_.add(ZmqFault::RefusedKey, {StatusCode::PermissionDenied, std::move(who)}, scheduler_.now());
        });
    if (!keys) return keys.error();
    keys_ = std::move(*keys);
    return {};
  }

  void hear(const SocketEvent& event) {
    switch (event.kind) {
      case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: ++stats_.connections; break;
      case ZMQ_EVENT_LISTENING: guard_.listens(static_cast<int>(event.value)); break;
      case ZMQ_EVENT_ACCEPTED:
        guard_.accepted(static_cast<int>(event.value));
        if (!poll_timer_.is_armed()) poll_timer_.arm_every(kLook, scheduler_.now() + kLook);
        break;
      case ZMQ_EVENT_DISCONNECTED: guard_.closed(static_cast<int>(event.value)); break;
      case ZMQ_EVENT_ACCEPT_FAILED:
        faults_.add(ZmqFault::TooManyPeers, status_from_errno(static_cast<int>(event.value), "accept a connection"), scheduler_.now());
        break;
      case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        faults_.add(ZmqFault::Handshake, {StatusCode::Unavailable, "a peer at " + event.endpoint + " did not finish its handshake"},
                    scheduler_.now());
        break;
      default: break;
    }
  }

  /// Waiting frames are whole. So only when no frame waits do the received but undelivered bytes belong to partial frames.
  void poll() {
    if (guard_.connections() == 0) return poll_timer_.disarm();
    if (held_ || waits_ || inbox_.has_frame()) return;
    if (socket_.has_message()) return wake();  // The check of has_message() has disarmed the descriptor.
    const Duration again = guard_.poll() ? kSoon : kLook;
    poll_timer_.arm_every(again, scheduler_.now() + again);
  }

  /// Reads one message from the socket, or a part of one, which is dropped: there may be millions of parts. False when nothing waits.
  bool receive() {
    message_.clear();
    if (!socket_.receive(message_)) return false;
    guard_.delivered(message_.source(), message_.bytes().size());
    const bool is_part = std::exchange(is_in_parts_, message_.more());
    if (!is_part && message_.more()) {
      faults_.add(ZmqFault::Malformed, {StatusCode::InvalidArgument, "a message of several parts"}, scheduler_.now());
    }
    if (!is_part && !message_.more()) inbox_.open(message_.bytes());
    return true;
  }

  Scheduler& scheduler_;
  const ZmqServerOptions options_;
  ZmqServerStats stats_;
  store::FaultLog faults_;
  PeerGuard guard_;
  TimerSource poll_timer_;
  ZmqInbox inbox_;
  store::ZmqContext context_;
  std::unique_ptr<KeyCheck> keys_;
  ZmqSocket socket_;
  std::unique_ptr<SocketMonitor> monitor_;
  ZmqMessage message_;        // The message that the inbox reads.
  bool is_in_parts_ = false;  // The last message read was a part, and not the last one.
  std::string endpoint_;
  int fd_ = -1;
  bool held_ = options_.held;
  bool waits_ = options_.waits;
};

Status ZmqServer::check(const ZmqServerOptions& options) {
  if (options.connections < 1 || options.connections_per_address < 1) return {StatusCode::InvalidArgument, "no connection is allowed"};
  if (options.receive_frames < 1) return {StatusCode::InvalidArgument, "receive_frames is not positive"};
  if (Status bad = store::check_endpoint(options.endpoint, store::EndpointUse::Bind); !bad.ok()) return bad;
  if (options.curve) return store::check_curve(*options.curve);
  if (options.open_to_network || store::is_local(options.endpoint)) return {};
  return {StatusCode::PermissionDenied,
          options.endpoint + " can be reached from other machines without authentication: use CURVE, or ask for it with open_to_network"};
}

Result<std::unique_ptr<ZmqServer>> ZmqServer::open(Scheduler& scheduler, ZmqServerOptions options) {
  auto parts = std::make_unique<Impl>(scheduler, std::move(options));
  if (Status failed = parts->start(); !failed.ok()) return failure(failed.with_context("direct server"));
  return std::unique_ptr<ZmqServer>{new ZmqServer(std::move(parts))};
}

ZmqServer::ZmqServer(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
ZmqServer::~ZmqServer() = default;

Result<std::unique_ptr<Subscription>> ZmqServer::subscribe(std::string_view database, std::string_view table,
                                                           const SubscribeOptions& options) {
  return impl_->inbox().subscribe(database, table, options);
}
Status ZmqServer::write(std::string_view database, std::string_view table, Change change) {
  return impl_->inbox().write(database, table, std::move(change));
}
Result<std::size_t> ZmqServer::staged(std::string_view database, std::string_view table) const {
  return impl_->inbox().staged(database, table);
}
void ZmqServer::hold() { impl_->hold(); }
void ZmqServer::release() { impl_->release(); }
void ZmqServer::begin() { impl_->begin(); }
const std::string& ZmqServer::endpoint() const noexcept { return impl_->endpoint(); }
const ZmqServerStats& ZmqServer::stats() const noexcept { return impl_->stats(); }
bool ZmqServer::is_paused() const noexcept { return impl_->inbox().is_paused(); }

}  // namespace rondo
