// Neighbors: owns NEIGH_TABLE. A row puts a permanent neighbour into the kernel; next-hop groups wait for it. The kernel drops the
// neighbours of a port that goes administratively down or away; what is wanted comes back with it. Known by port and address; of rows that
// spell an address differently the first has the neighbour (spellings.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/drift.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/schema.h"
#include "switch_agent/spellings.h"

namespace rondo::switch_agent {

class Neighbors final : public Orch {
 public:
  Neighbors(Runtime& runtime, Programmer& programmer, const PortIds& ids);

  /// Where the row 'key' of NEIGH_TABLE stands in the data plane. O(log(rows)).
  RowInPlane state_of(std::string_view key) const;
  /// How many rows stand where; those of ports that are down wait. O(ports with neighbours).
  PlaneCounts state_counts() const;
  /// Compares the neighbours that were asked for with those that were read, about 'limit' of them. True at the end of both.
  bool compare(NeighborLook& look, std::size_t limit, Findings& findings) const;
  /// Orders a neighbour again that another program deleted or changed.
  void program_again(const NeighborDelete& object);
  bool has(const NeighborDelete& object) const;

 private:
  struct Neighbor {
    bool applied = false;         // Its row is.
    bool leaving = false;         // Its Delete is under way.
    std::uint64_t set_under = 0;  // PortIds::up_number() when it was set; 0 if never.
    MacAddress mac;               // What the data plane was ordered last, and accepted.
    unsigned orders = 0;          // Under way.
  };
  using Place = std::pair<std::string, IpAddress>;  // Port, address.
  Outcome set(std::string_view key, const Fields& fields);
  Outcome set_answered(const Place& place, IfIndex id, const MacAddress& mac, const Status& status);
  Outcome remove(std::string_view key);
  void gone(const Place& place);
  void note_present(const std::string& port, Neighbor& neighbor);
  void note_absent(const std::string& port, const Neighbor& neighbor);
  bool is_present(const std::string& port, const Neighbor& neighbor) const;
  void count(const Place& place, bool more);

  Programmer& programmer_;
  const PortIds& ids_;
  /// How many neighbours of a port were set under a number of PortIds::up_number().
  struct Present {
    std::uint64_t set_under = 0;
    std::size_t neighbors = 0;
  };
  std::map<std::string, Present, std::less<>> present_;
  std::map<Place, Neighbor> neighbors_;  // Wanted, or their Delete is under way.
  Spellings spellings_;
  std::map<std::string, std::size_t, std::less<>> counts_;  // How many on each port, and of each family that need an address there.
};

/// The key of the facts kNeighbor and kNeighborUnused.
std::string neighbor_key(std::string_view port, const IpAddress& address);

}  // namespace rondo::switch_agent
