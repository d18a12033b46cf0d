// Since when something is as it is, for people.
#pragma once

#include <string>

#include "rondo/base/time.h"

namespace rondo::switch_agent {

/// " since 2026-11-24T12:03:11Z"; empty for a time that is not known.
std::string since_text(WallTime time);

}  // namespace rondo::switch_agent
