// The command confirm, and the lines in log and health about deletions that the safety stop holds (switch_agent/safety_stop.h).
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::answer_each;
using commands::sentence;
using commands::text;

json::object held_json(const switch_agent::SafetyStop::Held& held) {
  return {{"what", text(held.what)}, {"deletes", held.count}, {"of", held.total}, {"parts", text(held.parts)}};
}

void command_confirm(CommandContext& context, Reply reply) {
  const std::vector<switch_agent::SafetyStop::Held> confirmed = context.safety->confirm();
  if (confirmed.empty()) return reply.fail(Status{StatusCode::FailedPrecondition, "no deletion is held, so there is nothing to confirm"});
  std::uint64_t held = 0;
  for (const switch_agent::SafetyStop::Held& one : confirmed) held += one.count;
  reply.tell_change("held=" + std::to_string(held), "held=0");
  context.agent->audit()->look_at_held();
  answer_each(std::move(reply), confirmed, held_json);
}

}  // namespace

void add_safety_command(DaemonAdder& commands) {
  commands.add({.name = "confirm", .help = "Let the deletions go on that the safety stop holds"}, command_confirm);
}

void add_held(const CommandContext& context, json::array& troubles) {
  for (const switch_agent::SafetyStop::Held& held : context.safety->held()) {
    troubles.push_back(sentence("held: " + std::to_string(held.count) + " of " + std::to_string(held.total) + " objects of " + held.what +
                                " (" + held.parts + ") would be deleted; `rondo confirm` deletes them" +
                                (context.config.safety_wait_s > 0 ? ", or the end of safety_wait_s, " +
                                                                        std::to_string(context.config.safety_wait_s) + " s after it began"
                                                                  : "")));
  }
}

void log_safety(Log& log, switch_agent::SafetyStop::Event event, const switch_agent::SafetyStop::Held& held) {
  const std::initializer_list<LogPair> told{{"what", held.what}, {"deletes", held.count}, {"of", held.total}, {"parts", held.parts}};
  switch (event) {
    case switch_agent::SafetyStop::Event::Held: return log.error("safety stop: the deletion is held; `rondo confirm` lets it go on", told);
    case switch_agent::SafetyStop::Event::Confirmed: return log.warn("safety stop: the deletion was confirmed", told);
    case switch_agent::SafetyStop::Event::TimeIsOver: return log.warn("safety stop: its time is over, the deletion goes on", told);
    case switch_agent::SafetyStop::Event::Fewer: return log.info("safety stop: over, less is to be deleted now", told);
  }
}

}  // namespace rondo::daemon
