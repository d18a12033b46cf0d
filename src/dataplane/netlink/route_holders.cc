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
/// How long a result is trusted, as a multiple of the time of its reading, and at least and at most. The removal of a route needs no
/// reading: the next creation succeeds. A route of yet another program in its place does. Rows are tried again each second, so this is the
/// share of the time that a route which stays costs: 1 % with a full table.
constexpr int kBelievedFactor = 100;
constexpr Duration kBelievedShortest = 900ms;
constexpr Duration kBelievedLong = 60s;
/// The pause after a reading, as a multiple of its time. Reading a full table takes a quarter of a second.
constexpr int kPauseFactor = 10;
constexpr Duration kPauseLeast = 10ms;
/// How long a route that was read as ours counts as ours. A program that replaces it within this time is overwritten.
constexpr Duration kOursFor = 1s;
/// The most routes of other programs that are remembered.
constexpr std::size_t kOthersMost = 1U << 20U;
constexpr std::uint16_t kDumpFlags = NLM_F_REQUEST | NLM_F_DUMP;
}  // namespace

std::vector<std::size_t> RouteHolders::settle(std::span<Operation> ops) {
  std::vector<std::pair<std::size_t, Place>> refused;
  bool any_unknown = false;
  const Instant now = clock_.now();
  const bool believed = now < believed_until_;
  if (now - looked_ >= kOursFor) ours_ = {};
  const auto is_ours = [this](const Place& place) { return std::ranges::binary_search(ours_, place); };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto* const route = std::get_if<RouteSet>(&ops[i].order);
    if (route == nullptr || !route->create || ops[i].status.origin_errno() != EEXIST) continue;
    refused.emplace_back(i, Place{route->prefix, route->table});
    const Place& place = refused.back().second;
    any_unknown = any_unknown || !((believed && others_.contains(place)) || is_ours(place));
  }
  if (any_unknown) look();
  std::vector<std::size_t> ours;
  for (const auto& [i, place] : refused) {
    const auto other = others_.find(place);
    if (other != others_.end()) {
      ops[i].status = status_from_kernel(ops[i].order, EEXIST, words(other->second));
    } else if (is_ours(place)) {
      ours.push_back(i);
    } else {
      ops[i].status = {StatusCode::Unavailable, to_string(ops[i].order) +
                                                    ": a route is in its place already, and the tables were read too recently "
                                                    "to read again whose it is"};
    }
  }
  return ours;
}

bool RouteHolders::has_strays(const RouteSet& route) const {
  return std::ranges::equal_range(ours_, Place{route.prefix, route.table}).size() > 1;
}

std::string RouteHolders::words(const Other& other) const {
  std::string words = held_words(other.protocol) + ", metric " + std::to_string(marks_.metric);
  if (other.gateway) words += " via " + other.gateway->to_string();
  if (other.is_before_ours) words += ", which is beside the row's and decides the packets";
  return words + former_number_words(other.protocol);
}

/// The kernel lists the routes of a place together, the preferred one first.
void RouteHolders::note(const RouteHolder& route) {
  const Place place{route.prefix, route.table};
  if (route.protocol == marks_.protocol) {
    const auto other = others_.empty() ? others_.end() : others_.find(place);
    if (other != others_.end()) other->second.is_before_ours = true;
    ours_.push_back(place);
  } else if (others_.size() < kOthersMost && (ours_.empty() || ours_.back() != place)) {
    others_.emplace(place, Other{.protocol = route.protocol, .gateway = route.gateway});
  }
}

void RouteHolders::look() {
  const Instant begun = clock_.now();
  if (begun < next_look_) return;
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
               if (route && route->metric == marks_.metric) note(*route);
             }});
    complete = complete && status.ok();
  }
  std::ranges::sort(ours_);
  if (!complete) ours_ = {};  // A route that was not read may be another program's.
  const Instant ended = clock_.now();
  looked_ = complete ? ended : Instant{};
  believed_until_ =
      complete ? ended + std::clamp<Duration>((ended - begun) * kBelievedFactor, kBelievedShortest, kBelievedLong) : Instant{};
  next_look_ = ended + std::max(kPauseLeast, (ended - begun) * kPauseFactor);
}

}  // namespace rondo::netlink
