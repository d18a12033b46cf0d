// See feed.h. The row of a route is built in place: no allocation.
#include "feed/feed.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::feed {
namespace {

/// Writes begin, 'rows' and end. An error of the rows takes precedence over one of the end.
template <class Rows>
Status write_table(BulkSink& sink, std::string_view table, Rows rows) {
  if (Status begun = sink.begin(table); !begun.ok()) return begun;
  Status written = rows();
  Status ended = sink.end();
  return written.ok() ? ended : written;
}

template <class Visit>
Status each_family(Families families, Visit visit) {
  if (families.v4) {
    if (Status visited = visit(Family::V4); !visited.ok()) return visited;
  }
  return families.v6 ? visit(Family::V6) : Status{};
}

std::uint64_t family_count(Families families) noexcept { return (families.v4 ? 1U : 0U) + (families.v6 ? 1U : 0U); }

Status group_row(const NextHopPlan& plan, unsigned group, Family family, BulkSink& sink) {
  std::string addresses;
  std::string ports;
  for (unsigned k = group * kHopsPerGroup; k < (group + 1) * kHopsPerGroup; ++k) {
    const NextHop hop = NextHopPlan::hop(k, family);
    const std::string_view comma = addresses.empty() ? "" : ",";
    addresses.append(comma).append(hop.address);
    ports.append(comma).append(plan.port_name(hop.port));
  }
  const std::array<BulkField, 2> fields{BulkField{"nexthop", addresses}, BulkField{"ifname", ports}};
  return sink.row(BulkOp::Set, NextHopPlan::group_name(group, family), fields);
}

}  // namespace

Status feed_routes(std::span<const Route> routes, const NextHopPlan& plan, BulkSink& sink) {
  std::array<std::vector<std::string>, 2> names;  // Indexed by family.
  for (unsigned group = 0; group < plan.groups(); ++group) {
    names[0].push_back(NextHopPlan::group_name(group, Family::V4));
    names[1].push_back(NextHopPlan::group_name(group, Family::V6));
  }
  return write_table(sink, "ROUTE_TABLE", [&] {
    std::array<char, kPrefixText> text;
    for (const Route& route : routes) {
      const std::string_view key{text.data(), static_cast<std::size_t>(write_prefix(text.data(), route.prefix) - text.data())};
      const std::array<BulkField, 1> fields{BulkField{"nexthop_group", names[route.prefix.family == Family::V4 ? 0 : 1].at(route.group)}};
      Status written = route.withdrawn ? sink.row(BulkOp::Delete, key, {}) : sink.row(BulkOp::Set, key, fields);
      if (!written.ok()) return written;
    }
    return Status{};
  });
}

Status feed_groups(const NextHopPlan& plan, Families families, BulkSink& sink) {
  return write_table(sink, "NEXTHOP_GROUP_TABLE", [&] {
    return each_family(families, [&](Family family) {
      for (unsigned group = 0; group < plan.groups(); ++group) {
        if (Status written = group_row(plan, group, family, sink); !written.ok()) return written;
      }
      return Status{};
    });
  });
}

Status feed_neighbors(const NextHopPlan& plan, Families families, BulkSink& sink) {
  return write_table(sink, "NEIGH_TABLE", [&] {
    return each_family(families, [&](Family family) {
      for (unsigned k = 0; k < plan.hops(); ++k) {
        const NextHop hop = NextHopPlan::hop(k, family);
        const std::array<BulkField, 2> fields{BulkField{"neigh", hop.mac}, BulkField{"family", to_string(family)}};
        if (Status written = sink.row(BulkOp::Set, plan.port_name(hop.port) + ":" + hop.address, fields); !written.ok()) return written;
      }
      return Status{};
    });
  });
}

Status feed_interfaces(const NextHopPlan& plan, Families families, BulkSink& sink) {
  return write_table(sink, "INTF_TABLE", [&] {
    for (unsigned port = 0; port < kPorts; ++port) {
      const std::string name = plan.port_name(port);
      if (Status written = sink.row(BulkOp::Set, name, {}); !written.ok()) return written;
      Status addressed = each_family(families, [&](Family family) {
        const std::array<BulkField, 2> fields{BulkField{"scope", "global"}, BulkField{"family", to_string(family)}};
        return sink.row(BulkOp::Set, name + ":" + NextHopPlan::port_address(port, family), fields);
      });
      if (!addressed.ok()) return addressed;
    }
    return Status{};
  });
}

Status feed_ports(const NextHopPlan& plan, unsigned mtu, BulkSink& sink) {
  return write_table(sink, "PORT_TABLE", [&] {
    const std::string mtu_text = std::to_string(mtu);
    const std::array<BulkField, 2> fields{BulkField{"admin_status", "up"}, BulkField{"mtu", mtu_text}};
    for (unsigned port = 0; port < kPorts; ++port) {
      if (Status written = sink.row(BulkOp::Set, plan.port_name(port), fields); !written.ok()) return written;
    }
    return Status{};
  });
}

Status feed_all(std::span<const Route> routes, const NextHopPlan& plan, const Parts& parts, BulkSink& sink) {
  const Families families = families_of(routes);
  Status fed;
  if (parts.routes) fed = feed_routes(routes, plan, sink);
  if (fed.ok() && parts.groups) fed = feed_groups(plan, families, sink);
  if (fed.ok() && parts.neighbors) fed = feed_neighbors(plan, families, sink);
  if (fed.ok() && parts.interfaces) fed = feed_interfaces(plan, families, sink);
  if (fed.ok() && parts.ports) fed = feed_ports(plan, parts.mtu, sink);
  return fed;
}

std::uint64_t count_rows(std::span<const Route> routes, const NextHopPlan& plan, const Parts& parts) {
  const std::uint64_t families = family_count(families_of(routes));
  std::uint64_t rows = 0;
  if (parts.routes) rows += routes.size();
  if (parts.groups) rows += families * plan.groups();
  if (parts.neighbors) rows += families * plan.hops();
  if (parts.interfaces) rows += kPorts * (1 + families);
  if (parts.ports) rows += kPorts;
  return rows;
}

}  // namespace rondo::feed
