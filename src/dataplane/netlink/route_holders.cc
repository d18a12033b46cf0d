#include "dataplane/netlink/route_holders.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "dataplane/kernel_status.h"
#include "dataplane/netlink/decode.h"

namespace rondo::netlink {

namespace {
/// How long a result is trusted. The removal of a route needs no reading: the next creation succeeds.
constexpr Duration kBelieved = 60s;
/// The pause after a reading, as a multiple of its time. Reading a full table takes a quarter of a second.
constexpr int kPauseFactor = 10;
constexpr Duration kPauseLeast = 10ms;
/// The most routes of other programs that are remembered.
constexpr std::size_t kOthersMost = 1U << 20U;
constexpr std::uint16_t kDumpFlags = NLM_F_REQUEST | NLM_F_DUMP;
}  // namespace

std::vector<std::size_t> RouteHolders::settle(std::span<Operation> ops) {
  std::vector<std::pair<std::size_t, Place>> refused;
  std::vector<Place> unknown;
  const bool believed = looked_ != Instant{} && clock_.now() - looked_ < kBelieved;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto* const route = std::get_if<RouteSet>(&ops[i].order);
    if (route == nullptr || !route->create || ops[i].status.origin_errno() != EEXIST) continue;
    refused.emplace_back(i, Place{route->prefix, route->table});
    if (!believed || !others_.contains(refused.back().second)) unknown.push_back(refused.back().second);
  }
  const bool read = !unknown.empty() && look(unknown);
  std::vector<std::size_t> ours;
  for (const auto& [i, place] : refused) {
    const auto other = others_.find(place);
    if (other != others_.end()) {
      ops[i].status = status_from_kernel(ops[i].order, EEXIST, held_words(other->second) + ", metric " + std::to_string(marks_.metric));
    } else if (read && std::ranges::binary_search(ours_, place)) {
      ours.push_back(i);
    } else {
      ops[i].status =
          status_from_kernel(ops[i].order, EEXIST, "held by a route whose protocol is looked for, metric " + std::to_string(marks_.metric));
    }
  }
  return ours;
}

bool RouteHolders::look(const std::vector<Place>& asked) {
  const Instant begun = clock_.now();
  if (begun < next_look_) return false;
  std::vector<Place> wanted = asked;
  std::ranges::sort(wanted);
  others_.clear();
  ours_.clear();
  bool complete = true;
  for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
    const auto is_of_family = [family](const Place& place) { return place.first.address.is_v6() == (family == AF_INET6); };
    rtmsg header{};
    header.rtm_family = family;
    const Status status = dumps_.run(
        {.request = [&](MessageWriter& writer, std::uint32_t sequence) { writer.begin(RTM_GETROUTE, kDumpFlags, sequence, header); },
         .restart =
             [&] {
               std::erase_if(others_, [&](const auto& other) { return is_of_family(other.first); });
               std::erase_if(ours_, is_of_family);
             },
         .visit =
             [&](const Message& message) {
               const auto route = decode_route_holder(message);
               if (!route || route->metric != marks_.metric) return;
               const Place place{route->prefix, route->table};
               if (route->protocol != marks_.protocol) {
                 if (others_.size() < kOthersMost) others_.emplace(place, route->protocol);
               } else if (std::ranges::binary_search(wanted, place)) {
                 ours_.push_back(place);
               }
             }});
    complete = complete && status.ok();
  }
  std::ranges::sort(ours_);
  looked_ = complete ? clock_.now() : Instant{};
  next_look_ = clock_.now() + std::max(kPauseLeast, (clock_.now() - begun) * kPauseFactor);
  return complete;
}

}  // namespace rondo::netlink
