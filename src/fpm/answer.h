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
  std::string vrf = {};  // Empty: the default VRF.
};

/// Appends the frame to 'stream'. 'vrf' is zebra's number of the route's VRF: 0 for the default one, for others the index of its device.
void append_answer(std::string& stream, const Programmed& route, std::uint32_t vrf);

}  // namespace rondo::fpm
