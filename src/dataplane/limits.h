// Limits of the data plane that stay inside: no caller sets or meets them. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Data plane

/// Link events read from the kernel that wait for their turn. The rest stays in the socket; an overrun of the socket is detected and
/// repaired.
/// Reached: the rest stays in the socket; an overrun of the socket is detected and repaired. Figure: `sources.rows.depth`,
/// `sources.rows.turned_away`. Test: `Gap.EventsThatNobodyTakesAreBoundedAndTheRestIsRepaired`.
inline constexpr std::size_t kLinkEvents = 4096;

/// Subnets without the route that the kernel makes for an address, as its notifications say. The next audit removes those of
/// deleted addresses.
/// Reached: all are forgotten, and the routes are read again if there are few. Figure: none: the next audit says what is lost. Test:
/// `SubnetRoutesTest.BeyondTheLimitTheRoutesAreReadAgain`.
inline constexpr std::size_t kLostSubnets = 4096;

}  // namespace rondo::limits
