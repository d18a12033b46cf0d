// A daemon that the command line `rondo` can control: two Orchs, the standard commands on an admin socket, and one own command, `drain`.
// With a path it serves there until SIGTERM or `rondo --socket PATH call quit`. Without one it calls its own commands and ends.
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "rondo/admin/client.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/stall_watchdog.h"

using namespace rondo;
namespace json = boost::json;

inline constexpr FactKind kBackend{"backend"};

class Backends final : public Orch {
 public:
  explicit Backends(Runtime& runtime) : Orch(runtime, "backends", Priority::p5) {
    consume("BACKEND", this, &Backends::set, &Backends::remove);
    // region: explain
    provide(kBackend, [this](std::string_view name) { return up_.contains(name); });
    runtime.explain(kBackend, [](std::string_view name) { return FactOrigin{"BACKEND", std::string{name}, {}}; });
    // endregion
  }
  /// False if no backend of this name is up.
  bool drain(const std::string& name) {
    if (up_.erase(name) == 0) return false;
    withdraw({kBackend, name});
    return true;
  }

 private:
  Outcome set(std::string_view name, const Fields&) {
    up_.emplace(name);
    announce({kBackend, std::string{name}});
    return Outcome::done();
  }
  Outcome remove(std::string_view name) {
    drain(std::string{name});
    return Outcome::done();
  }
  std::set<std::string, std::less<>> up_;
};

class Services final : public Orch {
 public:
  explicit Services(Runtime& runtime) : Orch(runtime, "services", Priority::p1) {
    consume("SERVICE", this, &Services::set, &Services::remove);
  }

 private:
  Outcome set(std::string_view, const Fields& fields) {
    const Result<std::string> backend = fields.text("backend");
    if (!backend) return Outcome::reject(backend.error());
    const Fact needed{kBackend, *backend};
    return holds(needed) ? Outcome::done_while(needed) : Outcome::wait_for(needed);
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
};

// region: own
/// The daemon's own commands: a name, a line of help, the arguments, and a handler. The registry checks the arguments of a call.
Status add_own_commands(CommandRegistry& registry, Runtime& runtime, Backends& backends) {
  Status added = registry.add({"drain", "Take a backend out of service", {{.name = "backend", .help = "Name of the backend"}}},
                              [&backends](const Arguments& arguments, Reply reply) {
                                const std::string name = arguments.text("backend");
                                if (!backends.drain(name)) return reply.fail({StatusCode::NotFound, "no backend '" + name + "' is up"});
                                reply.finish(json::object{{"backend", name}, {"drained", true}});
                              });
  if (!added.ok()) return added;
  return registry.add({"quit", "End the daemon", {}}, [&runtime](const Arguments&, Reply reply) {
    reply.finish();
    runtime.stop();
  });
}
// endregion

/// Does what the command line does: sends a request and prints it with its answer.
json::object ask(AdminClient& client, std::string_view command, const json::object& arguments) {
  const Result<json::object> answer = client.call(command, arguments);
  const std::string text = answer ? json::serialize(*answer) : answer.error().to_string();
  std::printf("%s %s\n  %s\n", std::string{command}.c_str(), json::serialize(arguments).c_str(), text.c_str());
  return answer.value_or(json::object{});
}

/// Repeats `why` until the row has this state: the daemon handles a row in a later turn than the one that accepts it.
bool becomes(AdminClient& client, std::string_view state) {
  const json::object row{{"table", "SERVICE"}, {"key", "web"}};
  for (int tries = 0; tries < 10'000; ++tries) {
    const Result<json::object> why = client.call("why", row);
    if (!why || why->at("chain").at(0).at("state").as_string() == state) break;
  }
  const json::object why = ask(client, "why", row);
  return !why.empty() && why.at("chain").at(0).at("state").as_string() == state;
}

bool ask_the_daemon(const std::string& path) {
  const Result<std::unique_ptr<AdminClient>> connected = AdminClient::connect(path);
  if (!connected) return false;
  AdminClient& client = **connected;
  const json::array on_b1{json::array{"backend", "b1"}};
  ask(client, "set", {{"table", "SERVICE"}, {"key", "web"}, {"fields", on_b1}});
  const bool waits = becomes(client, "parked");
  ask(client, "set", {{"table", "BACKEND"}, {"key", "b1"}});
  const bool serves = becomes(client, "done");
  ask(client, "drain", {{"backend", "b1"}});
  const bool waits_again = becomes(client, "parked");
  ask(client, "quit", {});
  return waits && serves && waits_again;
}

// region: end
void run_until_a_signal(Runtime& runtime) {
  static Scheduler* running = nullptr;
  running = &runtime.scheduler();
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { running->stop(); });  // Scheduler::stop() is async-signal-safe.
  runtime.run();  // The turn in which the signal comes ends as usual.
}
// endregion

int main(int argc, char** argv) {
  const bool alone = argc < 2;
  const std::string path = alone ? "/tmp/rondo-example-" + std::to_string(::getpid()) + ".sock" : argv[1];
  // region: serve
  Runtime runtime;
  auto& backends = runtime.add<Backends>();
  runtime.add<Services>();
  CommandRegistry registry{"balancer", "1.0"};  // The answer of `version`.
  if (const Status added = add_own_commands(registry, runtime, backends); !added.ok()) return 1;
  const auto commands = add_standard_commands(registry, runtime);
  if (!commands) return 1;
  if (const Status serves = (*commands)->serve({.path = path}); !serves.ok()) {
    std::fprintf(stderr, "%s\n", serves.to_string().c_str());
    return 1;
  }
  // endregion
  // region: watchdog
  const auto report = [](const Stall& stall) {
    std::fprintf(stderr, "a turn of '%s' has not ended for %lld ms\n", stall.source.c_str(), static_cast<long long>(stall.lasted / 1ms));
  };
  const auto watchdog = StallWatchdog::start(runtime.scheduler(), {.limit = 1s, .on_stall = report});
  if (!watchdog) return 1;
  // endregion
  bool as_expected = true;
  std::thread caller;
  if (alone) caller = std::thread{[&] { as_expected = ask_the_daemon(path); }};
  run_until_a_signal(runtime);
  if (caller.joinable()) caller.join();
  return as_expected ? 0 : 1;
}
