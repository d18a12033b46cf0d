// The descriptions of rondo's commands: with job_commands.h the only place to add a command, a word or an option. The room commands
// implements those that do more than print the answer of one call.
#pragma once

#include <string_view>
#include <vector>

#include "manual/description.h"

namespace rondo::cli {

const manual::Program& program();

/// Returns the command that 'words' name, such as {"feed", "routes"}; null if there is none.
const manual::Command* find_command(const std::vector<std::string_view>& words);

}  // namespace rondo::cli
