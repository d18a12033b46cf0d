// Who gives up a place on the admin socket when all are taken, as a function without sockets: places are few, so whoever leaves one unused
// makes room. Used by the listener (server.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rondo/admin/caller.h"
#include "rondo/base/time.h"

namespace rondo {

/// One connection, as the listener sees it.
struct AdminSeat {
  std::uint32_t user = 0;
  bool is_privileged = false;
  bool is_answered = false;    // A request is under way: it keeps its place.
  bool has_requested = false;  // It has sent a whole request since it came.
  Instant since;               // Since when it has been without a request under way.
};

/// The place that 'newcomer' gets, or none. Root and the daemon's user give way to each other alone. Before all others goes a connection of
/// the user with the most of them; among these one that has never sent a request; among these the one that has been so for longest. One
/// that has sent requests keeps its place for 'yield' after the last. Where each has a request under way, a user who has more than half of
/// the places gives up the oldest to another user. 'seats' are in the order in which they came. O(n^2) of a few dozen.
std::optional<std::size_t> seat_to_give_up(std::span<const AdminSeat> seats, const Caller& newcomer, Instant now, Duration yield);

}  // namespace rondo
