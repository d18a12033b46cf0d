// See seats.h.
#include "admin/seats.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace rondo {

namespace {
/// All are being answered, as watchers are for as long as they like. The oldest of a user who has more than half of the places.
std::optional<std::size_t> seat_of_the_greedy(std::span<const AdminSeat> seats, const Caller& newcomer) {
  const auto is_greedy = [&](const AdminSeat& seat) {
    const auto count = static_cast<std::size_t>(std::ranges::count(seats, seat.user, &AdminSeat::user));
    return seat.is_answered && !seat.is_privileged && seat.user != newcomer.user && 2 * count > seats.size();
  };
  const auto found = std::ranges::find_if(seats, is_greedy);
  return found == seats.end() ? std::nullopt : std::optional{static_cast<std::size_t>(found - seats.begin())};
}
}  // namespace

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
  return chosen ? chosen : seat_of_the_greedy(seats, newcomer);
}

}  // namespace rondo
