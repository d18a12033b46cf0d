// A slow Orch on a thread of its own. Routes take 100 us each and wait for their next-hop group, whose Orch runs on the home thread. Ports,
// also on the home thread, get their turns meanwhile. Only main() assigns Orchs to threads.
#include <set>
#include <string>

#include "rondo/base/clock.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/orch/worker.h"

using namespace rondo;

inline constexpr FactKind kNexthopGroup{"nexthop-group"};
inline constexpr std::size_t kRoutes = 1000;

class NexthopGroups final : public Orch {
 public:
  explicit NexthopGroups(Runtime& runtime) : Orch(runtime, "nexthop-groups", Priority::p5) {
    consume("NEXTHOP_GROUP", this, &NexthopGroups::set, &NexthopGroups::remove);
    provide(kNexthopGroup, [this](std::string_view key) { return groups_.contains(key); });
  }

 private:
  Outcome set(std::string_view key, const Fields&) {
    groups_.emplace(key);
    announce({kNexthopGroup, std::string{key}});  // Queues the changes that are parked on it, on any thread.
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    groups_.erase(groups_.find(key));
    withdraw({kNexthopGroup, std::string{key}});  // Other threads rely on announcements and withdrawals.
    return Outcome::done();
  }
  std::set<std::string, std::less<>> groups_;
};

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE", this, &Routes::set, &Routes::remove); }
  std::size_t installed() const { return fib_.size(); }

 private:
  Outcome set(std::string_view key, const Fields& fields) {
    const Fact needed{kNexthopGroup, fields.text("nexthop_group").value_or("")};
    if (!holds(needed)) return Outcome::wait_for(needed);
    call_something_slow();
    fib_.emplace(key);
    // The worker uses the home runtime's tables: this write is applied there, in order.
    const Status told = runtime().table("ROUTE_STATE").set(key, {{"state", "installed"}});
    return told.ok() ? Outcome::done() : Outcome::retry_after(1ms, told);
  }
  Outcome remove(std::string_view key) {
    fib_.erase(fib_.find(key));
    return Outcome::done();
  }
  void call_something_slow() const {
    for (const Instant end = clock_.now() + 100us; clock_.now() < end;) {
    }
  }
  SystemClock clock_;
  std::set<std::string, std::less<>> fib_;
};

class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority::p6) { consume("PORT", this, &Ports::set, &Ports::remove); }
  int changes() const { return changes_; }

 private:
  Outcome set(std::string_view, const Fields&) {
    ++changes_;
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  int changes_ = 0;
};

/// Ends the program when every route has reported its state. At every hundredth route it changes a port.
class Progress final : public Orch {
 public:
  explicit Progress(Runtime& runtime) : Orch(runtime, "progress", Priority::p2) {
    consume("ROUTE_STATE", this, &Progress::set, &Progress::remove);
  }

 private:
  Outcome set(std::string_view, const Fields&) {
    if (++told_ % 100 == 0 && !runtime().table("PORT").set("Ethernet" + std::to_string(told_), {{"state", "up"}}).ok()) {
      return Outcome::reject({StatusCode::Internal, "the port table refused a write"});
    }
    if (told_ == kRoutes) runtime().stop();
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  std::size_t told_ = 0;
};

int main() {
  // region: main
  Runtime home;
  home.add<NexthopGroups>();
  home.add<Progress>();
  const Ports& ports = home.add<Ports>();

  Worker worker(home, {.name = "routes"});
  const Routes& routes = worker.add<Routes>();  // Only this line says on which thread it runs.
  if (!worker.start().ok()) return 1;
  // endregion

  for (std::size_t i = 0; i < kRoutes; ++i) {
    if (!home.table("ROUTE").set("10.0." + std::to_string(i) + ".0/24", {{"nexthop_group", "102"}}).ok()) return 1;
  }
  if (!home.table("NEXTHOP_GROUP").set("102", {{"nexthops", "192.168.1.1"}}).ok()) return 1;
  // region: main
  home.run();  // Until Progress has counted every route.
  home.run_until_idle();
  worker.stop();  // After this, main() may read its Orchs.
  // endregion
  return routes.installed() == kRoutes && ports.changes() == 10 ? 0 : 1;
}
