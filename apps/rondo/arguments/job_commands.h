// The descriptions of `rondo job`. The room jobs implements the commands.
#pragma once

#include <vector>

#include "manual/description.h"

namespace rondo::cli {

std::vector<manual::Command> job_commands();

}  // namespace rondo::cli
