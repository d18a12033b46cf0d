// RouteEvents: a listener to the kernel's notifications about the routes and next hops of one program, on a separate thread: how many there
// were, and when each route was first added.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "dataplane/netlink/socket.h"
#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"

namespace rondo::demo {

class RouteEvents {
 public:
  /// Listens in this namespace from now on. 'protocol' is the number of the program.
  static Result<std::unique_ptr<RouteEvents>> start(const std::string& network_namespace, std::uint8_t protocol);
  ~RouteEvents() { stop(); }
  RouteEvents(const RouteEvents&) = delete;
  RouteEvents& operator=(const RouteEvents&) = delete;

  /// Notifications about routes and next hops of this protocol since the start.
  std::uint64_t count() const noexcept { return count_; }
  /// What the first of them said; call after stop().
  const std::string& first() const noexcept { return first_; }
  /// True if the kernel dropped notifications, because the listener was too slow.
  bool has_lost() const noexcept { return lost_; }
  /// Ends the thread. Idempotent.
  void stop();
  /// When each route was first added; call after stop().
  const std::map<Prefix, Instant>& added() const noexcept { return added_; }

 private:
  RouteEvents(netlink::Socket socket, std::uint8_t protocol) : socket_(std::move(socket)), protocol_(protocol) {}
  void run(const std::stop_token& stop);
  void note(const std::string& what);

  netlink::Socket socket_;
  const std::uint8_t protocol_;
  SystemClock clock_;
  std::map<Prefix, Instant> added_;  // Used by the thread until it ends.
  std::string first_;                // The first of added_.
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<bool> lost_ = false;
  std::jthread thread_;
};

}  // namespace rondo::demo
