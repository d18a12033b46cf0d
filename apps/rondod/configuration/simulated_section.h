// Reads and writes the section [simulated]: simulated_choice.h. For config.cc.
#pragma once

#include <toml++/toml.h>

#include "rondod/configuration/section_reader.h"
#include "rondod/configuration/simulated_choice.h"

namespace rondo::daemon {

void read_simulated(SectionReader s, SimulatedChoice& simulated);
toml::table simulated_table(const SimulatedChoice& simulated);

}  // namespace rondo::daemon
