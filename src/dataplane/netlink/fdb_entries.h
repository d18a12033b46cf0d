// FdbEntries: the entries of bridges that an order finds in its place. The kernel refuses a creation with EEXIST and does not report what
// the entry is, and it deletes an entry of any program. This class asks for the one entry, so that those of other control planes and the
// addresses of devices stay. One thread; blocks while the kernel answers, about 5 us an entry.
#pragma once

#include <optional>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/message.h"
#include "dataplane/netlink/request_channel.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

/// Decodes the answer to the request for one entry. Empty if the entry or the port is gone, or the port is in no bridge. Unavailable for
/// any other error.
Result<std::optional<FdbRecord>> decode_fdb_answer(const Message& answer);

class FdbEntries {
 public:
  explicit FdbEntries(const NetworkNamespace& where) : requests_(where) {}

  /// Handles an FdbSet that the kernel refused because an entry is present. An entry that was learned or is static is replaced; for another
  /// one the status is AlreadyExists and says whose it is. Unavailable if the look-up failed.
  void settle(Operation& operation);
  /// Returns false and sets the status if the FdbDelete must not be carried out: NotFound if its entry is of another control plane or is
  /// the address of a device, Unavailable if the look-up failed.
  bool may_delete(Operation& operation);

 private:
  /// The entry of the address in the bridge that the port is in, on any port.
  Result<std::optional<FdbRecord>> find(IfIndex port, const MacAddress& mac);
  Status replace(const FdbSet& order);

  RequestChannel requests_;
};

}  // namespace rondo::netlink
