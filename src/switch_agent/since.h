// The text of a time since which a state holds, for operators.
#pragma once

#include <string>

#include "rondo/base/time.h"

namespace rondo::switch_agent {

/// Returns " since 2026-11-24T12:03:11Z"; empty for an unknown time.
std::string since_text(WallTime time);

}  // namespace rondo::switch_agent
