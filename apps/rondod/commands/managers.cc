// The managers' member of stats, and their lines in health.
#include <string>
#include <utility>

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
                      {"repaired", context.state_db->repaired()},
                      {"stations", context.state_db->stations()},
                      {"stations_left_out", context.state_db->stations_left_out()},
                      {"health", health.ok() ? json::string{"ok"} : sentence(std::string{health.message()})}};
}
}  // namespace

json::value managers_json(const CommandContext& context) {
  if (context.managers == nullptr) return nullptr;
  return json::object{{"rows", context.managers->managed()},
                      {"config_read", context.managers->has_read_config()},
                      {"repaired", context.managers->repaired()},
                      {"state_db", state_json(context)}};
}

void check_repaired_rows(CommandContext& context, Log& log) {
  if (context.managers == nullptr) return;
  const StateDb* const state = context.state_db.get();
  const std::uint64_t all = context.managers->repaired() + (state == nullptr ? 0 : state->repaired());
  const std::uint64_t news = all - std::exchange(context.repaired_reported, all);
  if (news == 0) return;
  std::string newest = context.managers->last_repair();
  if (state != nullptr && !state->last_repair().empty()) newest += (newest.empty() ? "" : "; ") + ("STATE_DB " + state->last_repair());
  log.warn("rows of the managers were changed or deleted by another program or by a Redis restart; writing them again",
           {{"count", news}, {"newest", newest}});
  context.repaired.check(all, newest, context.runtime.clock());
}

void add_managers_health(const CommandContext& context, json::array& troubles, json::array& notes) {
  if (context.managers == nullptr) return;
  if (!context.managers->has_read_config()) {
    notes.push_back(sentence("the tables of CONFIG_DB have not been read completely since the start; until then no row is deleted"));
  }
  context.repaired.note(context.runtime.clock().now(), notes);
  const Status health = context.state_db == nullptr ? Status{} : context.state_db->health();
  if (context.state_db != nullptr && context.state_db->leaves_stations_out()) {
    notes.push_back(sentence("bridges have learned more stations than rondod follows, " + std::to_string(context.state_db->stations()) +
                             ": the others are not in STATE_DB"));
  }
  if (const std::string refused = context.state_db == nullptr ? "" : context.state_db->trouble(); !refused.empty()) {
    troubles.push_back(sentence(refused));
  }
  if (!health.ok()) troubles.push_back(sentence("STATE_DB cannot be reached: " + std::string{health.message()}));
}

}  // namespace rondo::daemon
