// netlink_routes: the rate of programming routes into the kernel, in a separate namespace: the bare rtnetlink loop (the floor),
// DataPlane::apply, the Programmer on its thread, and `ip -batch`. 500,000 IPv4 and 200,000 IPv6 routes with the id of a group of four
// next hops; IPv4 in random order, IPv6 sorted, as each is fastest. The ways share one growing table and alternate after 20,000 routes
// each, so that a busy machine and the size of the table affect all alike; a different way begins each round. Needs root. Prints routes
// per second and CPU time per route over all rounds, and both as ratios to the floor. Usage: bench_netlink_routes [rounds] [IPv4 routes]
// [IPv6 routes]
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dataplane/netlink/baseline.h"
#include "dataplane/netlink/lab.h"
#include "dataplane/programmer.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace {

using namespace rondo;

constexpr NexthopId kGroup{200'000'000};
constexpr std::size_t kSubmission = 128;  // Orders that an Orch submits in one turn.
constexpr std::size_t kSlice = 20'000;    // Routes before the next way runs.
using Route = std::pair<Prefix, NexthopId>;

// Sums over the slices of one way.
struct Sample {
  std::size_t routes = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // CPU time of all our threads, or of ip(8).

  void add(const Sample& other) {
    routes += other.routes;
    seconds += other.seconds;
    cpu_seconds += other.cpu_seconds;
  }
  double routes_per_second() const { return static_cast<double>(routes) / seconds; }
  double cpu_us_per_route() const { return cpu_seconds * 1e6 / static_cast<double>(routes); }
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "netlink_routes: %s\n", why.c_str());
  std::exit(1);
}

double cpu_seconds(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Measures wall and CPU time of 'work' for 'routes' routes.
template <class Work>
Sample measure(std::size_t routes, int who, Work work) {
  const SystemClock clock;
  const double cpu = cpu_seconds(who);
  const Instant start = clock.now();
  work();
  const double seconds = static_cast<double>((clock.now() - start).count()) * 1e-9;
  return {.routes = routes, .seconds = seconds, .cpu_seconds = cpu_seconds(who) - cpu};
}

std::vector<Route> make_v4(std::size_t count) {
  std::vector<Route> routes;
  for (std::uint32_t i = 0; i < count; ++i) routes.push_back({{IpAddress::v4(0x14000000U + (i << 8)), 24}, kGroup});
  std::shuffle(routes.begin(), routes.end(), std::mt19937{1});
  return routes;
}

std::vector<Route> make_v6(std::size_t count) {
  std::vector<Route> routes;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, 16> bytes{0x20, 0x01};
    for (std::size_t k = 0; k < 4; ++k) bytes[2 + k] = static_cast<std::uint8_t>(i >> (24 - 8 * k));
    routes.push_back({{IpAddress::v6(bytes), 48}, kGroup});
  }
  return routes;
}

std::vector<Operation> orders_of(std::span<const Route> routes) {
  std::vector<Operation> ops;
  ops.reserve(routes.size());
  for (const auto& [prefix, nexthop] : routes) ops.push_back({.order = RouteSet{.prefix = prefix, .nexthop = nexthop}, .status = {}});
  return ops;
}

void must_succeed(std::span<const Operation> ops) {
  for (const Operation& op : ops) {
    if (!op.status.ok()) give_up(op.status.to_string());
  }
}

// Four next hops with IPv6 link-local gateways serve routes of both families.
void make_group(DataPlane& plane) {
  std::vector<Operation> ops;
  GroupSet group{.id = kGroup, .members = {}};
  for (std::uint32_t i = 1; i <= 4; ++i) {
    const NexthopId id{kGroup.value() + i};
    std::array<std::uint8_t, 16> gateway{0xfe, 0x80};
    gateway[15] = static_cast<std::uint8_t>(i);
    ops.push_back(
        {.order = NexthopSet{.id = id, .gateway = IpAddress::v6(gateway), .port = plane.links().value().back().port}, .status = {}});
    group.members.push_back({.nexthop = id});
  }
  ops.push_back({.order = group, .status = {}});
  plane.apply(ops);
  must_succeed(ops);
}

// Deleting the group deletes its routes.
void empty_table(DataPlane& plane) {
  std::vector<Operation> ops(1);
  ops[0].order = NexthopDelete{.id = kGroup};
  plane.apply(ops);
  must_succeed(ops);
  make_group(plane);
}

Sample by_floor(const std::string& path, std::span<const Route> routes) {
  const auto result = netlink::run_netlink_baseline(routes, {.network_namespace = path});
  if (!result || result->failed != 0) give_up(result ? "the floor had failures" : result.error().to_string());
  const auto seconds = [](Duration duration) { return static_cast<double>(duration.count()) * 1e-9; };
  return {.routes = routes.size(), .seconds = seconds(result->wall), .cpu_seconds = seconds(result->cpu)};
}

Sample by_apply(DataPlane& plane, std::span<const Route> routes) {
  std::vector<Operation> ops = orders_of(routes);
  const Sample sample = measure(routes.size(), RUSAGE_SELF, [&] { plane.apply(ops); });
  must_succeed(ops);
  return sample;
}

// Submits like Orchs: small bulks while there is room; the time ends with the last answer.
class ProgrammerWay {
 public:
  explicit ProgrammerWay(DataPlane& plane)
      : reactor_(make_epoll_reactor().value()),
        scheduler_(clock_, *reactor_, make_policy(StrictPriority{}).value()),
        programmer_(scheduler_, plane, {}) {
    programmer_.on_room([this] { feed(); });
  }
  Sample run(std::span<const Route> routes) {
    bulks_.clear();
    for (std::size_t i = 0; i < routes.size(); i += kSubmission) {
      bulks_.push_back(orders_of(routes.subspan(i, std::min(kSubmission, routes.size() - i))));
    }
    next_ = answered_ = 0;
    return measure(routes.size(), RUSAGE_SELF, [&] {
      feed();
      while (answered_ < routes.size()) {
        scheduler_.wait(Instant::never());
        scheduler_.run_until_idle();
      }
    });
  }

 private:
  void feed() {
    while (next_ < bulks_.size() && programmer_.has_room()) {
      programmer_.submit(OrderLane::Bulk, std::move(bulks_[next_++]), [this](std::span<Operation> ops) {
        must_succeed(ops);
        answered_ += ops.size();
      });
    }
  }
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  Scheduler scheduler_;
  Programmer programmer_;
  std::vector<std::vector<Operation>> bulks_;
  std::size_t next_ = 0;
  std::size_t answered_ = 0;
};

Sample by_ip_batch(const netlink::Lab& lab, std::span<const Route> routes) {
  const std::string file = "/tmp/" + lab.name() + ".batch";
  {
    std::ofstream out(file);
    for (const auto& [prefix, nexthop] : routes) {
      out << "route replace " << prefix.to_string() << " nhid " << nexthop.value() << " proto 201 metric 201\n";
    }
  }
  const Sample sample = measure(routes.size(), RUSAGE_CHILDREN, [&] {
    if (!lab.ip(std::string{routes[0].first.address.is_v6() ? "-6 " : ""} + "-batch " + file)) give_up("ip -batch failed");
  });
  std::remove(file.c_str());
  return sample;
}

void report(const char* family, std::size_t routes, int rounds, const std::map<std::string, Sample>& ways) {
  std::printf("%s, %zu routes, %d rounds\n  %-12s %12s %10s %12s %12s\n", family, routes, rounds, "way", "routes/s", "cpu us", "rate:floor",
              "cpu:floor");
  const Sample& floor = ways.at("1 floor");
  for (const auto& [name, sample] : ways) {
    std::printf("  %-12s %12.0f %10.2f %11.1f%% %11.1f%%\n", name.c_str(), sample.routes_per_second(), sample.cpu_us_per_route(),
                100 * sample.routes_per_second() / floor.routes_per_second(), 100 * sample.cpu_us_per_route() / floor.cpu_us_per_route());
  }
}

void run_family(const netlink::Lab& lab, DataPlane& plane, const char* family, std::span<const Route> routes, int rounds) {
  ProgrammerWay programmer(plane);
  using Slice = std::span<const Route>;
  const std::vector<std::pair<std::string, std::function<Sample(Slice)>>> ways = {
      {"1 floor", [&](Slice slice) { return by_floor(lab.path(), slice); }},
      {"2 apply", [&](Slice slice) { return by_apply(plane, slice); }},
      {"3 programmer", [&](Slice slice) { return programmer.run(slice); }},
      {"4 ip -batch", [&](Slice slice) { return by_ip_batch(lab, slice); }},
  };
  std::map<std::string, Sample> sums;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i * kSlice < routes.size(); ++i) {
      const auto& [name, way] = ways[(i + static_cast<std::size_t>(round)) % ways.size()];
      sums[name].add(way(routes.subspan(i * kSlice, std::min(kSlice, routes.size() - i * kSlice))));
    }
    empty_table(plane);
  }
  report(family, routes.size(), rounds, sums);
}

std::size_t argument(int argc, char** argv, int index, std::size_t otherwise) {
  return argc > index ? std::strtoul(argv[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = static_cast<int>(argument(argc, argv, 1, 8));
  auto lab = netlink::Lab::make();
  if (!lab) give_up(lab.error().to_string());
  if (!(*lab)->add_port(1) || !(*lab)->ip("link set swp1 up")) give_up("no veth ports");
  auto plane = make_linux_dataplane({.network_namespace = (*lab)->path()});
  if (!plane) give_up(plane.error().to_string());
  std::printf("%s\n", (*plane)->describe().c_str());
  make_group(**plane);
  run_family(**lab, **plane, "IPv4, random order", make_v4(argument(argc, argv, 2, 500'000)), rounds);
  run_family(**lab, **plane, "IPv6, sorted", make_v6(argument(argc, argv, 3, 200'000)), rounds);
  return 0;
}
