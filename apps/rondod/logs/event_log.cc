#include "rondod/logs/event_log.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace rondo::daemon {

namespace {

/// The most lines per second about rejected changes; further ones are only counted.
constexpr std::uint32_t kRejectLines = 5;
/// Refused orders that are remembered, so that the same refusal is logged once.
constexpr std::size_t kRefusedKept = 1024;
/// In calls of check(), that is, seconds: between two lines about orders that were refused again, and until a refusal is logged again.
constexpr std::uint64_t kRefusedSummary = 60;
constexpr std::uint64_t kRefusedForgotten = 600;
/// The most ports that a line about withdrawn rows names.
constexpr std::size_t kNamedPorts = 3;
/// Devices that went whose names are kept.
constexpr std::size_t kNamesOfGone = 64;
/// From a change of a port's VRF to the event that the kernel has set the port down for it, at most. Both are sent by one system call.
constexpr Duration kMoveTakes = 1s;

/// The port that the text of the order names by its number; 0 if it names none.
IfIndex port_of(const Order& order) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.port; }) return one.port;
        return IfIndex{};
      },
      order);
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamedPorts); ++i) list.append(i == 0 ? "" : ", ").append(names[i]);
  if (names.size() > kNamedPorts) list.append(" and ").append(std::to_string(names.size() - kNamedPorts)).append(" more");
  return list;
}

}  // namespace

void EventLog::report_port(std::string_view message, const Port& port, Instant now) {
  const std::string state = port.carrier ? "up" : "down";
  log_.warn(message, {{"port", port.name}, {"was", state}, {"for_s", seconds(now - port.since)}});
  lost_ports_.push_back(port.name);
}

void EventLog::report_down(const Port& port, bool admin_up, Instant now) {
  if (admin_up) return report_port("port down", port, now);
  if (port.moved == Instant{} || now - port.moved > kMoveTakes) return report_port("port down, set down by its administrator", port, now);
  log_.info("port down, the kernel sets it down and up because its VRF changes", {{"port", port.name}});
  lost_ports_.push_back(port.name);
}

void EventLog::link(const LinkEvent& event, Instant now) {
  note_name(event);
  const auto known = ports_.find(event.port);
  if (event.removed) {
    if (known == ports_.end()) return;
    if (is_ours_(known->second.name)) report_port("port vanished", known->second, now);
    ports_.erase(known);
    return;
  }
  if (known == ports_.end()) {
    ports_[event.port] = {.name = event.name, .carrier = event.carrier, .since = now, .master = event.master};
    return;
  }
  Port& port = known->second;
  if (port.name != event.name) {
    const std::string old = std::exchange(port.name, event.name);
    if (is_ours_(old) || is_ours_(event.name)) {
      log_.warn("port renamed", {{"from", old}, {"to", event.name}});
      lost_ports_.push_back(old);
    }
  }
  if (std::exchange(port.master, event.master) != event.master) port.moved = now;
  if (port.carrier == event.carrier) return;
  if (!is_ours_(port.name)) {
    // A row may name the port by the time of its next event.
  } else if (event.carrier) {
    log_.info("port up", {{"port", port.name}, {"was", "down"}, {"for_s", seconds(now - port.since)}});
  } else {
    report_down(port, event.admin_up, now);
  }
  if (event.carrier) port.moved = {};  // The move is over.
  port.carrier = event.carrier;
  port.since = now;
}

void EventLog::rejected(const Change& change, const Status& why) {
  if (rejected_lines_ >= kRejectLines) {
    ++rejected_left_out_;
    return;
  }
  ++rejected_lines_;
  log_.warn("change rejected", {{"op", to_string(change.op())}, {"why", why}});
}

void EventLog::held_by_others(const switch_agent::Routes::HeldByOthers& held) {
  const std::size_t before = std::exchange(held_by_others_, held.routes);
  if (held.routes > before) {
    log_.warn("routes of other programs are in the place of rows, which wait: 'rondo why' names them",
              {{"rows", held.routes}, {"first", held.first}});
  } else if (held.routes == 0 && before != 0) {
    log_.info("no row is blocked by a route of another program any more", {{"rows", before}});
  }
}

void EventLog::held_by_others(const switch_agent::Fdb::HeldByOthers& held) {
  const std::size_t before = std::exchange(entries_held_, held.rows);
  if (held.rows > before) {
    log_.warn("entries that rondod must not replace are in the place of rows of FDB_TABLE, which wait: 'rondo why' names them",
              {{"rows", held.rows}, {"first", held.first}});
  } else if (held.rows == 0 && before != 0) {
    log_.info("no such entry is in the place of a row of FDB_TABLE any more", {{"rows", before}});
  }
}

/// An order that is refused again and again is logged once, and a burst of refusals fills only a few lines.
bool EventLog::is_worth_a_line(const Operation& operation) {
  const std::lock_guard lock(refused_mutex_);
  if (refused_orders_.size() >= kRefusedKept) refused_orders_.clear();
  const bool is_new = refused_orders_.emplace(to_string(operation.order), operation.status.origin_errno()).second;
  if (!is_new || refused_lines_ >= kRejectLines) {
    ++refused_left_out_;
    return false;
  }
  ++refused_lines_;
  return true;
}

void EventLog::report_refused_left_out() {
  const std::lock_guard lock(refused_mutex_);
  refused_lines_ = 0;
  ++refused_checks_;
  if (refused_checks_ % kRefusedForgotten == 0) refused_orders_.clear();
  if (refused_checks_ % kRefusedSummary != 0 || refused_left_out_ == 0) return;
  log_.warn("more orders were refused, or the same again: 'rondo health' counts the rows",
            {{"count", std::exchange(refused_left_out_, 0)}});
}

void EventLog::note_name(const LinkEvent& event) {
  const std::lock_guard lock(refused_mutex_);
  if (!event.removed) {
    names_[event.port] = event.name;
    return;
  }
  gone_.push_back(event.port);  // An order for a device that went may be refused afterwards.
  if (gone_.size() <= kNamesOfGone) return;
  names_.erase(gone_.front());
  gone_.pop_front();
}

std::string EventLog::name_of(IfIndex port) {
  const std::lock_guard lock(refused_mutex_);
  const auto name = names_.find(port);
  return name == names_.end() ? "an unknown device" : name->second;
}

void EventLog::refused(const Operation& operation) {
  // Such orders are retried, and their rows are foreign: see held_by_others().
  const bool waits_for_other = std::holds_alternative<RouteSet>(operation.order) || std::holds_alternative<FdbSet>(operation.order);
  if (operation.status.code() == StatusCode::AlreadyExists && waits_for_other) return;
  if (!is_worth_a_line(operation)) return;
  const int error = operation.status.origin_errno();
  const std::string text = error == 0 ? std::string{} : std::generic_category().message(error);
  const IfIndex port = port_of(operation.order);
  const std::string order = to_string(operation.order) + (port ? " (" + name_of(port) + ")" : "");
  log_.warn("the data plane refused an order",
            {{"order", order}, {"errno", static_cast<std::int64_t>(error)}, {"error", text}, {"why", operation.status}});
}

void EventLog::check(const std::vector<ConsumerStats>& consumers) {
  report_refused_left_out();
  if (const std::uint64_t more = std::exchange(rejected_left_out_, 0); more != 0) {
    log_.warn("more changes were rejected: 'rondo rejected' lists the rows", {{"count", more}});
  }
  rejected_lines_ = 0;
  if (const std::vector<std::string> up = std::exchange(set_up_, {}); !up.empty()) {
    log_.warn("the start set up devices that were down, because their rows ask for it", {{"count", up.size()}, {"devices", list_of(up)}});
  }
  std::vector<std::string> ports = std::exchange(lost_before_, lost_ports_);
  for (std::string& port : std::exchange(lost_ports_, {})) {
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(std::move(port));
  }
  for (const ConsumerStats& consumer : consumers) {
    if (!consumer.plane) continue;
    const std::size_t now = consumer.plane->withdrawn;
    const std::size_t before = std::exchange(withdrawn_[consumer.table], now);
    if (now > before && consumer.table == "FDB_TABLE" && ports.empty()) {
      // A row that made the port a member was deleted. What another program takes out is put back.
      log_.info("static entries of VLANs went with the membership of their ports, and wait for it", {{"rows", now - before}});
    } else if (now > before) {
      log_.warn("rows were withdrawn from the data plane: 'rondo why' says what each lacks",
                {{"table", consumer.table}, {"rows", now - before}, {"withdrawn", now}, {"ports", list_of(ports)}});
    } else if (now == 0 && before != 0) {
      log_.info("withdrawn rows are back in the data plane", {{"table", consumer.table}, {"rows", before}});
    }
  }
}

}  // namespace rondo::daemon
