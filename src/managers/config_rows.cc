#include "managers/config_rows.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "rondo/base/text.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Status wrong(std::string_view field, std::string_view value, std::string_view why) {
  return {StatusCode::InvalidArgument, "field '" + std::string{field} + "' = " + quoted(value) + ": " + std::string{why}};
}

/// One entry of each list, as text; empty where there is no list.
struct HopTexts {
  std::string_view gateway, port, distance, vrf, blackhole;
};

Result<std::vector<HopTexts>> entries_of(const Fields& fields) {
  constexpr std::pair<std::string_view, std::string_view HopTexts::*> kLists[] = {{"nexthop", &HopTexts::gateway},
                                                                                  {"ifname", &HopTexts::port},
                                                                                  {"distance", &HopTexts::distance},
                                                                                  {"nexthop-vrf", &HopTexts::vrf},
                                                                                  {"blackhole", &HopTexts::blackhole}};
  std::vector<HopTexts> entries;
  std::string_view first;
  for (const auto& [name, part] : kLists) {
    const std::string_view list = fields.find(name).value_or("");
    if (list.empty()) continue;
    const std::vector<std::string_view> parts = split(list);
    if (entries.empty()) {
      entries.resize(parts.size());
      first = name;
    }
    if (parts.size() != entries.size()) {
      return failure(wrong(name, list, "must have as many entries as " + std::string{first} + ", " + std::to_string(entries.size())));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) entries[i].*part = parts[i];
  }
  if (entries.empty()) return failure(StatusCode::InvalidArgument, "has none of the fields nexthop, ifname and blackhole");
  return entries;
}

Result<std::uint32_t> distance_of(std::string_view text) {
  std::uint32_t distance = 0;
  if (text.empty()) return distance;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), distance);
  if (error != std::errc{} || end != text.data() + text.size() || distance > 255) {
    return failure(wrong("distance", text, "must be an integer from 0 to 255"));
  }
  return distance;
}

Result<StaticHop> hop_of(const HopTexts& entry, std::string_view route_vrf, bool is_v6) {
  if (!entry.vrf.empty() && entry.vrf != "default") {
    if (Status name = switch_agent::check_vrf_name(entry.vrf); !name.ok()) return failure(wrong("nexthop-vrf", entry.vrf, name.message()));
  }
  const std::string_view vrf = entry.vrf.empty() ? route_vrf : (entry.vrf == "default" ? std::string_view{} : entry.vrf);
  const Result<IpAddress> gateway = entry.gateway.empty() && !entry.port.empty()
                                        ? Result<IpAddress>{is_v6 ? IpAddress::v6({}) : IpAddress::v4(0)}
                                        : IpAddress::parse(entry.gateway);
  if (!gateway) return failure(wrong("nexthop", entry.gateway, gateway.error().message()));
  if (gateway->is_any() && entry.port.empty()) {
    return failure(wrong("nexthop", entry.gateway, "a next hop without an address needs a port: field 'ifname'"));
  }
  if (!entry.port.empty()) {
    if (Status name = switch_agent::check_port_name(entry.port); !name.ok()) return failure(wrong("ifname", entry.port, name.message()));
  }
  return StaticHop{*gateway, std::string{entry.port}, std::string{vrf}};
}

}  // namespace

Result<ConfigInterfaceKey> parse_config_interface_key(std::string_view key) {
  const std::size_t bar = key.find('|');
  ConfigInterfaceKey parsed{std::string{key.substr(0, bar)}, std::nullopt};
  if (Status name = switch_agent::check_port_name(parsed.port); !name.ok()) return failure(std::move(name));
  if (bar == std::string_view::npos) return parsed;
  const Result<Prefix> address = Prefix::parse_interface(key.substr(bar + 1));
  if (!address) return failure(address.error());
  parsed.address = *address;
  return parsed;
}

Result<std::string> route_key_of(std::string_view key) {
  const std::size_t bar = key.find('|');
  std::string_view vrf = bar == std::string_view::npos ? "" : key.substr(0, bar);
  if (vrf == "default") vrf = "";
  if (!vrf.empty() && !vrf.starts_with("Vrf")) {
    return failure(StatusCode::InvalidArgument, "the name of a VRF begins with Vrf, or is default");
  }
  const Result<Prefix> prefix = Prefix::parse(bar == std::string_view::npos ? key : key.substr(bar + 1));
  if (!prefix) return failure(prefix.error());
  return (vrf.empty() ? "" : std::string{vrf} + ":") + prefix->to_string();
}

Result<StaticRouteRow> parse_static_route(const Fields& fields, std::string_view vrf, bool is_v6) {
  const Result<std::vector<HopTexts>> entries = entries_of(fields);
  if (!entries) return failure(entries.error());
  StaticRouteRow row;
  std::uint32_t smallest = UINT32_MAX;
  for (const HopTexts& entry : *entries) {
    const Result<std::uint32_t> distance = distance_of(entry.distance);
    if (!distance) return failure(distance.error());
    const bool blackhole = entry.blackhole == "true";
    if (!blackhole && !entry.blackhole.empty() && entry.blackhole != "false") {
      return failure(wrong("blackhole", entry.blackhole, "must be true or false"));
    }
    std::optional<StaticHop> hop;
    if (!blackhole) {
      Result<StaticHop> parsed = hop_of(entry, vrf, is_v6);
      if (!parsed) return failure(parsed.error());
      hop = std::move(*parsed);
    }
    if (*distance > smallest) continue;
    if (*distance < smallest) row = {};
    smallest = *distance;
    row.blackhole = row.blackhole || blackhole;
    if (hop) row.hops.push_back(std::move(*hop));
  }
  if (row.blackhole && !row.hops.empty()) {
    return failure(StatusCode::InvalidArgument, "has a blackhole and a next hop of the same distance");
  }
  return row;
}

}  // namespace rondo::managers
