// Chooses the connection that loses its place on the admin socket when all are taken, as a function without sockets. Places are few, so
// a connection that does not use its place must make room. Used by the listener (server.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rondo/admin/caller.h"
#include "rondo/base/time.h"

namespace rondo {

/// One connection, as the listener sees it.
struct ConnectionSlot {
  std::uint32_t user = 0;
  bool is_privileged = false;
  bool is_answered = false;    // A request is under way, so the connection keeps its place.
  bool has_requested = false;  // It has sent a whole request since it connected.
  Instant since;               // Since when it has been without a request under way.
};

/// Returns the place that 'newcomer' gets, or none. Connections of root and of the daemon's user give up their places only to each other.
/// The others are chosen in this order: the user with the most connections; of these, connections that have never sent a request; of
/// these, the one that has been without a request longest. A connection that has sent requests keeps its place for 'yield' after the last
/// one. A user gets no place of a user with fewer. If each has a request under way, the user with the most places loses the oldest to a
/// user who has at least two fewer. 'slots' are in the order of their arrival. O(n^2) of a few dozen.
std::optional<std::size_t> slot_to_give_up(std::span<const ConnectionSlot> slots, const Caller& newcomer, Instant now, Duration yield);

}  // namespace rondo
