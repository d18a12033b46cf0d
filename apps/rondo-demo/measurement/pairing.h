// Pairing: matches each handled port event with its cause, from two lists that different processes recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "rondo/base/metrics.h"
#include "rondo/base/time.h"

namespace rondo::demo {

/// The listener of the cause may wake a little after the process that handles it.
inline constexpr Duration kWakeSlack = 20ms;

/// The time from each of 'causes' to its effect: the next handled event with the same carrier, before the next cause with that carrier. A
/// cause without an effect is unseen: the kernel merges moves of the cable that it handles together.
template <class Cause>
std::uint64_t pair_up(const std::vector<Cause>& causes, Instant Cause::*at, const std::vector<std::pair<bool, Instant>>& effects,
                      Histogram& times) {
  std::uint64_t unseen = 0;
  auto next = effects.begin();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const Instant from = causes[i].*at - kWakeSlack;  // If that listener woke a little after rondod, the time counts as zero.
    const Instant until = i + 2 < causes.size() ? causes[i + 2].*at - kWakeSlack : Instant::never();
    while (next != effects.end() && next->second < from) ++next;
    const auto effect = std::find_if(next, effects.end(), [&](const auto& e) { return e.first == causes[i].carrier; });
    if (effect == effects.end() || effect->second >= until) {
      ++unseen;
      continue;
    }
    times.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (effect->second - causes[i].*at).count())));
    next = std::next(effect);
  }
  return unseen;
}

}  // namespace rondo::demo
