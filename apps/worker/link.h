// Link: the worker's connection to a server: one for orders, one for reports (docs/guide/run-commands.md). It connects again with growing
// pauses, to the next server if there are several: of schedulers that share a database, one takes workers. Never blocks longer than Connect
// does. Nothing that a server sends is trusted here: a malformed answer ends the connection.
#pragma once

#include <poll.h>

#include <boost/json.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/admin/client.h"
#include "rondo/base/time.h"

namespace rondo::worker {

/// Connects to the server, without waiting for a network. Errors of a network are those of the first call.
using Connect = std::function<Result<std::unique_ptr<AdminClient>>()>;

struct LinkEvents {
  std::function<boost::json::object()> hello;                                          // The arguments of worker-orders.
  std::function<void(std::string_view kind, const boost::json::object& order)> order;  // start, stop, log or check.
  std::function<void()> up;
  std::function<void(const Status& why, Duration pause)> down;  // 'pause': until the next attempt.
  std::function<void(const boost::json::object& answer)> report_taken;
};

class Link {
 public:
  /// 'servers' has at least one.
  Link(std::vector<Connect> servers, LinkEvents events) : servers_(std::move(servers)), events_(std::move(events)) {}

  /// Connects if it is time to.
  void tick(Instant now);
  /// Reads and writes what can be without waiting.
  void check(Instant now);
  void add_to(std::vector<pollfd>& watched) const;
  /// When tick() has something to do.
  Instant next() const noexcept { return next_; }
  bool is_up() const noexcept { return is_up_; }
  /// True if there is a connection, which may not be up yet.
  bool is_open() const noexcept { return orders_ != nullptr; }
  /// True if a report can be sent: it is up, and the last one was taken.
  bool can_report() const noexcept { return is_up_ && !is_reporting_; }
  /// 'more' are further arguments of worker-report.
  void report(boost::json::array events, boost::json::object more, Instant now);
  /// Within LinkEvents::order: the server does what it must not. The connection ends when the callback has returned.
  void blame(Status why) {
    if (fault_.ok()) fault_ = std::move(why);
  }

 private:
  void leave(const Status& why, Instant now);
  Status connect();
  void take(const boost::json::value& row);
  const std::vector<Connect> servers_;
  LinkEvents events_;
  std::unique_ptr<AdminClient> orders_;
  std::unique_ptr<AdminClient> reports_;
  std::string session_;
  Status fault_;  // Of the server, found in an order.
  bool is_up_ = false;
  bool is_reporting_ = false;
  Instant next_;   // The next attempt to connect, or the end of the patience.
  Instant since_;  // Of the connection.
  Duration pause_{0};
  std::size_t server_ = 0;  // The present one, or the next.
  std::size_t failed_ = 0;  // Since the pause grew.
};

}  // namespace rondo::worker
