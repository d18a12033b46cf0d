// For tests: frames that arrive at the ports of a Lab.
#pragma once

#include <net/if.h>
#include <netpacket/packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "dataplane/netlink/lab.h"
#include "rondo/dataplane/ip.h"

namespace rondo::netlink {

/// Sends a broadcast frame from this link address into the cable of the port.
inline Status send_frame(const Lab& lab, int port, const MacAddress& from) {
  const auto where = NetworkNamespace::open(lab.path());
  if (!where) return where.error();
  return where->inside([&]() -> Status {
    const int socket = ::socket(AF_PACKET, SOCK_RAW, 0);
    if (socket < 0) return status_from_errno(errno, "open a packet socket");
    std::array<std::uint8_t, 60> frame{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    std::copy(from.bytes.begin(), from.bytes.end(), frame.begin() + 6);
    frame[12] = 0x88;  // An experimental type (IEEE 802).
    frame[13] = 0xb5;
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(::if_nametoindex(("line" + std::to_string(port)).c_str()));
    const bool sent = ::sendto(socket, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) > 0;
    const Status status = sent ? Status{} : status_from_errno(errno, "send a frame");
    ::close(socket);
    return status;
  });
}

}  // namespace rondo::netlink
