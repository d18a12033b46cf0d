// The commands of rondo, described: the one place where a command, a word or an option is added. What a command does is in actions.cc, if
// it is more than a call whose answer is shown.
#pragma once

#include <string_view>
#include <vector>

#include "manual/description.h"

namespace rondo::cli {

const manual::Program& program();

/// The command that 'words' name, such as {"feed", "routes"}; null if there is none.
const manual::Command* find_command(const std::vector<std::string_view>& words);

}  // namespace rondo::cli
