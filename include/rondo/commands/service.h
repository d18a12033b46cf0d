// Service: runs a runtime as a daemon. It serves the standard commands and the program's own on an admin socket, handles SIGTERM, SIGINT
// and SIGHUP, reports stalled turns and the store's troubles to the log, and notifies the service manager (sd_notify(3)). A request to end
// drains: accepted work is finished, and what is lost is an error. rondod is one; examples/13_admin_socket.cc is a whole program.
//
//   CommandRegistry registry{"fleetd", "1.4"};
//   return serve(runtime, registry, {.admin = {.path = "/run/fleetd.sock"}}).ok() ? 0 : 1;
//
// Everything on the scheduler's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/admin/command.h"
#include "rondo/admin/server_options.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/commands/limits.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Log;
class RecentLog;
class Runtime;

/// What a program may choose; only AdminServerOptions::path has no default. Functions are called in turns and must not throw, unless they
/// say otherwise.
struct ServiceOptions {
  AdminServerOptions admin = {};
  StandardCommandsOptions commands = {};
  /// Must outlive the service. Null: a log of its own, to standard error, whose newest lines the command `log` shows.
  Log* log = nullptr;
  /// The longest time for the accepted work after a request to end. Writing the rest of the store to its disk has no bound.
  Duration drain = limits::kServiceDrain;
  /// A turn that takes longer is reported while it lasts. 0: none is.
  Duration stall = 1s;
  bool stall_stack = false;  // With the stack.
  /// Called by run() in place of the log line "serving". Returns the state for the service manager.
  std::function<std::string()> on_serving = {};
  /// SIGHUP. The journal reopens its file in any case.
  std::function<void()> on_reload = {};
  /// The drain begins: the program stops its own input.
  std::function<void()> on_drain = {};
  /// True when the program's own work is finished; the service checks consumers and store itself.
  std::function<bool()> is_drained = {};
  /// True for a table whose unhandled rows need not be handled before the end, because something other than the store keeps them.
  std::function<bool(std::string_view table)> may_leave = {};
};

class Service {
 public:
  /// Opens the socket and takes the signals. Errors: those of add_standard_commands(), AdminServer::open() and StallWatchdog::start();
  /// AlreadyExists if another Service of this process runs. 'runtime' and 'registry' must outlive the service, and the program's Orchs and
  /// commands exist already.
  static Result<std::unique_ptr<Service>> open(Runtime& runtime, CommandRegistry& registry, ServiceOptions options);
  /// Closes the socket, and restores what the signals did before.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Serves until SIGTERM, SIGINT or drain(), then drains; a second signal ends the drain immediately. Then writes the journal and the rest
  /// of the store, however long their disks take. DataLoss names accepted work that is lost: unhandled rows that the store does not keep,
  /// and what Store::finish() returns. After end() returns its reason.
  Status run();
  /// Begins the drain, as SIGTERM does.
  void drain();
  /// Ends run() after this turn, without a drain, because the process must not continue. The first reason counts.
  void end(Status why);

  /// False while it drains.
  bool is_serving() const noexcept;
  /// True once SIGTERM or SIGINT has arrived.
  bool has_signal() const noexcept;
  StandardCommands& commands() noexcept;
  /// ServiceOptions::log, or its own.
  Log& log() noexcept;

 private:
  class Impl;
  explicit Service(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

/// Service::open() and run().
Status serve(Runtime& runtime, CommandRegistry& registry, ServiceOptions options);

}  // namespace rondo
