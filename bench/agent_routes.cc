// agent_routes: routes through the whole path except the feeder's socket: written to the embedded store in this process, merged, taken by
// the routes Orch, ordered, answered. The groups exist beforehand. Three parts:
//   own      on a data plane that answers immediately: the cost of our own code for a route, in CPU time and allocations, and the longest
//   turn
//   real     on the kernel, in separate namespaces (needs root): routes a second, compared with the bare rtnetlink loop (the floor) and
//            `ip -batch`. Each way has its own table, and the ways alternate after 100,000 routes, so that a busy machine and the size of
//            the table affect all alike
//   journal  with and without the journal, alternating, on a data plane that answers immediately and on the kernel (needs root): routes a
//            second, and the time of a replay of such a run
// IPv4 in random order, IPv6 sorted, as each is fastest. Usage: bench_agent_routes [own|real|journal|all] [rounds] [IPv4 routes] [IPv6
// routes]
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "dataplane/netlink/baseline.h"
#include "dataplane/netlink/lab.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"
#include "rondo/replay/replay.h"
#include "switch_agent/agent.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Not inlined: g++ would otherwise warn that free() gets memory of operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const place = std::malloc(size)) return place;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* place) noexcept { std::free(place); }
[[gnu::noinline]] void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace {

using namespace rondo;

constexpr int kPorts = 4;
constexpr int kGroups = 32;
constexpr std::size_t kSlice = 100'000;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "agent_routes: %s\n", why.c_str());
  std::exit(1);
}
void must(const Status& status) {
  if (!status.ok()) give_up(status.to_string());
}

double cpu_seconds(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Sample {
  std::size_t routes = 0;
  double seconds = 0;
  double cpu = 0;
  void add(const Sample& other) {
    routes += other.routes;
    seconds += other.seconds;
    cpu += other.cpu;
  }
  double rate() const { return static_cast<double>(routes) / seconds; }
  double cpu_us() const { return cpu * 1e6 / static_cast<double>(routes); }
};
template <class Work>
Sample measure(std::size_t routes, int who, const Work& work) {
  const SystemClock clock;
  const double cpu = cpu_seconds(who);
  const Instant start = clock.now();
  work();
  return {routes, static_cast<double>((clock.now() - start).count()) * 1e-9, cpu_seconds(who) - cpu};
}

struct Route {
  Prefix prefix;
  std::string key;
  int group = 0;
};
std::vector<Route> make_v4(std::size_t count) {
  std::mt19937 random{1};
  std::vector<Route> routes;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Prefix prefix{IpAddress::v4(0x14000000U + (i << 8)), 24};
    routes.push_back({prefix, prefix.to_string(), static_cast<int>(random() % kGroups)});
  }
  std::shuffle(routes.begin(), routes.end(), random);
  return routes;
}
std::vector<Route> make_v6(std::size_t count) {
  std::mt19937 random{2};
  std::vector<Route> routes;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, 16> bytes{0x20, 0x01};
    for (std::size_t k = 0; k < 4; ++k) bytes[2 + k] = static_cast<std::uint8_t>(i >> (24 - 8 * k));
    const Prefix prefix{IpAddress::v6(bytes), 48};
    routes.push_back({prefix, prefix.to_string(), static_cast<int>(random() % kGroups)});
  }
  return routes;
}

/// Carries out orders for routes immediately; passes all others to the simulated kernel.
class QuickPlane final : public DataPlane {
 public:
  QuickPlane() {
    for (int i = 1; i <= kPorts; ++i) kernel_.add_port("swp" + std::to_string(i));
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

/// The agent with its ports, neighbours and groups, ready for routes. Gateways are IPv6 link-local, so they serve routes of both families.
class Switch {
 public:
  /// 'journal': its file; empty: none.
  Switch(DataPlane& plane, bool in_line, const std::string& journal = {})
      : runtime_(options(clock_, journal)), agent_(runtime_, plane, {.in_line = in_line}) {
    runtime_.on_reject([](std::string_view, const Change&, const Status& why) { give_up(why.to_string()); });
    must(agent_.start());
    std::string gateways, ports;
    for (int i = 1; i <= kPorts; ++i) {
      const std::string port = "swp" + std::to_string(i);
      const std::string gateway = "fe80::" + std::to_string(i);
      must(runtime_.table("PORT_TABLE").set(port, {{"admin_status", "up"}}));
      must(runtime_.table("INTF_TABLE").set(port, {}));
      must(runtime_.table("NEIGH_TABLE").set(port + ":" + gateway, {{"neigh", "02:00:00:00:00:01"}}));
      gateways.append(i == 1 ? "" : ",").append(gateway);
      ports.append(i == 1 ? "" : ",").append(port);
    }
    for (int i = 0; i < kGroups; ++i) {
      must(runtime_.table("NEXTHOP_GROUP_TABLE").set(group_name(i), {{"nexthop", gateways}, {"ifname", ports}}));
    }
    run_until([this] { return agent_.nexthop_groups().counts().usable_groups == kGroups; });
  }
  static std::string group_name(int group) { return std::to_string(100 + group); }

  void write(std::span<const Route> routes) {
    Table table = runtime_.table("ROUTE_TABLE");
    for (const Route& route : routes) must(table.set(route.key, {{"nexthop_group", group_names_[static_cast<std::size_t>(route.group)]}}));
  }
  std::uint64_t programmed() const { return agent_.routes().counts().programmed; }
  /// Writes as a feeder does, partly between the turns of other sources and never far ahead, until all routes are in the data plane.
  void program(std::span<const Route> routes) {
    constexpr std::size_t kAhead = 16'384;
    const std::uint64_t before = programmed();
    for (std::size_t written = 0; programmed() < before + routes.size();) {
      const std::size_t count = written < programmed() - before + kAhead ? std::min<std::size_t>(512, routes.size() - written) : 0;
      write(routes.subspan(written, count));
      written += count;
      bool idle = false;
      for (int i = 0; i < 8 && !idle; ++i) idle = !turn();
      if (idle && count == 0 && programmed() < before + routes.size()) runtime_.scheduler().wait(clock_.now() + 100ms);
    }
  }
  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      if (!turn()) runtime_.scheduler().wait(clock_.now() + 10ms);
    }
  }
  /// The time that the programming thread spent inside the data plane.
  Duration busy() const { return agent_.programmer().stats().busy; }
  Duration longest_turn() const { return longest_turn_; }

 private:
  static RuntimeOptions options(const Clock& clock, const std::string& journal) {
    RuntimeOptions options;
    if (journal.empty()) return options;
    auto opened = Journal::open({.file = journal, .file_bytes = 0}, clock);
    if (!opened) give_up(opened.error().to_string());
    options.observer = std::move(*opened);
    return options;
  }
  /// Processor time: time that another process takes does not count for our turn.
  static Duration thread_cpu() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
  }
  bool turn() {
    const Duration start = thread_cpu();
    const bool given = runtime_.scheduler().turn();
    longest_turn_ = std::max(longest_turn_, thread_cpu() - start);
    return given;
  }
  static std::vector<std::string> make_names() {
    std::vector<std::string> names;
    for (int i = 0; i < kGroups; ++i) names.push_back(group_name(i));
    return names;
  }
  const std::vector<std::string> group_names_ = make_names();
  SystemClock clock_;
  Runtime runtime_;
  switch_agent::SwitchAgent agent_;
  Duration longest_turn_{0};
};

// --- own

void own_part(const char* family, const std::vector<Route>& routes, int rounds) {
  double best_write = 1e9, best_rest = 1e9, write_allocations = 0, rest_allocations = 0;
  Duration longest{0};
  for (int round = 0; round < rounds; ++round) {
    QuickPlane plane;
    Switch box{plane, true};
    double write = 0, rest = 0;
    std::uint64_t written = 0, handled = 0;
    for (std::size_t i = 0; i < routes.size(); i += kSlice) {
      const auto slice = std::span{routes}.subspan(i, std::min(kSlice, routes.size() - i));
      const std::uint64_t before = allocations;
      write += measure(slice.size(), RUSAGE_SELF, [&] { box.write(slice); }).cpu;
      const std::uint64_t between = allocations;
      rest += measure(slice.size(), RUSAGE_SELF, [&] { box.run_until([&] { return box.programmed() >= i + slice.size(); }); }).cpu;
      written += between - before;
      handled += allocations - between;
    }
    const auto count = static_cast<double>(routes.size());
    best_write = std::min(best_write, write * 1e9 / count);
    best_rest = std::min(best_rest, rest * 1e9 / count);
    write_allocations = static_cast<double>(written) / count;
    rest_allocations = static_cast<double>(handled) / count;
    longest = std::max(longest, box.longest_turn());
  }
  std::printf(
      "%s, %zu routes, best of %d: write %.0f ns (%.2f allocations), handle %.0f ns (%.2f allocations) a route; longest turn %.0f us of "
      "CPU\n",
      family, routes.size(), rounds, best_write, write_allocations, best_rest, rest_allocations,
      static_cast<double>(longest.count()) * 1e-3);
}

// --- journal

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void replay(const std::string& file) {
  auto opened = replay::Replay::open({file});
  if (!opened) give_up(opened.error().to_string());
  replay::ReplayReport report;
  const Sample took = measure(1, RUSAGE_SELF, [&] {
    Runtime runtime((*opened)->runtime_options());
    switch_agent::SwitchAgent agent(runtime, (*opened)->plane(), {.answers = &(*opened)->answers()});
    must(agent.start());
    report = (*opened)->run(runtime);
  });
  const double recorded = static_cast<double>(report.recorded.count()) * 1e-9;
  std::printf("  replay: %s, %llu records, %llu turns; %.2f s recorded, %.2f s replayed: %.1f times real time\n",
              report.same ? "the same" : "DIFFERENT", static_cast<unsigned long long>(report.records),
              static_cast<unsigned long long>(report.turns), recorded, took.seconds, recorded / took.seconds);
}

void journal_part(const std::vector<Route>& routes, int rounds) {
  const std::string file = (std::filesystem::temp_directory_path() / ("rondo-bench-routes-" + std::to_string(::getpid()))).string();
  std::vector<double> rates[2], cpus[2];
  for (int round = 0; round < 2 * rounds; ++round) {
    const bool on = (round + round / 2) % 2 == 1;  // Neither is always the first of a pair.
    std::filesystem::remove(file);
    QuickPlane plane;
    Switch box{plane, false, on ? file : std::string{}};
    const Sample sample = measure(routes.size(), RUSAGE_SELF, [&] { box.program(routes); });
    rates[on].push_back(sample.rate());
    cpus[on].push_back(sample.cpu_us());
  }
  std::printf(
      "journal, %zu routes, median of %d: %.0f routes/s without, %.0f with (%.1f %% less); CPU of all threads %.2f and %.2f us a route\n",
      routes.size(), rounds, median(rates[0]), median(rates[1]), 100 * (1 - median(rates[1]) / median(rates[0])), median(cpus[0]),
      median(cpus[1]));
  {
    std::filesystem::remove(file);
    QuickPlane plane;
    Switch box{plane, false, file};
    box.program(routes);
  }
  replay(file);
  std::filesystem::remove(file);
}

// --- real

Sample by_floor(const netlink::Lab& lab, std::span<const Route> routes, NexthopId group) {
  std::vector<std::pair<Prefix, NexthopId>> pairs;
  for (const Route& route : routes) pairs.emplace_back(route.prefix, group);
  const auto result = netlink::run_netlink_baseline(pairs, {.network_namespace = lab.path()});
  if (!result || result->failed != 0) give_up(result ? "the floor had failures" : result.error().to_string());
  const auto seconds = [](Duration duration) { return static_cast<double>(duration.count()) * 1e-9; };
  return {routes.size(), seconds(result->wall), seconds(result->cpu)};
}

Sample by_ip_batch(const netlink::Lab& lab, std::span<const Route> routes, NexthopId group) {
  const std::string file = "/tmp/" + lab.name() + ".batch";
  {
    std::ofstream out(file);
    for (const Route& route : routes) out << "route replace " << route.key << " nhid " << group.value() << " proto 201 metric 201\n";
  }
  const Sample sample = measure(routes.size(), RUSAGE_CHILDREN, [&] {
    if (!lab.ip(std::string{routes[0].prefix.address.is_v6() ? "-6 " : ""} + "-batch " + file)) give_up("ip -batch failed");
  });
  std::remove(file.c_str());
  return sample;
}

/// A namespace with ports, and a data plane in it.
struct Place {
  Place() {
    auto made = netlink::Lab::make();
    if (!made) give_up(made.error().to_string());
    lab = std::move(*made);
    for (int i = 1; i <= kPorts; ++i) {
      if (!lab->add_port(i)) give_up("no veth ports");
    }
    auto opened = make_linux_dataplane({.network_namespace = lab->path()});
    if (!opened) give_up(opened.error().to_string());
    plane = std::move(*opened);
  }
  std::unique_ptr<netlink::Lab> lab;
  std::unique_ptr<DataPlane> plane;
};

void real_part(const char* family, const std::vector<Route>& routes, int rounds) {
  std::map<std::string, Sample> sums;
  Duration longest{0};
  double busy = 0;
  for (int round = 0; round < rounds; ++round) {
    Place ours, floor, ip;
    Switch box{*ours.plane, false};
    for (Place* place : {&floor, &ip}) Switch{*place->plane, true};  // Leaves its groups in the kernel.
    const NexthopId group{switch_agent::number_space(switch_agent::kDefaultProtocol).groups};
    for (std::size_t i = 0; i < routes.size(); i += kSlice) {
      const auto slice = std::span{routes}.subspan(i, std::min(kSlice, routes.size() - i));
      const auto run = [&](std::size_t way) {
        if (way == 0) sums["1 floor"].add(by_floor(*floor.lab, slice, group));
        if (way == 1) sums["2 agent"].add(measure(slice.size(), RUSAGE_SELF, [&] { box.program(slice); }));
        if (way == 2) sums["3 ip -batch"].add(by_ip_batch(*ip.lab, slice, group));
      };
      for (std::size_t way = 0; way < 3; ++way) run((way + i / kSlice) % 3);
    }
    longest = std::max(longest, box.longest_turn());
    busy += static_cast<double>(box.busy().count()) * 1e-9;
  }
  std::printf("%s, %zu routes, %d rounds; longest turn %.0f us of CPU; agent in the kernel %.0f %% of its time\n  %-12s %12s %10s %12s\n",
              family, routes.size(), rounds, static_cast<double>(longest.count()) * 1e-3, 100 * busy / sums.at("2 agent").seconds, "way",
              "routes/s", "cpu us", "rate:floor");
  for (const auto& [name, sample] : sums) {
    std::printf("  %-12s %12.0f %10.2f %11.1f%%\n", name.c_str(), sample.rate(), sample.cpu_us(),
                100 * sample.rate() / sums.at("1 floor").rate());
  }
}

void journal_on_kernel(const std::vector<Route>& routes, int rounds) {
  const std::string file = (std::filesystem::temp_directory_path() / ("rondo-bench-routes-" + std::to_string(::getpid()))).string();
  std::vector<double> rates[2], cpus[2];
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::remove(file);
    {
      Place places[2];
      Switch without{*places[0].plane, false};
      Switch with{*places[1].plane, false, file};
      for (std::size_t i = 0; i < routes.size(); i += kSlice) {
        const auto slice = std::span{routes}.subspan(i, std::min(kSlice, routes.size() - i));
        for (std::size_t k = 0; k < 2; ++k) {
          const std::size_t on = (k + i / kSlice + static_cast<std::size_t>(round)) % 2;
          const Sample sample = measure(slice.size(), RUSAGE_SELF, [&] { (on == 1 ? with : without).program(slice); });
          rates[on].push_back(sample.rate());
          cpus[on].push_back(sample.cpu_us());
        }
      }
    }
  }
  std::printf(
      "journal, kernel, slices of %zu, median of %zu: %.0f routes/s without, %.0f with (%.1f %% less); CPU %.2f and %.2f us a route\n",
      kSlice, rates[0].size(), median(rates[0]), median(rates[1]), 100 * (1 - median(rates[1]) / median(rates[0])), median(cpus[0]),
      median(cpus[1]));
  std::filesystem::remove(file);
  {
    Place place;
    Switch box{*place.plane, false, file};
    box.program(routes);
  }
  replay(file);
  std::filesystem::remove(file);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "all";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto count = [&](int index, std::size_t otherwise) { return argc > index ? std::strtoul(argv[index], nullptr, 10) : otherwise; };
  const std::vector<Route> v4 = make_v4(count(3, 500'000));
  const std::vector<Route> v6 = make_v6(count(4, 200'000));
  if (part == "journal" || part == "all") {
    journal_part(v4, rounds);
    journal_on_kernel(v4, rounds);
  }
  if (part == "own" || part == "all") {
    std::printf("own CPU time\n");
    own_part("IPv4", v4, rounds);
    own_part("IPv6", v6, rounds);
  }
  if (part == "real" || part == "all") {
    real_part("IPv4, random order", v4, rounds);
    real_part("IPv6, sorted", v6, rounds);
  }
  return 0;
}
