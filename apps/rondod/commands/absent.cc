// The commands about a data plane, jobs or executors in a rondod without them: each says so, in place of "no such command".
#include <array>
#include <string>
#include <utility>

#include "rondod/commands/commands.h"

namespace rondo::daemon {

void add_absent_switch_commands(DaemonAdder& commands) {
  const auto refuse = [](CommandContext&, Reply reply) {
    reply.fail(Status{StatusCode::Unimplemented, "this rondod has no data plane: its configuration says [dataplane] kind = \"none\""});
  };
  constexpr std::array<std::string_view, 4> kPlain{"ports", "port-events", "confirm", "resources"};
  constexpr std::array<std::string_view, 3> kOfTables{"diff", "verify", "resync"};
  const std::string help = "Not available: this rondod has no data plane";
  for (const std::string_view name : kPlain) {
    commands.add({.name = std::string{name}, .help = help, .effect = CommandEffect::Reads}, refuse);
  }
  for (const std::string_view name : kOfTables) {
    commands.add({.name = std::string{name},
                  .help = help,
                  .arguments = {commands::optional("table", ArgumentKind::Text, "Table")},
                  .effect = CommandEffect::Reads},
                 refuse);
  }
}

void add_absent_job_commands(DaemonAdder& commands) {
  const auto refuse = [](CommandContext&, Reply reply) {
    reply.fail(
        Status{StatusCode::Unimplemented, "this rondod runs no jobs: set enabled = true in the section [jobs] of its configuration"});
  };
  const std::string help = "Not available: this rondod runs no jobs";
  const auto add = [&](std::string_view name, std::vector<ArgumentSpec> arguments) {
    commands.add({.name = std::string{name}, .help = help, .arguments = std::move(arguments), .effect = CommandEffect::Reads}, refuse);
  };
  const auto text = [](std::string name) {
    return commands::optional(std::move(name), ArgumentKind::Text, "The same as in a rondod that runs jobs");
  };
  const auto integer = [](std::string name) {
    return commands::optional(std::move(name), ArgumentKind::Integer, "The same as in a rondod that runs jobs");
  };
  const auto flag = [](std::string name) {
    return commands::optional(std::move(name), ArgumentKind::Flag, "The same as in a rondod that runs jobs");
  };
  add("jobs", {text("tag"), text("owner")});
  add("workers", {});
  add("job-stats", {});
  add("job-schedulers", {});
  for (const std::string_view name : {"job", "job-start", "job-remove"}) add(name, {text("name")});
  add("job-trigger", {text("name"), text("parameters"), text("address")});
  add("job-rerun", {integer("run")});
  add("job-notify", {text("name")});
  add("job-stop", {text("name"), text("note")});
  add("job-put", {text("definition"), flag("start"), flag("dry_run")});
  add("jobs-put", {text("definitions"), flag("dry_run")});
  add("job-failures", {text("since"), integer("before"), integer("max")});
  add("job-runs", {text("name"), integer("before"), integer("max")});
  add("job-next", {text("name"), text("from"), integer("max")});
  add("job-backfill", {text("name"), text("from"), text("to"), integer("max"), flag("dry_run")});
  add("job-kill", {integer("run")});
}

void add_absent_executor_commands(DaemonAdder& commands) {
  const auto refuse = [](CommandContext&, Reply reply) {
    reply.fail(Status{StatusCode::Unimplemented, "this rondod has no executors: its configuration has no [[executors.group]]"});
  };
  const std::string help = "Not available: this rondod has no executors";
  commands.add({.name = "executors", .help = help, .effect = CommandEffect::Reads}, refuse);
  commands.add({.name = "executor-drain",
                .help = help,
                .arguments = {commands::optional("group", ArgumentKind::Text, "The same as in a rondod with executors"),
                              commands::optional("address", ArgumentKind::Text, "The same as in a rondod with executors"),
                              commands::optional("resume", ArgumentKind::Text, "The same as in a rondod with executors")},
                .effect = CommandEffect::Reads},
               refuse);
}

void add_absent_api_commands(DaemonAdder& commands) {
  const auto refuse = [](CommandContext&, Reply reply) {
    reply.fail(Status{StatusCode::Unimplemented,
                      "this rondod has no API over HTTP: set enabled and api in the section [http] of its configuration"});
  };
  const auto text = [](std::string name) {
    return commands::optional(std::move(name), ArgumentKind::Text, "The same as in a rondod with an API");
  };
  const auto add = [&](std::string_view name, std::vector<ArgumentSpec> arguments) {
    commands.add({.name = std::string{name},
                  .help = "Not available: this rondod has no API over HTTP",
                  .arguments = std::move(arguments),
                  .effect = CommandEffect::Reads},
                 refuse);
  };
  add("tokens", {});
  add("token-add", {text("name"), text("role"), text("group")});
  add("token-remove", {text("name")});
}

}  // namespace rondo::daemon
