#include "frr/network.h"

namespace rondo::frr {

namespace {

std::string subnet(int number) { return "10.254." + std::to_string(number) + "."; }
std::string peer_mac(int number) { return "02:00:00:00:0" + std::to_string(number) + ":02"; }
std::string subnet_v6(int number) { return "fd00:10:254:" + std::to_string(number) + "::"; }

bool is_v6(const std::string& prefix) { return prefix.find(':') != std::string::npos; }

/// A router with one session on each cable, without the delays that suit the Internet.
std::string configuration(int own_host, int other_host) {
  // Without this map the next hop is the global or the link-local address, whichever bgpd knows first. It is defined before its use,
  // because bgpd applies a later definition after 5 s.
  std::string text = "route-map global permit 10\n set ipv6 next-hop prefer-global\nexit\nbgp route-map delay-timer 0\nrouter bgp 6500" +
                     std::to_string(own_host) + "\n bgp router-id 10.254.1." + std::to_string(own_host) +
                     "\n no bgp ebgp-requires-policy\n no bgp network import-check\n timers bgp 3 9\n";
  std::string activate;
  for (int cable = 1; cable <= Network::kCables; ++cable) {
    const std::string neighbor = " neighbor " + subnet(cable) + std::to_string(other_host);
    text.append(neighbor).append(" remote-as 6500").append(std::to_string(other_host)).append("\n");
    text.append(neighbor).append(" timers connect 1\n").append(neighbor).append(" advertisement-interval 0\n");
    activate.append(" ").append(neighbor).append(" activate\n ").append(neighbor).append(" route-map global in\n");
  }
  const std::string paths = "  maximum-paths 8\n exit-address-family\n";
  return text + " address-family ipv4 unicast\n" + paths + " address-family ipv6 unicast\n" + activate + paths + "exit\n";
}

/// What the peer withdraws is the list 'withdrawn', which is empty at the start.
std::string policy() {
  std::string text = "ip prefix-list withdrawn seq 5 deny 0.0.0.0/0 le 32\nroute-map all permit 20\n";
  text += "route-map some deny 10\n match ip address prefix-list withdrawn\nroute-map some permit 20\n";
  return text;
}

std::string announcements(const std::vector<std::string>& prefixes, bool v6) {
  std::string text = std::string{" address-family "} + (v6 ? "ipv6" : "ipv4") + " unicast\n";
  for (const std::string& prefix : prefixes) {
    if (is_v6(prefix) == v6) text.append("  network ").append(prefix).append("\n");
  }
  return text + " exit-address-family\n";
}

}  // namespace

Result<std::unique_ptr<Network>> Network::make(const netlink::Lab& box) {
  auto peer = netlink::Lab::make();
  if (!peer) return failure(peer.error());
  std::unique_ptr<Network> network{new Network(box)};
  network->peer_ = std::move(*peer);
  for (int cable = 1; cable <= kCables; ++cable) {
    if (!network->lay_cable(cable)) return failure(StatusCode::Unavailable, "a cable cannot be laid (ip link)");
  }
  return network;
}

/// IPv6 addresses are usable at once (nodad).
bool Network::lay_cable(int number) const {
  const std::string n = std::to_string(number);
  return box_.add_port(number) && box_.ip("link set line" + n + " netns " + peer_->name()) &&
         box_.ip("link set " + port_name(number) + " up") && peer_->ip("link set line" + n + " address " + peer_mac(number) + " up") &&
         peer_->ip("addr add " + subnet(number) + "2/24 dev line" + n) &&
         peer_->ip("addr add " + subnet_v6(number) + "2/64 dev line" + n + " nodad");
}

std::vector<Row> Network::rows() {
  std::vector<Row> rows;
  for (int cable = 1; cable <= kCables; ++cable) {
    const std::string port = port_name(cable);
    const std::vector<std::pair<std::string, std::string>> neigh{{"neigh", peer_mac(cable)}};
    rows.push_back({"PORT_TABLE", port, {{"admin_status", "up"}}});
    rows.push_back({"INTF_TABLE", port});
    rows.push_back({"INTF_TABLE", port + ":" + subnet(cable) + "1/24"});
    rows.push_back({"INTF_TABLE", port + ":" + subnet_v6(cable) + "1/64"});
    rows.push_back({"NEIGH_TABLE", port + ":" + gateway(cable, false), neigh});
    rows.push_back({"NEIGH_TABLE", port + ":" + gateway(cable, true), neigh});
  }
  return rows;
}

Status Network::start_peer(const std::vector<std::string>& prefixes) {
  const std::string bgpd =
      configuration(2, 1) + "router bgp 65002\n" + announcements(prefixes, false) + announcements(prefixes, true) + "exit\n" + policy();
  auto router = Router::start({.network_namespace = peer_->path(), .bgpd = bgpd});
  if (!router) return router.error();
  peer_router_ = std::move(*router);
  return {};
}

Status Network::start_box() {
  auto router = Router::start({.network_namespace = box_.path(), .bgpd = configuration(1, 2), .fpm = true});
  if (!router) return router.error();
  box_router_ = std::move(*router);
  return {};
}

namespace {
std::vector<std::string> route_maps(const std::string& name) {
  std::vector<std::string> lines{"router bgp 65002", "address-family ipv4 unicast"};
  for (int cable = 1; cable <= Network::kCables; ++cable) lines.push_back("neighbor " + subnet(cable) + "1 route-map " + name + " out");
  return lines;
}
}  // namespace

Status Network::withdraw(const std::string& prefix) const {
  std::vector<std::string> lines{"configure terminal", "ip prefix-list withdrawn seq 5 permit " + prefix + " le 32"};
  for (std::string& line : route_maps("some")) lines.push_back(std::move(line));
  return peer_router_->command(lines);
}

Status Network::announce_all() const {
  std::vector<std::string> lines = route_maps("all");
  lines.insert(lines.begin(), "configure terminal");
  return peer_router_->command(lines);
}

Status Network::announce(const std::string& prefix) const {
  return peer_router_->command({"configure terminal", "router bgp 65002", "address-family ipv4 unicast", "network " + prefix});
}

std::string Network::gateway(int number, bool v6) { return (v6 ? subnet_v6(number) : subnet(number)) + "2"; }

}  // namespace rondo::frr
