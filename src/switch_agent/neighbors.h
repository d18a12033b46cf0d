// Neighbors: owns NEIGH_TABLE. A row adds a permanent neighbour to the kernel; next-hop groups wait for it. The kernel drops the
// neighbours of a port that goes administratively down or disappears; this Orch restores the desired ones when the port returns. A row of a
// learned neighbour orders nothing: the kernel has it, ages it, and follows its link address. Port and
// address identify a neighbour. If several rows spell one address, the first row has the neighbour (spellings.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/drift.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"
#include "switch_agent/retry_timer.h"
#include "switch_agent/schema.h"
#include "switch_agent/spellings.h"

namespace rondo::switch_agent {

class Neighbors final : public Orch {
 public:
  Neighbors(Runtime& runtime, Programmer& programmer, const PortIds& ids);

  /// Returns the state in the data plane of the row 'key' of NEIGH_TABLE. O(log(rows)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of installed rows; rows on ports that are down do not count. O(ports with neighbours).
  PlaneCounts state_counts() const;
  /// Compares about 'limit' of the requested neighbours with those read. Returns true at the end of both.
  bool compare(NeighborLook& look, std::size_t limit, Findings& findings) const;
  /// Orders again a neighbour that another program deleted or changed.
  void program_again(const NeighborDelete& object);
  bool has(const NeighborDelete& object) const;
  /// Orders the neighbours of the port again: the kernel drops all of a device whose MAC address changes.
  void mac_changed(const std::string& port);
  /// Adds the neighbours of 'port', as they are on 'device'. O(neighbours of the port).
  void add_objects_on(std::string_view port, IfIndex device, std::vector<DeleteOrder>& objects) const;

 private:
  struct Neighbor {
    bool applied = false;         // The row is applied.
    bool leaving = false;         // Its Delete is under way.
    bool may_remain = false;      // The kernel may have it, although its port went down.
    bool learned = false;         // The kernel keeps it, and nothing was ordered, or what was ordered was deleted.
    std::uint64_t set_under = 0;  // PortIds::up_number() when it was set; 0 if never.
    MacAddress mac;               // The last address that was ordered and that the data plane accepted.
    unsigned orders = 0;          // Orders under way.
    bool is_dropped = false;      // The MAC address of the port changed while an order was under way.
    std::string refused_again;    // The kernel's message, if it refused the last repair.
  };
  using Place = std::pair<std::string, IpAddress>;  // Port, address.
  Outcome set(std::string_view key, const Fields& fields);
  bool may_remain(const Place& place) const;
  Outcome delete_remains(const Place& place);
  Outcome set_answered(const Place& place, IfIndex id, const MacAddress& mac, const Status& status);
  /// The row says that the kernel has learned the neighbour.
  Outcome set_learned(const Place& place, const MacAddress& mac);
  Outcome learned(const Place& place, const MacAddress& mac);
  /// Applied: done while the kernel keeps it.
  Outcome done(const Place& place, Neighbor& neighbor, const MacAddress& mac);
  void order_again(const NeighborDelete& object, std::function<void(const Status&)> then);
  Outcome remove(std::string_view key);
  void gone(const Place& place);
  void note_present(const std::string& port, Neighbor& neighbor);
  void note_absent(const std::string& port, const Neighbor& neighbor);
  bool is_present(const std::string& port, const Neighbor& neighbor) const;
  void count(const Place& place, bool more);

  Programmer& programmer_;
  const PortIds& ids_;
  Refusals<std::string> refusals_;  // By canonical key.
  /// The number of neighbours of a port that were set under one value of PortIds::up_number().
  struct Present {
    std::uint64_t set_under = 0;
    std::size_t neighbors = 0;
  };
  std::map<std::string, Present, std::less<>> present_;
  std::map<Place, Neighbor> neighbors_;  // Desired, or their Delete is under way.
  RetryTimer dropped_;                   // Ports whose neighbours the kernel has dropped with their MAC address.
  Spellings spellings_;
  std::map<std::string, std::size_t, std::less<>> counts_;  // Neighbours per port, and per port and family (these need an address there).
};

/// fe80::/10
bool is_link_local(const IpAddress& address) noexcept;
/// The key of the facts kNeighbor and kNeighborUnused.
std::string neighbor_key(std::string_view port, const IpAddress& address);

}  // namespace rondo::switch_agent
