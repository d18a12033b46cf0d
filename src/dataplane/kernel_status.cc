// kernel_status.cc: the table of errors. Measured on Linux 6.18; each line is a contract test.
#include "dataplane/kernel_status.h"

#include <cerrno>
#include <string>

namespace rondo {

namespace {

// Linux answers EINVAL both for a missing next hop and for a malformed order; only its error text differs. If a kernel gives no text, an
// order that names a next hop has most likely lost it, because our own checks refuse malformed orders beforehand.
bool misses_nexthop(const Order& order, std::string_view words) noexcept {
  const auto* const route = std::get_if<RouteSet>(&order);
  if (route == nullptr && !std::holds_alternative<GroupSet>(order)) return false;
  if (words.empty()) return route == nullptr || route->type == RouteType::Unicast;
  return words.find("exthop id does not exist") != std::string_view::npos || words.find("nvalid nexthop id") != std::string_view::npos;
}

// A next hop on a missing device is EINVAL, too. So is a VRF or a bridge that is missing; other refusals to put a port into a device have a
// text.
bool misses_port(const Order& order, std::string_view words) noexcept {
  const auto* const link = std::get_if<LinkSet>(&order);
  if (link != nullptr && words.empty()) return link->master && *link->master;
  if (std::holds_alternative<TaggedPortSet>(order) && words.empty()) return true;
  return words.find("Invalid device index") != std::string_view::npos;
}

// IPv4 and IPv6 have texts of their own.
bool misses_source(const Order& order, std::string_view words) noexcept {
  const auto* const route = std::get_if<RouteSet>(&order);
  return route != nullptr && route->has_source() &&
         (words.find("nvalid prefsrc address") != std::string_view::npos || words.find("nvalid source address") != std::string_view::npos);
}

StatusCode classify(const Order& order, int error_number, std::string_view words) noexcept {
  switch (error_number) {
    case ESRCH:
    case ENOENT:
    case EADDRNOTAVAIL:
      return is_delete(order) || std::holds_alternative<GroupSet>(order) ? StatusCode::NotFound : StatusCode::FailedPrecondition;
    case ENODEV:
    case ENXIO: return is_delete(order) ? StatusCode::NotFound : StatusCode::FailedPrecondition;
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EBUSY:
    case ENOTEMPTY: return StatusCode::FailedPrecondition;  // ENOTEMPTY: the bond still has ports.
    case EPERM:
      // Another program has set the port up between our orders.
      if (words.find("enslaved while up") != std::string_view::npos) return StatusCode::FailedPrecondition;
      return status_from_errno(error_number, {}).code();
    case EINVAL:
      return misses_nexthop(order, words) || misses_port(order, words) || misses_source(order, words) ? StatusCode::FailedPrecondition
                                                                                                      : StatusCode::InvalidArgument;
    case ELOOP: return StatusCode::InvalidArgument;  // A bridge in a bridge.
    case EOPNOTSUPP:                                 // The port of the entry is in no bridge.
      if (std::holds_alternative<FdbSet>(order)) return StatusCode::FailedPrecondition;
      return std::holds_alternative<FdbDelete>(order) ? StatusCode::NotFound : StatusCode::Unimplemented;
    default: return status_from_errno(error_number, {}).code();
  }
}

struct Name {
  std::uint8_t number;
  const char* name;
};

/// The program of the number; null if it is none of those of /etc/iproute2/rt_protos.
const char* program_of(std::uint8_t protocol) {
  constexpr Name kNames[] = {{1, "redirect"}, {2, "kernel"}, {3, "boot"},   {4, "static"}, {8, "gated"},    {9, "ra"},
                             {11, "zebra"},   {12, "bird"},  {14, "xorp"},  {16, "dhcp"},  {17, "mrouted"}, {18, "keepalived"},
                             {42, "babel"},   {186, "bgp"},  {187, "isis"}, {188, "ospf"}, {189, "rip"},    {192, "eigrp"}};
  for (const Name& one : kNames) {
    if (one.number == protocol) return one.name;
  }
  return nullptr;
}

}  // namespace

std::string protocol_words(std::uint8_t protocol) {
  const std::string number = std::to_string(protocol);
  const char* const program = program_of(protocol);
  return program == nullptr ? "protocol " + number : std::string{"protocol "} + program + " (" + number + ")";
}

std::string former_number_words(std::uint8_t protocol) {
  if (program_of(protocol) != nullptr) return {};
  const std::string number = std::to_string(protocol);
  return "; if that was rondod's own number before [dataplane] protocol was changed, set protocol = " + number +
         " again, or remove what it left: 'ip route flush table all proto " + number +
         "', the same of 'ip -6', and 'ip nexthop flush proto " + number + "'";
}

std::string held_words(std::uint8_t protocol) { return "held by a route of " + protocol_words(protocol); }
std::string held_nexthop_words(std::uint8_t protocol) { return "held by a next hop or group of " + protocol_words(protocol); }

Status status_from_kernel(const Order& order, int error_number, std::string_view words) {
  const StatusCode code = classify(order, error_number, words);
  if (words.empty()) return Status{code, std::string{status_from_errno(error_number, to_string(order)).message()}, error_number};
  while (!words.empty() && (words.back() == '.' || words.back() == '\0')) words.remove_suffix(1);
  std::string message = to_string(order).append(": ");
  if (misses_source(order, words)) message.append(kNoSource).append(": ");
  return Status{code, message.append(words), error_number};
}

}  // namespace rondo
