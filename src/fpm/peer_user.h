// The user whose program has the other end of a TCP connection within this machine.
#pragma once

#include <cstdint>

#include "rondo/base/result.h"

namespace rondo::fpm {

/// Asks the kernel (sock_diag(7)) for the owner of the socket at the other end of `connection`, within the network namespace of the caller.
/// NotFound: no socket of this namespace is the other end. Unavailable: it has been closed, and then its owner is not known any more.
/// Unimplemented: this kernel does not answer such questions. It does not block.
Result<std::uint32_t> user_at_other_end(int connection);

}  // namespace rondo::fpm
