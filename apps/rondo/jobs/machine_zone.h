// The time zone of this machine, by its name in the tz database.
#pragma once

#include <string>

#include "rondo/base/result.h"

namespace rondo::cli {

struct MachineZone {
  std::string name;
  std::string source;  // Where the name is from: "TZ" or a file.
};

/// As the C library finds it: from the variable TZ, whose value is 'tz' (null: not set), otherwise from 'etc'/localtime, which is a link
/// into the tz database, with 'etc'/timezone for a copy. UTC if neither file is there. NotFound if a name cannot be told from what is
/// there.
Result<MachineZone> machine_zone(const char* tz, const std::string& etc = "/etc");

}  // namespace rondo::cli
