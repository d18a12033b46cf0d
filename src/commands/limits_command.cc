// The command limits: every bound of Rondo.
#include "commands/answers.h"
#include "commands/context.h"
#include "commands/limit_list.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

void command_limits(Context&, Reply reply) {
  json::object all;
  for (const auto& [name, value] : kLimitList) all[name] = value;
  reply.finish(all);
}

}  // namespace

void add_limits_command(StandardAdder& commands) {
  commands.add({"limits", "The bounds of the daemon", {}, CommandEffect::Reads}, command_limits);
}

}  // namespace rondo::commands
