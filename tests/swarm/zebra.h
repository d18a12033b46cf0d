// Zebra: the model of a zebra for FpmLife: its next hops, groups and routes, what it sends of them as FPM frames, and what they mean for
// the tables. Its state may be a lie, such as a group with a member that does not exist; repair() makes it one that can be installed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/random.h"

namespace rondo::swarm {

class Zebra {
 public:
  static constexpr std::uint32_t kMain = 254;
  static constexpr std::uint32_t kVrf = 1001;  // Table of Vrf1.
  static constexpr std::uint32_t kNobody = 77;
  static constexpr std::uint64_t kPrefixes = 24;
  static constexpr std::uint64_t kPorts = 4;
  static constexpr std::uint64_t kHosts = 3;

  /// A next hop as the tables name it: gateway, port, weight.
  using Hop = std::tuple<std::string, std::string, int>;
  /// What a route means for its row and the kernel.
  struct Meaning {
    enum class Kind : std::uint8_t { NoRow, Waits, Black, Hops } kind = Kind::NoRow;
    std::multiset<Hop> hops = {};
  };
  using Key = std::pair<std::uint32_t, std::string>;  // Table, prefix.

  /// 'devices' are zebra's numbers of the ports, which are named Eth0, Eth1 and so on.
  Zebra(Random random, std::array<std::uint32_t, kPorts> devices) : random_(std::move(random)), devices_(devices) {}

  /// Changes something and returns the frames that tell of it.
  std::string change();
  /// Everything for a session that begins, with next hops before groups before routes, or in any order; 'share' of it.
  std::string all(bool in_order, double share);
  /// Other numbers for the same next hops, as after a restart.
  void renumber();
  /// Bytes that are no message, or one that has no effect.
  std::string lie();
  /// Removes the routes that wait for something that does not exist, name a gateway twice, or are too many, and returns the frames that
  /// tell of it.
  std::string repair(std::size_t routes);

  /// A prefix of the default VRF that zebra has no route for; empty if there is none.
  std::string free_prefix();

  Meaning meaning(const Key& key) const;
  std::vector<Key> keys() const;

 private:
  struct Object {
    enum class Kind : std::uint8_t { Gateway, Group, Blackhole, Device } kind = Kind::Gateway;
    bool v6 = false;
    std::uint64_t port = 0;  // kPorts: no such device.
    std::uint64_t host = 0;
    std::vector<std::pair<std::uint32_t, std::uint16_t>> members = {};
  };
  struct Route {
    std::uint8_t type = 0;
    std::uint8_t protocol = 0;
    std::uint32_t nexthop = 0;  // 0: 'hops'.
    std::vector<Object> hops = {};
    std::vector<std::uint8_t> weights = {};
  };
  static std::string gateway(const Object& object);
  std::uint32_t device(const Object& object) const;
  Object drawn_gateway(bool v6);
  std::uint32_t drawn_id(bool v6);
  std::string set_object(std::uint32_t id);
  std::string set_route(const Key& key);
  std::string again();
  std::string users(std::uint32_t id) const;
  std::string withdraw();
  std::string drop_object();
  std::string message(std::uint32_t id, const Object& object) const;
  std::string message(const Key& key, const Route& route) const;
  std::optional<std::multiset<Hop>> hops_of(std::uint32_t id, int weight, bool within_group) const;
  static bool is_v6(const std::string& prefix) { return prefix.find(':') != std::string::npos; }

  Random random_;
  const std::array<std::uint32_t, kPorts> devices_;
  std::map<std::uint32_t, Object> objects_;
  std::map<Key, Route> routes_;
  std::set<std::uint32_t> dropped_;  // Next hops that this session has deleted, and that may be named.
  std::uint32_t base_ = 0;           // Added to the numbers of next hops.
};

}  // namespace rondo::swarm
