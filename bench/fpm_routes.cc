// fpm_routes: the routes of a zebra that sends its whole table over FPM (one frame a route, next-hop groups of four), through rondod's FPM
// server, its tables and Orchs, into the data plane. The sender is a process of its own, so its CPU time is not counted. Parts:
//   own   on a data plane that answers immediately: the cost of our own code for a route
//   real  on the kernel, in a namespace (needs root): routes a second, and CPU time of all threads for a route; a bare netlink loop
//         beside it
//   wait  on the kernel: the time of single IPv6 routes from send() to the kernel's notification, to an idle server, and among as many
//         IPv4 routes as above. They are in another lane of the server than the table (write_order.h)
// Usage: bench_fpm_routes [own|real|wait|all] [rounds] [routes]

#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dataplane/netlink/baseline.h"
#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/socket.h"
#include "fpm_side.h"
#include "rondo/dataplane/simulated.h"

namespace {

using namespace rondo;
using namespace rondo::bench;

constexpr unsigned kSingles = 200;

/// How the routes among which single ones are measured arrive: 'step' of them, then a single one, then the rest of 'pause'.
struct Pace {
  const char* what;
  std::size_t share_percent;  // Share of the table.
  std::size_t step;           // 0: as many as make kSingles steps.
  Duration pause;
};
constexpr std::array<Pace, 3> kPaces{{
    {"a single route behind 1,000 others, 40,000 a second (zebra works out a table)", 20, 1000, 25ms},
    {"a single route behind 1,800 others, 360,000 a second (zebra sends a table again)", 40, 1800, 5ms},
    {"a single route among a table as fast as the session takes it", 40, 0, 0ms},
}};

Prefix single_prefix(std::uint32_t number) {
  std::array<std::uint8_t, 16> bytes{0x20, 0x01, 0x0d, 0xb8};
  for (std::size_t k = 0; k < 4; ++k) bytes[4 + k] = static_cast<std::uint8_t>(number >> (24 - 8 * k));
  return {IpAddress::v6(bytes), 64};
}

// --- rondod

/// Carries out orders for routes immediately; passes all others to the simulated kernel.
class QuickPlane final : public DataPlane {
 public:
  QuickPlane() {
    for (int i = 1; i <= kPorts; ++i) kernel_.add_port(port_name(i));
  }
  void apply(std::span<Operation> ops) override {
    if (ops.empty() || std::holds_alternative<RouteSet>(ops.front().order)) return;
    kernel_.apply(ops);
  }
  Result<std::vector<LinkEvent>> links() override { return kernel_.links(); }
  Result<std::vector<AddressEntry>> addresses() override { return kernel_.addresses(); }
  Result<std::vector<NeighborEntry>> neighbors() override { return kernel_.neighbors(); }
  Result<std::vector<NexthopEntry>> nexthops() override { return kernel_.nexthops(); }
  Status routes(const std::function<void(const RouteEntry&)>& visit) override { return kernel_.routes(visit); }
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override {
    return kernel_.monitor(scheduler, priority, std::move(handler));
  }
  std::string describe() const override { return "answers at once"; }

 private:
  SimDataPlane kernel_;
};

/// A whole table in one session.
Sample send_table(DataPlane& plane, const std::vector<Prefix>& prefixes) {
  std::string stream = nexthop_frames(devices_of(plane));
  std::mt19937 random{2};
  for (const Prefix& prefix : prefixes) add_route(stream, prefix, static_cast<std::uint32_t>(random() % kGroups));
  Daemon daemon{plane};
  const SystemClock clock;
  const double cpu = cpu_seconds();
  const Instant start = clock.now();
  const pid_t sender = fork_sender([&] {
    const Zebra zebra{daemon.port()};
    zebra.send(stream);
    ::poll(nullptr, 0, 60'000);  // The session stays; the parent ends the process.
  });
  daemon.run_until([&] { return daemon.programmed() == prefixes.size(); });
  const Sample sample{static_cast<double>((clock.now() - start).count()) * 1e-9, cpu_seconds() - cpu};
  ::kill(sender, SIGKILL);
  ::waitpid(sender, nullptr, 0);
  return sample;
}

/// The same routes by a bare netlink loop, in the same namespace: the most that the kernel allows now.
Sample send_to_kernel(const netlink::Lab& lab, DataPlane& plane, const std::vector<Prefix>& prefixes) {
  const std::vector<NexthopEntry> nexthops = plane.nexthops().value();
  const auto group = std::ranges::find_if(nexthops, [](const NexthopEntry& entry) { return !entry.members.empty(); });
  if (group == nexthops.end()) give_up("no group in the kernel");
  std::vector<std::pair<Prefix, NexthopId>> routes;
  for (const Prefix& prefix : prefixes) routes.emplace_back(prefix, group->id);
  const auto result = netlink::run_netlink_baseline(routes, {.network_namespace = lab.path(), .table = 200});
  if (!result || result->failed != 0) give_up(result ? "the bare loop had failures" : result.error().to_string());
  return {static_cast<double>(result->wall.count()) * 1e-9, static_cast<double>(result->cpu.count()) * 1e-9};
}

// --- wait

/// The kernel's notifications about IPv6 routes.
class Listener {
 public:
  explicit Listener(const std::string& network_namespace)
      : socket_(
            netlink::Socket::open(netlink::NetworkNamespace::open(network_namespace).value(), {.groups = {RTNLGRP_IPV6_ROUTE}}).value()),
        buffer_(netlink::kDatagramBytes) {}
  /// Stores when each single route arrived; waits at most so long for the first one.
  void receive(std::map<Prefix, Instant>& arrived, Duration wait) {
    for (;;) {
      const auto datagram = socket_.receive(buffer_, wait);
      if (!datagram || datagram->empty()) return;
      wait = Duration{0};
      const Instant now = clock_.now();
      netlink::MessageReader messages{*datagram};
      for (netlink::Message message; messages.next(message);) {
        const auto route = netlink::decode_route_holder(message);
        if (route && route->protocol == 201) arrived.emplace(route->prefix, now);
      }
    }
  }

 private:
  netlink::Socket socket_;
  std::vector<std::byte> buffer_;
  SystemClock clock_;
};

void print_waits(const char* what, const std::map<Prefix, Instant>& sent, const std::map<Prefix, Instant>& arrived) {
  std::vector<double> waits;
  for (const auto& [prefix, at] : sent) {
    const auto end = arrived.find(prefix);
    if (end == arrived.end()) give_up("a single route did not arrive");
    waits.push_back(static_cast<double>((end->second - at).count()) * 1e-6);
  }
  std::ranges::sort(waits);
  std::printf("%s: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", what, waits[waits.size() / 2], waits[waits.size() * 99 / 100], waits.back());
}

/// In the sender's process.
void send_singles(std::uint16_t port, const std::string& network_namespace, const std::vector<std::uint32_t>& devices,
                  const std::vector<Prefix>& prefixes) {
  const SystemClock clock;
  const Zebra zebra{port};
  Listener listener{network_namespace};
  zebra.send(nexthop_frames(devices));
  std::map<Prefix, Instant> sent, arrived;
  std::uint32_t number = 0;
  const auto send_single = [&] {
    std::string frame;
    const Prefix prefix = single_prefix(number);
    add_route(frame, prefix, number++ % kGroups);
    sent[prefix] = clock.now();
    zebra.send(frame);
    return prefix;
  };
  for (unsigned i = 0; i < kSingles + kGroups; ++i) {
    if (i == kGroups) sent.clear();  // The first ones wait for their groups.
    const Prefix prefix = send_single();
    while (!arrived.contains(prefix)) listener.receive(arrived, 1s);
    ::poll(nullptr, 0, 2);
  }
  print_waits("a single route, idle server", sent, arrived);
  std::size_t begin = 0;
  for (const Pace& pace : kPaces) {
    const std::size_t end = begin + prefixes.size() * pace.share_percent / 100;
    sent.clear();
    const std::size_t step = pace.step != 0 ? pace.step : (end - begin) / kSingles;
    Instant next = clock.now();
    for (; begin < end; begin += std::min(step, end - begin)) {
      std::string frames;
      for (std::size_t k = begin; k < std::min(begin + step, end); ++k)
        add_route(frames, prefixes[k], static_cast<std::uint32_t>(k) % kGroups);
      zebra.send(frames);
      send_single();
      for (next = next + pace.pause; pace.pause > 0ms && clock.now() < next;) listener.receive(arrived, 1ms);
      listener.receive(arrived, Duration{0});
    }
    while (!arrived.contains(single_prefix(number - 1))) listener.receive(arrived, 1s);
    print_waits(pace.what, sent, arrived);
  }
  std::fflush(stdout);
}

void wait_part(const std::vector<Prefix>& prefixes) {
  const auto lab = make_lab();
  const auto plane = make_plane(*lab);
  const std::vector<std::uint32_t> devices = devices_of(*plane);
  Daemon daemon{*plane};
  const pid_t sender = fork_sender([&] { send_singles(daemon.port(), lab->path(), devices, prefixes); });
  daemon.run_until([&] { return daemon.programmed() >= prefixes.size() + kSingles; });
  daemon.run_until([&] { return ::waitpid(sender, nullptr, WNOHANG) != 0; });
  std::printf("longest wait of a row for its turn in the FPM server: %.2f ms\n", static_cast<double>(daemon.longest_wait().count()) * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "all";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::size_t routes = argc > 3 ? static_cast<std::size_t>(std::atol(argv[3])) : 500'000;
  const std::vector<Prefix> prefixes = make_prefixes(routes);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto is_asked = [&part](const char* name) { return part == name || part == "all"; };
  std::vector<Sample> own, real, floor;
  for (int round = 0; round < rounds; ++round) {
    if (is_asked("own")) {
      QuickPlane plane;
      own.push_back(send_table(plane, prefixes));
    }
    if (is_asked("real")) {
      const auto lab = make_lab();
      const auto plane = make_plane(*lab);
      real.push_back(send_table(*plane, prefixes));
      floor.push_back(send_to_kernel(*lab, *plane, prefixes));
    }
  }
  if (!own.empty()) report("own code", own, routes);
  if (!real.empty()) report("kernel", real, routes);
  if (!floor.empty()) report("bare netlink loop", floor, routes);
  if (is_asked("wait")) wait_part(prefixes);
  return 0;
}
