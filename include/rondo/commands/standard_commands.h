// Standard commands: the admin commands that work with every Runtime, so that the command line `rondo` works with every program: tables,
// set, del, get, keys, why, parked, watch, trace, sources, stats, top, health, limits, log, and bulk writes (`rondo load`). The answers are
// those of docs/schema. A write is answered when the store says that it counts (Store::write_answer). A daemon gets them from Service
// (service.h); this header is for programs with a loop of their own.
//
//   CommandRegistry registry{"fleetd", "1.4"};
//   auto commands = add_standard_commands(registry, runtime);
//   if (commands) status = (*commands)->serve({.path = "/run/fleetd.sock"});
//
// Everything on the scheduler's thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/admin/command.h"
#include "rondo/admin/server_options.h"
#include "rondo/base/result.h"
#include "rondo/sched/priority.h"

namespace rondo {

class RecentLog;
class Runtime;

using CanonicalKey = std::optional<std::string> (*)(std::string_view key);

/// Who else concerns itself with a row, as texts for operators.
struct RowClaim {
  /// Not empty: no command writes the row, for this reason.
  std::string owner;
  /// What `why` adds.
  std::string note;
};

/// What a program adds to the standard commands. Everything has a default. If a function throws, the command that
/// called it fails with the text of the exception.
struct StandardCommandsOptions {
  /// Priority of the timers of the commands. The server has its own in AdminServerOptions.
  Priority priority = Priority{};
  /// For a table whose keys have several spellings: a function that returns the canonical spelling of a key. Null or empty: each text is a
  /// separate key. Commands use a key as given if the store has it, and otherwise its canonical spelling.
  std::function<CanonicalKey(std::string_view table)> canonical_key = {};
  /// Returns who else concerns itself with the row 'key' of 'table'. An empty function: no row has one.
  std::function<RowClaim(std::string_view table, std::string_view key)> claim_of = {};
  /// The process for which this one stands by, for a reason that the store does not know (StoreReport::standby_for), as a text for
  /// operators; empty: there is none. `why` reports it.
  std::function<std::string()> standby_for = {};
  /// The lines of `log`, which returns no lines without it. Must outlive the result of add_standard_commands().
  const RecentLog* log = nullptr;
  /// Stalls that a StallWatchdog counted, for `stats`; empty: 0.
  std::function<std::uint64_t()> stalls = {};
  /// Adds members to the answers of `stats` and of `top`. What is no UTF-8, and control characters, are shown in hexadecimal.
  std::function<void(boost::json::object& stats)> add_stats = {};
  std::function<void(boost::json::object& top)> add_top = {};
  /// Adds texts to the answer of `health`: troubles that an operator must solve (without any the program is healthy), and notes. Texts must
  /// hold no secrets. What is no UTF-8, and control characters, are shown in hexadecimal.
  std::function<void(boost::json::array& troubles, boost::json::array& notes)> add_health = {};
};

class StandardCommands;

namespace commands {
struct Context;
Context& context_of(StandardCommands& commands) noexcept;
}  // namespace commands

/// The standard commands of one runtime, and the socket that serves their registry. The registry and the runtime must outlive it.
class StandardCommands {
 public:
  ~StandardCommands();
  StandardCommands(const StandardCommands&) = delete;
  StandardCommands& operator=(const StandardCommands&) = delete;

  /// Opens the admin socket for all commands of the registry, the program's own included. Errors: those of AdminServer::open;
  /// FailedPrecondition while it already serves.
  Status serve(AdminServerOptions options);
  /// Closes the socket and its connections. Not from a command's handler.
  void stop_serving();
  bool is_serving() const noexcept;

  /// Writes that the store refused, or of which it is unknown whether they took effect, and the newest of them.
  std::uint64_t failed_writes() const noexcept;
  const Status& last_failed_write() const noexcept;

 private:
  friend commands::Context& commands::context_of(StandardCommands& commands) noexcept;
  friend Result<std::unique_ptr<StandardCommands>> add_standard_commands(CommandRegistry& registry, Runtime& runtime,
                                                                         StandardCommandsOptions options);
  explicit StandardCommands(std::shared_ptr<commands::Context> context);
  std::shared_ptr<commands::Context> context_;
};

/// Adds the standard commands to 'registry'. A program adds its own commands before or after it, in any case before it serves. When the
/// result is destroyed, the commands answer Unavailable. AlreadyExists if the registry has a command of one of these names.
Result<std::unique_ptr<StandardCommands>> add_standard_commands(CommandRegistry& registry, Runtime& runtime,
                                                                StandardCommandsOptions options = {});

}  // namespace rondo
