// Tables that survive a restart: the Orch of the next process receives the rows that an earlier process wrote, without any other contact.
// Here both processes are runtimes of one program, one after the other.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/durable_store.h"

using namespace rondo;

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) { consume("ROUTE", this, &Routes::set, &Routes::remove); }
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

RuntimeOptions on_file(const std::string& path) {
  // region: store
  RuntimeOptions options;
  options.store = [path](Scheduler& scheduler) {
    return DurableStore::open(scheduler, {.path = path, .durability = Durability::EveryBatch});
  };
  // endregion
  return options;
}

/// Three routes are written and one is removed. Returns when the disk has it.
std::size_t first_life(const std::string& path) {
  const auto opened = Runtime::open(on_file(path));
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());  // For example "data-loss: opening the store: ..."
    return 0;
  }
  Runtime& runtime = **opened;
  const Routes& routes = runtime.add<Routes>();
  for (const char* const prefix : {"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"}) {
    if (!runtime.table("ROUTE").set(prefix, {{"nexthop", "192.168.1.1"}}).ok()) return 0;
  }
  Status written;
  const auto on_disk = [&](const Status& end) {
    written = end;
    runtime.stop();
  };
  if (!runtime.store().write("ROUTE", Change::remove("10.0.1.0/24"), on_disk).ok()) return 0;
  runtime.run();
  if (!written.ok()) return 0;
  runtime.run_until_idle();
  return routes.installed();
}

/// Nothing is written: the rows are read from the file.
std::size_t second_life(const std::string& path) {
  const auto opened = Runtime::open(on_file(path));
  if (!opened) return 0;
  Runtime& runtime = **opened;
  const Routes& routes = runtime.add<Routes>();
  runtime.run_until_idle();
  return routes.installed();
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("rondo-example-durable-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::size_t before = first_life(folder / "tables");
  const std::size_t after = second_life(folder / "tables");
  std::filesystem::remove_all(folder);
  std::printf("%zu routes in the first life, %zu in the second\n", before, after);
  return before == 2 && after == 2 ? 0 : 1;
}
