// Pairing: which handled port event belongs to which cause, from two lists that were taken in different processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "rondo/base/metrics.h"
#include "rondo/base/time.h"

namespace rondo::demo {

/// A witness of the cause may wake up a little after the one who handles it.
inline constexpr Duration kWitnessSlack = 20ms;

/// Times from each of 'causes' to its effect: the next one with the same carrier, before that carrier is caused again. A cause without an
/// effect is unseen: the kernel joins moves of the cable that it comes to handle together.
template <class Cause>
std::uint64_t pair_up(const std::vector<Cause>& causes, Instant Cause::*at, const std::vector<std::pair<bool, Instant>>& effects,
                      Histogram& times) {
  std::uint64_t unseen = 0;
  auto next = effects.begin();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const Instant from = causes[i].*at - kWitnessSlack;  // The witness may wake up a little after rondod: that counts as immediate.
    const Instant until = i + 2 < causes.size() ? causes[i + 2].*at - kWitnessSlack : Instant::never();
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
