// The numbers in the kernel's tables that rondod must leave to others.
#pragma once

#include <cstdint>

#include "rondo/base/status.h"

namespace rondo::daemon {

/// InvalidArgument if the number is another program's by rtnetlink.h, or by the sources of FRR.
Status check_protocol(std::uint8_t protocol);
/// InvalidArgument for a table of routes that the kernel itself writes.
Status check_table(std::uint32_t table);

}  // namespace rondo::daemon
