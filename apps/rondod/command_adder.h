// CommandAdder: puts commands into the registry, each with the context it looks at; the first error stays. The commands of rondod stand in
// files by what they are about, and each file adds its own.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rondo/admin/command.h"
#include "rondod/commands.h"

namespace rondo::daemon {

class CommandAdder {
 public:
  using Plain = void (*)(const CommandContext&, Reply);
  using WithArguments = void (*)(const CommandContext&, const Arguments&, Reply);

  CommandAdder(CommandRegistry& registry, const CommandContext& context)
      : registry_(registry), context_(std::make_shared<const CommandContext>(context)) {}

  void add(CommandSpec spec, Plain run) {
    put(std::move(spec), [context = context_, run](const Arguments&, Reply reply) { run(*context, std::move(reply)); });
  }
  void add(CommandSpec spec, WithArguments run) {
    put(std::move(spec),
        [context = context_, run](const Arguments& arguments, Reply reply) { run(*context, arguments, std::move(reply)); });
  }
  const CommandContext& context() const noexcept { return *context_; }
  const Status& status() const noexcept { return status_; }

 private:
  void put(CommandSpec spec, CommandHandler handler) {
    if (status_.ok()) status_ = registry_.add(std::move(spec), std::move(handler));
  }

  CommandRegistry& registry_;
  std::shared_ptr<const CommandContext> context_;
  Status status_;
};

inline ArgumentSpec required(std::string name, std::string help) { return {std::move(name), ArgumentKind::Text, true, std::move(help)}; }
inline ArgumentSpec optional(std::string name, ArgumentKind kind, std::string help) {
  return {std::move(name), kind, false, std::move(help)};
}
inline ArgumentSpec table_argument() { return required("table", "Table, such as ROUTE_TABLE"); }
inline ArgumentSpec key_argument() { return required("key", "Key of the row"); }

void add_row_commands(CommandAdder& commands);      // set, del, get, keys, tables.
void add_why_commands(CommandAdder& commands);      // why, parked.
void add_figure_commands(CommandAdder& commands);   // sources, stats, top.
void add_watch_commands(CommandAdder& commands);    // watch, trace.
void add_port_commands(CommandAdder& commands);     // ports, and what moves the simulated ones.
void add_support_commands(CommandAdder& commands);  // config, limits, health, log.

}  // namespace rondo::daemon
