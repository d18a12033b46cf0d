// subnet_routes.cc: see subnet_routes.h.
#include "dataplane/netlink/subnet_routes.h"

#include <linux/rtnetlink.h>

#include <algorithm>

#include "dataplane/limits.h"
#include "dataplane/netlink/decode.h"
#include "rondo/dataplane/limits.h"

namespace rondo::netlink {

namespace {

bool is_host(const Prefix& subnet) noexcept { return subnet.length == subnet.address.size() * 8; }

}  // namespace

void SubnetRoutes::follow(bool followed) {
  const std::lock_guard lock(mutex_);
  followed_ = followed;
  known_ = false;
}

std::optional<SubnetRoutes::Subnet> SubnetRoutes::notice(const Message& message) {
  const std::lock_guard lock(mutex_);
  const std::optional<Subnet> lost = replaced(message);
  return lost ? lost : deleted(message);
}

std::optional<SubnetRoutes::Subnet> SubnetRoutes::deleted(const Message& message) {
  std::optional<Subnet> subnet = decode_subnet_route(message);
  if (!subnet || is_host(subnet->second)) return std::nullopt;
  if (message.header.nlmsg_type == RTM_NEWROUTE) {
    lost_.erase(*subnet);
    return std::nullopt;
  }
  lost_.insert(*subnet);
  if (lost_.size() > limits::kLostSubnets) {
    lost_.clear();
    known_ = false;
  }
  return subnet;
}

std::optional<SubnetRoutes::Subnet> SubnetRoutes::replaced(const Message& message) {
  const std::optional<Prefix> prefix = decode_replaced_subnet(message);
  if (!prefix) return std::nullopt;
  const auto of_port = std::ranges::find(subnets_, *prefix, &Subnet::second);
  if (of_port == subnets_.end()) return std::nullopt;
  lost_.insert(*of_port);
  return *of_port;
}

void SubnetRoutes::notice_gap() {
  const std::lock_guard lock(mutex_);
  known_ = false;
}

Status SubnetRoutes::note(std::vector<AddressEntry>& entries, bool may_read, const Read& read) {
  const std::lock_guard lock(mutex_);
  std::set<Subnet> subnets;
  for (const AddressEntry& entry : entries) subnets.emplace(entry.port, entry.address.network());
  if (!known_ && may_read) {
    Result<std::vector<Subnet>> present = read();
    if (!present) return std::move(present.error());
    lost_ = subnets;
    for (const Subnet& subnet : *present) lost_.erase(subnet);
    known_ = followed_;
  }
  subnets_ = subnets;
  // A subnet without an address has no route and needs none.
  std::erase_if(lost_, [&](const Subnet& subnet) { return !subnets.contains(subnet); });
  for (AddressEntry& entry : entries) {
    const Prefix subnet = entry.address.network();
    entry.has_subnet_route = is_host(subnet) || !lost_.contains({entry.port, subnet});
  }
  return {};
}

}  // namespace rondo::netlink
