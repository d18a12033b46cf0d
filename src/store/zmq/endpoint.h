// The endpoints that a direct table may have, and which of them are local to this machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo::store {

enum class EndpointUse : std::uint8_t { Bind, Connect };

/// InvalidArgument unless the endpoint is ipc:// followed by a path, or tcp:// followed by an address and a port from 1 to 65535. To bind,
/// the port may also be 0 or *.
Status check_endpoint(std::string_view endpoint, EndpointUse use);
/// True for ipc, and for tcp on 127.0.0.0/8, [::1], localhost or the interface lo. A name that must be resolved is not local.
bool is_local(std::string_view endpoint) noexcept;
/// True for an IPv6 address in brackets. For other endpoints IPv6 stays off, because libzmq would otherwise print them as IPv6.
inline bool is_ipv6(std::string_view endpoint) noexcept { return endpoint.find('[') != endpoint.npos; }

}  // namespace rondo::store
