// The command config. Its answer contains no secrets.
#include <string_view>

#include "admin/secrets.h"
#include "commands/answers.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

/// Hides secrets in each text. For keys that admit clients, shows the names and not the values.
void hide_in(json::value& value, std::string_view name) {
  if (auto* const object = value.if_object()) {
    for (auto& member : *object) hide_in(member.value(), {member.key().data(), member.key().size()});
  } else if (auto* const array = value.if_array()) {
    for (json::value& element : *array) hide_in(element, name);
  } else if (auto* const given = value.if_string()) {
    value = name == "allowed_clients" ? json::value("***") : json::value(hide_secrets({given->data(), given->size()}));
  }
}

void command_config(CommandContext& context, Reply reply) {
  json::value config = json::parse(to_json(context.config));
  hide_in(config, {});
  reply.finish(config.get_object());
}

}  // namespace

void add_config_command(DaemonAdder& commands) {
  commands.add({"config", "The configuration in force, without secrets", {}, CommandEffect::Reads}, command_config);
}

}  // namespace rondo::daemon
