// 1,000 lives of the controller on each kind of store. Rows, some of them wrong, are written and removed at random, and servers fail their
// health checks. The device refuses calls, is slow and has no room; connections and processes end at any moment. When a life has come to
// rest, the device must match the tables; desired() computes that state without the controller's code.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller.h"
#include "rondo/sim/world.h"

using namespace rondo;

namespace {

constexpr Duration kPeriod = 500ms;  // Period of the health checks.

/// The state outside of the process.
struct Outside {
  std::map<std::string, std::vector<std::string>> services;  // The services of the device.
  std::set<std::string> down;                                // Servers that do not answer.
  std::uint64_t requests = 0;

  void apply(std::span<balancer::Request> requested) {
    for (const balancer::Request& request : requested) {
      ++requests;
      if (request.members.empty()) {
        services.erase(request.service);
      } else {
        services[request.service] = request.members;
      }
    }
  }
};

/// What a client has written. A wrong row counts as none, also in the place of a right one.
struct Tables {
  std::map<std::string, std::string> backends;            // Name and address.
  std::map<std::string, std::vector<std::string>> pools;  // Name and backends.
  std::map<std::string, std::string> services;            // Address and pool.
  std::set<std::string> drained;
};

std::map<std::string, std::vector<std::string>> desired(const Tables& tables, const Outside& outside) {
  std::map<std::string, std::vector<std::string>> services;
  for (const auto& [service, pool] : tables.services) {
    if (!tables.pools.contains(pool)) continue;
    for (const std::string& backend : tables.pools.at(pool)) {
      const auto address = tables.backends.find(backend);
      if (address == tables.backends.end() || tables.drained.contains(backend) || outside.down.contains(address->second)) continue;
      services[service].push_back(address->second);
    }
  }
  return services;
}

sim::WorldOptions world_options(std::uint64_t seed, sim::StoreKind store) {
  sim::WorldOptions options{.seed = seed, .store = store};
  options.faults = {.store_latency_high = 5ms,
                    .write_refused = 0.1,
                    .store_lost_every = 500ms,
                    .store_lost_for = 100ms,
                    .keys_swapped = 0.2,
                    .commit_high = 20ms,
                    .disk_fails_every = 2s,
                    .disk_fails_for = 200ms,
                    .operation_fails = 0.1,
                    .operation_failures = {{StatusCode::Unavailable, "the device restarts"}, {StatusCode::DeadlineExceeded, "no answer"}},
                    .operation_time_high = 50ms,
                    .operation_room_ends_every = 1s,
                    .operation_room_ends_for = 100ms,
                    .crash_every = 1s,
                    .down_for = 50ms,
                    .suspended_every = 5s,
                    .suspended_for = 1min};
  return options;
}

class Life {
 public:
  Life(std::uint64_t seed, sim::StoreKind store) : store_(store), world_(world_options(seed, store)) {}

  bool live() {
    world_.check_at_rest("the device has what the tables say", [this] { return compare(); });
    world_.start([this](Runtime& runtime) { return process(runtime); });
    for (int step = 0; step < 200 && !world_.violation(); ++step) {
      something_happens();
      world_.run_for(Duration{world_.random().below(60'000'000)});
    }
    if (world_.come_to_rest()) return true;
    std::printf("%s", world_.report().c_str());
    return false;
  }
  std::uint64_t crashes() const { return world_.crashes(); }
  std::uint64_t requests() const { return outside_.requests; }

 private:
  // region: process
  /// Makes a process, which ends in a crash; then this is called again for the next one.
  std::shared_ptr<void> process(Runtime& runtime) {
    // Tables in memory end with the process; main() clears the device then, too.
    if (store_ == sim::StoreKind::Embedded) outside_.services.clear();
    auto device = std::make_shared<balancer::Device>(
        runtime.scheduler(), [this](std::span<balancer::Request> requests) { outside_.apply(requests); }, balancer::kDeviceOptions);
    const auto check = [this](const std::string& address) { return !outside_.down.contains(address); };
    if (!balancer::add_controller(runtime, *device, check, kPeriod)) std::abort();
    return device;
  }
  // endregion

  std::string draw(const std::string& name, std::uint64_t count) { return name + std::to_string(world_.random().below(count)); }
  bool is_wrong() { return world_.random().chance(0.2); }
  std::string draw_address() { return "10.0.0." + std::to_string(1 + world_.random().below(8)) + ":80"; }

  void something_happens() {
    const bool removes = world_.random().chance(0.3);
    switch (world_.random().below(6)) {
      case 0: return write_backend(draw("b", 6), removes);
      case 1: return write_pool(draw("p", 4), removes);
      case 2: return write_service("192.0.2." + std::to_string(1 + world_.random().below(8)) + ":443", removes);
      case 3: return write_drain(draw("b", 6), removes);
      default: break;
    }
    const std::string address = draw_address();
    if (removes) outside_.down.insert(address);
    if (!removes) outside_.down.erase(address);
  }

  void write_backend(const std::string& name, bool removes) {
    tables_.backends.erase(name);
    if (removes) return world_.remove("BACKEND", name);
    if (is_wrong()) return world_.set("BACKEND", name, {{"address", "10.0.0.1:0"}});
    const std::string address = tables_.backends[name] = draw_address();
    world_.set("BACKEND", name, {{"address", address}});
  }
  void write_pool(const std::string& name, bool removes) {
    tables_.pools.erase(name);
    if (removes) return world_.remove("POOL", name);
    if (is_wrong()) return world_.set("POOL", name, {{"backends", "b0,b1 b2"}});
    std::string backends;
    for (std::uint64_t i = 0; i < 6; ++i) {
      if (world_.random().chance(0.5)) continue;
      tables_.pools[name].push_back("b" + std::to_string(i));
      backends += (backends.empty() ? "b" : ",b") + std::to_string(i);
    }
    world_.set("POOL", name, {{"backends", backends}});
  }
  void write_service(const std::string& address, bool removes) {
    tables_.services.erase(address);
    if (removes) return world_.remove("SERVICE", address);
    if (is_wrong()) return world_.set("SERVICE", address, {{"pool", ""}});
    const std::string pool = tables_.services[address] = draw("p", 4);
    world_.set("SERVICE", address, {{"pool", pool}});
  }
  void write_drain(const std::string& name, bool removes) {
    if (removes) {
      tables_.drained.erase(name);
      return world_.remove("DRAIN", name);
    }
    tables_.drained.insert(name);
    world_.set("DRAIN", name, {{"reason", "maintenance"}});
  }

  Status compare() const {
    const auto wanted = desired(tables_, outside_);
    if (outside_.services == wanted) return {};
    for (const auto& [service, members] : wanted) {
      const auto there = outside_.services.find(service);
      if (there == outside_.services.end()) return {StatusCode::Internal, service + " is missing on the device"};
      if (there->second != members) return {StatusCode::Internal, service + " has other members on the device"};
    }
    return {StatusCode::Internal, "the device has a service too many"};
  }

  const sim::StoreKind store_;
  Outside outside_;
  Tables tables_;
  sim::World world_;  // Last member, destroyed first: its processes use the others.
};

bool lives(const char* name, sim::StoreKind store, std::uint64_t count) {
  std::uint64_t crashes = 0;
  std::uint64_t requests = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    Life life(seed, store);
    if (!life.live()) return false;
    crashes += life.crashes();
    requests += life.requests();
  }
  std::printf("%s: %llu lives, %llu crashes, %llu requests: the device always had what the tables said\n", name,
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(crashes), static_cast<unsigned long long>(requests));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
  const bool is_right = lives("in memory", sim::StoreKind::Embedded, count) && lives("durable", sim::StoreKind::Durable, count) &&
                        lives("on a server", sim::StoreKind::Remote, count);
  return is_right && count > 0 ? 0 : 1;
}
