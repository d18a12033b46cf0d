// Neighbors: owns NEIGH_TABLE. A row puts a permanent neighbour into the kernel; next-hop groups wait for it. The kernel drops the neighbours of a port
// that goes administratively down; they come back with it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "agent/port_ids.h"
#include "agent/schema.h"
#include "rondo/dataplane/programmer.h"
#include "rondo/orch/orch.h"

namespace rondo::agent {

class Neighbors final : public Orch {
 public:
  Neighbors(Runtime& runtime, Programmer& programmer, const PortIds& ids);

 private:
  struct Neighbor {
    NeighborKey key;
    MacAddress mac;
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void restore(std::string_view port);

  Programmer& programmer_;
  const PortIds& ids_;
  std::map<std::string, Neighbor, std::less<>> neighbors_;    // By NEIGH_TABLE key, in the kernel as far as we know.
  std::map<std::string, std::size_t, std::less<>> by_port_;   // How many on each port.
};

}  // namespace rondo::agent
