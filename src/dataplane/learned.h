// What the kernel learns: neighbours, and stations behind the ports of bridges; and the sources that report it (DataPlane::watch_neighbors,
// DataPlane::watch_fdb).
#pragma once

#include <cstdint>

#include "rondo/dataplane/op.h"
#include "rondo/sched/source.h"

namespace rondo {

/// What the kernel learned about a neighbour by ARP or neighbour discovery (never a difference).
struct NeighborEvent {
  IfIndex port;
  IpAddress address;
  MacAddress mac;
  bool removed = false;  // The kernel does not know it, could not resolve it, or was given it by a program: it is not learned.
};

/// What a bridge learned about the port of a station (never a difference).
struct FdbEvent {
  IfIndex bridge;
  IfIndex port;
  MacAddress mac;
  bool removed = false;  // The bridge does not know it any more, or was given it by a program: it is not learned.
};

/// A source that reports learned neighbours, and makes the kernel resolve one.
class NeighborWatch : public Source {
 public:
  using Source::Source;
  /// Makes the kernel resolve the address, as a packet to it would. Does not wait: the result is an event. A neighbour that the kernel has
  /// is not changed. About 10 us.
  virtual Status resolve(IfIndex port, const IpAddress& address) = 0;
  /// Overruns of the kernel's buffer after which all neighbours were read again.
  virtual std::uint64_t gaps() const noexcept = 0;
};

/// A source that reports what bridges learn.
class FdbWatch : public Source {
 public:
  using Source::Source;
  /// How often a station was left out, because limits::kLearnedStations were known already.
  virtual std::uint64_t left_out() const noexcept = 0;
  /// True from then on until a quarter of the room is free and the stations have been read again.
  virtual bool leaves_out() const noexcept = 0;
};

}  // namespace rondo
