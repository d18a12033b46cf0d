#include "rondo-demo/frr/route_events.h"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <vector>

#include "dataplane/netlink/decode.h"

namespace rondo::demo {

Result<std::unique_ptr<RouteEvents>> RouteEvents::start(const std::string& network_namespace, std::uint8_t protocol) {
  auto where = netlink::NetworkNamespace::open(network_namespace);
  if (!where) return failure(where.error());
  // A notification takes 1,280 bytes of the buffer, and zebra makes as many as rondod.
  auto socket = netlink::Socket::open(
      *where, {.receive_buffer_bytes = 512 << 20, .groups = {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP}});
  if (!socket) return failure(socket.error());
  std::unique_ptr<RouteEvents> events{new RouteEvents(std::move(*socket), protocol)};
  events->thread_ = std::jthread([self = events.get()](const std::stop_token& stop) { self->run(stop); });
  return events;
}

void RouteEvents::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void RouteEvents::note(const std::string& what) {
  if (count_++ == 0) first_ = what;
}

void RouteEvents::run(const std::stop_token& stop) {
  std::vector<std::byte> buffer(netlink::kDatagramBytes);
  while (!stop.stop_requested()) {
    const auto datagram = socket_.receive(buffer, 50ms);
    if (!datagram) {
      lost_ = true;
      continue;
    }
    const Instant now = clock_.now();
    netlink::MessageReader messages{*datagram};
    for (netlink::Message message; messages.next(message);) {
      const std::uint16_t type = message.header.nlmsg_type;
      if (type == RTM_NEWNEXTHOP || type == RTM_DELNEXTHOP) {
        const auto header = netlink::read_front<nhmsg>(message.payload);
        if (header && header->nh_protocol == protocol_) note(type == RTM_NEWNEXTHOP ? "a next hop set" : "a next hop deleted");
        continue;
      }
      const auto route = netlink::decode_route_holder(message);
      if (!route || route->protocol != protocol_) continue;
      note((type == RTM_NEWROUTE ? "route set: " : "route deleted: ") + route->prefix.to_string());
      if (type == RTM_NEWROUTE) added_.emplace(route->prefix, now);
    }
  }
}

}  // namespace rondo::demo
