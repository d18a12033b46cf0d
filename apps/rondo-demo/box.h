// Box: the switch that the demo programs: a network namespace of this process's own with eight ports, or, where that is not permitted, none (rondod then
// uses its simulated data plane). The namespace ends with the processes in it: nothing is left behind, whatever happens.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::demo {

class Box {
 public:
  /// Moves this process into a namespace of its own; call before any thread is made. PermissionDenied where the system does not allow it.
  static Status enter_namespace();
  /// Makes veth pairs <port> - <port>x in the present namespace, all up, without IPv6 autoconfiguration noise.
  static Status make_ports(const std::vector<std::string>& ports);
  /// The other end of a port's cable.
  static std::string far_end(const std::string& port) { return port + "x"; }
};

/// Runs a program and waits; its error output becomes the message. The first word is the program.
Status run_program(const std::vector<std::string>& words);

}  // namespace rondo::demo
