// Switch: the switch agent for programs that link rondo::switch_agent. It consumes the tables of ports, addresses, neighbours, next-hop
// groups and routes, and programs a DataPlane until it matches them, as rondod does.
//
// Order: create it after the runtime, start it before the first turn, and destroy it before the runtime and after the last turn. A turn
// after its end, and the end of the runtime before it, are asserted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo {

class Runtime;

struct SwitchOptions {
  /// The kernel's routing table that gets the routes.
  std::uint32_t table = kMainTable;
  /// LinuxDataPlaneOptions::protocol: the same number (asserted, if DataPlane::protocol() tells one). Next hops have numbers in the kernel
  /// that programs share, so each protocol has numbers of its own.
  std::uint8_t protocol = 201;
  /// Maximum operations that the data plane works on at a time; 0: limits::kProgrammerOps.
  std::size_t operations_max = 0;
  /// Unwanted objects of an earlier run stay in the kernel for at least this long after start().
  Duration hold{0};
  /// Apply operations on the runtime's own thread instead of a thread of their own. For simulation.
  bool in_line = false;
};

class Switch {
 public:
  /// Declares the tables and consumes them. 'runtime' and 'plane' must outlive the switch.
  Switch(Runtime& runtime, DataPlane& plane, const SwitchOptions& options = {});
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  /// Subscribes to link events and reads the objects of an earlier run from the data plane. Call it before the runtime runs: until then
  /// no port exists, all rows wait, and `health` of the standard commands reports it. Blocks while the kernel works: O(objects). Errors:
  /// those of DataPlane::claim, which this switch holds until it ends, DataPlane::monitor and of its dumps. After an error the same holds
  /// as before the call, and start() may be called again, also between turns. FailedPrecondition once it has returned ok.
  Status start();
  /// True when each object of an earlier run is in use or deleted. Runtime thread.
  bool has_restarted() const noexcept;
  /// Operations that the data plane has not answered yet. Runtime thread.
  std::size_t operations_in_flight() const noexcept;

 private:
  class Impl;
  class Tie;
  Tie* tie_ = nullptr;  // The runtime owns it.
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
