// Tables on a Redis. The Orch is the same as for the embedded store. A producer that starts applies a view over the rows of an earlier
// process. The argument is the address of a Redis: 12_redis unix:///run/redis/redis.sock
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/redis_store.h"
#include "rondo/store/table_view.h"

using namespace rondo;

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE_TABLE", this, &Routes::set, &Routes::remove); }
  std::size_t installed() const { return fib_.size(); }

 private:
  Outcome set(std::string_view key, const Fields&) {
    fib_.emplace(key);
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    fib_.erase(std::string{key});
    return Outcome::done();
  }
  std::set<std::string> fib_;
};

struct Route {
  std::string prefix;
  std::string nexthop;
  std::string port;
};

/// Gives turns until the condition holds, however long the server takes.
void run_until(Scheduler& scheduler, const std::function<bool()>& holds) {
  for (scheduler.run_until_idle(); !holds(); scheduler.run_until_idle()) scheduler.wait(Instant::never());
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s REDIS-URL\n", argv[0]);
    return 2;
  }
  const std::string url = argv[1];
  std::function<void()> write_all_rows_again = [] {};
  // region: store
  RuntimeOptions options;
  options.store = [&](Scheduler& scheduler) -> Result<std::unique_ptr<Store>> {
    RedisStoreOptions redis;
    Result<RedisAddress> address = parse_redis_address(url);
    if (!address) return failure(address.error());
    redis.address = *std::move(address);
    // endregion
    // region: failover
    // Called in a turn of the scheduler: only write here, do not wait.
    redis.on_failover = [&](std::uint64_t) { write_all_rows_again(); };
    // endregion
    // region: store
    return std::make_unique<RedisStore>(scheduler, redis);
  };
  const auto opened = Runtime::open(std::move(options));
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());
    return 1;
  }
  Runtime& runtime = **opened;
  // endregion
  const Routes& installed = runtime.add<Routes>();
  Scheduler& scheduler = runtime.scheduler();
  Store& store = runtime.store();

  // The rows of an earlier process.
  for (const char* const prefix : {"10.0.0.0/24", "10.9.0.0/24"}) {
    const Status accepted = runtime.table("ROUTE_TABLE").set(prefix, {{"nexthop", "10.1.1.1"}, {"ifname", "Ethernet0"}});
    if (!accepted.ok()) return 1;
  }
  run_until(scheduler, [&] { return installed.installed() == 2; });

  const std::vector<Route> routes{{"10.0.0.0/24", "10.1.1.1", "Ethernet0"}, {"10.0.1.0/24", "10.1.1.2", "Ethernet4"}};
  write_all_rows_again = [&] {
    for (const Route& route : routes) {
      static_cast<void>(runtime.table("ROUTE_TABLE").set(route.prefix, {{"nexthop", route.nexthop}, {"ifname", route.port}}));
    }
  };
  std::optional<Result<ViewTotals>> done;
  // region: view
  TableView view(scheduler, store, "ROUTE_TABLE");
  for (const Route& route : routes) {
    const Status taken = view.set(route.prefix, {{"nexthop", route.nexthop}, {"ifname", route.port}});
    if (!taken.ok()) return 1;
  }
  const Status begun = view.apply([&done](const Result<ViewTotals>& end) { done = end; });  // end->same, set, replaced, removed
  // endregion
  if (!begun.ok()) return 1;
  run_until(scheduler, [&] { return done.has_value(); });
  if (!done->has_value()) {
    std::fprintf(stderr, "%s\n", done->error().to_string().c_str());
    return 1;
  }
  run_until(scheduler, [&] { return installed.installed() == 2 && store.health().ok(); });
  const ViewTotals& totals = **done;
  std::printf("the view found %zu as it was, set %zu and removed %zu; %zu routes are installed\n", totals.same, totals.set, totals.removed,
              installed.installed());
  return totals == ViewTotals{.same = 1, .set = 1, .replaced = 0, .removed = 1} ? 0 : 1;
}
