// Caller: the process at the other end of an admin connection, as reported by the kernel (SO_PEERCRED), and its rights.
#pragma once

#include <cstdint>

namespace rondo {

/// The caller at the time of the connection: the process may have ended since.
struct Caller {
  std::uint32_t user = UINT32_MAX;  // User id; UINT32_MAX if the kernel did not report it.
  std::int32_t process = 0;         // Process id; 0 if unknown, such as for a process of another container.
  bool may_write = true;            // False: it may only call commands that read (CommandEffect::Reads).
  bool is_privileged = false;       // Root, or the user of this process.
};

}  // namespace rondo
