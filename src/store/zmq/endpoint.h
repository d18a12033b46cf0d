// The endpoints that a direct table may have, and which of them are local to this machine.
#pragma once

#include <string_view>

#include "rondo/base/status.h"

namespace rondo::store {

/// InvalidArgument unless the endpoint is tcp:// or ipc:// followed by an address.
Status check_endpoint(std::string_view endpoint);
/// True for ipc, and for tcp on 127.0.0.0/8, [::1], localhost or the interface lo. A name that must be resolved is not local.
bool is_local(std::string_view endpoint) noexcept;
/// True for an IPv6 address in brackets. For other endpoints IPv6 stays off, because libzmq would otherwise print them as IPv6.
inline bool is_ipv6(std::string_view endpoint) noexcept { return endpoint.find('[') != endpoint.npos; }

}  // namespace rondo::store
