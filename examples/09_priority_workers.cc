// A thread for each priority: ports and routes have slow handlers, and neither waits for the other. The Orchs need no change; the call that
// adds them puts each on the worker of its priority. The program prints how many threads handled them.
#include <cstdio>
#include <set>
#include <string>
#include <thread>

#include "rondo/base/clock.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/priority_workers.h"
#include "rondo/orch/runtime.h"

using namespace rondo;

inline constexpr FactKind kPort{"port"};
inline constexpr std::size_t kRoutes = 200;

void call_something_slow(const Clock& clock) {
  for (const Instant end = clock.now() + 200us; clock.now() < end;) {
  }
}

class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority::p6) {
    consume("PORT", this, &Ports::set, &Ports::remove);
    provide(kPort, [this](std::string_view) { return is_up_; });
  }
  bool is_up() const { return is_up_; }
  std::thread::id thread() const { return thread_; }

 private:
  Outcome set(std::string_view key, const Fields&) {
    thread_ = std::this_thread::get_id();
    call_something_slow(clock_);
    is_up_ = true;
    announce({kPort, std::string{key}});  // Routes wait for it on another thread.
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    is_up_ = false;
    withdraw({kPort, std::string{key}});
    return Outcome::done();
  }
  SystemClock clock_;
  std::thread::id thread_;
  bool is_up_ = false;
};

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE", this, &Routes::set, &Routes::remove); }
  std::size_t installed() const { return installed_; }
  std::thread::id thread() const { return thread_; }

 private:
  Outcome set(std::string_view key, const Fields&) {
    if (!holds({kPort, "Ethernet0"})) return Outcome::wait_for({kPort, "Ethernet0"});
    thread_ = std::this_thread::get_id();
    call_something_slow(clock_);
    ++installed_;
    const Status told = runtime().table("ROUTE_STATE").set(key, {{"state", "installed"}});
    return told.ok() ? Outcome::done() : Outcome::retry_after(1ms, told);
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  SystemClock clock_;
  std::thread::id thread_;
  std::size_t installed_ = 0;
};

/// Runs on the home thread, and ends the program when every route has reported its state.
class Progress final : public Orch {
 public:
  explicit Progress(Runtime& runtime) : Orch(runtime, "progress", Priority::p2) {
    consume("ROUTE_STATE", this, &Progress::set, &Progress::remove);
  }

 private:
  Outcome set(std::string_view, const Fields&) {
    if (++told_ == kRoutes) runtime().stop();
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  std::size_t told_ = 0;
};

int main() {
  Runtime home;
  home.add<Progress>();
  // region: workers
  PriorityWorkers workers(home, [](Priority priority, WorkerOptions& options) {
    options.nice = priority >= Priority::p6 ? 0 : 10;  // Nice value of the thread; its CPUs can be set, too.
  });
  const Ports& ports = workers.add<Ports>(Priority::p6);
  const Routes& routes = workers.add<Routes>(Priority::p1);
  if (!workers.start().ok()) return 1;
  // endregion
  for (std::size_t i = 0; i < kRoutes; ++i) {
    if (!home.table("ROUTE").set("10.0." + std::to_string(i) + ".0/24", {{"ifname", "Ethernet0"}}).ok()) return 1;
  }
  if (!home.table("PORT").set("Ethernet0", {{"admin_status", "up"}}).ok()) return 1;
  home.run();
  workers.stop();  // After this, main() may read the Orchs.
  const std::set<std::thread::id> threads{ports.thread(), routes.thread(), std::this_thread::get_id()};
  std::printf("%zu routes and %s port, on %zu threads: ports on that of priority 6, routes on that of priority 1, progress at home\n",
              routes.installed(), ports.is_up() ? "their" : "no", threads.size());
  return routes.installed() == kRoutes && ports.is_up() && threads.size() == 3 ? 0 : 1;
}
