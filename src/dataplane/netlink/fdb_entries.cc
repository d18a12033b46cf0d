// fdb_entries.cc: see fdb_entries.h.
#include "dataplane/netlink/fdb_entries.h"

#include <linux/neighbour.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "dataplane/kernel_status.h"

namespace rondo::netlink {

namespace {

constexpr std::size_t kRequestBytes = 128;

ndmsg header_of(IfIndex port) noexcept {
  ndmsg header{};
  header.ndm_family = AF_BRIDGE;
  header.ndm_ifindex = static_cast<int>(port.value());
  header.ndm_flags = NTF_MASTER;  // The bridge that the port is in.
  return header;
}

/// Null if the entry may be replaced and deleted.
const char* holder_of(const FdbRecord& entry) noexcept {
  if (entry.is_external) return kHeldByControlPlane;
  return entry.is_static || entry.is_learned ? nullptr : kAddressOfDevice;
}

}  // namespace

Result<std::optional<FdbRecord>> decode_fdb_answer(const Message& answer) {
  if (answer.header.nlmsg_type != NLMSG_ERROR) return decode_fdb(answer);
  const auto end = decode_answer(answer);
  if (!end) return failure(StatusCode::Unavailable, "the answer of the kernel about an entry of a bridge is malformed");
  const bool is_absent = end->error_number == ENOENT || end->error_number == ENODEV || end->error_number == EINVAL;
  if (is_absent) return std::optional<FdbRecord>{};
  return failure(Status{StatusCode::Unavailable, "the kernel did not look up the entry of the bridge", end->error_number});
}

void FdbEntries::settle(Operation& operation) {
  const FdbSet order = std::get<FdbSet>(operation.order);
  const auto found = find(order.port, order.mac);
  if (!found) {
    operation.status = found.error().with_context(to_string(operation.order));
    return;
  }
  if (const char* const holder = *found ? holder_of(**found) : nullptr; holder != nullptr) {
    operation.status = status_from_kernel(operation.order, EEXIST, holder);
  } else if (*found && (*found)->is_static && (*found)->is_sticky && (*found)->port == order.port) {
    operation.status = Status{};
  } else {
    operation.status = replace(order);
  }
}

bool FdbEntries::may_delete(Operation& operation) {
  const FdbDelete order = std::get<FdbDelete>(operation.order);
  const auto found = find(order.port, order.mac);
  if (!found) {
    operation.status = found.error().with_context(to_string(operation.order));
    return false;
  }
  const char* const holder = *found ? holder_of(**found) : nullptr;
  if (holder != nullptr) operation.status = status_from_kernel(operation.order, ENOENT, holder);
  return holder == nullptr;
}

Result<std::optional<FdbRecord>> FdbEntries::find(IfIndex port, const MacAddress& mac) {
  std::byte request[kRequestBytes];
  MessageWriter writer{request};
  writer.begin(RTM_GETNEIGH, NLM_F_REQUEST, requests_.next_sequence(), header_of(port));
  writer.attribute(NDA_LLADDR, mac.bytes);
  const auto answer = requests_.ask(writer);
  if (!answer) return failure(Status{StatusCode::Unavailable, std::string{answer.error().message()}, answer.error().origin_errno()});
  return decode_fdb_answer(*answer);
}

Status FdbEntries::replace(const FdbSet& order) {
  std::byte request[kRequestBytes];
  MessageWriter writer{request};
  ndmsg header = header_of(order.port);
  header.ndm_flags |= NTF_STICKY;
  header.ndm_state = NUD_NOARP;
  writer.begin(RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, requests_.next_sequence(), header);
  writer.attribute(NDA_LLADDR, order.mac.bytes);
  const auto answer = requests_.ask(writer);
  if (!answer) return answer.error().with_context(to_string(order));
  const auto end = decode_answer(*answer);
  if (!end) return Status{StatusCode::DataLoss, to_string(order) + ": the answer of the kernel is malformed"};
  return end->error_number == 0 ? Status{} : status_from_kernel(order, end->error_number, end->words);
}

}  // namespace rondo::netlink
