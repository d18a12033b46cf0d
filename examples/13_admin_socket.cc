// A daemon that the command line `rondo` can control: two Orchs, a Service with the standard commands, and one own command, `drain`. With a
// path it serves there until SIGTERM or `rondo --socket PATH call quit`. Without one it calls its own commands and ends.
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "rondo/admin/client.h"
#include "rondo/commands/service.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

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
Status add_own_commands(CommandRegistry& registry, Backends& backends) {
  Status added = registry.add({"drain", "Take a backend out of service", {{.name = "backend", .help = "Name of the backend"}}},
                              [&backends](const Arguments& arguments, Reply reply) {
                                const std::string name = arguments.text("backend");
                                if (!backends.drain(name)) return reply.fail({StatusCode::NotFound, "no backend '" + name + "' is up"});
                                reply.finish(json::object{{"backend", name}, {"drained", true}});
                              });
  if (!added.ok()) return added;
  return registry.add({"quit", "End the daemon", {}}, [](const Arguments&, Reply reply) {
    reply.finish();
    std::raise(SIGTERM);
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

int main(int argc, char** argv) {
  const bool alone = argc < 2;
  const std::string path = alone ? "/tmp/rondo-example-" + std::to_string(::getpid()) + ".sock" : argv[1];
  bool as_expected = true;
  std::thread caller;
  // region: serve
  Runtime runtime;
  auto& backends = runtime.add<Backends>();
  runtime.add<Services>();
  CommandRegistry registry{"balancer", "1.0"};  // The answer of `version`.
  if (const Status added = add_own_commands(registry, backends); !added.ok()) return 1;
  const auto service = Service::open(runtime, registry, {.admin = {.path = path}});
  if (!service) {
    std::fprintf(stderr, "%s\n", service.error().to_string().c_str());
    return 1;
  }
  // endregion
  if (alone) caller = std::thread{[&] { as_expected = ask_the_daemon(path); }};
  // region: run
  const Status ended = (*service)->run();  // Until SIGTERM or SIGINT; DataLoss if accepted work is lost.
  // endregion
  if (caller.joinable()) caller.join();
  return ended.ok() && as_expected ? 0 : 1;
}
