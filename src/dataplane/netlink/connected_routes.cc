// connected_routes.cc: see connected_routes.h.
#include "dataplane/netlink/connected_routes.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace rondo::netlink {

namespace {

constexpr std::size_t kRequestBytes = 128;

void put(MessageWriter& writer, std::uint16_t type, const IpAddress& address) noexcept {
  writer.attribute(type, address.bytes().data(), address.size());
}

}  // namespace

/// The copy of a route that the kernel made in the main table. The kernel gives its IPv6 routes the metric 256, and an operator may give
/// addresses another one.
std::optional<DeviceRoute> ConnectedRoutes::copy_of(const DeviceRoute& route, std::uint32_t table) const {
  if (route.protocol != RTPROT_KERNEL || route.table != kMainTable) return std::nullopt;
  DeviceRoute copy = route;
  copy.protocol = marks_.protocol;
  copy.table = table;
  const std::uint32_t first = route.subnet.address.is_v6() ? 1 : 0;  // Linux replaces the metric 0 of an IPv6 route.
  copy.metric = std::min(route.metric, std::max(marks_.metric - 1, first));
  return copy;
}

bool ConnectedRoutes::is_copy(const DeviceRoute& route, std::uint32_t table) const {
  return route.protocol == marks_.protocol && route.table == table;
}

bool ConnectedRoutes::notice(const Message& message) {
  const std::uint32_t table = table_;
  const std::optional<DeviceRoute> route = table == 0 ? std::nullopt : decode_device_route(message);
  if (!route) return false;
  const std::lock_guard lock(mutex_);
  const bool is_gone = message.header.nlmsg_type == RTM_DELROUTE;
  if (const std::optional<DeviceRoute> copy = copy_of(*route, table)) {
    if (is_reading_) changed_.insert(*copy);
    is_gone ? remove(*copy) : add(*copy);
    return false;
  }
  if (!is_copy(*route, table)) return false;
  if (is_gone && kept_.contains(*route)) add(*route);  // Another program deleted it.
  return true;
}

void ConnectedRoutes::begin_reading() {
  wanted_.clear();
  present_.clear();
  const std::lock_guard lock(mutex_);
  is_reading_ = table_ != 0;
  changed_.clear();
}

bool ConnectedRoutes::see(const Message& message) {
  const std::uint32_t table = table_;
  const std::optional<DeviceRoute> route = table == 0 ? std::nullopt : decode_device_route(message);
  if (!route) return false;
  if (std::optional<DeviceRoute> copy = copy_of(*route, table)) wanted_.push_back(std::move(*copy));
  if (!is_copy(*route, table)) return false;
  present_.insert(*route);
  return true;
}

void ConnectedRoutes::end_reading() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_reading_, false)) return;
  for (const DeviceRoute& copy : changed_)
    kept_.contains(copy) ? static_cast<void>(present_.insert(copy)) : static_cast<void>(present_.erase(copy));
  kept_ = std::exchange(present_, {});
  for (const DeviceRoute& copy : wanted_) {
    if (!kept_.contains(copy) && !changed_.contains(copy)) add(copy);
  }
  const std::set<DeviceRoute> wanted(wanted_.begin(), wanted_.end());
  const auto is_unwanted = [&](const DeviceRoute& copy) { return !wanted.contains(copy) && !changed_.contains(copy); };
  std::vector<DeviceRoute> unwanted;
  std::ranges::copy_if(kept_, std::back_inserter(unwanted), is_unwanted);
  for (const DeviceRoute& copy : unwanted) remove(copy);
  std::erase_if(failed_, [&](const auto& one) { return is_unwanted(one.first); });
}

std::vector<MissingSubnet> ConnectedRoutes::missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<MissingSubnet> all;
  for (const auto& [copy, why] : failed_) all.push_back({copy.subnet, copy.device, why});
  return all;
}

/// Appends: several devices may have routes to one subnet, which differ in the device alone.
void ConnectedRoutes::add(const DeviceRoute& copy) {
  failed_.erase(copy);
  Status added = write(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_APPEND, copy);
  if (added.ok() || added.origin_errno() == EEXIST) {
    kept_.insert(copy);
    return;
  }
  kept_.erase(copy);
  // The device is down or gone by now, and has no route to copy.
  if (added.origin_errno() != ENETDOWN && added.origin_errno() != ENODEV) failed_.emplace(copy, std::move(added));
}

/// The copy may be gone with its device. A reading finds a copy that the kernel did not delete.
void ConnectedRoutes::remove(const DeviceRoute& copy) {
  failed_.erase(copy);
  kept_.erase(copy);
  static_cast<void>(write(RTM_DELROUTE, 0, copy));
}

Status ConnectedRoutes::write(std::uint16_t type, std::uint16_t flags, const DeviceRoute& route) {
  std::byte request[kRequestBytes];
  MessageWriter writer{request};
  rtmsg header{};
  header.rtm_family = route.subnet.address.is_v6() ? AF_INET6 : AF_INET;
  header.rtm_dst_len = route.subnet.length;
  header.rtm_table = route.table < 256 ? static_cast<std::uint8_t>(route.table) : std::uint8_t{RT_TABLE_UNSPEC};
  header.rtm_protocol = route.protocol;
  header.rtm_scope = route.scope;
  header.rtm_type = RTN_UNICAST;
  writer.begin(type, static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), requests_.next_sequence(), header);
  put(writer, RTA_DST, route.subnet.address);
  writer.attribute(RTA_OIF, route.device.value());
  writer.attribute(RTA_PRIORITY, route.metric);
  if (route.source) put(writer, RTA_PREFSRC, *route.source);
  if (route.table > 255) writer.attribute(RTA_TABLE, route.table);
  const Result<Message> answer = requests_.ask(writer);
  if (!answer) return answer.error();
  const std::optional<Answer> end = answer->header.nlmsg_type == NLMSG_ERROR ? decode_answer(*answer) : std::nullopt;
  if (!end) return Status{StatusCode::Unavailable, "the answer of the kernel is malformed"};
  return status_from_errno(end->error_number, end->words.empty() ? "the kernel refused it" : end->words);
}

}  // namespace rondo::netlink
