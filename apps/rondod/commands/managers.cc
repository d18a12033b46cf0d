// The managers' member of stats, and their lines in health.
#include "commands/answers.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

boost::json::value managers_json(const CommandContext& context) {
  if (context.managers == nullptr) return nullptr;
  return boost::json::object{{"rows", context.managers->managed()}, {"config_read", context.managers->has_read_config()}};
}

void add_managers_health(const CommandContext& context, boost::json::array& notes) {
  if (context.managers == nullptr || context.managers->has_read_config()) return;
  notes.push_back(
      commands::sentence("the tables of CONFIG_DB have not been read completely since the start; until then no row is deleted"));
}

}  // namespace rondo::daemon
