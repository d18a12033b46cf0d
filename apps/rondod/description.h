// rondod and its configuration, described: for its --help, for the manual pages rondod(8) and rondod.toml(5), and for the test that holds
// the reader of the configuration (rondod/config.h) to what stands here.
#pragma once

#include "manual/description.h"

namespace rondo::daemon {

const manual::Program& program();
const manual::Program& configuration();

}  // namespace rondo::daemon
