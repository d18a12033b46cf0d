// The states of PORT_TABLE rows in the data plane, and what prevents the use of a port.
#include <array>
#include <ctime>

#include "switch_agent/facts.h"
#include "switch_agent/ports.h"
#include "switch_agent/since.h"

namespace rondo::switch_agent {

std::string since_text(WallTime time) {
  if (time == WallTime{}) return {};
  const std::time_t calendar = time.nanoseconds() / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&calendar, &parts);
  std::array<char, 40> buffer{};
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), " since %Y-%m-%dT%H:%M:%SZ", &parts)};
}

namespace {

/// Explains why the port keeps its status, and how to change that.
std::string overridden_words(const Ports::Port& port) {
  const std::string wanted = *port.wanted_up ? "up" : "down";
  return ": another program changed it, and its row asks for " + wanted + "; 'rondo set PORT_TABLE " + port.name +
         " admin_status=" + wanted + "' sets it " + wanted + " again";
}

}  // namespace

std::string Ports::trouble(std::string_view name) const {
  if (!has_begun_) return "the switch was not started, so no device is known (Switch::start)";
  const auto it = ports_.find(name);
  const Port* const port = it == ports_.end() ? nullptr : &it->second;
  if (port == nullptr || !port->exists) {
    return "the kernel has no device named '" + std::string{name} + "'" + since_text(port == nullptr ? WallTime{} : port->exists_since);
  }
  const std::string held = port->is_overridden() ? overridden_words(*port) : std::string{};
  if (!port->admin_up) return "port " + port->name + " is administratively down" + since_text(port->admin_since) + held;
  if (!held.empty()) return "port " + port->name + " is administratively up" + since_text(port->admin_since) + held;
  if (!port->carrier) return "port " + port->name + " has no carrier" + since_text(port->carrier_since);
  return {};
}

RowInPlane Ports::state_of(std::string_view key) const {
  if (const Status* const why = refusals_.why(key)) return {PlaneState::Refused, std::string{why->message()}, {}};
  if (!is(key, &Port::configured)) return {};
  if (!is(key, &Port::exists)) return {PlaneState::Withdrawn, trouble(key), {{kDevice, std::string{key}}}};
  const Port& port = ports_.find(key)->second;
  std::string note = trouble(key);
  const auto add = [&note](const std::string& words) { note.append(note.empty() ? "" : "; ").append(words); };
  if (mtus_.interface_row(key)) {
    if (mtus_.port_row(key) && mtus_.port_row(key) != mtus_.interface_row(key)) add("its MTU is set by INTF_TABLE " + port.name);
  } else if (mtus_.is_changed(key)) {
    add(mtus_.trouble(key));
  }
  return {is_lost(port) ? PlaneState::Lost : PlaneState::Installed, std::move(note), {}};
}

/// True if another program changed what the port's row asks for.
bool Ports::is_lost(const Port& port) const {
  return port.is_overridden() || (!mtus_.interface_row(port.name) && mtus_.is_changed(port.name));
}

PlaneCounts Ports::state_counts() const {
  PlaneCounts counts{.refused = refusals_.count()};
  for (const auto& [name, port] : ports_) {
    if (port.configured && port.exists) ++(is_lost(port) ? counts.lost : counts.installed);
  }
  return counts;
}

}  // namespace rondo::switch_agent
