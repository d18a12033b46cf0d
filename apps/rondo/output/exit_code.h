// Exit codes of the command line, after sysexits.h. docs/guide/command-line.md has the table for users.
#pragma once

#include "rondo/base/status.h"

namespace rondo::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitDifferent = 3;  // A replay differed, or a wait was longer than its bound.
inline constexpr int kExitParked = 4;     // The written row waits for facts.
inline constexpr int kExitNoDaemon = 69;  // EX_UNAVAILABLE
inline constexpr int kExitTryAgain = 75;  // EX_TEMPFAIL
inline constexpr int kExitBadFile = 78;   // EX_CONFIG

/// The exit code for an error of the daemon or of the connection.
constexpr int exit_code(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::Ok: return kExitDone;
    case StatusCode::InvalidArgument: return kExitUsage;
    case StatusCode::Unavailable: return kExitNoDaemon;
    case StatusCode::FailedPrecondition:
    case StatusCode::ResourceExhausted:
    case StatusCode::DeadlineExceeded:
    case StatusCode::Cancelled: return kExitTryAgain;
    case StatusCode::NotFound:
    case StatusCode::AlreadyExists:
    case StatusCode::PermissionDenied:
    case StatusCode::Unimplemented:
    case StatusCode::DataLoss:
    case StatusCode::Internal: return kExitFailed;
  }
  return kExitFailed;
}

}  // namespace rondo::cli
