// Which endpoints a direct table may have, and which of them leave this machine.
#pragma once

#include <string_view>

#include "rondo/base/status.h"

namespace rondo::store {

/// InvalidArgument unless it is tcp:// or ipc:// with something behind.
Status check_endpoint(std::string_view endpoint);
/// ipc, or tcp on 127.0.0.0/8, [::1], localhost or the interface lo. Names that would have to be resolved are not.
bool is_local(std::string_view endpoint) noexcept;
/// An IPv6 address in brackets. Others stay IPv4, which libzmq would otherwise spell as IPv6.
inline bool is_ipv6(std::string_view endpoint) noexcept { return endpoint.find('[') != endpoint.npos; }

}  // namespace rondo::store
