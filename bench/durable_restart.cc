// A restart of the switch agent on a full table: rows from a durable store, routes in the kernel of a separate namespace (needs root). The
// first run programs everything. The second one opens the file, reads the kernel, and gets every row again. Prints the time until turns
// can begin, the time until every row was compared, and the orders that the kernel got, which must be none.
//   bench_durable_restart [routes] [folder]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "dataplane/netlink/lab.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/durable_store.h"
#include "switch_agent/agent.h"

namespace {

using namespace rondo;

constexpr int kPorts = 4;
constexpr int kGroups = 32;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "durable_restart: %s\n", why.c_str());
  std::exit(1);
}
void must(const Status& status) {
  if (!status.ok()) give_up(status.to_string());
}
double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

struct Life {
  Life(const std::string& path, DataPlane& plane) {
    began = clock.now();
    RuntimeOptions options;
    options.store = [&path](Scheduler& scheduler) -> std::unique_ptr<Store> {
      auto store = DurableStore::open(scheduler, {.path = path});
      if (!store) give_up(store.error().to_string());
      return std::move(*store);
    };
    runtime.emplace(std::move(options));
    opened = clock.now() - began;
    agent.emplace(*runtime, plane, switch_agent::SwitchAgentOptions{});
    must(agent->start());
    ready = clock.now() - began;
  }
  template <class Done>
  void run_until(const Done& done) {
    while (!done()) {
      if (!runtime->scheduler().turn()) runtime->scheduler().wait(clock.now() + 10ms);
    }
  }
  SystemClock clock;
  std::optional<Runtime> runtime;
  std::optional<switch_agent::SwitchAgent> agent;
  Instant began;
  Duration opened{0};
  Duration ready{0};
};

void feed(Life& life, std::size_t routes) {
  std::string gateways, ports;
  Runtime& runtime = *life.runtime;
  for (int i = 1; i <= kPorts; ++i) {
    const std::string port = "swp" + std::to_string(i);
    const std::string gateway = "fe80::" + std::to_string(i);
    must(runtime.table("PORT_TABLE").set(port, {{"admin_status", "up"}}));
    must(runtime.table("INTF_TABLE").set(port, {}));
    must(runtime.table("NEIGH_TABLE").set(port + ":" + gateway, {{"neigh", "02:00:00:00:00:01"}}));
    gateways.append(i == 1 ? "" : ",").append(gateway);
    ports.append(i == 1 ? "" : ",").append(port);
  }
  for (int i = 0; i < kGroups; ++i) {
    must(runtime.table("NEXTHOP_GROUP_TABLE").set(std::to_string(100 + i), {{"nexthop", gateways}, {"ifname", ports}}));
  }
  for (std::uint32_t i = 0; i < routes; ++i) {
    const std::uint32_t shuffled = (i * 2654435761U) % (1U << 22);  // Takes each of 2^22 numbers once, in an order far from ascending.
    const Prefix prefix{IpAddress::v4(0x14000000U + (shuffled << 6)), 26};
    must(runtime.table("ROUTE_TABLE").set(prefix.to_string(), {{"nexthop_group", std::to_string(100 + i % kGroups)}}));
    if (i % 1024 == 0) life.run_until([&] { return life.agent->programmer().in_flight() < 4096; });
  }
  life.run_until([&] { return life.agent->routes().counts().routes == routes; });
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t routes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'200'000;
  const std::string folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  const std::string path = folder + "/bench-restart-" + std::to_string(::getpid());
  auto lab = netlink::Lab::make();
  if (!lab) give_up(lab.error().to_string());
  for (int i = 1; i <= kPorts; ++i) {
    if (!(*lab)->add_port(i)) give_up("no veth ports");
  }
  auto plane = make_linux_dataplane({.network_namespace = (*lab)->path()});
  if (!plane) give_up(plane.error().to_string());
  {
    Life first{path, **plane};
    feed(first, routes);
    std::printf("%zu routes programmed\n", routes);
  }
  for (int restart = 1; restart <= 3; ++restart) {
    Life again{path, **plane};
    again.run_until([&] { return again.agent->has_restarted() && again.agent->programmer().in_flight() == 0; });
    const Reconciler::Counts counts = again.agent->reconciled();
    std::printf(
        "  restart %d: file read %.2f s, ready for turns %.2f s, all compared %.2f s; %llu found, %llu kept, %llu orders to the kernel; "
        "longest turn %.1f ms\n",
        restart, seconds(again.opened), seconds(again.ready), seconds(again.clock.now() - again.began),
        static_cast<unsigned long long>(counts.found), static_cast<unsigned long long>(counts.kept),
        static_cast<unsigned long long>(counts.changed), 1e3 * seconds(again.runtime->scheduler().stats().longest_turn));
  }
  for (const char* const suffix : {"", "-wal", "-lock"}) std::filesystem::remove(path + suffix);
}
