#include "rondo-demo/frr/frr_demo.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "feed/route_file.h"
#include "feed/synthetic.h"
#include "frr/network.h"
#include "manual/command_words.h"
#include "rondo-demo/frr/bgp_tap.h"
#include "rondo-demo/frr/frr_report.h"
#include "rondo-demo/frr/pinger.h"
#include "rondo-demo/frr/route_events.h"
#include "rondo-demo/testbed/console.h"
#include "rondo-demo/testbed/daemon_process.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::demo {
namespace {

namespace json = boost::json;

constexpr std::uint8_t kRondod = 201;
constexpr std::uint8_t kBgp = 186;    // Protocol of zebra's own routes.
constexpr std::size_t kTargets = 16;  // Destinations of packets: the kernel spreads them over both cables.
constexpr Duration kPingPeriod = 500us;
constexpr Duration kQuickPingPeriod = 60us;  // While a cable is pulled: about 1 ms for each destination.
constexpr std::size_t kBytesPerRoute = 700;  // The memory of rondod for a route of FPM.

struct FrrOptions {
  std::vector<std::string> files;
  std::uint64_t ipv4 = 100'000;
  unsigned singles = 100;
  bool exit = false;
  std::string json_path;
  std::string rondod;
};

class FrrDemo {
 public:
  explicit FrrDemo(FrrOptions options) : options_(std::move(options)) {}
  Status run();
  const FrrReport& report() const noexcept { return report_; }
  void serve() const;

 private:
  Status prepare_routes();
  Status prepare_network();
  Status start_rondod();
  Status load();
  Status announce_singles();
  Status verify();
  Status restart_rondod();
  Status pull_cable();
  Status wait_until(const char* what, const std::function<bool(const json::object& stats)>& done);
  std::vector<std::pair<std::string, std::string>> expected_hops(bool v6) const;
  Result<std::unique_ptr<Pinger>> start_pinger(Duration period) const { return Pinger::start(box_->path(), targets_, period); }

  FrrOptions options_;
  SystemClock clock_;
  std::vector<std::string> prefixes_;
  std::set<Prefix> singles_;
  std::vector<IpAddress> targets_;
  std::unique_ptr<netlink::Lab> box_;
  std::unique_ptr<frr::Network> network_;
  std::unique_ptr<DataPlane> plane_;
  Console console_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<AdminClient> client_;
  FrrReport report_;
};

/// The routes of the files or of the generated table, each once. Some of the IPv4 ones have a host at the peer.
Status FrrDemo::prepare_routes() {
  auto plan = feed::NextHopPlan::make();
  if (!plan) return plan.error();
  std::vector<feed::Route> routes;
  for (const std::string& path : options_.files) {
    auto file = feed::read_route_file(path, *plan);
    if (!file) return file.error();
    routes.insert(routes.end(), file->routes.begin(), file->routes.end());
  }
  if (options_.files.empty()) {
    auto made = feed::synthetic_routes({options_.ipv4, options_.ipv4 / 50, 1}, *plan);
    if (!made) return made.error();
    routes = std::move(*made);
  }
  std::set<feed::Prefix> known;
  for (const feed::Route& route : routes) {
    if (!route.withdrawn && known.insert(route.prefix).second) prefixes_.push_back(feed::to_string(route.prefix));
  }
  const std::size_t step = std::max<std::size_t>(1, prefixes_.size() / (2 * kTargets));
  for (std::size_t i = 0; i < prefixes_.size() && targets_.size() < kTargets; i += step) {
    const Prefix prefix = Prefix::parse(prefixes_[i]).value();
    if (prefix.address.is_v6() || prefix.length > 30) continue;
    const auto& bytes = prefix.address.bytes();
    const std::uint32_t network =
        std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U | bytes[3];
    targets_.push_back(IpAddress::v4(network + 1));
  }
  return targets_.empty() ? Status{StatusCode::InvalidArgument, "no IPv4 route to send packets along"} : Status{};
}

Status FrrDemo::prepare_network() {
  if (Status installed = frr::check_installed(); !installed.ok()) return installed;
  if (::geteuid() != 0) return {StatusCode::PermissionDenied, "FRR's programs need root"};
  auto box = netlink::Lab::make();
  if (!box) return box.error();
  box_ = std::move(*box);
  auto network = frr::Network::make(*box_);
  if (!network) return network.error();
  network_ = std::move(*network);
  if (!box_->ip("rule add pref 100 table 100")) return {StatusCode::Unavailable, "ip rule failed"};
  for (const IpAddress& target : targets_) {
    if (!network_->peer().ip("addr add " + target.to_string() + "/32 dev lo")) return {StatusCode::Unavailable, "ip addr failed"};
  }
  auto plane = make_linux_dataplane({.network_namespace = box_->path()});
  if (!plane) return plane.error();
  plane_ = std::move(*plane);
  return {};
}

Status FrrDemo::start_rondod() {
  const std::size_t reserve = (prefixes_.size() * kBytesPerRoute) >> 20U;
  auto daemon = DaemonProcess::start(
      {.program = options_.rondod, .reserve_mib = reserve, .console = console_.socket(), .frr_namespace = box_->path()});
  if (!daemon) return daemon.error();
  daemon_ = std::move(*daemon);
  auto client = daemon_->connect();
  if (!client) return client.error();
  client_ = std::move(*client);
  std::printf("rondod runs in the namespace %s, socket %s\n", box_->name().c_str(), daemon_->socket().c_str());
  if (Status opened = console_.open(*client_); !opened.ok()) return opened;
  for (const frr::Row& row : frr::Network::rows()) {
    json::array fields;
    for (const auto& [name, value] : row.fields) fields.push_back(json::array{name, value});
    const auto answer = client_->call("set", {{"table", row.table}, {"key", row.key}, {"fields", std::move(fields)}});
    if (!answer) return answer.error();
  }
  return {};
}

/// Ctrl-C and SIGTERM are blocked, so that FRR's programs and the namespaces are removed before the demonstration ends.
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

bool must_end() {
  const sigset_t set = ending_signals();
  const timespec none{};
  return ::sigtimedwait(&set, nullptr, &none) > 0;
}

/// Polls rondod's figures. DeadlineExceeded after a time that grows with the table.
Status FrrDemo::wait_until(const char* what, const std::function<bool(const json::object& stats)>& done) {
  const Instant deadline = clock_.now() + 60s + std::chrono::milliseconds(prefixes_.size() / 2);
  for (;;) {
    const auto stats = client_->call("stats", {});
    if (!stats) return stats.error();
    if (done(*stats)) return {};
    if (must_end()) return {StatusCode::Cancelled, "ended by a signal"};
    if (clock_.now() > deadline) return {StatusCode::DeadlineExceeded, std::string{what} + ": " + json::serialize(stats->at("fpm"))};
    std::this_thread::sleep_for(20ms);
  }
}

bool has_routes(const json::object& stats, std::uint64_t routes) {
  return stats.at("agent").at("routes").to_number<std::uint64_t>() == routes &&
         stats.at("dataplane").at("in_flight").to_number<std::uint64_t>() == 0;
}

bool is_in_sync(const json::object& stats) {
  const json::object& fpm = stats.at("fpm").as_object();
  return fpm.at("resync").as_string() == "done" && fpm.at("stale").to_number<std::uint64_t>() == 0;
}

/// Adds to 'times' how long each prefix took from one to the other.
void add_times(const std::map<Prefix, Instant>& from, const std::map<Prefix, Instant>& to, Histogram& times) {
  for (const auto& [prefix, begin] : from) {
    const auto end = to.find(prefix);
    if (end == to.end()) continue;
    times.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (end->second - begin).count())));
  }
}

Instant last_of(const std::map<Prefix, Instant>& added) {
  Instant last{};
  for (const auto& [prefix, at] : added) last = std::max(last, at);
  return last;
}

/// Routes a second from the first to the last one.
double rate_of(const std::map<Prefix, Instant>& added) {
  const auto first = std::ranges::min_element(added, {}, [](const auto& entry) { return entry.second; });
  if (first == added.end()) return 0;
  const double seconds = std::chrono::duration<double>(last_of(added) - first->second).count();
  return seconds > 0 ? static_cast<double>(added.size()) / seconds : 0;
}

Status FrrDemo::load() {
  std::printf("the peer announces %zu routes over BGP, on %d cables\n", prefixes_.size(), frr::Network::kCables);
  if (Status peer = network_->start_peer(prefixes_); !peer.ok()) return peer;
  if (Status started = start_rondod(); !started.ok()) return started;
  auto events = RouteEvents::start(box_->path(), kRondod);
  if (!events) return events.error();
  auto zebra = RouteEvents::start(box_->path(), kBgp);
  if (!zebra) return zebra.error();
  auto tap = BgpTap::start(box_->path());
  if (!tap) return tap.error();
  const Instant start = clock_.now();
  if (Status box = network_->start_box(); !box.ok()) return box;
  const Status loaded =
      wait_until("not every route arrived", [this](const json::object& stats) { return has_routes(stats, prefixes_.size()); });
  if (!loaded.ok()) return loaded;
  report_.load_seconds = std::chrono::duration<double>(clock_.now() - start).count();
  std::printf("all routes are in the kernel after %.1f s\n", report_.load_seconds);
  (*tap)->stop();
  (*events)->stop();
  (*zebra)->stop();
  if ((*events)->has_lost() || (*zebra)->has_lost())
    std::printf("the listener to the kernel lost notifications: the times are of a part of the routes\n");
  add_times((*tap)->arrived(), (*events)->added(), report_.load_ns);
  report_.routes_per_second = rate_of((*events)->added());
  report_.zebra_routes_per_second = rate_of((*zebra)->added());
  report_.last_behind_zebra = last_of((*events)->added()) - last_of((*zebra)->added());
  return wait_until("zebra's resend does not end", is_in_sync);
}

Status FrrDemo::announce_singles() {
  std::printf("the peer announces %u more routes, one at a time\n", options_.singles);
  auto events = RouteEvents::start(box_->path(), kRondod);
  if (!events) return events.error();
  auto zebra = RouteEvents::start(box_->path(), kBgp);
  if (!zebra) return zebra.error();
  auto tap = BgpTap::start(box_->path());
  if (!tap) return tap.error();
  for (unsigned i = 0; i < options_.singles; ++i) {
    // 10.128.0.0/16 is private and does not overlap the subnets of the cables.
    const std::string prefix = "10.128." + std::to_string(i / 64) + "." + std::to_string(i % 64 * 4) + "/30";
    if (Status announced = network_->announce(prefix); !announced.ok()) return announced;
    prefixes_.push_back(prefix);
    const auto arrived = [this](const json::object& stats) { return has_routes(stats, prefixes_.size()); };
    if (Status status = wait_until("a single route did not arrive", arrived); !status.ok()) return status;
  }
  (*tap)->stop();
  (*events)->stop();
  (*zebra)->stop();
  add_times((*tap)->arrived(), (*events)->added(), report_.single_ns);
  add_times((*zebra)->added(), (*events)->added(), report_.behind_zebra_ns);
  return {};
}

/// Port and gateway of each next hop, sorted.
std::vector<std::pair<std::string, std::string>> FrrDemo::expected_hops(bool v6) const {
  std::vector<std::pair<std::string, std::string>> hops;
  for (int cable = 1; cable <= frr::Network::kCables; ++cable)
    hops.emplace_back(frr::Network::port_name(cable), frr::Network::gateway(cable, v6));
  return hops;
}

Status FrrDemo::verify() {
  const auto links = plane_->links();
  const auto nexthops = plane_->nexthops();
  if (!links) return links.error();
  if (!nexthops) return nexthops.error();
  std::map<IfIndex, std::string> names;
  for (const LinkEvent& link : *links) names[link.port] = link.name;
  std::map<NexthopId, const NexthopEntry*> by_id;
  for (const NexthopEntry& entry : *nexthops) by_id[entry.id] = &entry;
  std::set<Prefix> asked;
  for (const std::string& prefix : prefixes_) asked.insert(Prefix::parse(prefix).value());
  const auto hops_of = [&](NexthopId group) {
    std::vector<std::pair<std::string, std::string>> hops;
    const auto known = by_id.find(group);
    if (known == by_id.end()) return hops;
    for (const GroupMember& member : known->second->members) {
      const auto hop = by_id.find(member.nexthop);
      if (hop != by_id.end()) hops.emplace_back(names[hop->second->port], hop->second->gateway.to_string());
    }
    std::ranges::sort(hops);
    return hops;
  };
  std::uint64_t equal = 0;
  std::uint64_t unasked = 0;
  const Status read = plane_->routes([&](const RouteEntry& route) {
    if (route.type == RouteType::Unicast && !route.nexthop) return;  // A copy of a connected subnet.
    if (!asked.contains(route.prefix))
      ++unasked;
    else if (hops_of(route.nexthop) == expected_hops(route.prefix.address.is_v6()))
      ++equal;
  });
  if (!read.ok()) return read;
  report_.routes = asked.size();
  report_.verified_equal = equal;
  std::printf("%llu of %zu routes are equal in the kernel\n", static_cast<unsigned long long>(equal), asked.size());
  if (unasked != 0) return {StatusCode::DataLoss, std::to_string(unasked) + " routes are in the kernel that BGP did not announce"};
  return equal == asked.size() ? Status{} : Status{StatusCode::DataLoss, "the kernel does not equal what BGP announced"};
}

Status FrrDemo::restart_rondod() {
  auto events = RouteEvents::start(box_->path(), kRondod);
  if (!events) return events.error();
  auto pinger = start_pinger(kPingPeriod);
  if (!pinger) return pinger.error();
  std::this_thread::sleep_for(200ms);
  std::printf("kill -9 of rondod (pid %d), and a new start\n", static_cast<int>(daemon_->pid()));
  const Instant killed = clock_.now();
  client_.reset();
  daemon_->kill();
  if (Status again = daemon_->launch(); !again.ok()) return again;
  auto client = daemon_->connect();
  if (!client) return client.error();
  client_ = std::move(*client);
  const auto done = [this](const json::object& stats) { return is_in_sync(stats) && has_routes(stats, prefixes_.size()); };
  if (Status status = wait_until("rondod does not reconcile", done); !status.ok()) return status;
  report_.reconciled = clock_.now() - killed;
  (*pinger)->stop();
  (*events)->stop();
  report_.packets_at_restart = (*pinger)->packets().size();
  report_.packets_lost_at_restart = (*pinger)->lost();
  report_.needless_changes = (*events)->count();
  if (report_.needless_changes != 0) std::printf("the kernel was changed without need, first: %s\n", (*events)->first().c_str());
  return {};
}

Status FrrDemo::pull_cable() {
  std::printf("pulling the cable of %s\n", frr::Network::port_name(1).c_str());
  auto pinger = start_pinger(kQuickPingPeriod);
  if (!pinger) return pinger.error();
  std::this_thread::sleep_for(200ms);
  const Instant pulled = clock_.now();
  if (!network_->set_cable(1, false)) return {StatusCode::Unavailable, "ip link failed"};
  std::this_thread::sleep_for(1s);
  (*pinger)->stop();
  report_.failover = (*pinger)->longest_gap_after(pulled);
  report_.packets_lost_at_failover = (*pinger)->lost();
  return network_->set_cable(1, true) ? Status{} : Status{StatusCode::Unavailable, "ip link failed"};
}

Status FrrDemo::run() {
  for (const auto step : {&FrrDemo::prepare_routes, &FrrDemo::prepare_network, &FrrDemo::load, &FrrDemo::announce_singles, &FrrDemo::verify,
                          &FrrDemo::restart_rondod, &FrrDemo::verify, &FrrDemo::pull_cable}) {
    if (Status status = (this->*step)(); !status.ok()) return status;
  }
  return report_.is_right() ? Status{} : Status{StatusCode::DataLoss, "the restart changed the kernel or lost packets"};
}

void FrrDemo::serve() const {
  std::printf(
      "\nserving until Ctrl-C; in another terminal:\n  export RONDO_SOCKET=%s\n  rondo why ROUTE_TABLE %s\n  rondo stats\n"
      "  ip -n %s route show table 100\n",
      daemon_->socket().c_str(), prefixes_.front().c_str(), box_->name().c_str());
  console_.print();
  const sigset_t set = ending_signals();
  int signal = 0;
  ::sigwait(&set, &signal);
}

}  // namespace

int frr_main(int argc, const char* const* argv, const std::string& rondod) {
  FrrOptions options;
  options.rondod = rondod;
  CLI::App app{"Takes the routes of a real FRR router into the kernel, and checks them through a restart and the loss of a cable",
               "rondo-demo frr"};
  app.add_option("--routes", options.files, "Route file (plain or gzip); several are announced together")->check(CLI::ExistingFile);
  app.add_option("--ipv4", options.ipv4, "Synthetic IPv4 prefixes; a fiftieth as many IPv6 ones")
      ->capture_default_str()
      ->check(CLI::Range(50, 2'000'000));
  app.add_option("--singles", options.singles, "Routes that are announced one at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_flag("--exit", options.exit, "End when done, with 0 only if the kernel is right");
  app.add_option("--json", options.json_path, "Write the figures to this file");
  app.add_option("--rondod", options.rondod, "The daemon to run")->capture_default_str();
  if (const auto code = manual::parse_words(app, argc, argv)) return *code;
  const sigset_t set = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const bool exit_when_done = options.exit;
  const std::string json_path = options.json_path;
  FrrDemo demo(std::move(options));
  Status status = demo.run();
  if (demo.report().routes > 0) std::printf("\n%s", to_text(demo.report()).c_str());
  if (!json_path.empty() && demo.report().routes > 0) {
    std::ofstream file(json_path);
    file << to_json(demo.report()) << std::flush;
    if (!file && status.ok()) status = {StatusCode::Unavailable, "cannot write " + json_path};
  }
  if (!status.ok()) std::fprintf(stderr, "rondo-demo: %s\n", status.to_string().c_str());
  if (status.ok() && !exit_when_done) demo.serve();
  return status.ok() ? 0 : 1;
}

}  // namespace rondo::demo
