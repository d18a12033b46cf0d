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
std::string held_words(const Ports::Port& port) {
  const std::string wanted = *port.wanted_up ? "up" : "down";
  return ": another program changed it, and its row asks for " + wanted + "; 'rondo set PORT_TABLE " + port.name +
         " admin_status=" + wanted + "' sets it " + wanted + " again";
}

}  // namespace

std::string Ports::trouble(std::string_view name) const {
  const auto it = ports_.find(name);
  const Port* const port = it == ports_.end() ? nullptr : &it->second;
  if (port == nullptr || !port->exists) {
    return "the kernel has no device named '" + std::string{name} + "'" + since_text(port == nullptr ? WallTime{} : port->exists_since);
  }
  const std::string held = port->is_held() ? held_words(*port) : std::string{};
  if (!port->admin_up) return "port " + port->name + " is administratively down" + since_text(port->admin_since) + held;
  if (!held.empty()) return "port " + port->name + " is administratively up" + since_text(port->admin_since) + held;
  if (!port->carrier) return "port " + port->name + " has no carrier" + since_text(port->carrier_since);
  return {};
}

RowInPlane Ports::state_of(std::string_view key) const {
  if (!is(key, &Port::configured)) return {};
  if (!is(key, &Port::exists)) return {PlaneState::Withdrawn, trouble(key), {{kDevice, std::string{key}}}};
  return {ports_.find(key)->second.is_held() ? PlaneState::Lost : PlaneState::Installed, trouble(key), {}};
}

PlaneCounts Ports::state_counts() const {
  PlaneCounts counts;
  for (const auto& [name, port] : ports_) {
    if (port.configured && port.exists) ++(port.is_held() ? counts.lost : counts.installed);
  }
  return counts;
}

}  // namespace rondo::switch_agent
