// Tests of Orchs in a simulated world: the production Orchs with simulated time. The first test states what happens at which time. The
// second runs hundreds of lives with random faults and checks only the final state. In a project each would be a case of its test
// framework.
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

using namespace rondo;

inline constexpr FactKind kPort{"port"};

/// The device that the Orchs program. It outlives their process.
struct Device {
  Instant busy_until;
  std::map<std::string, std::string, std::less<>> rules;
};

// region: orchs
class Ports final : public Orch {
 public:
  explicit Ports(Runtime& runtime) : Orch(runtime, "ports", Priority::p5) {
    consume("PORT", this, &Ports::set, &Ports::remove);
    provide(kPort, [this](std::string_view port) { return ports_.contains(port); });
  }

 private:
  Outcome set(std::string_view port, const Fields&) {
    ports_.emplace(port);
    announce({kPort, std::string{port}});
    return Outcome::done();
  }
  Outcome remove(std::string_view port) {
    ports_.erase(std::string{port});
    withdraw({kPort, std::string{port}});
    return Outcome::done();
  }
  std::set<std::string, std::less<>> ports_;
};

class Rules final : public Orch {
 public:
  Rules(Runtime& runtime, Device& device) : Orch(runtime, "rules", Priority::p1), device_(device) {
    consume("RULE", this, &Rules::set, &Rules::remove);
  }

 private:
  Outcome set(std::string_view key, const Fields& fields) {
    const std::string port = fields.text("port").value_or("");
    if (!holds({kPort, port})) return Outcome::wait_for({kPort, port});
    if (runtime().clock().now() < device_.busy_until) return Outcome::retry_after(100ms, {StatusCode::Unavailable, "the device is busy"});
    device_.rules[std::string{key}] = port;
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    device_.rules.erase(std::string{key});
    return Outcome::done();
  }
  Device& device_;
};
// endregion

// region: program
sim::World::Program program(Device& device) {
  return [&device](Runtime& runtime) {
    runtime.add<Ports>();
    runtime.add<Rules>(device);
    return nullptr;  // Or an object that belongs to the process: it is destroyed before the runtime.
  };
}
// endregion

// region: time
bool rules_wait_for_their_port_and_for_the_device() {
  Device device;
  sim::World world(1);
  world.start(program(device));
  world.set("RULE", "r", {{"port", "Ethernet0"}});
  world.run_for(24h);  // Simulated time: this returns immediately.
  if (!device.rules.empty()) return false;

  device.busy_until = world.now() + 250ms;
  world.set("PORT", "Ethernet0", {{"state", "up"}});
  world.run_for(250ms);  // Attempts at 0, 100 and 200 ms.
  if (!device.rules.empty()) return false;
  world.run_for(60ms);  // And one at 300 ms.
  return device.rules.contains("r");
}
// endregion

// region: faults
bool what_was_written_is_done(std::uint64_t seed) {
  sim::WorldOptions options{.seed = seed, .store = sim::StoreKind::Remote};
  options.faults = {.store_latency_high = 5ms,
                    .write_refused = 0.1,
                    .store_lost_every = 300ms,
                    .store_lost_for = 50ms,
                    .keys_swapped = 0.2,
                    .crash_every = 500ms,
                    .suspended_every = 1s,
                    .suspended_for = 1min};
  Device device;
  std::map<std::string, std::string, std::less<>> wanted;
  sim::World world(options);
  world.check_at_rest("device", [&]() -> Status {
    if (device.rules == wanted) return {};
    return {StatusCode::Internal, "the device has " + std::to_string(device.rules.size()) + " rules"};
  });
  world.start(program(device));
  world.set("PORT", "Ethernet0", {{"state", "up"}});
  for (int i = 0; i < 200 && !world.violation(); ++i) {
    const std::string key = "r" + std::to_string(world.random().below(20));
    if (world.random().chance(0.3)) {
      wanted.erase(key);
      world.remove("RULE", key);
    } else {
      wanted[key] = "Ethernet0";
      world.set("RULE", key, {{"port", "Ethernet0"}});
    }
    if (world.random().chance(0.05)) device.busy_until = world.now() + 20ms;
    world.run_for(10ms);
  }
  if (world.come_to_rest()) return true;
  std::printf("%s", world.report().c_str());  // The seed, the violation, and the last events.
  return false;
}
// endregion

int main() {
  if (!rules_wait_for_their_port_and_for_the_device()) return 1;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    if (!what_was_written_is_done(seed)) return 2;
  }
  std::puts("a day of waiting, and 100 lives in which things go wrong: every rule is where it should be");
  return 0;
}
