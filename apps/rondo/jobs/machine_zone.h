// The time zone of this machine, by its name in the tz database.
#pragma once

#include <string>

#include "rondo/base/result.h"

namespace rondo::cli {

struct MachineZone {
  std::string name;
  std::string source;  // Where the name is from: "TZ" or a file.
};

/// The zone that the C library uses: from the variable TZ, whose value is 'tz' (null: not set), otherwise from 'etc'/localtime, and UTC if
/// that is not there. If it is no link into the tz database, its content decides: the name is that of 'etc'/timezone if that zone has the
/// same offsets, or of a zone of 'database' that has. 'etc'/timezone alone decides only where 'etc'/localtime cannot be read as a zone.
/// NotFound if no name can be told. Reads the whole database if it must, some milliseconds.
Result<MachineZone> machine_zone(const char* tz, const std::string& etc = "/etc", const std::string& database = "/usr/share/zoneinfo");

}  // namespace rondo::cli
