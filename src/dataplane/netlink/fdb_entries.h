// FdbEntries: the entries of bridges that an order finds in its place. The kernel refuses a creation with EEXIST and does not report what
// the entry is, and it deletes an entry of any program. This class asks for the one entry, so that those of other control planes and the
// addresses of devices stay. One thread; blocks while the kernel answers, about 5 us an entry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/message.h"
#include "dataplane/netlink/network_namespace.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

class FdbEntries {
 public:
  explicit FdbEntries(const NetworkNamespace& where) : where_(where) {}

  /// Handles an FdbSet that the kernel refused because an entry is present. An entry that was learned or is static is replaced; for another
  /// one the status is AlreadyExists and says whose it is.
  void settle(Operation& operation);
  /// If the entry that the FdbDelete names is of another control plane, or the address of a device: sets the status NotFound, and returns
  /// true. The order must not be carried out then.
  bool keeps(Operation& operation);

 private:
  /// The entry of the address in the bridge that the port is in, on any port.
  Result<std::optional<FdbRecord>> find(IfIndex port, const MacAddress& mac);
  Status replace(const FdbSet& order);
  /// Sends the request in 'writer' and returns the answer.
  Result<Message> ask(MessageWriter& writer);

  const NetworkNamespace& where_;
  std::optional<Socket> socket_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace rondo::netlink
