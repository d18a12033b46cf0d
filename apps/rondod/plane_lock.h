// PlaneLock: one rondod for each network namespace and protocol number. Two would delete each other's routes at every start, because a
// protocol number says whose an object is. The lock is a listening socket with an abstract name: such names belong to a network
// namespace, and the kernel releases them with the process. Start only, except for answer(). One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::daemon {

class PlaneLock {
 public:
  /// A process that has one of the lock's names. The pid is 0 if this process cannot see it, or if the name's socket does not answer.
  struct Holder {
    pid_t process = 0;
    uid_t user = 0;
  };

  /// Holds nothing.
  PlaneLock() = default;

  /// 'network_namespace' as LinuxDataPlaneOptions has it. AlreadyExists names the process that has the lock and may program the namespace.
  /// Any process may take the names. One that may not program anything is no holder: the lock moves on to its next name, and to none if
  /// such processes have them all; strangers() lists them. A process whose rights this one cannot read counts by its user: root and this
  /// user are holders. A listener of whom the kernel says nothing (a full queue, and no unix_diag) counts as a holder. Does not block.
  static Result<PlaneLock> take(const std::string& network_namespace, std::uint8_t protocol);

  bool is_held() const noexcept { return static_cast<bool>(listener_); }
  const std::vector<Holder>& strangers() const noexcept { return strangers_; }

  /// Each process that asked who holds the lock leaves a connection in the listener's queue, and a full queue hides the holder's pid.
  /// Empties it; to be called about once a second. O(connections), bounded.
  void answer() const noexcept;

 private:
  UniqueFd listener_;
  std::vector<Holder> strangers_;
};

/// "pid 4711 (rondod, user root)".
std::string to_string(const PlaneLock::Holder& holder);

}  // namespace rondo::daemon
