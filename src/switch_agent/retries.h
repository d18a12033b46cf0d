// All delays after which the switch agent retries what the data plane refused. audit.cc has the periods of the audits, agent.cc those of
// the restart.
#pragma once

#include <algorithm>

#include "rondo/base/time.h"

namespace rondo::switch_agent {

/// The event of a new device is on its way: it takes well below a millisecond.
inline constexpr Duration kEventRetry = 10ms;
/// The kernel is about to report the cause (a link event is on its way), or it is short of a resource for a moment.
inline constexpr Duration kSoon = 100ms;
/// An order that is refused again for the same reason is retried after kSoon, doubled up to this: its cause may be permanent.
inline constexpr Duration kSlowestRefusedRetry = 5s;
/// IPv6 is switched off on the port. The kernel sends no event when it is switched on; messages to operators state this delay.
inline constexpr Duration kIpv6OffRetry = 2s;
/// All numbers of routing tables are taken. One becomes free when a VRF goes, which is rare.
inline constexpr Duration kTableRetry = 5s;
/// Another program holds the place of an object, or a reading of the data plane failed. The delay doubles up to kSlowestForeignRetry.
inline constexpr Duration kForeignRetry = 1s;
/// The kernel does not report every removal, so the retries do not end. A full routing table may be held (by an earlier protocol number of
/// rondod), so they must be rare.
inline constexpr Duration kSlowestForeignRetry = 32s;

/// 'first', doubled 'times' times, up to 'longest'.
inline Duration doubled(Duration first, unsigned times, Duration longest) noexcept {
  return std::min<Duration>(first * (1U << std::min(times, 16U)), longest);
}

}  // namespace rondo::switch_agent
