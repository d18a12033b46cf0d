// Testbed: the switch that the demo programs: a network namespace of this process with eight ports, whose cables end in a second namespace,
// the far side. Where that is not permitted there is no testbed, and rondod uses its simulated data plane. The namespaces end with the
// processes in them, so nothing is left behind in any case.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::demo {

class Testbed {
 public:
  /// Moves this process into a new namespace and creates the far side. Call before any thread is created. PermissionDenied if the system
  /// does not allow it.
  static Result<Testbed> enter();
  ~Testbed();
  Testbed(Testbed&& other) noexcept : far_side_(std::exchange(other.far_side_, -1)) {}
  Testbed& operator=(Testbed&&) = delete;

  /// Creates veth pairs <port> - <port>x between the testbed and the far side, and sets both ends up.
  Status make_ports(const std::vector<std::string>& ports) const;
  /// Switches IPv6 off on a port of the testbed, so that the kernel does not scan its IPv6 routes when that port's carrier changes.
  static Status without_ipv6(const std::string& port);
  /// The path by which this process names the far side's namespace.
  std::string far_side() const { return "/proc/self/fd/" + std::to_string(far_side_); }
  /// The other end of a port's cable.
  static std::string far_end(const std::string& port) { return port + "x"; }

 private:
  explicit Testbed(int far_side) noexcept : far_side_(far_side) {}
  int far_side_;
};

/// Runs a program and waits; a failure's message is its error output. The first word is the program.
Status run_program(const std::vector<std::string>& words);

}  // namespace rondo::demo
