// PlaneLock: permits one switch agent per network namespace and protocol number. Two would delete each other's routes at every start,
// because the protocol number identifies the owner of an object. The lock is a listening socket with an abstract name: such names belong
// to a network namespace, and the kernel releases them with the process. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::netlink {

class PlaneLock {
 public:
  /// A process that has one of the lock's names. The pid is 0 if this process cannot see it, or if the name's socket does not answer.
  struct Holder {
    pid_t process = 0;
    uid_t user = 0;
  };

  /// Holds nothing.
  PlaneLock() = default;

  /// 'network_namespace' as in LinuxDataPlaneOptions. AlreadyExists names the process that has the lock and may program the namespace. Any
  /// process may take the names. A process that may not program the namespace is no holder: the lock moves to its next name, and to none
  /// if such processes have all names; strangers() lists them. If this process cannot read the rights of another, its user decides: root
  /// and this user count as holders. A listener that the kernel does not describe (a full queue, and no unix_diag) counts as a holder.
  /// Does not block. If given, 'holder' gets the process that AlreadyExists names.
  static Result<PlaneLock> take(const std::string& network_namespace, std::uint8_t protocol, Holder* holder = nullptr);

  bool is_held() const noexcept { return static_cast<bool>(listener_); }
  const std::vector<Holder>& strangers() const noexcept { return strangers_; }

  /// Empties the listener's queue. Each process that checks the lock leaves a connection in it, and a full queue hides the holder's pid
  /// from kernels without unix_diag. Call about once a second where others wait for the lock. O(connections), bounded.
  void answer() const noexcept;

 private:
  UniqueFd listener_;
  std::vector<Holder> strangers_;
};

/// "pid 4711 (rondod, user root)".
std::string to_string(const PlaneLock::Holder& holder);

}  // namespace rondo::netlink
