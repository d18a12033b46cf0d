// start_check: what would keep a rondod with a configuration from starting, as far as this user can see it now (`--check-config`). Looks
// only: it creates no file, takes no lock and opens no connection.
#pragma once

#include <string>
#include <vector>

#include "rondod/config.h"

namespace rondo::daemon {

struct StartFinding {
  bool is_error = true;  // Else the service manager may be about to mend it.
  std::string setting;   // "journal.file"
  std::string what;
};

std::vector<StartFinding> check_start(const Config& config);

}  // namespace rondo::daemon
