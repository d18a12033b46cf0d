// MemoryShare: the bytes that all connections of one admin socket hold together: frames being read and answers not yet read by the caller.
// Each connection has kOwn bytes outside of the share, so a request of usual size is read whatever the other connections hold.
#pragma once

#include <cstddef>

namespace rondo {

struct MemoryShare {
  static constexpr std::size_t kOwn = std::size_t{64} * 1024;

  std::size_t most = 0;
  std::size_t used = 0;

  /// True if a connection that holds 'own' bytes may read more of a frame.
  bool has_room_to_read(std::size_t own) const noexcept { return own < kOwn || used < most; }
  /// True if the connection may make another page while 'unread' bytes wait for its reader: half of the share is reserved for callers that
  /// send.
  bool has_room_to_answer(std::size_t unread) const noexcept { return unread == 0 || used < most / 2; }
};

}  // namespace rondo
