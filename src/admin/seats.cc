// See seats.h.
#include "admin/seats.h"

#include <algorithm>
#include <tuple>

namespace rondo {

std::optional<std::size_t> seat_to_give_up(std::span<const AdminSeat> seats, const Caller& newcomer, Instant now, Duration yield) {
  std::optional<std::size_t> chosen;
  std::tuple<std::int64_t, bool, Duration> best;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const AdminSeat& seat = seats[i];
    const Duration unused = now - seat.since;
    if (seat.is_answered || (seat.is_privileged && !newcomer.is_privileged)) continue;
    if (seat.has_requested && unused < yield) continue;
    const std::tuple rank{std::ranges::count(seats, seat.user, &AdminSeat::user), !seat.has_requested, unused};
    if (chosen && rank <= best) continue;
    chosen = i;
    best = rank;
  }
  return chosen;
}

}  // namespace rondo
