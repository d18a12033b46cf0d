// Reads and writes the section [simulated]: simulated_choice.h. For config.cc.
#pragma once

#include <toml++/toml.h>
#include <string>
#include <vector>

#include "rondod/configuration/section_reader.h"
#include "rondod/configuration/simulated_choice.h"

namespace rondo::daemon {

void read_simulated(SectionReader s, SimulatedChoice& simulated);
/// The option simulated_ports of the section [dataplane].
void read_simulated_ports(SectionReader& s, std::vector<std::string>& ports);
toml::table simulated_table(const SimulatedChoice& simulated);

}  // namespace rondo::daemon
