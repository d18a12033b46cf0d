#include "switch_agent/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <span>

#include "rondo/dataplane/limits.h"
#include "switch_agent/tables.h"

namespace rondo::switch_agent {

namespace {

Status bad_field(std::string_view field, std::string_view value, std::string_view why) {
  std::string message{"field '"};
  message.append(field).append("' = ").append(quoted(value)).append(": ").append(why);
  return Status{StatusCode::InvalidArgument, std::move(message)};
}

Result<std::optional<std::uint32_t>> parse_mtu(const Fields& fields) {
  if (!fields.contains(field::kMtu.name)) return std::nullopt;
  const Result<std::int64_t> mtu = fields.integer(field::kMtu.name, field::kMtu.low, field::kMtu.high);
  if (!mtu) return failure(mtu.error());
  return static_cast<std::uint32_t>(*mtu);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  parts.reserve(static_cast<std::size_t>(std::ranges::count(text, separator)) + 1);
  for (std::size_t from = 0;;) {
    const std::size_t at = text.find(separator, from);
    parts.push_back(text.substr(from, at == std::string_view::npos ? at : at - from));
    if (at == std::string_view::npos) return parts;
    from = at + 1;
  }
}

Result<std::pair<std::string_view, std::string_view>> split_key(std::string_view key, std::string_view form) {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == key.size()) {
    return failure(StatusCode::InvalidArgument, "the key must have the form " + std::string{form});
  }
  return std::pair{key.substr(0, colon), key.substr(colon + 1)};
}

bool is_loopback(const IpAddress& address) {
  if (!address.is_v6()) return address.bytes()[0] == 127;
  const auto used = std::span{address.bytes()}.first(address.size());
  return used.back() == 1 && std::ranges::all_of(used.first(used.size() - 1), [](std::uint8_t byte) { return byte == 0; });
}

/// True for an address that one station can have: not 0.0.0.0 or ::, not 255.255.255.255, and no loopback or multicast address.
bool is_host(const IpAddress& address) {
  const auto& bytes = address.bytes();
  const auto used = std::span{bytes}.first(address.size());
  if (std::ranges::all_of(used, [](std::uint8_t byte) { return byte == 0; })) return false;
  if (is_loopback(address)) return false;
  if (address.is_v6()) return used[0] != 0xff;
  return used[0] < 224 || (used[0] >= 240 && !std::ranges::all_of(used, [](std::uint8_t byte) { return byte == 255; }));
}

Status not_a_host(const IpAddress& address) {
  const char* const why = is_loopback(address) ? " is a loopback address, which no port has" : " is not the address of one station";
  return Status{StatusCode::InvalidArgument, quoted(address.to_string()) + why};
}

/// Adds the first unknown field to the refusal of a row: a misspelt field name may be the cause.
template <class T>
Result<T> with_unknown_field(Result<T> row, std::string_view table, const Fields& fields) {
  if (row) return row;
  const std::string unknown = unknown_field(*find_table(table), fields);
  if (unknown.empty()) return row;
  return failure(row.error().code(), std::string{row.error().message()} + "; " + unknown);
}

}  // namespace

Status check_port_name(std::string_view name) {
  // IFNAMSIZ with its NUL is 16. The kernel refuses these characters, the byte a0 among its blanks, and replaces a '%'.
  const bool fits = !name.empty() && name.size() < 16 && name != "." && name != "..";
  constexpr std::string_view kRefused{"/:% \t\n\v\f\r\xa0\0", 11};
  if (!fits || name.find_first_of(kRefused) != std::string_view::npos) {
    return Status{
        StatusCode::InvalidArgument,
        quoted(name) + " is not a port name that the kernel takes (1 to 15 characters, not '.' or '..', no '/', ':', '%' and no blanks)"};
  }
  return {};
}

Status check_vrf_name(std::string_view name) {
  if (Status device = check_port_name(name); !device.ok()) return device;
  if (name.starts_with("Vrf")) return {};
  return Status{StatusCode::InvalidArgument, quoted(name) + " is not the name of a VRF, which begins with Vrf"};
}

namespace {

/// A port or a LAG: what can be in a VLAN.
Status check_vlan_port(std::string_view name) {
  if (is_vlan_name(name)) return Status{StatusCode::InvalidArgument, quoted(name) + " is the name of a VLAN: its row is in VLAN_TABLE"};
  return check_port_name(name);
}

}  // namespace

Status check_port_key(std::string_view name) {
  if (name == "lo") return Status{StatusCode::InvalidArgument, "'lo' is the loopback of the machine and no port: programs need it up"};
  if (is_lag_name(name)) return Status{StatusCode::InvalidArgument, quoted(name) + " is the name of a LAG: its row is in LAG_TABLE"};
  return check_vlan_port(name);
}

bool is_lag_name(std::string_view name) {
  constexpr std::string_view kPrefix = "PortChannel";
  const std::string_view number = name.substr(std::min(name.size(), kPrefix.size()));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return name.starts_with(kPrefix) && !number.empty() && number.size() <= 4 && std::ranges::all_of(number, is_digit);
}

Status check_lag_name(std::string_view name) {
  if (is_lag_name(name)) return {};
  return Status{StatusCode::InvalidArgument, quoted(name) + " is not the name of a LAG: PortChannel and one to four digits"};
}

Result<std::uint16_t> parse_vlan_name(std::string_view name) {
  constexpr std::string_view kPrefix = "Vlan";
  std::uint16_t number = 0;
  const char* const end = name.data() + name.size();
  if (name.starts_with(kPrefix) && name.size() > kPrefix.size() && name[kPrefix.size()] != '0') {
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end && number >= 1 && number <= 4094) return number;
  }
  return failure(StatusCode::InvalidArgument, quoted(name) + " is not the name of a VLAN: Vlan1 to Vlan4094");
}

bool is_vlan_name(std::string_view name) { return static_cast<bool>(parse_vlan_name(name)); }

namespace {

Result<bool> read_up(const Fields& fields) {
  const std::string_view admin = fields.find(field::kVlanAdminStatus.name).value_or("up");
  if (admin != "up" && admin != "down") return failure(bad_field(field::kVlanAdminStatus.name, admin, "must be 'up' or 'down'"));
  return admin == "up";
}

Result<LagRow> read_lag(const Fields& fields) {
  LagRow row;
  const Result<bool> up = read_up(fields);
  if (!up) return failure(up.error());
  row.admin_up = *up;
  const auto mtu = parse_mtu(fields);
  if (!mtu) return failure(mtu.error());
  row.mtu = *mtu;
  const std::string_view is_static = fields.find(field::kStatic.name).value_or("false");
  if (is_static != "true" && is_static != "false") return failure(bad_field(field::kStatic.name, is_static, "must be 'true' or 'false'"));
  if (is_static == "true") row.mode = BondMode::Static;
  if (!fields.contains(field::kMinLinks.name)) return row;
  const Result<std::int64_t> links = fields.integer(field::kMinLinks.name, field::kMinLinks.low, field::kMinLinks.high);
  if (!links) return failure(links.error());
  row.min_links = static_cast<std::uint16_t>(*links);
  return row;
}

Result<bool> read_lag_member(const Fields& fields) {
  const std::string_view status = fields.find(field::kMemberStatus.name).value_or("enabled");
  if (status != "enabled" && status != "disabled")
    return failure(bad_field(field::kMemberStatus.name, status, "must be 'enabled' or 'disabled'"));
  return status == "enabled";
}

}  // namespace

Result<LagRow> parse_lag(const Fields& fields) { return with_unknown_field(read_lag(fields), "LAG_TABLE", fields); }

Result<LagMemberKey> parse_lag_member_key(std::string_view key) {
  const auto parts = split_key(key, "<lag>:<port>");
  if (!parts) return failure(parts.error());
  if (Status lag = check_lag_name(parts->first); !lag.ok()) return failure(std::move(lag));
  if (Status port = check_port_key(parts->second); !port.ok()) return failure(std::move(port));
  return LagMemberKey{std::string{parts->first}, std::string{parts->second}};
}

Result<bool> parse_lag_member(const Fields& fields) { return with_unknown_field(read_lag_member(fields), "LAG_MEMBER_TABLE", fields); }

namespace {

Result<VlanRow> read_vlan(const Fields& fields) {
  VlanRow row;
  const Result<bool> up = read_up(fields);
  if (!up) return failure(up.error());
  row.admin_up = *up;
  const auto mtu = parse_mtu(fields);
  if (!mtu) return failure(mtu.error());
  row.mtu = *mtu;
  if (const auto text = fields.find(field::kMac.name); text && !text->empty()) {
    const Result<MacAddress> mac = MacAddress::parse(*text);
    const bool is_station = mac && (mac->bytes[0] & 1) == 0 && *mac != MacAddress{};
    if (!is_station) return failure(bad_field(field::kMac.name, *text, "is not the MAC address of one station, such as 02:00:00:00:00:01"));
    row.mac = *mac;
  }
  return row;
}

Result<bool> read_tagged(const Fields& fields) {
  const std::string_view mode = fields.find(field::kTaggingMode.name).value_or("untagged");
  if (mode == "tagged") return true;
  if (mode == "untagged" || mode == "priority_tagged") return false;
  return failure(bad_field(field::kTaggingMode.name, mode, "must be 'tagged', 'untagged' or 'priority_tagged'"));
}

}  // namespace

Result<VlanRow> parse_vlan(const Fields& fields) { return with_unknown_field(read_vlan(fields), "VLAN_TABLE", fields); }

Result<VlanMemberKey> parse_vlan_member_key(std::string_view key) {
  const auto parts = split_key(key, "<vlan>:<port>");
  if (!parts) return failure(parts.error());
  const Result<std::uint16_t> number = parse_vlan_name(parts->first);
  if (!number) return failure(number.error());
  if (Status port = check_vlan_port(parts->second); !port.ok()) return failure(std::move(port));
  return VlanMemberKey{std::string{parts->first}, *number, std::string{parts->second}};
}

Result<bool> parse_tagged(const Fields& fields) { return with_unknown_field(read_tagged(fields), "VLAN_MEMBER_TABLE", fields); }

Result<FdbKey> parse_fdb_key(std::string_view key) {
  const auto parts = split_key(key, "<vlan>:<mac>");
  if (!parts) return failure(parts.error());
  if (const auto name = parse_vlan_name(parts->first); !name) return failure(name.error());
  std::string text{parts->second};
  if (text.find(':') == std::string::npos) std::ranges::replace(text, '-', ':');
  const Result<MacAddress> mac = MacAddress::parse(text);
  if (!mac || (mac->bytes[0] & 1) != 0 || *mac == MacAddress{}) {
    return failure(StatusCode::InvalidArgument, quoted(parts->second) + " is not the MAC address of one station");
  }
  return FdbKey{std::string{parts->first}, *mac};
}

std::optional<std::string> canonical_fdb_key(std::string_view key) {
  const Result<FdbKey> parsed = parse_fdb_key(key);
  if (!parsed) return std::nullopt;
  std::string canonical = parsed->vlan + ":" + parsed->mac.to_string();
  return canonical == key ? std::nullopt : std::optional{std::move(canonical)};
}

namespace {

Result<FdbRow> read_fdb(const Fields& fields) {
  FdbRow row;
  row.port = std::string{fields.find(field::kFdbPort.name).value_or("")};
  if (row.port.empty()) return failure(StatusCode::InvalidArgument, "field 'port' is missing or empty");
  if (Status port = check_vlan_port(row.port); !port.ok()) return failure(bad_field(field::kFdbPort.name, row.port, port.message()));
  const std::string_view type = fields.find(field::kFdbType.name).value_or("static");
  if (type != "static" && type != "dynamic") return failure(bad_field(field::kFdbType.name, type, "must be 'static' or 'dynamic'"));
  row.is_static = type == "static";
  return row;
}

}  // namespace

Result<FdbRow> parse_fdb(const Fields& fields) { return with_unknown_field(read_fdb(fields), "FDB_TABLE", fields); }

std::string tagged_port_name(std::string_view port, std::uint16_t vlan) {
  const std::string suffix = "." + std::to_string(vlan);
  std::string name = std::string{port} + suffix;
  constexpr std::array kShort{std::pair{std::string_view{"Ethernet"}, "Eth"}, std::pair{std::string_view{"PortChannel"}, "Po"}};
  for (const auto& [prefix, shorter] : kShort) {
    if (!check_port_name(name).ok() && port.starts_with(prefix)) name = shorter + std::string{port.substr(prefix.size())} + suffix;
  }
  return check_port_name(name).ok() ? name : std::string{};
}

namespace {

Result<PortRow> read_port(const Fields& fields) {
  PortRow row;
  if (const auto admin = fields.find(field::kAdminStatus.name)) {
    if (*admin != "up" && *admin != "down") return failure(bad_field(field::kAdminStatus.name, *admin, "must be 'up' or 'down'"));
    row.admin_up = *admin == "up";
  }
  const auto mtu = parse_mtu(fields);
  if (!mtu) return failure(mtu.error());
  row.mtu = *mtu;
  return row;
}

}  // namespace

Result<PortRow> parse_port(const Fields& fields) { return with_unknown_field(read_port(fields), "PORT_TABLE", fields); }

Result<InterfaceKey> parse_interface_key(std::string_view key) {
  InterfaceKey parsed;
  const std::size_t colon = key.find(':');
  parsed.port = std::string{key.substr(0, colon)};
  if (Status name = check_port_name(parsed.port); !name.ok()) return failure(std::move(name));
  if (colon == std::string_view::npos) return parsed;
  const Result<Prefix> address = Prefix::parse_interface(key.substr(colon + 1));
  if (!address) return failure(address.error());
  if (!is_host(address->address)) return failure(not_a_host(address->address));
  parsed.address = *address;
  return parsed;
}

namespace {

std::optional<std::string> if_other(std::string canonical, std::string_view key) {
  return canonical == key ? std::nullopt : std::optional{std::move(canonical)};
}

}  // namespace

std::optional<std::string> canonical_interface_key(std::string_view key) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed || !parsed->address) return std::nullopt;
  return if_other(parsed->port + ":" + parsed->address->to_string(), key);
}

namespace {

Result<InterfaceRow> read_interface(const Fields& fields) {
  InterfaceRow row;
  row.vrf = std::string{fields.find(field::kVrfName.name).value_or("")};
  if (!row.vrf.empty()) {
    if (Status name = check_vrf_name(row.vrf); !name.ok()) return failure(bad_field(field::kVrfName.name, row.vrf, name.message()));
  }
  const auto mtu = parse_mtu(fields);
  if (!mtu) return failure(mtu.error());
  row.mtu = *mtu;
  return row;
}

}  // namespace

Result<InterfaceRow> parse_interface(const Fields& fields) { return with_unknown_field(read_interface(fields), "INTF_TABLE", fields); }

Result<NeighborKey> parse_neighbor_key(std::string_view key) {
  const auto parts = split_key(key, "<port>:<address>");
  if (!parts) return failure(parts.error());
  if (Status name = check_port_name(parts->first); !name.ok()) return failure(std::move(name));
  const Result<IpAddress> address = IpAddress::parse(parts->second);
  if (!address) return failure(address.error());
  if (!is_host(*address)) return failure(not_a_host(*address));
  return NeighborKey{std::string{parts->first}, *address};
}

std::optional<std::string> canonical_neighbor_key(std::string_view key) {
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!parsed) return std::nullopt;
  return if_other(parsed->port + ":" + parsed->address.to_string(), key);
}

namespace {

Result<NeighborRow> read_neighbor(const NeighborKey& key, const Fields& fields) {
  const auto text = fields.find(field::kNeigh.name);
  if (!text) return failure(StatusCode::InvalidArgument, "field 'neigh' (the MAC address) is missing");
  const Result<MacAddress> mac = MacAddress::parse(*text);
  if (!mac) return failure(bad_field(field::kNeigh.name, *text, "is not a MAC address such as 02:00:00:00:00:01"));
  if ((mac->bytes[0] & 1) != 0 || *mac == MacAddress{})
    return failure(bad_field(field::kNeigh.name, *text, "is not the address of one station"));
  const std::string_view family = key.address.is_v6() ? "IPv6" : "IPv4";
  if (const auto given = fields.find(field::kFamily.name); given && *given != family) {
    return failure(bad_field(field::kFamily.name, *given, "does not fit the key's address, which is " + std::string{family}));
  }
  NeighborRow row{.mac = *mac};
  if (const std::string_view learned = fields.find(field::kLearned.name).value_or(""); !learned.empty()) {
    const Result<MacAddress> known = MacAddress::parse(learned);
    if (!known) return failure(bad_field(field::kLearned.name, learned, "is not a MAC address such as 02:00:00:00:00:01"));
    row.learned = *known == *mac;
  }
  return row;
}

}  // namespace

Result<NeighborRow> parse_neighbor(const NeighborKey& key, const Fields& fields) {
  return with_unknown_field(read_neighbor(key, fields), "NEIGH_TABLE", fields);
}

namespace {

Result<Hop> parse_hop(std::string_view gateway, std::string_view port, std::string_view weight, std::string_view onlink) {
  Hop hop;
  const Result<IpAddress> address = IpAddress::parse(gateway);
  if (!address) return failure(bad_field(field::kNexthop.name, gateway, "is not an address"));
  hop.gateway = *address;
  if (Status name = check_port_name(port); !name.ok()) return failure(bad_field(field::kIfname.name, port, "is not a port name"));
  hop.port = std::string{port};
  if (!onlink.empty() && onlink != "true" && onlink != "false")
    return failure(bad_field(field::kOnlink.name, onlink, "must be 'true' or 'false'"));
  hop.onlink = onlink == "true";
  if (weight.empty()) return hop;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), value);
  const bool is_number = error == std::errc{} && end == weight.data() + weight.size();
  if (!is_number || value < field::kWeight.low || value > field::kWeight.high) {
    return failure(bad_field(field::kWeight.name, weight,
                             "must be " + std::to_string(field::kWeight.low) + " to " + std::to_string(field::kWeight.high)));
  }
  hop.weight = static_cast<std::uint16_t>(value);
  return hop;
}

/// Linux before 6.12, Debian 12's among them, refuses a larger weight.
constexpr std::uint64_t kKernelWeight = 255;

/// Weights that the kernel does not take keep their proportion: exactly if their common divisor is large enough.
void set_weights(std::vector<Hop>& hops, const std::vector<std::uint64_t>& weights) {
  std::uint64_t most = *std::ranges::max_element(weights);
  std::uint64_t divisor = 1;
  if (most > kKernelWeight)
    divisor = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}, std::gcd<std::uint64_t, std::uint64_t>);
  most /= divisor;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    std::uint64_t weight = weights[i] / divisor;
    if (most > kKernelWeight) weight = std::max<std::uint64_t>(1, (weight * kKernelWeight + most / 2) / most);
    hops[i].weight = static_cast<std::uint16_t>(weight);
  }
}

}  // namespace

bool is_of_others(std::string_view port) {
  constexpr std::array<std::string_view, 5> kOthers{"eth0", "docker0", "usb0", "lo", "tun0"};
  return std::ranges::find(kOthers, port) != kOthers.end() || port.starts_with("Loopback");
}

Result<std::vector<Hop>> parse_hops(const Fields& fields) {
  const std::string_view gateways_text = fields.find(field::kNexthop.name).value_or("");
  const std::string_view ports_text = fields.find(field::kIfname.name).value_or("");
  const std::string_view weights_text = fields.find(field::kWeight.name).value_or("");
  const std::string_view onlinks_text = fields.find(field::kOnlink.name).value_or("");
  const auto gateways = split(gateways_text, ',');
  const auto ports = split(ports_text, ',');
  const auto weights = split(weights_text, ',');
  const auto onlinks = split(onlinks_text, ',');
  if (gateways.empty()) return failure(StatusCode::InvalidArgument, "field 'nexthop' is missing or empty");
  if (gateways.size() > limits::kGroupMembers) {
    return failure(bad_field(field::kNexthop.name, gateways_text,
                             "names " + std::to_string(gateways.size()) + " next hops; at most " + std::to_string(limits::kGroupMembers) +
                                 " can be in a group"));
  }
  if (gateways.size() != ports.size()) {
    return failure(bad_field(field::kIfname.name, ports_text,
                             "must name as many ports as 'nexthop' has addresses (" + std::to_string(gateways.size()) + ")"));
  }
  if (!weights.empty() && weights.size() != gateways.size()) {
    return failure(bad_field(field::kWeight.name, weights_text, "must have as many numbers as 'nexthop' has addresses"));
  }
  if (!onlinks.empty() && onlinks.size() != gateways.size()) {
    return failure(bad_field(field::kOnlink.name, onlinks_text, "must have as many values as 'nexthop' has addresses"));
  }
  std::vector<Hop> hops;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < gateways.size(); ++i) {
    Result<Hop> hop = parse_hop(gateways[i], ports[i], weights.empty() ? std::string_view{} : weights[i],
                                onlinks.empty() ? std::string_view{} : onlinks[i]);
    if (!hop) return failure(hop.error());
    const auto same = std::ranges::find_if(
        hops, [&](const Hop& h) { return h.port == hop->port && h.gateway == hop->gateway && h.onlink == hop->onlink; });
    if (same == hops.end()) {
      sums.push_back(hop->weight);
      hops.push_back(std::move(*hop));
    } else {
      sums[static_cast<std::size_t>(same - hops.begin())] += hop->weight;
    }
  }
  set_weights(hops, sums);
  std::ranges::sort(hops);
  return hops;
}

Result<std::vector<Hop>> parse_group(const Fields& fields) { return with_unknown_field(parse_hops(fields), "NEXTHOP_GROUP_TABLE", fields); }

namespace {

/// True if a parsed IPv6 prefix is certainly canonical, without formatting it: lower case, no leading zeros, and no zero group except at
/// least two behind one "::". True for most canonical prefixes; false does not mean that a prefix is not canonical.
bool is_plainly_canonical(std::string_view text) {
  const std::size_t end = text.find('/');
  if (end == std::string_view::npos || text.front() == ':') return false;
  std::size_t groups = 0;
  bool has_gap = false;
  for (std::size_t at = 0; at < end; ++at) {
    if (text[at] == ':') {  // The second ':' of "::".
      has_gap = true;
      continue;
    }
    if (text[at] == '0') return false;
    ++groups;
    for (; at < end && text[at] != ':'; ++at) {
      if (!((text[at] >= '0' && text[at] <= '9') || (text[at] >= 'a' && text[at] <= 'f'))) return false;
    }
  }
  return has_gap ? groups <= 6 : groups == 8;
}

}  // namespace

Result<RouteKey> parse_route_key(std::string_view key) {
  RouteKey parsed;
  if (key.starts_with("Vrf")) {
    const auto parts = split_key(key, "<vrf>:<prefix>");
    if (!parts) return failure(parts.error());
    parsed.vrf = parts->first;
    key = parts->second;
  }
  const Result<Prefix> prefix = Prefix::parse(key);
  if (!prefix && key == "default")
    return failure(StatusCode::InvalidArgument, "'default' is not an IP prefix: the default routes are 0.0.0.0/0 and ::/0");
  if (!prefix) return failure(prefix.error());
  parsed.prefix = *prefix;
  // In IPv4 only the length may be omitted: Prefix::parse() refuses leading zeros.
  parsed.canonical =
      prefix->address.is_v6() ? is_plainly_canonical(key) || key == prefix->to_string() : key.find('/') != std::string_view::npos;
  return parsed;
}

std::optional<std::string> canonical_route_key(std::string_view key) {
  const Result<RouteKey> parsed = parse_route_key(key);
  if (!parsed || parsed->canonical) return std::nullopt;
  const std::string vrf = parsed->vrf.empty() ? "" : std::string{parsed->vrf} + ":";
  return vrf + parsed->prefix.to_string();
}

namespace {

/// True if all ports of the list are. Most rows are decided by their first port.
bool are_of_others(std::string_view ports) {
  for (std::size_t comma = ports.find(','); comma != std::string_view::npos; comma = ports.find(',')) {
    if (!is_of_others(ports.substr(0, comma))) return false;
    ports.remove_prefix(comma + 1);
  }
  return is_of_others(ports);
}

Result<RouteRow> read_route(const Fields& fields) {
  RouteRow row;
  std::string_view group;
  bool has_hops = false;
  bool blackhole = false;
  for (const Field field : fields) {
    if (field.name == field::kNexthopGroup.name) {
      group = field.value;
    } else if (field.name == field::kNexthop.name || field.name == field::kIfname.name) {
      has_hops = has_hops || !field.value.empty();
    } else if (field.name == field::kBlackhole.name) {
      if (field.value != "true" && field.value != "false")
        return failure(bad_field(field::kBlackhole.name, field.value, "must be 'true' or 'false'"));
      blackhole = field.value == "true";
    } else if (field.name == field::kPrefsrc.name && !field.value.empty()) {
      const Result<IpAddress> source = IpAddress::parse(field.value);
      if (!source || !is_host(*source)) return failure(bad_field(field::kPrefsrc.name, field.value, "is not the address of one station"));
      row.source = *source;
    }
  }
  const int ways = static_cast<int>(blackhole) + static_cast<int>(!group.empty()) + static_cast<int>(has_hops);
  if (ways == 0)
    return failure(StatusCode::InvalidArgument, "needs one of the fields 'nexthop_group', 'nexthop' with 'ifname', or 'blackhole'");
  if (!group.empty() && has_hops)
    return failure(bad_field(field::kNexthopGroup.name, group, "cannot be combined with 'nexthop' or 'ifname'"));
  for (const std::string_view name : {field::kWeight.name, field::kOnlink.name}) {
    const std::string_view list = fields.find(name).value_or("");
    if (!group.empty() && !list.empty())
      return failure(bad_field(name, list, "cannot be combined with 'nexthop_group', which has its own"));
  }
  if (blackhole) {
    row.type = RouteType::Blackhole;
    row.source = {};
    return row;
  }
  if (!group.empty()) {
    row.group = group;
    return row;
  }
  row.not_ours = are_of_others(fields.find(field::kIfname.name).value_or(""));
  if (row.not_ours) return row;
  Result<std::vector<Hop>> hops = parse_hops(fields);
  if (!hops) return failure(hops.error());
  row.hops = std::move(*hops);
  return row;
}

}  // namespace

Status check_families(const Prefix& prefix, const RouteRow& row) {
  if (row.source != IpAddress{} && row.source.is_v6() != prefix.address.is_v6())
    return bad_field(field::kPrefsrc.name, row.source.to_string(), "is not of the prefix's family");
  const std::vector<Hop>& hops = row.hops;
  const auto is_v4 = [](const Hop& hop) { return !hop.gateway.is_v6(); };
  const auto hop = prefix.address.is_v6() ? std::ranges::find_if(hops, is_v4) : hops.end();
  if (hop == hops.end()) return {};
  return bad_field(field::kNexthop.name, hop->gateway.to_string(), "an IPv6 route cannot have an IPv4 next hop");
}

Result<RouteRow> parse_route(const Fields& fields) { return with_unknown_field(read_route(fields), "ROUTE_TABLE", fields); }

}  // namespace rondo::switch_agent
