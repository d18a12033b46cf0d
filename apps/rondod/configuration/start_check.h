// start_check: finds what would prevent a start with a configuration, as far as this user can check it now. The start calls it first, and
// `--check-config` prints all of it, so both find the same and end with the same exit code. It only reads: it creates no file, takes no
// lock and opens no connection.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondod/configuration/config.h"

namespace rondo::daemon {

struct StartFinding {
  bool is_error = true;  // False: a folder that the service manager makes when it starts rondod.
  std::string setting;   // "journal.file"
  std::string what;
  /// NotFound for a file or folder that is missing, PermissionDenied, AlreadyExists or Unavailable for what another process has; otherwise
  /// the setting is wrong.
  StatusCode code = StatusCode::InvalidArgument;
};

std::vector<StartFinding> check_start(const Config& config);

/// Settings that are permitted and may be unintended.
std::vector<StartFinding> warnings(const Config& config);

/// The exit code for the findings, of which there is at least one: 78 if a setting is wrong, 77 if this user lacks a permission, 69 if
/// something is missing that may come, or another process has it.
int exit_code(const std::vector<StartFinding>& findings);

}  // namespace rondo::daemon
