// NexthopHolders: which program has the next hop or group of a number. All programs share one number space. The kernel refuses a creation
// with EEXIST and does not report the holder, and it deletes an object of any program. This class asks for the one object, so that those of
// other programs stay. One thread; blocks while the kernel answers, about 5 us an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/netlink/message.h"
#include "dataplane/netlink/request_channel.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

/// Decodes the answer to the request for one next hop or group: the protocol that it carries. Empty if there is none. Unavailable for any
/// other error.
Result<std::optional<std::uint8_t>> decode_nexthop_answer(const Message& answer);

class NexthopHolders {
 public:
  NexthopHolders(const NetworkNamespace& where, std::uint8_t protocol) : requests_(where), protocol_(protocol) {}

  /// Handles those 'ops' that create next hops and groups and that the kernel refused because one is present. Gives each a Status:
  /// AlreadyExists, with the holder, or Unavailable if that is not known. Returns the indexes in 'ops' of those whose holder is this
  /// program and that no later operation concerns.
  std::vector<std::size_t> settle(std::span<Operation> ops);
  /// Returns false and sets the status if the NexthopDelete must not be carried out: NotFound if the object is of another program,
  /// Unavailable if the look-up failed.
  bool may_delete(Operation& operation);

 private:
  Result<std::optional<std::uint8_t>> find(NexthopId id);

  RequestChannel requests_;
  const std::uint8_t protocol_;
};

}  // namespace rondo::netlink
