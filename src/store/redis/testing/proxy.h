// A link for tests that can be broken on purpose: a proxy between a client and a redis-server. It can cut, stall, delay and slow down the
// traffic, and lose the reply of a request that the server has executed. It runs on its own thread. The public functions may be called from
// any thread; each returns when its effect is in force.
#pragma once

#include <sys/eventfd.h>
#include <sys/un.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "rondo/store/redis_address.h"
#include "store/redis/testing/process.h"

namespace rondo::redis_kit {

class RedisProxy {
 public:
  enum class Via { Unix, Tcp };
  enum class Direction { ToServer, ToClient, Both };

  struct Stats {
    std::size_t accepted = 0;  // Connections accepted in total.
    std::size_t open = 0;      // Connections open now.
    std::size_t cut = 0;       // Connections that the proxy ended.
    std::size_t lost = 0;      // Connections ended by lose_reply() and lose_request().
    std::size_t bytes_to_server = 0;
    std::size_t bytes_to_client = 0;
    std::size_t held = 0;  // Bytes that hold() keeps from the server now.
  };

  /// Forwards to 'server' (a socket or plain TCP). Listens on a socket in its own folder, or on a free port of 127.0.0.1.
  explicit RedisProxy(RedisAddress server, Via via = Via::Unix) : server_(std::move(server)) {
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener_ = listen(via);
    thread_ = std::thread([this] { run(); });
  }
  ~RedisProxy() {
    on_thread([this] { ending_ = true; });
    thread_.join();
    for (Link& link : links_) close(link);
    ::close(listener_);
    ::close(wake_);
  }
  RedisProxy(const RedisProxy&) = delete;
  RedisProxy& operator=(const RedisProxy&) = delete;

  /// The server's address through this proxy.
  RedisAddress address(unsigned database = 0) const {
    RedisAddress result = server_;
    result.unix_path = port_ == 0 ? folder_.file("p") : "";
    result.host = "127.0.0.1";
    result.port = port_ == 0 ? result.port : port_;
    result.database = database;
    return result;
  }

  /// Ends every connection on both sides; data on its way is lost.
  void cut() {
    on_thread([this] {
      for (Link& link : links_) end(link);
    });
  }
  /// Accepts new connections and closes them immediately, until refuse(false).
  void refuse(bool on = true) {
    on_thread([this, on] { refusing_ = on; });
  }
  /// A half-open connection: nothing passes in that direction, and neither side is notified. After stall(..., false) everything passes,
  /// late.
  void stall(Direction direction = Direction::Both, bool on = true) {
    on_thread([this, direction, on] {
      if (direction != Direction::ToClient) up_stalled_ = on;
      if (direction != Direction::ToServer) down_stalled_ = on;
    });
  }
  /// Holds the data that the current clients send from now on, also after they close. Later connections are not affected. After release()
  /// the data reaches the server, late, and the replies are dropped. If the server closes the connection meanwhile, the held data is lost.
  void hold() {
    on_thread([this] {
      for (Link& link : links_) link.held = true;
    });
  }
  void release() {
    on_thread([this] {
      for (Link& link : links_) {
        link.swallows = link.swallows || link.held;
        link.held = false;
      }
    });
  }
  /// Delays data that arrives from now on by this time, in each direction.
  void delay(std::chrono::milliseconds by) {
    on_thread([this, by] { delay_ = by; });
  }
  /// Limits each direction of each connection to this many bytes a second; 0: no limit.
  void limit(std::size_t bytes_per_second) {
    on_thread([this, bytes_per_second] { bytes_per_second_ = bytes_per_second; });
  }
  /// Each piece that arrives ends its connection with this probability, 0 to 1. The same seed and pieces give the same result.
  void lossy(double chance, std::uint64_t seed) {
    on_thread([this, chance, seed] {
      chance_ = chance;
      random_.seed(seed);
    });
  }
  /// Loses the reply to the next request that contains 'text', after 'skipped' others: the server executes it, but the answer is never
  /// delivered. From then on nothing of that connection reaches the client, and it is cut when the server has executed everything that was
  /// sent. Each call applies once.
  void lose_reply(std::string text, unsigned skipped = 0) { arm(std::move(text), skipped, true); }
  /// Like lose_reply(), but the request does not reach the server either (the part before 'text' may).
  void lose_request(std::string text, unsigned skipped = 0) { arm(std::move(text), skipped, false); }

  Stats stats() {
    Stats result;
    on_thread([this, &result] {
      result = stats_;
      result.open = links_.size();
      for (const Link& link : links_) result.held += link.held ? link.up.queued : 0;
    });
    return result;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kQueuedBytes = 1024 * 1024;  // Limit of one direction; beyond this the proxy does not read.

  struct Chunk {
    Time due;
    std::string bytes;
  };
  /// One direction of a connection.
  struct Flow {
    std::deque<Chunk> chunks{};
    std::size_t queued = 0;
    Time not_before{};     // The earliest time of the next write, because of the limit.
    bool blocked = false;  // The receiver's buffer is full.
    bool ended = false;    // The sender has closed.
    std::string tail{};    // The end of the searched data, to find a text that arrives in two pieces.
  };
  struct Link {
    int client = -1;
    int server = -1;
    Flow up{};
    Flow down{};
    bool swallows = false;  // Its replies are dropped.
    bool held = false;      // Its client's data is held.
    bool shut = false;      // The server side was shut down for writing.
    bool over = false;
  };
  struct Fault {
    std::string text{};
    unsigned skipped = 0;
    bool reaches_server = false;
  };

  // --- any thread

  void on_thread(std::function<void()> order) {
    std::unique_lock lock(mutex_);
    orders_.push_back(std::move(order));
    const std::size_t mine = ++ordered_;
    const std::uint64_t one = 1;
    if (::write(wake_, &one, sizeof one) != sizeof one) give_up("eventfd");
    done_.wait(lock, [this, mine] { return carried_out_ >= mine; });
  }
  void arm(std::string text, unsigned skipped, bool reaches_server) {
    on_thread([this, fault = Fault{std::move(text), skipped, reaches_server}] { faults_.push_back(fault); });
  }

  int listen(Via via) {
    const int fd = ::socket(via == Via::Unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = false;
    if (via == Via::Unix) {
      const sockaddr_un name = unix_name(folder_.file("p"));
      ok = ::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
    } else {
      sockaddr_in name{};
      name.sin_family = AF_INET;
      name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof name;
      ok = ::bind(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0 &&
           ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0;
      port_ = ntohs(name.sin_port);
    }
    if (!ok || ::listen(fd, 128) != 0) give_up("the proxy cannot listen");
    return fd;
  }

  static sockaddr_un unix_name(const std::string& path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path) give_up("the path of a socket may have 107 bytes: " + path);
    std::memcpy(name.sun_path, path.data(), path.size());
    return name;
  }

  // --- the proxy's thread

  void run() {
    std::vector<pollfd> events;
    while (!ending_) {
      events.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
      for (const Link& link : links_) {
        events.push_back({link.client, interest(link.up, up_stalled_, link.down, down_stalled_), 0});
        events.push_back({link.server, interest(link.down, down_stalled_, link.up, up_stalled_), 0});
      }
      // Descriptors without wanted events are disabled: poll() would report a closed one repeatedly.
      for (pollfd& event : events) event.fd = event.events == 0 ? -1 : event.fd;
      ::poll(events.data(), events.size(), milliseconds_to_next());
      serve(events);
      if (events[1].revents != 0) accept();
      links_.remove_if([](const Link& link) { return link.over; });
      carry_out();
      links_.remove_if([](const Link& link) { return link.over; });
    }
  }

  void serve(const std::vector<pollfd>& events) {
    std::size_t at = 2;
    for (Link& link : links_) {
      const pollfd& client = events[at++];
      const pollfd& server = events[at++];
      if ((client.revents & POLLOUT) != 0) link.down.blocked = false;
      if ((server.revents & POLLOUT) != 0) link.up.blocked = false;
      if ((client.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && may_read(link.up, up_stalled_)) read(link, link.up, link.client);
      if (!link.over && (server.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && may_read(link.down, down_stalled_)) {
        read(link, link.down, link.server);
      }
      if (!link.over && !up_stalled_ && !link.held) write(link, link.up, link.server);
      if (!link.over && !down_stalled_) write(link, link.down, link.client);
      if (!link.over) settle(link);
    }
  }

  static bool may_read(const Flow& flow, bool stalled) { return !stalled && !flow.ended && flow.queued < kQueuedBytes; }
  static short interest(const Flow& in, bool in_stalled, const Flow& out, bool out_stalled) {
    int events = may_read(in, in_stalled) ? POLLIN : 0;
    if (out.blocked && !out_stalled) events |= POLLOUT;
    return static_cast<short>(events);
  }

  /// Time until the next piece may pass; -1 when no piece waits for a time.
  int milliseconds_to_next() const {
    Time next = Time::max();
    for (const Link& link : links_) {
      for (const auto& [flow, stalled] : {std::pair{&link.up, up_stalled_ || link.held}, std::pair{&link.down, down_stalled_}}) {
        if (!stalled && !flow->blocked && !flow->chunks.empty())
          next = std::min(next, std::max(flow->chunks.front().due, flow->not_before));
      }
    }
    if (next == Time::max()) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(0, wait));
  }

  void accept() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    ++stats_.accepted;
    const int server = refusing_ ? -1 : connect();
    if (server < 0) {
      ::close(client);
      return;
    }
    links_.push_back({.client = client, .server = server});
  }

  /// Connects to the server; -1 if that fails.
  int connect() const {
    const bool local = !server_.unix_path.empty();
    const int fd = ::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = -1;
    if (local) {
      const sockaddr_un name = unix_name(server_.unix_path);
      result = ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name);
    } else {
      sockaddr_in name{};
      name.sin_family = AF_INET;
      name.sin_port = htons(server_.port);
      ::inet_pton(AF_INET, server_.host.c_str(), &name.sin_addr);
      result = ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name);
    }
    if (result == 0 && ::fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
    ::close(fd);
    return -1;
  }

  void read(Link& link, Flow& flow, int fd) {
    char buffer[64 * 1024];
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      flow.ended = true;
      return;
    }
    const std::string_view piece(buffer, static_cast<std::size_t>(got));
    if (chance_ > 0 && std::uniform_real_distribution<double>{}(random_) < chance_) return end(link);
    if (&flow == &link.down && link.swallows) return;
    if (&flow == &link.up && strikes(flow, piece)) {
      const bool reaches_server = faults_.front().reaches_server;
      faults_.pop_front();
      ++stats_.lost;
      if (!reaches_server) return end(link);
      link.swallows = true;
      link.down.chunks.clear();
      link.down.queued = 0;
    }
    flow.chunks.push_back({std::chrono::steady_clock::now() + delay_, std::string{piece}});
    flow.queued += piece.size();
  }

  /// True if the first fault's text occurs in the data.
  bool strikes(Flow& flow, std::string_view piece) {
    if (faults_.empty()) return false;
    Fault& fault = faults_.front();
    const std::string text = flow.tail + std::string{piece};
    std::size_t end = 0;
    for (std::size_t at = text.find(fault.text); at != std::string::npos; at = text.find(fault.text, end)) {
      if (fault.skipped == 0) return true;
      --fault.skipped;
      end = at + fault.text.size();
    }
    flow.tail = text.substr(std::max(end, text.size() - std::min(text.size(), fault.text.size() - 1)));
    return false;
  }

  void write(Link& link, Flow& flow, int fd) {
    const bool to_server = &flow == &link.up;
    while (!flow.chunks.empty() && !flow.blocked) {
      const Time now = std::chrono::steady_clock::now();
      Chunk& chunk = flow.chunks.front();
      if (now < std::max(chunk.due, flow.not_before)) return;
      // With a limit: sends what may pass in ten milliseconds, then pauses.
      const std::size_t most = bytes_per_second_ == 0 ? chunk.bytes.size() : std::max<std::size_t>(1, bytes_per_second_ / 100);
      const ssize_t sent = ::send(fd, chunk.bytes.data(), std::min(most, chunk.bytes.size()), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) flow.blocked = true;
      if (sent < 0 && errno != EAGAIN && errno != EINTR) link.over = true;
      if (link.over) return close(link);
      if (sent <= 0) return;
      const auto count = static_cast<std::size_t>(sent);
      (to_server ? stats_.bytes_to_server : stats_.bytes_to_client) += count;
      flow.queued -= count;
      if (bytes_per_second_ != 0) {
        flow.not_before = now + std::chrono::nanoseconds{
                                    static_cast<std::int64_t>(1e9 * static_cast<double>(count) / static_cast<double>(bytes_per_second_))};
      }
      if (count == chunk.bytes.size()) {
        flow.chunks.pop_front();
      } else {
        chunk.bytes.erase(0, count);
      }
    }
  }

  /// Ends the link when one side has closed and all of its data has passed.
  void settle(Link& link) {
    if (link.swallows) {
      // The server reads everything that was sent and then the end; it closes the connection after executing it.
      if (link.up.chunks.empty() && !link.shut) {
        ::shutdown(link.server, SHUT_WR);
        link.shut = true;
        link.up.ended = true;
      }
      if (link.down.ended) end(link);
      return;
    }
    const bool client_done = link.up.ended && link.up.chunks.empty();
    const bool server_done = link.down.ended && link.down.chunks.empty();
    if (!client_done && !server_done) return;
    link.over = true;
    close(link);
  }

  void end(Link& link) {
    if (link.over) return;
    ++stats_.cut;
    link.over = true;
    close(link);
  }
  static void close(Link& link) {
    for (int* const fd : {&link.client, &link.server}) {
      if (*fd >= 0) ::close(*fd);
      *fd = -1;
    }
  }

  void carry_out() {
    const std::lock_guard lock(mutex_);
    std::uint64_t ignored = 0;
    if (::read(wake_, &ignored, sizeof ignored) < 0) return;
    for (const std::function<void()>& order : orders_) order();
    carried_out_ += orders_.size();
    orders_.clear();
    done_.notify_all();
  }

  RedisAddress server_;
  TempFolder folder_;
  int wake_ = -1;
  int listener_ = -1;
  std::uint16_t port_ = 0;

  std::mutex mutex_;  // Guards the next four members.
  std::condition_variable done_;
  std::vector<std::function<void()>> orders_;
  std::size_t ordered_ = 0;
  std::size_t carried_out_ = 0;

  // Used by the proxy's thread only.
  std::list<Link> links_;
  std::deque<Fault> faults_;
  Stats stats_;
  bool ending_ = false;
  bool refusing_ = false;
  bool up_stalled_ = false;
  bool down_stalled_ = false;
  std::chrono::milliseconds delay_{0};
  std::size_t bytes_per_second_ = 0;
  double chance_ = 0;
  std::mt19937_64 random_;

  std::thread thread_;
};

}  // namespace rondo::redis_kit
