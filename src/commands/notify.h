// notify: reports the daemon's state to the service manager (sd_notify(3)): one datagram to $NOTIFY_SOCKET; nothing if that is not set.
#pragma once

#include <string_view>

#include "rondo/base/status.h"
#include "rondo/base/time.h"

namespace rondo::commands {

/// 'state' is a text such as "READY=1\nSTATUS=serving". Returns ok without a service manager, and ResourceExhausted or Unavailable if the
/// service manager does not read earlier messages. Never waits.
Status notify(std::string_view state);
/// The line of the log for an error of notify().
inline constexpr std::string_view kNotNotified = "cannot notify the service manager, continuing";

/// The interval at which the service manager expects WATCHDOG=1; zero if it expects none (WATCHDOG_USEC, WATCHDOG_PID;
/// sd_watchdog_enabled(3)).
Duration watchdog_period();

}  // namespace rondo::commands
