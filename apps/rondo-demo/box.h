// Box: the switch that the demo programs: a network namespace of this process's own with eight ports, whose cables end in a second one, the
// far side; or, where that is not permitted, none (rondod then uses its simulated data plane). The namespaces end with the processes in
// them: nothing is left behind, whatever happens.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::demo {

class Box {
 public:
  /// Moves this process into a namespace of its own and makes the far side; call before any thread is made. PermissionDenied where the
  /// system does not allow it.
  static Result<Box> enter();
  ~Box();
  Box(Box&& other) noexcept : far_side_(std::exchange(other.far_side_, -1)) {}
  Box& operator=(Box&&) = delete;

  /// Makes veth pairs <port> - <port>x, here and on the far side, all up.
  Status make_ports(const std::vector<std::string>& ports) const;
  /// Switches IPv6 off on a port of the box: the kernel then does not look through its IPv6 routes when that port's carrier changes.
  static Status without_ipv6(const std::string& port);
  /// A path by which this process can name the far side's namespace.
  std::string far_side() const { return "/proc/self/fd/" + std::to_string(far_side_); }
  /// The other end of a port's cable.
  static std::string far_end(const std::string& port) { return port + "x"; }

 private:
  explicit Box(int far_side) noexcept : far_side_(far_side) {}
  int far_side_;
};

/// Runs a program and waits; its error output becomes the message. The first word is the program.
Status run_program(const std::vector<std::string>& words);

}  // namespace rondo::demo
