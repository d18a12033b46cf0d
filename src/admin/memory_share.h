// MemoryShare: bytes that wait in all connections of one admin socket together, frames that are being read and answers that are not. What a
// connection holds up to kOwn is its own: a request like any that people send is read whatever the others hold.
#pragma once

#include <cstddef>

namespace rondo {

struct MemoryShare {
  static constexpr std::size_t kOwn = std::size_t{64} * 1024;

  std::size_t most = 0;
  std::size_t used = 0;

  /// Whether a connection that holds 'own' bytes may read more of a frame.
  bool has_room_to_read(std::size_t own) const noexcept { return own < kOwn || used < most; }
  /// Whether it may have another page made while 'unread' bytes wait for its reader: half is left to those who send.
  bool has_room_to_answer(std::size_t unread) const noexcept { return unread == 0 || used < most / 2; }
};

}  // namespace rondo
