// The managers' member of stats, and their lines in health.
#include "commands/answers.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

namespace {
namespace json = boost::json;
using commands::sentence;

json::value state_json(const CommandContext& context) {
  if (context.state_db == nullptr) return nullptr;
  const Status health = context.state_db->health();
  return json::object{{"rows", context.state_db->rows()},
                      {"refused", context.state_db->refused()},
                      {"health", health.ok() ? json::string{"ok"} : sentence(std::string{health.message()})}};
}
}  // namespace

json::value managers_json(const CommandContext& context) {
  if (context.managers == nullptr) return nullptr;
  return json::object{
      {"rows", context.managers->managed()}, {"config_read", context.managers->has_read_config()}, {"state_db", state_json(context)}};
}

void add_managers_health(const CommandContext& context, json::array& troubles, json::array& notes) {
  if (context.managers == nullptr) return;
  if (!context.managers->has_read_config()) {
    notes.push_back(sentence("the tables of CONFIG_DB have not been read completely since the start; until then no row is deleted"));
  }
  const Status health = context.state_db == nullptr ? Status{} : context.state_db->health();
  if (!health.ok()) troubles.push_back(sentence("STATE_DB cannot be reached: " + std::string{health.message()}));
}

}  // namespace rondo::daemon
