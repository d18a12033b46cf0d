// rondod and its configuration as descriptions: for its --help, for the manual pages rondod(8) and rondod.toml(5), and for the test that
// compares the configuration's reader (rondod/configuration/config.h) with them.
#pragma once

#include "manual/description.h"

namespace rondo::daemon {

const manual::Program& program();
const manual::Program& configuration();

}  // namespace rondo::daemon
