// nexthop_holders.cc: see nexthop_holders.h.
#include "dataplane/netlink/nexthop_holders.h"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "dataplane/kernel_status.h"
#include "dataplane/netlink/decode.h"

namespace rondo::netlink {

namespace {

constexpr std::size_t kRequestBytes = 64;

/// The number of the next hop or group that the order creates; 0 for other orders.
NexthopId created_by(const Order& order) noexcept {
  if (const auto* const nexthop = std::get_if<NexthopSet>(&order)) return nexthop->create ? nexthop->id : NexthopId{};
  const auto* const group = std::get_if<GroupSet>(&order);
  return group != nullptr && group->create ? group->id : NexthopId{};
}

bool is_about(const Order& order, NexthopId id) noexcept {
  if (const auto* const nexthop = std::get_if<NexthopSet>(&order)) return nexthop->id == id;
  if (const auto* const group = std::get_if<GroupSet>(&order)) return group->id == id;
  const auto* const gone = std::get_if<NexthopDelete>(&order);
  return gone != nullptr && gone->id == id;
}

}  // namespace

Result<std::optional<std::uint8_t>> decode_nexthop_answer(const Message& answer) {
  if (answer.header.nlmsg_type == RTM_NEWNEXTHOP && answer.payload.size() >= sizeof(nhmsg)) {
    nhmsg header;
    std::memcpy(&header, answer.payload.data(), sizeof header);
    return std::optional{std::uint8_t{header.nh_protocol}};
  }
  const auto end = answer.header.nlmsg_type == NLMSG_ERROR ? decode_answer(answer) : std::nullopt;
  if (!end) return failure(StatusCode::Unavailable, "the answer of the kernel about a next hop is malformed");
  if (end->error_number == ENOENT) return std::optional<std::uint8_t>{};
  return failure(Status{StatusCode::Unavailable, "the kernel did not look up the next hop", end->error_number});
}

std::vector<std::size_t> NexthopHolders::settle(std::span<Operation> ops) {
  std::vector<std::size_t> ours;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const NexthopId id = created_by(ops[i].order);
    if (!id || ops[i].status.origin_errno() != EEXIST) continue;
    const auto holder = find(id);
    const bool is_ours = holder && *holder && **holder == protocol_;
    const auto is_about_it = [id](const Operation& later) { return is_about(later.order, id); };
    if (is_ours && std::ranges::none_of(ops.subspan(i + 1), is_about_it)) {
      ours.push_back(i);
    } else if (holder && *holder && !is_ours) {
      ops[i].status = status_from_kernel(ops[i].order, EEXIST, held_nexthop_words(**holder));
    } else {
      const std::string why = holder ? "the number was taken for a moment" : std::string{holder.error().message()};
      ops[i].status = Status{StatusCode::Unavailable, to_string(ops[i].order) + ": " + why};
    }
  }
  return ours;
}

bool NexthopHolders::may_delete(Operation& operation) {
  const auto holder = find(std::get<NexthopDelete>(operation.order).id);
  if (!holder) {
    operation.status = holder.error().with_context(to_string(operation.order));
    return false;
  }
  if (!*holder || **holder == protocol_) return true;
  operation.status = status_from_kernel(operation.order, ENOENT, held_nexthop_words(**holder));
  return false;
}

Result<std::optional<std::uint8_t>> NexthopHolders::find(NexthopId id) {
  std::byte request[kRequestBytes];
  MessageWriter writer{request};
  writer.begin(RTM_GETNEXTHOP, NLM_F_REQUEST, requests_.next_sequence(), nhmsg{});
  writer.attribute(NHA_ID, id.value());
  const auto answer = requests_.ask(writer);
  if (!answer) return failure(Status{StatusCode::Unavailable, std::string{answer.error().message()}, answer.error().origin_errno()});
  return decode_nexthop_answer(*answer);
}

}  // namespace rondo::netlink
