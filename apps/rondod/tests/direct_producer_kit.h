// For tests: a producer in this process that feeds a rondod's direct tables. Its scheduler runs only while the test waits. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/zmq_client.h"

namespace rondo::daemon {

class DirectProducer {
 public:
  explicit DirectProducer(ZmqClientOptions options) : client_(std::move(*ZmqClient::open(scheduler_, std::move(options)))) {}

  ZmqClient& client() noexcept { return *client_; }
  ZmqTable table(std::string_view name) { return *client_->table("APPL_DB", name); }
  /// Writes a route with all rows that it needs, the route first.
  void write_all() {
    (void)table("ROUTE_TABLE").set("192.168.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
    (void)table("NEIGH_TABLE").set("swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}, {"family", "IPv4"}});
    (void)table("INTF_TABLE").set("swp1:10.0.0.1/24", {{"scope", "global"}, {"family", "IPv4"}});
    (void)table("INTF_TABLE").set("swp1", {});
    (void)table("PORT_TABLE").set("swp1", {{"admin_status", "up"}, {"mtu", "9100"}});
  }
  /// Runs turns until 'done()'; returns false after 20 seconds.
  bool until(const std::function<bool()>& done) {
    for (const Instant deadline = clock_.now() + 20s; clock_.now() < deadline;) {
      scheduler_.run_until_idle();
      if (done()) return true;
    }
    return false;
  }

 private:
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::unique_ptr<ZmqClient> client_;
};

}  // namespace rondo::daemon
