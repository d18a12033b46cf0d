// The registry of rondod, put together.
#include "rondod/commands.h"

#include "rondod/command_adder.h"

namespace rondo::daemon {

Status register_commands(CommandRegistry& registry, const CommandContext& context) {
  CommandAdder commands(registry, context);
  for (const auto add :
       {add_row_commands, add_why_commands, add_figure_commands, add_watch_commands, add_port_commands, add_support_commands}) {
    add(commands);
  }
  return commands.status();
}

}  // namespace rondo::daemon
