// The command resources, their member of stats, and their lines in health and log.
#include <string>

#include "commands/answers.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::sentence;
using switch_agent::Resources;

std::string in_words(const Resources::Use& use) {
  return std::to_string(use.used) + " of " + std::to_string(use.limit) + " (" + std::to_string(use.percent()) + " %)";
}

}  // namespace

json::object resources_json(const CommandContext& context) {
  context.resources->look();
  json::object resources;
  for (const Resources::Use& use : context.resources->uses()) {
    const bool is_known = use.limit != 0;
    resources[use.name] = json::object{{"used", use.used},
                                       {"limit", is_known ? json::value(use.limit) : json::value(nullptr)},
                                       {"percent", is_known ? json::value(use.percent()) : json::value(nullptr)},
                                       {"high", use.is_high}};
  }
  return resources;
}

void add_resources_health(const CommandContext& context, json::array& troubles) {
  context.resources->look();
  for (const Resources::Use& use : context.resources->uses()) {
    if (use.is_high) troubles.push_back(sentence("the data plane has little room: " + std::string{use.name} + " " + in_words(use)));
  }
}

void log_resource(Log& log, const Resources::Use& use) {
  if (use.is_high) {
    log.warn("the data plane has little room", {{"resource", use.name}, {"used", in_words(use)}});
  } else {
    log.info("the data plane has room again", {{"resource", use.name}, {"used", in_words(use)}});
  }
}

void add_resources_command(DaemonAdder& commands) {
  commands.add({"resources", "The objects in the data plane, beside the room for them", {}, CommandEffect::Reads},
               [](CommandContext& context, Reply reply) { reply.finish(resources_json(context)); });
}

}  // namespace rondo::daemon
