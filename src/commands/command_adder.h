// CommandAdder: adds commands to a registry. Every handler receives the object of its module's commands; the first error is kept. A
// handler does not keep that object alive: after the object's end the command returns Unavailable.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rondo/admin/command.h"

namespace rondo::commands {

template <class Target>
class CommandAdder {
 public:
  using Plain = void (*)(Target&, Reply);
  using WithArguments = void (*)(Target&, const Arguments&, Reply);

  CommandAdder(CommandRegistry& registry, const std::shared_ptr<Target>& target) : registry_(registry), target_(target) {}

  void add(CommandSpec spec, Plain run) {
    put(std::move(spec), [run](Target& target, const Arguments&, Reply reply) { run(target, std::move(reply)); });
  }
  void add(CommandSpec spec, WithArguments run) { put(std::move(spec), run); }
  Target& target() const noexcept { return *target_; }
  const Status& status() const noexcept { return status_; }

 private:
  template <class Run>
  void put(CommandSpec spec, Run run) {
    if (!status_.ok()) return;
    status_ = registry_.add(std::move(spec), [target = std::weak_ptr<Target>{target_}, run](const Arguments& arguments, Reply reply) {
      const std::shared_ptr<Target> alive = target.lock();
      if (alive == nullptr) return reply.fail(Status{StatusCode::Unavailable, "the program is ending"});
      run(*alive, arguments, std::move(reply));
    });
  }

  CommandRegistry& registry_;
  std::shared_ptr<Target> target_;
  Status status_;
};

inline ArgumentSpec required(std::string name, std::string help) { return {std::move(name), ArgumentKind::Text, true, std::move(help)}; }
inline ArgumentSpec optional(std::string name, ArgumentKind kind, std::string help) {
  return {std::move(name), kind, false, std::move(help)};
}
inline ArgumentSpec table_argument() { return required("table", "Table, such as ROUTE_TABLE"); }
inline ArgumentSpec cursor_argument() { return optional("cursor", ArgumentKind::Text, "Go on behind an earlier answer: its 'next'"); }
inline ArgumentSpec key_argument() { return required("key", "Key of the row"); }

}  // namespace rondo::commands
