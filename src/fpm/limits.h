// Limits of the FPM server. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- FPM

/// Routes that the FPM server holds, in every table of the kernel that it takes. Each costs about 60 bytes and its row.
/// Reached: a new prefix is left out until there is room, and `health` reports it. Figure: `stats.fpm.skipped.full`. Test:
/// `RouteBookTest.APrefixBeyondTheLimitIsLeftOutAndCounted`. Shown: `fpm_routes`.
inline constexpr std::size_t kFpmRoutes = 4'000'000;

/// Next hops and groups of next hops that the FPM server holds. zebra makes one for each distinct set, and keeps unused ones for minutes.
/// Reached: a new next hop is left out, and its routes wait for it. Figure: `stats.fpm.skipped.full`. Test:
/// `RouteBookTest.ANextHopBeyondTheLimitIsLeftOutAndCounted`. Shown: `fpm_nexthops`.
inline constexpr std::size_t kFpmNexthops = 262'144;

}  // namespace rondo::limits
