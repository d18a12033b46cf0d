// Writes the rows of a fed routing table, in the tables and fields of SONiC's APPL_DB, into any BulkSink: the admin client's writer, a
// store, a test.
//   ROUTE_TABLE          <prefix>         {nexthop_group: <group>}                          or a Delete for a withdrawn route
//   NEXTHOP_GROUP_TABLE  <group>          {nexthop: "a,b,c,d", ifname: "p,q,r,s"}
//   NEIGH_TABLE          <port>:<address> {neigh: <mac>, family: IPv4 | IPv6}
//   INTF_TABLE           <port>           {}  and  <port>:<address/length> {scope: global, family: IPv4 | IPv6}
//   PORT_TABLE           <port>           {admin_status: up, mtu: <mtu>}
// Each function begins its table, writes its rows and ends it; the first error ends it early and is returned.
#pragma once

#include <cstdint>
#include <span>

#include "admin/bulk.h"
#include "feed/next_hops.h"
#include "feed/route.h"
#include "rondo/base/status.h"

namespace rondo::feed {

Status feed_routes(std::span<const Route> routes, const NextHopPlan& plan, BulkSink& sink);
Status feed_groups(const NextHopPlan& plan, Families families, BulkSink& sink);
Status feed_neighbors(const NextHopPlan& plan, Families families, BulkSink& sink);
Status feed_interfaces(const NextHopPlan& plan, Families families, BulkSink& sink);
Status feed_ports(const NextHopPlan& plan, unsigned mtu, BulkSink& sink);

/// The rows to write besides the routes. The order is always the hardest one: routes, groups, neighbours, interfaces, ports, so that each
/// row waits for a later one.
struct Parts {
  bool routes = true;
  bool groups = false;
  bool neighbors = false;
  bool interfaces = false;
  bool ports = false;
  unsigned mtu = 9100;
};
Status feed_all(std::span<const Route> routes, const NextHopPlan& plan, const Parts& parts, BulkSink& sink);

/// Rows that feed_all will write.
std::uint64_t count_rows(std::span<const Route> routes, const NextHopPlan& plan, const Parts& parts);

}  // namespace rondo::feed
