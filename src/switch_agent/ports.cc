#include "switch_agent/ports.h"

#include <algorithm>
#include <utility>

#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/limits.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

Ports::Ports(Runtime& runtime, Programmer& programmer, PortIds& ids, MtuRows& mtus)
    : Orch(runtime, "ports", kPorts), programmer_(programmer), ids_(ids), mtus_(mtus) {
  consume("PORT_TABLE", this, &Ports::set, &Ports::remove, {.set_replaces_delete = true});
  provide(kDevice, [this](std::string_view name) { return is(name, &Port::exists); });
  provide(kPort, [this](std::string_view name) { return is(name, &Port::configured) && is(name, &Port::exists); });
  provide(kAdminUp, [this](std::string_view name) { return is(name, &Port::admin_up); });
  provide(kCarrier, [this](std::string_view name) { return is(name, &Port::carrier); });
  runtime.explain(kDevice, [this](std::string_view name) { return FactOrigin{"", "", trouble(name)}; });
  for (const FactKind kind : {kAdminUp, kCarrier}) {
    runtime.explain(kind, [this](std::string_view name) { return FactOrigin{"PORT_TABLE", std::string{name}, trouble(name)}; });
  }
  provide(kIpv6Mtu, [this](std::string_view name) { return has_ipv6_mtu(name); });
  runtime.explain(kIpv6Mtu, [this](std::string_view name) { return FactOrigin{"", "", small_mtu_words(name, ids_.mtu(name))}; });
  ids_.on_master([this](const std::string& name, IfIndex before, IfIndex now) { state_master(name, before, now); });
  provide(kInDevice, [this](std::string_view key) {
    const std::size_t colon = key.find(':');
    return colon != std::string_view::npos && ids_.is_in(key.substr(0, colon), key.substr(colon + 1));
  });
  runtime.explain(kPort, [](std::string_view name) { return FactOrigin{"PORT_TABLE", std::string{name}, ""}; });
}

bool Ports::is(std::string_view name, bool Port::*what) const {
  const auto it = ports_.find(name);
  return it != ports_.end() && it->second.*what;
}

bool Ports::has_ipv6_mtu(std::string_view name) const {
  const auto it = ports_.find(name);
  return it != ports_.end() && it->second.exists && it->second.mtu >= kIpv6LeastMtu;
}

Outcome Ports::set(std::string_view key, const Fields& fields) {
  if (key == "PortConfigDone" || key == "PortInitDone") return Outcome::done();  // SONiC's end marks; the facts make them unnecessary.
  if (Status name = check_port_key(key); !name.ok()) return Outcome::reject_key(std::move(name));
  const Result<PortRow> row = parse_port(fields);
  if (!row) return Outcome::reject(row.error());
  const std::string name{key};
  ports_[name].name = name;
  ports_[name].has_row = true;
  if (!is(name, &Port::exists)) {
    if (ports_[name].missing_since == Instant{}) ports_[name].missing_since = runtime().scheduler().now();
    refusals_.forget(name);
    return Outcome::wait_for({kDevice, name});
  }
  const MtuRows::Mtu before = mtus_.port_row(name);
  mtus_.set_port_row(name, row->mtu);
  // A bond of an earlier run: the row that puts the port into it may still come, and then its MTU is that of the LAG.
  const bool is_in_lag = is_lag_name(ids_.name(ids_.device(name).master));
  const LinkSet order{ports_[name].id, row->admin_up, is_in_lag ? std::nullopt : mtus_.wanted(name)};
  const bool was_up = ports_[name].admin_up;
  program(programmer_, order, [this, ticket = current_ticket(), name, order, was_up, before](const Status& status) {
    Outcome outcome = set_answered(name, order, was_up, status);
    if (outcome.kind() == Outcome::Kind::Reject) mtus_.set_port_row(name, before);
    settle(ticket, refusals_.note(name, std::move(outcome)));
  });
  return Outcome::staged();
}

/// A device that was removed and created again has lost what was set, so its row is handled again.
Outcome Ports::set_answered(const std::string& name, const LinkSet& order, bool was_up, const Status& status) {
  if (!status.ok()) return outcome_of_set(status);
  if (ids_.find(name) != order.port) return outcome_of_set(device_changed(name));
  Port& port = ports_[name];
  port.configured = true;
  port.wanted_up = order.up;
  ids_.set_wanted_up(name, order.up);
  port.was_as_wanted = order.up == port.admin_up;
  if (on_set_up_ && !was_up && order.up == true) on_set_up_(name);
  announce({kPort, name});
  return Outcome::done_while({kDevice, name});
}

Outcome Ports::remove(std::string_view key) {
  refusals_.forget(key);
  const auto it = ports_.find(key);
  if (it == ports_.end()) return Outcome::done();
  if (it->second.configured) {
    const Fact unused{kPortUnused, std::string{key}};
    const Fact in_no_vlan{kInNoVlan, std::string{key}};
    if (!holds(unused)) return Outcome::wait_for(unused);
    if (!holds(in_no_vlan)) return Outcome::wait_for(in_no_vlan);
    const Fact in_no_lag{kInNoLag, std::string{key}};
    if (!holds(in_no_lag)) return Outcome::wait_for(in_no_lag);
    it->second.configured = false;
    it->second.wanted_up.reset();
    ids_.set_wanted_up(it->first, std::nullopt);
    mtus_.set_port_row(key, std::nullopt);
    withdraw({kPort, std::string{key}});
  }
  it->second.has_row = false;
  forget_if_dead(key);
  return Outcome::done();
}

void Ports::link_event(const LinkEvent& event) {
  forget_old_name(event);
  if (event.removed) {
    const auto it = ports_.find(event.name);
    // Otherwise the event belongs to an earlier device of the same name.
    if (it != ports_.end() && it->second.id == event.port) device_gone(it->second);
    return forget_if_dead(event.name);
  }
  Port& port = ports_[event.name];
  port.name = event.name;
  const bool is_new = !port.exists || port.id != event.port;
  const WallTime now = runtime().clock().wall_now();
  if (is_new) port.exists_since = now;
  if (is_new || port.admin_up != event.admin_up) port.admin_since = now;
  if (is_new || port.carrier != event.carrier) port.carrier_since = now;
  if (is_new && port.exists) {  // Another device has the name: the earlier one was removed, or its new name is not reported yet.
    if (on_name_left_) on_name_left_(port.name, port.id);
    device_gone(port);
  }
  const bool was_admin_up = port.admin_up;
  const bool had_carrier = port.carrier;
  const bool had_ipv6_mtu = has_ipv6_mtu(port.name);
  port.id = event.port;
  port.exists = true;
  port.admin_up = event.admin_up;
  port.carrier = event.carrier;
  port.mtu = event.mtu;
  port.was_as_wanted = port.was_as_wanted || port.wanted_up == port.admin_up;
  ids_.set(event.name, event.port);
  ids_.set_device(event.name, event);
  ids_.set_master(event.name, event.master);
  if (is_new && ids_.device(event.name).is_holder()) state_ports_of(event.name, event.port, true);
  ids_.set_mtu(event.name, event.mtu);
  mtus_.reported(event.name, event.mtu);
  if (is_new) {
    announce({kDevice, event.name});
    if (port.configured) announce({kPort, event.name});
  }
  if (const bool has = has_ipv6_mtu(port.name); has != had_ipv6_mtu) {
    has ? announce({kIpv6Mtu, port.name}) : withdraw({kIpv6Mtu, port.name});
  }
  state_facts(port, was_admin_up, had_carrier);
  if (had_carrier != port.carrier) {
    ++port.carrier_changes;
    note_handled(port);
    event_wait_ns_.add(static_cast<std::uint64_t>((runtime().clock().now() - event.seen).count()));
  }
}

void Ports::state_master(const std::string& name, IfIndex before, IfIndex now) {
  if (const std::string_view left = ids_.name(before); !left.empty()) withdraw({kInDevice, name + ":" + std::string{left}});
  if (const std::string_view entered = ids_.name(now); !entered.empty()) announce({kInDevice, name + ":" + std::string{entered}});
}

/// Called when a VRF, a bridge or a bond appears under this name or goes: its ports may be known already, or still.
void Ports::state_ports_of(const std::string& holder, IfIndex device, bool begins) {
  std::vector<std::string> in_it;
  ids_.for_each_device([&](const std::string& name, const PortIds::Device& one) {
    if (one.master == device) in_it.push_back(name + ":" + holder);
  });
  for (const std::string& key : in_it) begins ? announce({kInDevice, key}) : withdraw({kInDevice, key});
}

void Ports::state_facts(Port& port, bool was_admin_up, bool had_carrier) {
  // Withdraw before announcing, and in top-down order: an observer of both facts sees the carrier end first and return last.
  if (had_carrier && !port.carrier) withdraw({kCarrier, port.name});
  if (was_admin_up != port.admin_up) ids_.set_up(port.name, port.admin_up);
  if (was_admin_up && !port.admin_up) withdraw({kAdminUp, port.name});
  if (!was_admin_up && port.admin_up) announce({kAdminUp, port.name});
  if (!had_carrier && port.carrier) announce({kCarrier, port.name});
}

void Ports::forget_old_name(const LinkEvent& event) {
  std::string& name = names_[event.port];
  if (!name.empty() && name != event.name) {
    const auto it = ports_.find(name);  // The device was renamed.
    if (it != ports_.end() && it->second.id == event.port && it->second.exists) {
      if (on_name_left_ && !event.removed) on_name_left_(name, event.port);
      device_gone(it->second);
    }
    forget_if_dead(name);
  }
  name = event.name;
  if (event.removed) names_.erase(event.port);
}

void Ports::device_gone(Port& port) {
  if (!port.exists) return;
  const bool was_admin_up = std::exchange(port.admin_up, false);
  const bool had_carrier = std::exchange(port.carrier, false);
  const bool had_ipv6_mtu = has_ipv6_mtu(port.name);
  const PortIds::Device device = ids_.device(port.name);
  port.exists = false;
  port.missing_since = runtime().scheduler().now();
  port.exists_since = runtime().clock().wall_now();
  ids_.set_master(port.name, {});
  ids_.erase(port.name);
  if (device.is_holder()) state_ports_of(port.name, port.id, false);
  mtus_.device_gone(port.name);
  state_facts(port, was_admin_up, had_carrier);
  if (had_ipv6_mtu) withdraw({kIpv6Mtu, port.name});
  if (port.configured) withdraw({kPort, port.name});
  withdraw({kDevice, port.name});
}

/// Removes a port that has no device and no row: container devices appear and disappear, and must not accumulate.
void Ports::forget_if_dead(std::string_view name) {
  const auto it = ports_.find(name);
  if (it != ports_.end() && !it->second.exists && !it->second.has_row) ports_.erase(it);
}

void Ports::note_handled(const Port& port) {
  const Handled handled{next_sequence_, port.name, port.carrier, runtime().clock().now()};
  if (handled_.size() < limits::kCarrierChanges) {
    handled_.push_back(handled);
  } else {
    handled_[(next_sequence_ - 1) % limits::kCarrierChanges] = handled;  // Numbers begin with 1.
  }
  ++next_sequence_;
}

std::vector<Ports::Handled> Ports::handled_since(std::uint64_t sequence) const {
  std::vector<Handled> found;
  for (const Handled& handled : handled_) {
    if (handled.sequence > sequence) found.push_back(handled);
  }
  std::ranges::sort(found, {}, &Handled::sequence);
  return found;
}

std::vector<Drift> Ports::differences() const {
  std::vector<Drift> found;
  const auto add = [this, &found](const char* table, const std::string& key, const LinkSet& wanted, const LinkSet& actual) {
    found.push_back({.kind = DriftKind::Changed,
                     .object = {},
                     .table = table,
                     .key = key,
                     .wanted = ids_.named(to_string(wanted)),
                     .actual = ids_.named(to_string(actual))});
  };
  for (const auto& [name, port] : ports_) {
    if (!port.exists || !port.configured) continue;
    const LinkSet actual{port.id, port.admin_up, port.mtu};
    const MtuRows::Mtu wanted_mtu = mtus_.wanted(name);
    const bool is_up = !port.wanted_up || *port.wanted_up == port.admin_up;
    const bool has_mtu = !wanted_mtu || *wanted_mtu == port.mtu;
    const bool is_of_interface = mtus_.interface_row(name).has_value();
    if (!is_up || (!has_mtu && !is_of_interface)) add("PORT_TABLE", name, {port.id, port.wanted_up, wanted_mtu}, actual);
    if (!has_mtu && is_of_interface) add("INTF_TABLE", name, {port.id, {}, wanted_mtu}, actual);
  }
  return found;
}

const Ports::Port* Ports::find(std::string_view name) const {
  const auto it = ports_.find(name);
  return it == ports_.end() ? nullptr : &it->second;
}

std::vector<std::string> Ports::without_device(Instant since) const {
  std::vector<std::string> found;
  for (const auto& [name, port] : ports_) {
    if (port.has_row && !port.exists && (port.configured || port.missing_since <= since)) found.push_back(name);
  }
  return found;
}

std::vector<Ports::Port> Ports::ports() const {
  std::vector<Port> all;
  for (const auto& [name, state] : ports_) all.push_back(state);
  return all;
}

}  // namespace rondo::switch_agent
