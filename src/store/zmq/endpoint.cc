#include "store/zmq/endpoint.h"

#include <arpa/inet.h>

#include <string>

#include "rondo/store/record.h"

namespace rondo::store {

namespace {
constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
}  // namespace

Status check_endpoint(std::string_view endpoint) {
  const bool known = endpoint.starts_with(kTcp) || endpoint.starts_with(kIpc);
  if (known && endpoint.size() > kTcp.size() && endpoint.find('\0') == endpoint.npos) return {};
  return {StatusCode::InvalidArgument, "endpoint " + quoted(endpoint) + ": a direct table has tcp://address:port or ipc://path"};
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
