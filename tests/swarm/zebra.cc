#include "zebra.h"

#include <algorithm>
#include <iterator>

#include "fpm/fpm_kit.h"

namespace rondo::swarm {

namespace kit = fpm::kit;

namespace {

constexpr std::uint32_t kObjects = 14;  // Numbers of next hops: even ones are IPv4.
constexpr std::uint32_t kUnknownDevice = 4000;
constexpr std::array<std::uint8_t, 4> kProtocols{186, 188, 196, 11};

std::string prefix_of(std::uint64_t number) {
  return number % 2 == 1 ? "fd01:" + std::to_string(number) + "::/32" : "20." + std::to_string(number) + ".0.0/16";
}

template <class Container>
auto any_of(Random& random, Container& container) {
  return std::next(container.begin(), static_cast<std::ptrdiff_t>(random.below(container.size())));
}

}  // namespace

std::string Zebra::gateway(const Object& object) {
  if (object.kind == Object::Kind::Device) return object.v6 ? "::" : "0.0.0.0";
  const std::string number = std::to_string(object.port + 1);
  const std::string host = "1" + std::to_string(object.host);
  return object.v6 ? "2001:db8:" + number + "::" + host : "10." + number + ".0." + host;
}

std::uint32_t Zebra::device(const Object& object) const { return object.port < kPorts ? devices_[object.port] : kUnknownDevice; }

std::string Zebra::message(std::uint32_t id, const Object& object) const {
  switch (object.kind) {
    case Object::Kind::Gateway: return kit::frame(kit::nexthop(id, gateway(object), device(object)));
    case Object::Kind::Device: return kit::frame(kit::nexthop(id, object.v6 ? "::" : "", device(object)));
    case Object::Kind::Group: return kit::frame(kit::group(id, object.members));
    case Object::Kind::Blackhole: break;
  }
  return kit::frame(kit::message(RTM_NEWNEXTHOP, nhmsg{}, [&](netlink::MessageWriter& writer) {
    writer.attribute(NHA_ID, id);
    writer.attribute(NHA_BLACKHOLE, "", 0);
  }));
}

std::string Zebra::message(const Key& key, const Route& route) const {
  kit::RouteSpec spec{.nexthop = route.nexthop, .type = route.type, .protocol = route.protocol, .table = key.first, .paths = {}};
  for (std::size_t i = 0; i < route.hops.size(); ++i) {
    spec.paths.emplace_back(gateway(route.hops[i]), device(route.hops[i]), static_cast<std::uint8_t>(route.weights[i] - 1));
  }
  return kit::frame(kit::route(key.second, spec));
}

// --- changes

std::string Zebra::change() {
  switch (random_.below(10)) {
    case 0:
    case 1:
    case 2: return set_object(base_ + 1 + static_cast<std::uint32_t>(random_.below(kObjects)));
    case 3: return withdraw();
    case 4: return drop_object();
    case 5: return again();
    default: {
      const std::uint64_t place = random_.below(10);
      return set_route({place < 7 ? kMain : place < 9 ? kVrf : kNobody, prefix_of(random_.below(kPrefixes))});
    }
  }
}

std::string Zebra::free_prefix() {
  for (int look = 0; look < 20; ++look) {
    const std::string prefix = prefix_of(random_.below(kPrefixes));
    if (!routes_.contains({kMain, prefix})) return prefix;
  }
  return {};
}

Zebra::Object Zebra::drawn_gateway(bool v6) {
  const std::uint64_t port = random_.chance(0.03) ? kPorts : random_.below(kPorts);
  return {.kind = Object::Kind::Gateway, .v6 = v6, .port = port, .host = random_.below(kHosts), .members = {}};
}

/// Even numbers are IPv4. It may not exist.
std::uint32_t Zebra::drawn_id(bool v6) { return base_ + 2 * (1 + static_cast<std::uint32_t>(random_.below(kObjects / 2))) - (v6 ? 1 : 0); }

std::string Zebra::set_object(std::uint32_t id) {
  const bool v6 = (id - base_) % 2 == 1;
  Object object = drawn_gateway(v6);
  const std::uint64_t kind = random_.below(20);
  if (kind == 0) object.kind = Object::Kind::Blackhole;
  if (kind == 1) object.kind = Object::Kind::Device;
  if (kind >= 12) {
    object.kind = Object::Kind::Group;
    for (std::uint64_t i = 0, count = random_.between(1, 4); i < count; ++i) {
      const std::uint32_t member = drawn_id(v6);
      if (member != id || random_.chance(0.1)) object.members.emplace_back(member, static_cast<std::uint16_t>(random_.between(1, 3)));
    }
    if (object.members.empty()) object.kind = Object::Kind::Gateway;
  }
  objects_[id] = object;
  return message(id, object) + (dropped_.erase(id) > 0 ? users(id) : std::string{});
}

/// What names the next hop, directly or by a group.
std::string Zebra::users(std::uint32_t id) const {
  std::string bytes;
  std::set<std::uint32_t> names{id};
  for (const auto& [other, object] : objects_) {
    if (std::ranges::find(object.members, id, &std::pair<std::uint32_t, std::uint16_t>::first) == object.members.end()) continue;
    names.insert(other);
    bytes += message(other, object);
  }
  for (const auto& [key, route] : routes_) {
    if (names.contains(route.nexthop)) bytes += message(key, route);
  }
  return bytes;
}

std::string Zebra::set_route(const Key& key) {
  Route route{.type = RTN_UNICAST, .protocol = kProtocols[random_.below(kProtocols.size())], .nexthop = 0, .hops = {}, .weights = {}};
  const bool v6 = is_v6(key.second);
  switch (random_.below(8)) {
    case 0: route.type = std::array<std::uint8_t, 3>{RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT}[random_.below(3)]; break;
    case 1:
    case 2:
      for (std::uint64_t i = 0, count = random_.between(1, 3); i < count; ++i) {
        route.hops.push_back(drawn_gateway(v6));
        route.weights.push_back(static_cast<std::uint8_t>(random_.between(1, 2)));
      }
      break;
    default: route.nexthop = drawn_id(v6);
  }
  std::string bytes;
  if (random_.chance(0.2)) bytes = kit::frame(kit::no_route(key.second, key.first));  // zebra replaces some routes like this.
  routes_[key] = route;
  return bytes + message(key, route);
}

/// A next hop gets other content under its number, after it was deleted.
std::string Zebra::again() {
  if (objects_.empty()) return {};
  const std::uint32_t id = any_of(random_, objects_)->first;
  dropped_.insert(id);
  return kit::frame(kit::no_nexthop(id)) + set_object(id);
}

std::string Zebra::withdraw() {
  if (routes_.empty() || random_.chance(0.1)) return kit::frame(kit::no_route(prefix_of(kPrefixes)));  // It was never set.
  const auto route = any_of(random_, routes_);
  std::string bytes = kit::frame(kit::no_route(route->first.second, route->first.first));
  routes_.erase(route);
  return bytes;
}

/// Drops an object, even one in use. When it exists again, zebra sends again what names it.
std::string Zebra::drop_object() {
  if (objects_.empty() || random_.chance(0.5)) return {};
  const auto object = any_of(random_, objects_);
  std::string bytes = kit::frame(kit::no_nexthop(object->first));
  dropped_.insert(object->first);
  objects_.erase(object);
  return bytes;
}

// --- everything

std::string Zebra::all(bool in_order, double share) {
  dropped_.clear();
  std::vector<std::string> frames;
  for (const bool groups : {false, true}) {
    for (const auto& [id, object] : objects_) {
      if ((object.kind == Object::Kind::Group) == groups && random_.chance(share)) frames.push_back(message(id, object));
    }
  }
  for (const auto& [key, route] : routes_) {
    if (random_.chance(share)) frames.push_back(message(key, route));
  }
  for (std::size_t left = in_order ? 0 : frames.size(); left > 1; --left) std::swap(frames[left - 1], frames[random_.below(left)]);
  std::string bytes;
  for (const std::string& frame : frames) bytes += frame;
  return bytes;
}

void Zebra::renumber() {
  const std::uint32_t step = 2 * static_cast<std::uint32_t>(random_.between(1, kObjects));
  const bool is_up = base_ < 1000 || random_.chance(0.5);
  const auto moved = [&](std::uint32_t id) { return is_up ? id + step : id - step; };
  std::map<std::uint32_t, Object> objects;
  for (auto& [id, object] : objects_) {
    for (auto& [member, weight] : object.members) member = moved(member);
    objects[moved(id)] = std::move(object);
  }
  objects_ = std::move(objects);
  for (auto& [key, route] : routes_) route.nexthop = route.nexthop == 0 ? 0 : moved(route.nexthop);
  base_ = moved(base_);
  dropped_.clear();
}

std::string Zebra::lie() {
  const std::string route = kit::route(prefix_of(random_.below(kPrefixes)), {.type = RTN_BLACKHOLE});
  std::string frame = kit::frame(route);
  switch (random_.below(9)) {
    case 0: return kit::frame("", 1, 2);
    case 1: return {"\x01\x01\x00\x02", 4};
    case 2: frame[4] = '\x7f'; return frame;           // The message claims to be longer than its frame.
    case 3: frame[4 + 16 + 1] = '\x81'; return frame;  // rtm_dst_len.
    case 4: return kit::frame("half");
    case 5: return kit::frame(kit::group(base_ + 1, {}));
    case 6: return kit::frame("protobuf", 2);
    case 7: return kit::frame(kit::message(RTM_NEWNEIGH, rtmsg{}, [](netlink::MessageWriter&) {}));
    default: return kit::frame(kit::nexthop(0, "10.1.0.10", devices_[0]));
  }
}

// --- what it means

/// nullopt: something is missing.
std::optional<std::multiset<Zebra::Hop>> Zebra::hops_of(std::uint32_t id, int weight, bool within_group) const {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return std::nullopt;
  const Object& object = found->second;
  if (object.kind == Object::Kind::Gateway || object.kind == Object::Kind::Device) {
    if (object.port >= kPorts) return std::nullopt;
    return std::multiset<Hop>{{gateway(object), "Eth" + std::to_string(object.port), weight}};
  }
  std::multiset<Hop> hops;
  if (object.kind != Object::Kind::Group) return hops;
  if (within_group) return std::nullopt;
  for (const auto& [member, share] : object.members) {
    const auto more = hops_of(member, share, true);
    if (!more) return std::nullopt;
    hops.insert(more->begin(), more->end());
  }
  return hops;
}

Zebra::Meaning Zebra::meaning(const Key& key) const {
  const Route& route = routes_.at(key);
  if (route.type != RTN_UNICAST) return {.kind = Meaning::Kind::Black};
  std::multiset<Hop> hops;
  if (route.nexthop != 0) {
    const auto object = objects_.find(route.nexthop);
    if (object != objects_.end() && object->second.kind == Object::Kind::Blackhole) return {.kind = Meaning::Kind::Black};
    const auto found = hops_of(route.nexthop, 1, false);
    if (!found) return {.kind = Meaning::Kind::Waits};
    hops = *found;
  }
  for (std::size_t i = 0; i < route.hops.size(); ++i) {
    if (route.hops[i].port >= kPorts) return {.kind = Meaning::Kind::Waits};
    hops.emplace(gateway(route.hops[i]), "Eth" + std::to_string(route.hops[i].port), route.weights[i]);
  }
  return hops.empty() ? Meaning{} : Meaning{.kind = Meaning::Kind::Hops, .hops = std::move(hops)};
}

std::vector<Zebra::Key> Zebra::keys() const {
  std::vector<Key> keys;
  for (const auto& [key, route] : routes_) keys.push_back(key);
  return keys;
}

std::string Zebra::repair(std::size_t routes) {
  std::string bytes;
  for (const Key& key : keys()) {
    const Meaning meant = meaning(key);
    std::set<std::string> gateways;
    for (const Hop& hop : meant.hops) gateways.insert(std::get<0>(hop));
    if (meant.kind != Meaning::Kind::Waits && gateways.size() == meant.hops.size() && routes_.size() <= routes) continue;
    routes_.erase(key);
    bytes += kit::frame(kit::no_route(key.second, key.first));
  }
  return bytes;
}

}  // namespace rondo::swarm
