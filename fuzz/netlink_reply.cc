// netlink_reply: no bytes on a netlink socket may cause a read outside them, an endless loop, or the acceptance of malformed input.
// Decodes the input as every kind of message, and gives it to an OrderSender as the kernel's answer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/fake_kernel.h"
#include "dataplane/netlink/order_sender.h"

namespace {

using namespace rondo;

void must_hold(bool condition) {
  if (!condition) std::abort();
}

void decode(std::span<const std::byte> datagram) {
  constexpr std::uint8_t kProtocol = 201;
  netlink::MessageReader reader{datagram};
  for (netlink::Message message; reader.next(message);) {
    if (const auto answer = netlink::decode_answer(message)) must_hold(answer->error_number >= 0 && answer->error_number <= 4095);
    if (const auto link = netlink::decode_link(message)) must_hold(link->event.port && !link->event.name.empty());
    if (const auto address = netlink::decode_address(message, kProtocol))
      must_hold(address->address.length <= address->address.address.size() * 8);
    if (const auto neighbor = netlink::decode_neighbor(message, kProtocol)) must_hold(static_cast<bool>(neighbor->port));
    if (const auto entry = netlink::decode_fdb(message)) must_hold(entry->port && entry->bridge);
    if (const auto nexthop = netlink::decode_nexthop(message, kProtocol)) must_hold(static_cast<bool>(nexthop->id));
    if (const auto route = netlink::decode_route(message, {.protocol = kProtocol, .metric = 201}))
      must_hold(route->prefix.length <= route->prefix.address.size() * 8);
    if (const auto holder = netlink::decode_route_holder(message)) must_hold(holder->prefix.length <= holder->prefix.address.size() * 8);
  }
}

void answer(std::span<const std::byte> datagram) {
  netlink::FakeKernel kernel;
  netlink::OrderSender sender(kernel.socket(), {.protocol = 201, .metric = 20}, 4);
  if (!kernel.queue(datagram)) return;
  std::vector<Operation> ops(6);
  for (Operation& op : ops) op.order = NexthopDelete{.id = NexthopId{1}};
  sender.apply(ops);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> datagram{reinterpret_cast<const std::byte*>(data), size};
  decode(datagram);
  if (size > 0 && size <= netlink::kDatagramBytes) answer(datagram);
  return 0;
}
