#include "worker/link.h"

#include <algorithm>
#include <utility>

#include "worker/limits.h"

namespace rondo::worker {

namespace {

namespace json = boost::json;

/// A server that does not answer for this time is left.
constexpr Duration kPatience = 30s;
/// The same if there is another server, and this one has not said welcome. A machine that is gone answers nothing.
constexpr Duration kPatienceOfSeveral = 5s;
/// A connection that lasted so long was a good one: the next pause is short.
constexpr Duration kGood = 10s;
constexpr Duration kFirstPause = 100ms;
/// The longest pause after a connection that was not, and after a server that takes no workers at present: a server that restarts twice, or
/// gets the jobs, is soon there.
constexpr Duration kShortPause = 1s;

}  // namespace

Status Link::connect() {
  Result<std::unique_ptr<AdminClient>> orders = servers_[server_]();
  if (!orders) return orders.error();
  Result<std::unique_ptr<AdminClient>> reports = servers_[server_]();
  if (!reports) return reports.error();
  orders_ = std::move(*orders);
  reports_ = std::move(*reports);
  return orders_->ask("worker-orders", events_.hello());
}

void Link::tick(Instant now) {
  if (now < next_) return;
  if (orders_ != nullptr) return leave({StatusCode::DeadlineExceeded, "the server does not answer"}, now);
  since_ = now;
  next_ = now + (servers_.size() > 1 ? kPatienceOfSeveral : kPatience);
  if (Status connected = connect(); !connected.ok()) leave(connected, now);
}

void Link::check(Instant now) {
  if (orders_ == nullptr) return;
  const auto ended = orders_->answer([this](const json::value& row) { take(row); });
  if (!fault_.ok()) return leave(std::exchange(fault_, {}), now);
  if (!ended) return leave(ended.error(), now);
  if (*ended) return leave({StatusCode::Unavailable, "the server ended the orders"}, now);
  if (!is_up_ && !session_.empty()) {
    is_up_ = true;
    next_ = Instant::never();
    events_.up();
  }
  if (!is_reporting_) return;
  const auto taken = reports_->answer();
  if (!taken) return leave(taken.error(), now);
  if (!*taken) return;
  is_reporting_ = false;
  next_ = Instant::never();
  events_.report_taken(**taken);
}

void Link::take(const json::value& row) {
  if (!fault_.ok()) return;
  const json::object* const order = row.if_object();
  if (order == nullptr || order->size() != 1) {
    fault_ = {StatusCode::DataLoss, "the server sent an order that is none"};
    return;
  }
  // Of another type, it lacks each member that its kind needs. An unknown kind may be of a later version.
  static const json::object kNoMembers;
  const json::object* const members = order->begin()->value().if_object();
  const json::object& what = members == nullptr ? kNoMembers : *members;
  const std::string_view kind{order->begin()->key()};
  if (kind == "welcome") {
    const json::value* const session = what.if_contains("session");
    if (session != nullptr && session->is_string() && session_.empty()) session_ = session->get_string().c_str();
    return;
  }
  if (session_.empty()) {
    fault_ = {StatusCode::DataLoss, "the server sent an order before its welcome"};
    return;
  }
  events_.order(kind, what);
}

void Link::add_to(std::vector<pollfd>& watched) const {
  for (const AdminClient* const client : {orders_.get(), reports_.get()}) {
    if (client == nullptr) continue;
    const int events = client->is_sending() ? POLLIN | POLLOUT : POLLIN;
    watched.push_back({.fd = client->fd(), .events = static_cast<short>(events), .revents = 0});
  }
}

void Link::report(json::array events, json::object more, Instant now) {
  is_reporting_ = true;
  next_ = now + kPatience;
  more["session"] = session_;
  more["events"] = std::move(events);
  const Status sent = reports_->ask("worker-report", more);
  if (!sent.ok()) leave(sent, now);
}

void Link::leave(const Status& why, Instant now) {
  const bool was_good = is_up_ && now - since_ >= kGood;
  const bool is_short = is_up_ || why.code() == StatusCode::FailedPrecondition;
  if (was_good || pause_ == Duration{0}) {
    pause_ = kFirstPause;
    failed_ = 0;
  } else if (++failed_ >= servers_.size()) {  // Each server has been tried.
    pause_ = std::min(pause_ * 2, is_short ? kShortPause : limits::kReconnectPause);
    failed_ = 0;
  }
  server_ = (server_ + 1) % servers_.size();
  orders_.reset();
  reports_.reset();
  session_.clear();
  is_up_ = is_reporting_ = false;
  next_ = now + pause_;
  events_.down(why, pause_);
}

}  // namespace rondo::worker
