// notify: tells the service manager how the daemon is (sd_notify(3)): one datagram to $NOTIFY_SOCKET, nothing when that is not set.
#pragma once

#include <string_view>

#include "rondo/base/status.h"
#include "rondo/base/time.h"

namespace rondo::daemon {

/// 'state' such as "READY=1\nSTATUS=serving". Returns ok when there is no service manager; ResourceExhausted or Unavailable when the
/// service manager does not read what it was told before. Never waits.
Status notify(std::string_view state);

/// How often the service manager wants to hear WATCHDOG=1, or zero when it does not (WATCHDOG_USEC, WATCHDOG_PID; sd_watchdog_enabled(3)).
Duration watchdog_period();

}  // namespace rondo::daemon
