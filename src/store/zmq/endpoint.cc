#include "store/zmq/endpoint.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include "rondo/store/record.h"

namespace rondo::store {

namespace {
constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";

/// libzmq takes a number modulo 2^16, and ignores what follows it.
bool is_port(std::string_view text, EndpointUse use) {
  if (text == "*") return use == EndpointUse::Bind;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && (port != 0 || use == EndpointUse::Bind);
}
}  // namespace

Status check_endpoint(std::string_view endpoint, EndpointUse use) {
  const bool known = endpoint.starts_with(kTcp) || endpoint.starts_with(kIpc);
  if (!known || endpoint.size() == kTcp.size() || endpoint.find('\0') != endpoint.npos) {
    return {StatusCode::InvalidArgument, "endpoint " + quoted(endpoint) + ": a direct table has tcp://address:port or ipc://path"};
  }
  if (endpoint.starts_with(kIpc)) return {};
  const std::string_view place = endpoint.substr(kTcp.size());
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos && colon > 0 && is_port(place.substr(colon + 1), use)) return {};
  return {StatusCode::InvalidArgument, "endpoint " + quoted(endpoint) + ": its port is not a number from " +
                                           (use == EndpointUse::Bind ? "0 to 65535 (0 or *: any free one)" : "1 to 65535")};
}

bool is_local(std::string_view endpoint) noexcept {
  if (endpoint.starts_with(kIpc)) return true;
  if (!endpoint.starts_with(kTcp)) return false;
  endpoint.remove_prefix(kTcp.size());
  const std::string host{endpoint.substr(0, endpoint.rfind(':'))};
  if (host == "localhost" || host == "lo" || host == "[::1]") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace rondo::store
