// The listening end: the socket file, accepting callers, and the lifetimes of connections.
#include "admin/server.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "admin/connection.h"
#include "admin/connection_slots.h"
#include "admin/notices.h"
#include "admin/peer.h"
#include "admin/socket_file.h"
#include "admin/unix_socket.h"
#include "base/thrown.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo {
namespace {

/// How often connections are checked, if the options limit any time: a quarter of the shortest limit, within these bounds.
constexpr Duration kCheckPeriod = 1s;
constexpr Duration kCheckPeriodLeast = 10ms;
/// Callers accepted in one turn. Each of them gets turns before it is the oldest connection without a request.
constexpr std::uint32_t kAcceptsPerTurn = 8;
/// Callers may have at most half of the descriptors of the process: the rest is for its own work.
AdminServerSetup within_descriptors(AdminServerSetup options) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return options;
  const std::size_t half = descriptors.rlim_cur / 2;
  options.connections = std::min(options.connections, std::max<std::size_t>(half - std::min(half, options.reserved), 1));
  return options;
}

/// The file mode when the caller's groups decide about access, so that the kernel's file rights let all callers connect.
constexpr unsigned kAnybody = 0666;

}  // namespace

/// Accepts callers in its turns and frees those that have closed.
class AdminServer::Listener final : public Source, public AdminHost {
 public:
  Listener(Scheduler& scheduler, const CommandRegistry& of, AdminServerSetup given, BulkSinkFactory make_sink)
      : Source("admin:listener", given.priority),
        AdminHost(given, of),
        scheduler_(scheduler),
        make_sink_(std::move(make_sink)),
        notices_(options.on_notice),
        socket_(options.path, options.read_group ? options.mode | kAnybody : options.mode),
        timer_("admin:stalls", options.priority, [this] { check(); }),
        check_timer_("admin:socket", options.priority, [this] { check_socket(); }) {}

  ~Listener() override {
    connections_.clear();
    if (socket_.fd() >= 0) scheduler_.reactor().unwatch(socket_.fd());
  }

  Status start() {
    if (Status listening = socket_.listen(); !listening.ok()) return listening;
    scheduler_.add(*this);
    scheduler_.add(timer_);
    scheduler_.add(check_timer_);
    check_timer_.arm_every(options.check_period, scheduler_.now() + options.check_period);
    return scheduler_.reactor().watch(socket_.fd(), Interest::Read, *this);
  }

  Result<Backlog> collect() override {
    acceptable_ = true;
    return Backlog::More;
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    if (closed_ != 0) reap();
    while (acceptable_ && turn.items < std::min(budget.items, kAcceptsPerTurn)) {
      accept_one();
      ++turn.items;
    }
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }

  bool has_backlog() const override { return acceptable_ || closed_ != 0; }

  void on_closed() override {
    ++closed_;
    --counted.connections;
    wake();
  }

  void on_cut(AdminNotice::Kind kind, const Caller& caller) override {
    switch (kind) {
      case AdminNotice::Kind::Displaced: ++counted.displaced; break;
      case AdminNotice::Kind::Idle: ++counted.idle_cut; break;
      case AdminNotice::Kind::SlowFrame: ++counted.slow_frames_cut; break;
      case AdminNotice::Kind::StalledWriter: ++counted.stalled_writers_cut; break;
      case AdminNotice::Kind::SlowReader: ++counted.slow_readers_cut; break;
      case AdminNotice::Kind::Memory: ++counted.memory_cut; break;
      case AdminNotice::Kind::Denied: ++counted.denied_connections; break;
      case AdminNotice::Kind::Refused:
      case AdminNotice::Kind::NotAccepted:
      case AdminNotice::Kind::SocketLost:
      case AdminNotice::Kind::SocketMade: break;
    }
    notices_.note(kind, caller, {}, scheduler_.now());
  }

  void on_room() override {
    for (const std::unique_ptr<AdminConnection>& connection : connections_) {
      if (!connection->is_closed()) connection->wake();
    }
  }

  bool is_oldest_frame(const AdminConnection& connection) const override {
    const std::optional<Instant> since = connection.frame_since();
    if (!since) return false;
    return std::ranges::none_of(connections_, [since](const std::unique_ptr<AdminConnection>& other) {
      return !other->is_closed() && other->frame_since() && *other->frame_since() < *since;
    });
  }

  void adopt(UniqueFd fd, const Caller& caller) {
    take_spare();
    if (has_place(caller) || make_place(caller)) {
      admit(std::move(fd), caller);
    } else {
      refuse(fd.get(), caller);
    }
  }

  void cut_token(std::string_view token) {
    for (const std::unique_ptr<AdminConnection>& connection : connections_) {
      if (!connection->is_closed() && connection->caller().token == token)
        connection->cut(AdminNotice::Kind::Denied, {StatusCode::PermissionDenied, "your token was removed"});
    }
  }

  const AdminServerStats& figures() noexcept {
    counted.memory_bytes = share.used;
    return counted;
  }

 private:
  void accept_one() {
    const auto accepted = [this] { return UniqueFd{::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)}; };
    take_spare();
    UniqueFd fd = accepted();
    if (!fd && (errno == EMFILE || errno == ENFILE) && spare_) {
      spare_.reset();
      fd = accepted();
    }
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED) return;
      acceptable_ = false;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // Out of descriptors or memory: waiting callers are accepted at the next check.
      ++counted.connection_errors;
      notices_.note(AdminNotice::Kind::NotAccepted, {}, status_from_errno(errno, "accept"), scheduler_.now());
      retry_accept_ = true;
      arm_timer();
      return;
    }
    Caller caller = caller_of(fd.get());
    const Rights rights = options.read_group ? rights_of(fd.get(), caller, socket_.group(), *options.read_group) : Rights::Write;
    if (rights != Rights::Write) caller.role = Role::Viewer;
    if (rights == Rights::None) return deny(fd.get(), caller);
    adopt(std::move(fd), caller);
  }

  /// Without the spare descriptor there is no descriptor left.
  bool has_place(const Caller& caller) const {
    return spare_ && counted.connections < options.connections + (caller.is_privileged ? options.reserved : 0);
  }

  void take_spare() {
    if (!spare_) spare_ = UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  }

  std::string what_is_used_up() const {
    if (!spare_) return "the program has no descriptors left";
    return "all " + std::to_string(options.connections) + " connections of the admin socket are in use";
  }

  /// Closes a connection without a request under way, if there is one.
  bool make_place(const Caller& newcomer) {
    std::vector<ConnectionSlot> slots;
    std::vector<AdminConnection*> taken;
    for (const std::unique_ptr<AdminConnection>& connection : connections_) {
      if (connection->is_closed()) continue;
      slots.push_back(connection->slot());
      taken.push_back(connection.get());
    }
    const std::optional<std::size_t> chosen = slot_to_give_up(slots, newcomer, scheduler_.now(), options.yield);
    if (!chosen) return false;
    const char* const why = slots[*chosen].is_answered ? "your user had the most of them" : "this one had no request under way";
    taken[*chosen]->cut(AdminNotice::Kind::Displaced, {StatusCode::ResourceExhausted, what_is_used_up() + ", and " + why});
    take_spare();
    return has_place(newcomer);
  }

  void admit(UniqueFd fd, const Caller& caller) {
    std::unique_ptr<BulkSink> sink;
    const Status made = contained("the BulkSinkFactory", [&] { return sink = make_sink_ ? make_sink_() : nullptr, Status{}; });
    if (!made.ok()) {
      ++counted.connection_errors;
      return send_away(fd.get(), made);
    }
    ++counted.accepted;
    ++counted.connections;
    connections_.push_back(std::make_unique<AdminConnection>("admin:caller-" + std::to_string(counted.accepted), scheduler_, std::move(fd),
                                                             caller, std::move(sink), *this));
    if (!connections_.back()->start().ok()) {
      ++counted.connection_errors;
      --counted.connections;
      connections_.pop_back();
      return;
    }
    arm_timer();
  }

  void refuse(int fd, const Caller& caller) {
    ++counted.refused_connections;
    send_away(fd, {StatusCode::ResourceExhausted, what_is_used_up()});
    notices_.note(AdminNotice::Kind::Refused, caller, {}, scheduler_.now());
    arm_timer();
  }

  void deny(int fd, const Caller& caller) {
    ++counted.denied_connections;
    send_away(fd, {StatusCode::PermissionDenied, "user " + std::to_string(caller.user) + " is in none of the groups that may call"});
    notices_.note(AdminNotice::Kind::Denied, caller, {}, scheduler_.now());
  }

  /// Best effort: if the new socket's buffer has no room for the frame, the caller sees only the end.
  void send_away(int fd, const Status& why) {
    const std::string frame = error_frame(0, why);
    const ssize_t sent = ::send(fd, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) ++counted.connection_errors;
  }

  void reap() {
    closed_ = 0;
    std::erase_if(connections_, [](const std::unique_ptr<AdminConnection>& connection) { return connection->is_closed(); });
    if (connections_.empty() && !retry_accept_) timer_.disarm();
  }

  void arm_timer() {
    const Duration shortest = std::min({options.stall, options.frame_time, options.idle, options.yield});
    const Duration period = std::clamp(shortest / 4, kCheckPeriodLeast, kCheckPeriod);
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

  /// If the file has been removed, no caller can connect, so it is made again. Existing connections stay.
  void check_socket() {
    notices_.check(scheduler_.now());
    if (socket_.is_there() || (is_lost_ && !socket_.has_changed())) return;
    const int old = socket_.fd();
    scheduler_.reactor().unwatch(old);
    Status made = socket_.listen();
    if (Status watched = scheduler_.reactor().watch(socket_.fd(), Interest::Read, *this); made.ok()) made = watched;
    is_lost_ = !made.ok();
    if (made.ok()) ++counted.sockets_made_anew;
    notices_.note(made.ok() ? AdminNotice::Kind::SocketMade : AdminNotice::Kind::SocketLost, {}, made, scheduler_.now());
    acceptable_ = true;
    wake();
  }

  Scheduler& scheduler_;
  const BulkSinkFactory make_sink_;
  AdminNotices notices_;
  SocketFile socket_;
  UniqueFd spare_;        // Makes room for a caller when there is no other descriptor, so that an idle connection can be closed for it.
  bool is_lost_ = false;  // The file is missing, and the last attempt to make it again failed.
  bool acceptable_ = false;
  bool retry_accept_ = false;
  std::size_t closed_ = 0;  // The number of closed connections to destroy.
  TimerSource timer_;
  TimerSource check_timer_;
  std::vector<std::unique_ptr<AdminConnection>> connections_;
};

AdminServer::AdminServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
AdminServer::~AdminServer() = default;

Result<std::unique_ptr<AdminServer>> AdminServer::open(Scheduler& scheduler, const CommandRegistry& commands, AdminServerSetup setup,
                                                       BulkSinkFactory make_sink) {
  auto listener = std::make_unique<Listener>(scheduler, commands, within_descriptors(std::move(setup)), std::move(make_sink));
  if (const Status started = listener->start(); !started.ok()) return failure(started.with_context("admin socket"));
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(listener)));
}

Status AdminServer::check_path(const std::string& path) {
  if (const Result<sockaddr_un> address = unix_address(path); !address) return address.error();
  if (const Status waited = wait_for_predecessor(path); !waited.ok()) return waited;
  if (const Result<bool> stale = is_stale_socket(path); !stale) return stale.error();
  const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
  const std::string where = folder.empty() ? "." : folder.string();
  return status_from_errno(::access(where.c_str(), W_OK | X_OK) == 0 ? 0 : errno, "bind '" + path + "'");
}

const AdminServerStats& AdminServer::stats() const noexcept { return listener_->figures(); }
void AdminServer::adopt(UniqueFd fd, const Caller& caller) { listener_->adopt(std::move(fd), caller); }
void AdminServer::cut_token(std::string_view token) { listener_->cut_token(token); }
const std::string& AdminServer::path() const noexcept { return listener_->options.path; }

}  // namespace rondo
