// start_check: finds what would prevent a start with a configuration, as far as this user can check it now (`--check-config`). It only
// reads: it creates no file, takes no lock and opens no connection.
#pragma once

#include <string>
#include <vector>

#include "rondod/configuration/config.h"

namespace rondo::daemon {

struct StartFinding {
  bool is_error = true;  // False: the service manager may be about to correct it.
  std::string setting;   // "journal.file"
  std::string what;
};

std::vector<StartFinding> check_start(const Config& config);

}  // namespace rondo::daemon
