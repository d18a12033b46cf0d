// Caller: who is at the other end of a connection of the admin socket, as the kernel knows it (SO_PEERCRED), and what it may do.
#pragma once

#include <cstdint>

namespace rondo {

/// Who called. As it was when the connection was made: a process may have ended since.
struct Caller {
  enum class Rights : std::uint8_t {
    None,   // Told so, and closed.
    Read,   // Commands that only read (CommandEffect::Reads).
    Write,  // Everything.
  };
  std::uint32_t user = UINT32_MAX;  // User id; UINT32_MAX: the kernel did not say.
  std::int32_t process = 0;         // Process id, 0: unknown, such as one of another container.
  Rights rights = Rights::Write;
  bool is_privileged = false;  // Root, or the user of this process.
};

}  // namespace rondo
