// Network: two routers and the cables between them: the box, where rondod and an FRR router run, and the peer, an FRR router that
// announces routes over BGP on each cable. Port n of the box is swp<n>, in the subnet 10.254.<n>.0/24; the peer is host 2. So each route of
// the peer has as many next hops as there are cables. One thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/netlink/lab.h"
#include "frr/router.h"
#include "rondo/base/result.h"

namespace rondo::frr {

/// A row that rondod needs.
struct Row {
  std::string table;
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields = {};
};

class Network {
 public:
  static constexpr int kCables = 2;

  /// Lays the cables between 'box', which must outlive the network, and a new namespace. Does not start the routers.
  static Result<std::unique_ptr<Network>> make(const netlink::Lab& box);

  /// Starts the peer, which announces these prefixes ("10.1.0.0/16"; IPv4 or IPv6).
  Status start_peer(const std::vector<std::string>& prefixes);
  /// Starts the router of the box. Its zebra needs an FPM server.
  Status start_box();
  /// The peer withdraws, or announces again, those of its IPv4 routes that lie within 'prefix'.
  Status withdraw(const std::string& prefix) const;
  Status announce_all() const;
  /// The peer announces one more IPv4 prefix.
  Status announce(const std::string& prefix) const;

  /// Rows that describe the box: ports, interfaces with their addresses, neighbours.
  static std::vector<Row> rows();
  /// Pulls or plugs the cable of port n, at the peer's end.
  bool set_cable(int number, bool plugged) const {
    return peer_->ip("link set line" + std::to_string(number) + (plugged ? " up" : " down"));
  }
  /// The gateway of the peer's routes on cable n.
  static std::string gateway(int number, bool v6);
  static std::string port_name(int number) { return "swp" + std::to_string(number); }

  const netlink::Lab& peer() const noexcept { return *peer_; }
  Router& box_router() noexcept { return *box_router_; }
  Router& peer_router() noexcept { return *peer_router_; }

 private:
  explicit Network(const netlink::Lab& box) : box_(box) {}
  bool lay_cable(int number) const;

  const netlink::Lab& box_;
  std::unique_ptr<netlink::Lab> peer_;
  std::unique_ptr<Router> box_router_;
  std::unique_ptr<Router> peer_router_;
};

}  // namespace rondo::frr
