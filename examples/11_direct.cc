// A direct table: a producer writes routes over ZeroMQ directly to the Orch that installs them, without a database between. First every
// process on the machine may write, then only clients with a key. Both ends are in one program here, on one scheduler; usually they are
// separate programs.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/memory_store.h"
#include "rondo/store/zmq_client.h"
#include "rondo/store/zmq_store.h"

using namespace rondo;

/// Stops the runtime when it has all routes.
class Routes final : public Orch {
 public:
  static constexpr int kRoutes = 3;
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE_TABLE", this, &Routes::set, &Routes::remove); }
  int installed() const { return installed_; }

 private:
  Outcome set(std::string_view, const Fields&) {
    if (++installed_ == kRoutes) runtime().stop();
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  int installed_ = 0;
};

int open_to_the_machine(const std::string& endpoint) {
  // region: store
  const auto opened = Runtime::open({.store = [&](Scheduler& scheduler) {
    ZmqServerOptions server{.endpoint = endpoint, .tables = {{.database = "APPL_DB", .table = "ROUTE_TABLE"}}};
    return ZmqStore::open(scheduler, make_memory_store(scheduler), {.server = server});
  }});
  if (!opened) return 0;  // opened.error() has the reason, for example that the endpoint is in use.
  Runtime& runtime = **opened;
  const Routes& routes = runtime.add<Routes>();  // consume("ROUTE_TABLE", ...)
  // endregion

  Scheduler& scheduler = runtime.scheduler();
  // region: client
  auto client = std::move(*ZmqClient::open(scheduler, {.endpoint = endpoint}));
  ZmqTable table = *client->table("APPL_DB", "ROUTE_TABLE");
  for (const char* const prefix : {"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"}) {
    const Status accepted = table.set(prefix, {{"nexthop", "10.1.1.1"}, {"ifname", "Ethernet0"}});
    if (!accepted.ok()) std::fprintf(stderr, "%s\n", accepted.to_string().c_str());
  }
  // endregion
  runtime.run();
  return routes.installed();
}

int with_keys(const std::string& endpoint) {
  // region: keys
  const ZmqKeyPair server_keys = *make_zmq_key_pair();
  const ZmqKeyPair client_keys = *make_zmq_key_pair();
  const ZmqServerOptions server{.endpoint = endpoint,
                                .tables = {{.database = "APPL_DB", .table = "ROUTE_TABLE"}},
                                .curve = ZmqServerCurve{.secret_key = server_keys.secret_key, .allowed_clients = {client_keys.public_key}}};
  const ZmqClientOptions client{.endpoint = endpoint, .curve = ZmqClientCurve{.server_key = server_keys.public_key, .own = client_keys}};
  // endregion
  const auto opened = Runtime::open(
      {.store = [&](Scheduler& scheduler) { return ZmqStore::open(scheduler, make_memory_store(scheduler), {.server = server}); }});
  if (!opened) return 0;
  Runtime& runtime = **opened;
  const Routes& routes = runtime.add<Routes>();
  const auto connected = std::move(*ZmqClient::open(runtime.scheduler(), client));
  ZmqTable table = *connected->table("APPL_DB", "ROUTE_TABLE");
  for (const char* const prefix : {"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"}) {
    if (!table.set(prefix, {{"nexthop", "10.1.1.1"}}).ok()) return 0;
  }
  runtime.run();
  return routes.installed();
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("rondo-example-direct-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const int plain = open_to_the_machine("ipc://" + (folder / "plain").string());
  const int secret = with_keys("ipc://" + (folder / "secret").string());
  std::filesystem::remove_all(folder);
  std::printf("%d routes in the clear, %d with keys\n", plain, secret);
  return plain == Routes::kRoutes && secret == Routes::kRoutes ? 0 : 1;
}
