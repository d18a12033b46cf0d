// What the data plane's answer to an order means for the row that asked for it. One place, so that every Orch treats the kernel's errors
// alike.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/outcome.h"

namespace rondo::agent {

/// The world below is about to tell us why (a link event is on its way), or is short of something for a moment.
inline constexpr Duration kSoon = 100ms;

/// Another program has a route where ours should be. How soon its end is noticed.
inline constexpr Duration kForeignRetry = 1s;

/// True when asking again later may help: the state below changes without us.
inline bool is_passing(const Status& status) noexcept {
  switch (status.code()) {
    case Code::FailedPrecondition:  // ENETDOWN, ENETUNREACH: port or address not there yet.
    case Code::ResourceExhausted:   // ENOBUFS, ENOMEM, ENOSPC.
    case Code::Unavailable:
    case Code::DeadlineExceeded:
    case Code::NotFound:  // ENODEV, ENOENT of something referred to.
      return true;
    default: return false;
  }
}

/// For an order that was carried out on a device that has been made again since: what it set went with the old one.
inline Status device_changed(std::string_view port) {
  return Status{Code::FailedPrecondition, "the device '" + std::string{port} + "' went while the order was under way"};
}

inline Outcome outcome_of_set(const Status& status) {
  if (status.ok()) return Outcome::done();
  if (is_passing(status)) return Outcome::retry_after(kSoon, status);
  return Outcome::reject(status);
}

/// What is absent already is as good as deleted.
inline Outcome outcome_of_delete(const Status& status) {
  if (status.ok() || status.code() == Code::NotFound) return Outcome::done();
  if (is_passing(status)) return Outcome::retry_after(kSoon, status);
  return Outcome::reject(status);
}

}  // namespace rondo::agent
