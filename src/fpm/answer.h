// append_answer(): the frame that tells zebra that the data plane has a route: RTM_NEWROUTE with RTM_F_OFFLOAD, one message in a frame,
// because zebra reads only the first. zebra started with --asic-offload=notify_on_offload waits for it, and bgpd with `bgp
// suppress-fib-pending` announces a route only then. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/dataplane/ip.h"

namespace rondo::fpm {

/// A route that the data plane has.
struct Programmed {
  Prefix prefix;
  std::uint8_t protocol = 0;  // As zebra stated it.
  bool blackhole = false;
};

/// Appends the frame to 'stream'.
void append_answer(std::string& stream, const Programmed& route);

}  // namespace rondo::fpm
