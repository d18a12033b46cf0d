#include "switch_agent/row_check.h"

#include "switch_agent/schema.h"
#include "switch_agent/tables.h"

namespace rondo::switch_agent {

namespace {

template <class T>
Status status_of(const Result<T>& parsed) {
  return parsed ? Status{} : parsed.error();
}

Status check_port(std::string_view key, const Fields& fields) {
  if (key == "PortConfigDone" || key == "PortInitDone") return {};
  if (Status name = check_port_key(key); !name.ok()) return name;
  return status_of(parse_port(fields));
}

Status check_vlan(std::string_view key, const Fields& fields) {
  if (const auto parsed = parse_vlan_name(key); !parsed) return parsed.error();
  return status_of(parse_vlan(fields));
}

Status check_vlan_member(std::string_view key, const Fields& fields) {
  if (const auto parsed = parse_vlan_member_key(key); !parsed) return parsed.error();
  return status_of(parse_tagged(fields));
}

Status check_lag(std::string_view key, const Fields& fields) {
  if (Status name = check_lag_name(key); !name.ok()) return name;
  return status_of(parse_lag(fields));
}

Status check_lag_member(std::string_view key, const Fields& fields) {
  if (const auto parsed = parse_lag_member_key(key); !parsed) return parsed.error();
  return status_of(parse_lag_member(fields));
}

Status check_interface(std::string_view key, const Fields& fields) {
  if (const auto parsed = parse_interface_key(key); !parsed) return parsed.error();
  return status_of(parse_interface(fields));
}

Status check_neighbor(std::string_view key, const Fields& fields) {
  const auto parsed = parse_neighbor_key(key);
  return parsed ? status_of(parse_neighbor(*parsed, fields)) : parsed.error();
}

Status check_route(std::string_view key, const Fields& fields) {
  const auto parsed = parse_route_key(key);
  if (!parsed) return parsed.error();
  const auto row = parse_route(fields);
  return row ? check_families(parsed->prefix, *row) : row.error();
}

Status check_fdb(std::string_view key, const Fields& fields) {
  if (const auto parsed = parse_fdb_key(key); !parsed) return parsed.error();
  return status_of(parse_fdb(fields));
}

}  // namespace

Status check_row(std::string_view table, std::string_view key, const Fields& fields) {
  if (table == "PORT_TABLE") return check_port(key, fields);
  if (table == "VRF_TABLE") return check_vrf_name(key);
  if (table == "LAG_TABLE") return check_lag(key, fields);
  if (table == "LAG_MEMBER_TABLE") return check_lag_member(key, fields);
  if (table == "VLAN_TABLE") return check_vlan(key, fields);
  if (table == "VLAN_MEMBER_TABLE") return check_vlan_member(key, fields);
  if (table == "FDB_TABLE") return check_fdb(key, fields);
  if (table == "INTF_TABLE") return check_interface(key, fields);
  if (table == "NEIGH_TABLE") return check_neighbor(key, fields);
  if (table == "NEXTHOP_GROUP_TABLE") return status_of(parse_group(fields));
  if (table == "ROUTE_TABLE") return check_route(key, fields);
  return {};
}

}  // namespace rondo::switch_agent
