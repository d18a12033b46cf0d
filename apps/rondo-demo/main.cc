// rondo-demo: the main job. It starts a box with eight ports and a rondod. It feeds a full routing table in the hardest order (routes
// first, then what they need), while it pulls and plugs a cable. Then it compares the kernel's table row by row and prints the figures.
// `rondo-demo jobs` and `rondo-demo frr` are other programs: jobs/jobs_demo.h, frr/frr_demo.h. Exit codes: 0 the data plane equals the
// feed, 1 it does not or a step failed, 2 wrong usage.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/standard_files.h"
#include "feed/feed.h"
#include "feed/route_file.h"
#include "feed/synthetic.h"
#include "manual/command_words.h"
#include "rondo-demo/frr/frr_demo.h"
#include "rondo-demo/jobs/jobs_demo.h"
#include "rondo-demo/jobs/sample_jobs.h"
#include "rondo-demo/measurement/floor.h"
#include "rondo-demo/measurement/link_event_log.h"
#include "rondo-demo/measurement/pairing.h"
#include "rondo-demo/measurement/verify.h"
#include "rondo-demo/output/live_line.h"
#include "rondo-demo/output/report.h"
#include "rondo-demo/testbed/box.h"
#include "rondo-demo/testbed/daemon_process.h"
#include "rondo-demo/testbed/flapper.h"
#include "rondo-demo/testbed/redis_process.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/base/thread_settings.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::demo {
namespace {

namespace json = boost::json;

#ifdef RONDO_WITH_JOBS
constexpr bool kHasJobs = true;
#else
constexpr bool kHasJobs = false;
#endif

/// The memory of rondod for a route, with its tables in itself (docs/performance.md).
constexpr std::size_t kBytesPerRoute = 260;

struct Options {
  std::vector<std::string> files;
  std::uint64_t ipv4 = 1'000'000;
  std::uint64_t ipv6 = 200'000;
  std::uint64_t seed = 1;
  bool sorted = false;
  bool exit = false;
  bool simulated = false;
  bool redis = false;
  bool floor = true;
  unsigned flap_ms = 100;
  unsigned flap_port = feed::kPorts;  // The spare port.
  unsigned job_runs = 0;              // A second, beside the sample jobs.
  std::optional<std::size_t> reserve_mib;
  std::string json_path;
  std::string journal_path;
  std::string rondod;
};

class Demo {
 public:
  explicit Demo(Options options) : options_(std::move(options)) {}
  Status run();
  const Report& report() const noexcept { return report_; }
  void serve();

 private:
  Status prepare_routes();
  Status prepare_box();
  Status start_flapping();
  std::string flapping_port() const { return plan_->port_name(options_.flap_port); }
  Status set_carrier(bool up);
  Status feed(const feed::Parts& parts);
  Status feed_routes();
  Status feed_the_rest();
  Result<json::object> stats();
  struct Progress {
    std::uint64_t programmed = 0;
    std::uint64_t parked = 0;
    std::uint64_t queued = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t orders = 0;
    std::uint64_t usable_groups = 0;
    std::uint64_t port_events = 0;
    double port_p99_us = 0;
  };
  std::uint64_t shown_ = 0;
  Instant shown_at_;
  Result<Progress> progress();
  void show(const char* phase, const Progress& progress, bool stays);
  Status watch(const char* phase, const std::function<bool(const Progress&)>& is_done);
  Status collect_figures();
  Status collect_port_events();
  Status verify();
  Result<KernelState> read_simulated();

  Options options_;
  SystemClock clock_;
  std::unique_ptr<feed::NextHopPlan> plan_;
  std::vector<feed::Route> routes_;
  std::uint64_t asked_ = 0;
  std::unique_ptr<RedisProcess> redis_;  // Only with --store redis; destroyed after the daemon.
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<AdminClient> client_;
  std::unique_ptr<AdminClient> flap_client_;  // Only with the simulated data plane.
  std::unique_ptr<Box> box_;                  // Only with the real kernel.
  std::unique_ptr<DataPlane> plane_;          // Only with the real kernel: reads it.
  std::unique_ptr<DataPlane> far_plane_;      // Only with the real kernel: moves the cable from its other end.
  IfIndex far_end_;
  std::unique_ptr<LinkEventLog> link_events_;  // Only with the real kernel.
  std::unique_ptr<Flapper> flapper_;
  Report report_;
};

Status Demo::prepare_routes() {
  auto plan = feed::NextHopPlan::make();
  if (!plan) return plan.error();
  plan_ = std::make_unique<feed::NextHopPlan>(std::move(*plan));
  for (const std::string& path : options_.files) {
    auto file = feed::read_route_file(path, *plan_);
    if (!file) return file.error();
    routes_.insert(routes_.end(), file->routes.begin(), file->routes.end());
  }
  if (options_.files.empty()) {
    auto made = feed::synthetic_routes({options_.ipv4, options_.ipv6, options_.seed}, *plan_);
    if (!made) return made.error();
    routes_ = std::move(*made);
    // Shuffled, like a session that sends in any order; files keep their order.
    if (!options_.sorted) feed::shuffle_routes(routes_, options_.seed);
  }
  asked_ = compare(routes_, *plan_, {}).asked;
  report_.routes = asked_;
  std::printf("%llu routes to program\n", static_cast<unsigned long long>(asked_));
  return {};
}

Status Demo::prepare_box() {
  std::vector<std::string> ports;
  for (unsigned p = 0; p <= feed::kPorts; ++p) ports.push_back(plan_->port_name(p));
  if (!options_.simulated) {
    Status made;
    if (auto box = Box::enter()) {
      box_ = std::make_unique<Box>(std::move(*box));
      made = box_->make_ports(ports);
      if (made.ok()) made = Box::without_ipv6(plan_->port_name(feed::kPorts));
    } else {
      made = box.error();
    }
    if (!made.ok()) {
      std::printf("no network namespace of our own here (%s)\nusing the simulated data plane instead of the kernel\n",
                  std::string{made.message()}.c_str());
      options_.simulated = true;
    }
  }
  CpuShares cpus;
  if (std::vector<unsigned> all = allowed_cpus(); all.size() > 1) {
    cpus = {.scheduler = {all.back()}, .others = {all.begin(), all.end() - 1}};
  }
  if (options_.redis) {
    auto redis = RedisProcess::start();
    if (!redis) return redis.error();
    redis_ = std::move(*redis);
    std::printf("redis-server runs (pid %d), %s\n", static_cast<int>(redis_->pid()), redis_->url().c_str());
  }
  auto daemon = DaemonProcess::start({.program = options_.rondod,
                                      .simulated = options_.simulated,
                                      .ports = ports,
                                      .cpus = cpus,
                                      .reserve_mib = options_.reserve_mib.value_or((routes_.size() * kBytesPerRoute) >> 20),
                                      .store_url = redis_ != nullptr ? redis_->url() : "",
                                      .journal = options_.journal_path,
                                      .jobs = kHasJobs});
  if (!daemon) return daemon.error();
  if (Status pinned = pin_thread(::pthread_self(), cpus.others); !pinned.ok()) return pinned;
  daemon_ = std::move(*daemon);
  auto client = daemon_->connect();
  if (!client) return client.error();
  client_ = std::move(*client);
  if (Status added = kHasJobs ? add_sample_jobs(*client_, options_.job_runs) : Status{}; !added.ok()) return added;
  // The producer represents another machine, so it must not take the processor from the daemon.
  if (Status ranked = set_thread_nice(10); !ranked.ok()) return ranked;
  std::printf("rondod runs (pid %d), socket %s\n", static_cast<int>(daemon_->pid()), daemon_->socket().c_str());
  if (options_.simulated) return {};
  auto plane = make_linux_dataplane({});
  if (!plane) return plane.error();
  plane_ = std::move(*plane);
  return {};
}

Status Demo::set_carrier(bool up) {
  if (options_.simulated) {
    const auto done = flap_client_->call("sim-carrier", {{"port", flapping_port()}, {"up", up}});
    return done ? Status{} : done.error();
  }
  std::vector<Operation> operation;
  operation.push_back({LinkSet{far_end_, up, std::nullopt}, {}});
  far_plane_->apply(operation);
  return operation.front().status;
}

Status Demo::start_flapping() {
  if (options_.simulated) {
    auto client = daemon_->connect();
    if (!client) return client.error();
    flap_client_ = std::move(*client);
    // A simulated port is down until a row sets it up; the spare one has no row in the feed.
    const json::object row{{"table", "PORT_TABLE"}, {"key", flapping_port()}, {"fields", json::array{json::array{"admin_status", "up"}}}};
    if (const auto up = flap_client_->call("set", row); !up) return up.error();
  } else {
    auto far_plane = make_linux_dataplane({.network_namespace = box_->far_side()});
    if (!far_plane) return far_plane.error();
    far_plane_ = std::move(*far_plane);
    const auto links = far_plane_->links();
    if (!links) return links.error();
    const auto link = std::ranges::find(*links, Box::far_end(flapping_port()), &LinkEvent::name);
    if (link == links->end()) return Status{StatusCode::NotFound, "the flapping port has no far end"};
    far_end_ = link->port;
    auto log = LinkEventLog::start(*plane_, flapping_port());
    if (!log) return log.error();
    link_events_ = std::move(*log);
  }
  flapper_ = std::make_unique<Flapper>(std::chrono::milliseconds(options_.flap_ms), [this](bool up) { return set_carrier(up); });
  return {};
}

Status Demo::feed(const feed::Parts& parts) {
  const Instant start = clock_.now();
  const std::uint64_t rows = feed::count_rows(routes_, *plan_, parts);
  BulkWriter writer(*client_);
  if (Status fed = feed::feed_all(routes_, *plan_, parts, writer); !fed.ok()) return fed;
  const auto totals = writer.finish();
  if (!totals) return totals.error();
  if (totals->unwritten > 0) return totals->first_error.with_context(std::to_string(totals->unwritten) + " rows not written yet");
  if (totals->refused > 0) return totals->first_error.with_context(std::to_string(totals->refused) + " rows refused");
  if (!parts.routes) return {};
  const double seconds = std::chrono::duration<double>(clock_.now() - start).count();
  report_.feed_rows_per_second = static_cast<double>(rows) / seconds;
  return {};
}

Status Demo::feed_routes() {
  std::printf("feeding the routes first: each must wait for a next-hop group that nobody knows yet\n");
  if (Status fed = feed({.routes = true}); !fed.ok()) return fed;
  // Withdrawals in a file leave rows that need no group; all other rows wait.
  return watch("waiting", [](const Progress& p) { return p.queued == 0 && p.in_flight == 0; });
}

Status Demo::feed_the_rest() {
  std::printf("now groups, neighbours, interfaces, ports: the last row releases the chain\n");
  if (Status fed = feed({.routes = false, .groups = true, .neighbors = true, .interfaces = true, .ports = true, .mtu = 1500}); !fed.ok())
    return fed;
  return watch("programming", [this](const Progress& p) {
    return p.programmed == asked_ && p.queued == 0 && p.in_flight == 0 && p.parked == 0 && p.orders == 0;
  });
}

Result<json::object> Demo::stats() { return client_->call("stats", {}); }

const json::object* consumer(const json::object& stats, std::string_view table) {
  for (const json::value& row : stats.at("consumers").as_array()) {
    if (row.at("table").as_string() == table) return &row.as_object();
  }
  return nullptr;
}

std::uint64_t number(const json::value& value) { return value.to_number<std::uint64_t>(); }

Result<Demo::Progress> Demo::progress() {
  const auto all = stats();
  if (!all) return failure(all.error());
  Progress p;
  p.programmed = number(all->at("agent").at("routes"));
  p.usable_groups = number(all->at("agent").at("usable_groups"));
  p.orders = number(all->at("dataplane").at("in_flight"));
  p.port_events = number(all->at("port_events").at("count"));
  p.port_p99_us = all->at("port_events").at("p99_us").to_number<double>();
  if (const json::object* routes = consumer(*all, "ROUTE_TABLE")) {
    p.parked = number(routes->at("parked"));
    p.queued = number(routes->at("queued"));
    p.in_flight = number(routes->at("in_flight"));
  }
  return p;
}

void Demo::show(const char* phase, const Progress& p, bool stays) {
  const Instant now = clock_.now();
  const double seconds = std::chrono::duration<double>(now - shown_at_).count();
  const double rate = seconds > 0 && p.programmed > shown_ ? static_cast<double>(p.programmed - shown_) / seconds : 0;
  shown_ = p.programmed;
  shown_at_ = now;
  char line[256];
  std::snprintf(line, sizeof line,
                "%-11s programmed %8llu (%7.0f/s)  parked %8llu  queued %8llu  groups %3llu  port events %4llu, p99 %.0f us in rondod",
                phase, static_cast<unsigned long long>(p.programmed), rate, static_cast<unsigned long long>(p.parked),
                static_cast<unsigned long long>(p.queued), static_cast<unsigned long long>(p.usable_groups),
                static_cast<unsigned long long>(p.port_events), p.port_p99_us);
  // A line that stays is whole, and begins over the line drawn before it.
  const std::string text = stays ? (can_redraw() ? "\r\x1b[K" : "") + std::string{line} + "\n" : redrawn(line, terminal_columns());
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

Status Demo::watch(const char* phase, const std::function<bool(const Progress&)>& is_done) {
  const bool live = can_redraw();
  const Instant deadline = clock_.now() + 120s + std::chrono::milliseconds(asked_ / 5);
  Instant next_line = clock_.now();
  for (;;) {
    const auto p = progress();
    if (!p) return p.error();
    const bool done = is_done(*p);
    if (live || done || clock_.now() >= next_line) {
      show(phase, *p, done || !live);
      next_line = clock_.now() + 1s;
    }
    if (!flapper_->status().ok()) return flapper_->status().with_context("moving the cable");
    if (done) return {};
    if (clock_.now() >= deadline) return Status{StatusCode::DeadlineExceeded, "not done in time; the line above says what is left"};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Status Demo::collect_port_events() {
  std::vector<std::pair<bool, Instant>> handled;
  const std::string port = flapping_port();
  const auto end = client_->call("port-events", {}, [&](const json::value& row) {
    if (row.at("port").as_string() != port) return;
    handled.emplace_back(row.at("carrier").as_bool(), Instant::from_nanoseconds(row.at("at_ns").as_int64()));
  });
  if (!end) return end.error();
  const std::vector<Flapper::Flap> flaps = flapper_->flaps();
  pair_up(flaps, &Flapper::Flap::asked, handled, report_.cable_ns);
  if (link_events_ == nullptr) {  // In the simulation, the cable's move is the announcement.
    report_.port_events_unseen = pair_up(flaps, &Flapper::Flap::asked, handled, report_.port_event_ns);
  } else {
    report_.port_events_unseen = pair_up(link_events_->stop(), &LinkEventLog::Announced::at, handled, report_.port_event_ns);
  }
  report_.port_events = report_.port_event_ns.count();
  return {};
}

Status Demo::collect_figures() {
  const auto all = stats();
  if (!all) return all.error();
  const json::object& agent = all->at("agent").as_object();
  const auto span = Duration{agent.at("last_answer_ns").as_int64() - agent.at("first_order_ns").as_int64()};
  report_.routes_per_second = static_cast<double>(number(agent.at("programmed"))) / std::chrono::duration<double>(span).count();
  report_.dataplane = std::string{all->at("dataplane").at("kind").as_string()};
  if (const json::value* const jobs = all->if_contains("jobs")) {
    report_.sample_runs = number(jobs->at("succeeded"));
    report_.sample_late_us = jobs->at("late_p99_us").to_number<double>();
  }
  report_.longest_turn_us = all->at("scheduler").at("longest_turn_us").to_number<double>();
  report_.turns = number(all->at("scheduler").at("turns"));
  report_.long_turns = number(all->at("scheduler").at("long_turns"));
  double longest = 0;
  const auto sources = client_->call("sources", {}, [&](const json::value& row) {
    const auto turn = row.at("longest_us").to_number<double>();
    if (turn <= longest) return;
    longest = turn;
    report_.longest_turn_of = std::string{row.at("name").as_string()};
    report_.longest_turn_cpu_us = row.at("longest_cpu_us").to_number<double>();
  });
  if (!sources) return sources.error();
  report_.sweep_rescues = number(all->at("scheduler").at("sweep_rescues"));
  report_.peak_rss_bytes = number(all->at("memory").at("peak_rss_bytes"));
  report_.put_back = number(agent.at("put_back"));
  for (const json::value& row : all->at("consumers").as_array()) {
    report_.retried += number(row.at("retried"));
    report_.resolve_us = std::max(report_.resolve_us, row.at("resolve_wait_max_us").to_number<double>());
    if (row.at("table").as_string() == "ROUTE_TABLE") report_.parked_peak = number(row.at("parked_peak"));
  }
  return {};
}

Result<KernelState> Demo::read_simulated() {
  KernelState state;
  const auto routes = client_->call("sim-routes", {}, [&](const json::value& row) {
    const auto prefix = rondo::Prefix::parse(std::string{row.at("prefix").as_string()});
    if (prefix) state.routes.push_back({*prefix, NexthopId{row.at("nexthop").to_number<std::uint32_t>()}, kMainTable, RouteType::Unicast});
  });
  if (!routes) return failure(routes.error());
  auto names = std::make_shared<std::map<IfIndex, std::string>>();
  const auto ports = client_->call("ports", {}, [&](const json::value& row) {
    (*names)[IfIndex{row.at("index").to_number<std::uint32_t>()}] = std::string{row.at("name").as_string()};
  });
  if (!ports) return failure(ports.error());
  const auto nexthops = client_->call("sim-nexthops", {}, [&](const json::value& row) {
    NexthopEntry entry;
    entry.id = NexthopId{row.at("id").to_number<std::uint32_t>()};
    entry.port = IfIndex{row.at("port").to_number<std::uint32_t>()};
    if (const auto gateway = IpAddress::parse(std::string{row.at("gateway").as_string()})) entry.gateway = *gateway;
    for (const json::value& member : row.at("members").as_array()) {
      entry.members.push_back({NexthopId{member.at("id").to_number<std::uint32_t>()}, member.at("weight").to_number<std::uint16_t>()});
    }
    state.nexthops.push_back(std::move(entry));
  });
  if (!nexthops) return failure(nexthops.error());
  state.port_name = [names](IfIndex port) { return (*names)[port]; };
  return state;
}

Status Demo::verify() {
  // The last flap plugged the cable in, and the groups add the port's next hops again within milliseconds. Only then is the state final.
  const Instant deadline = clock_.now() + 10s;
  for (;;) {
    auto kernel = options_.simulated ? read_simulated() : read_kernel(*plane_);
    if (!kernel) return kernel.error();
    report_.comparison = compare(routes_, *plan_, std::move(*kernel));
    if (report_.comparison.all_equal()) return {};
    if (clock_.now() >= deadline) return Status{StatusCode::DataLoss, "the data plane does not equal what was asked"};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Status Demo::run() {
  const Instant start = clock_.now();
  for (const auto step : {&Demo::prepare_routes, &Demo::prepare_box, &Demo::start_flapping, &Demo::feed_routes, &Demo::feed_the_rest}) {
    if (Status status = (this->*step)(); !status.ok()) return status;
  }
  flapper_->stop();
  std::printf("comparing the data plane's table with what was asked\n");
  std::fflush(stdout);  // bench/beside_jobs.py reads the processor time of rondod now.
  // Collect the figures first: reading a simulated table back takes long turns.
  if (Status status = collect_figures(); !status.ok()) return status;
  const Status equal = verify();
  if (Status status = collect_port_events(); !status.ok()) return status;
  report_.seconds = std::chrono::duration<double>(clock_.now() - start).count();
  if (!options_.simulated && options_.floor) {
    std::printf("measuring what a bare netlink loop does with the same routes\n");
    const auto floor = measure_floor(routes_, *plan_);
    if (!floor) return floor.error().with_context("measuring the floor");
    report_.floor_per_second = *floor;
  }
  return equal;
}

void Demo::serve() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const std::string socket = daemon_->socket();
  std::printf(
      "\nserving until Ctrl-C; in another terminal:\n  export RONDO_SOCKET=%s\n  rondo why ROUTE_TABLE 192.0.2.0/24\n  rondo sources\n"
      "  rondo parked\n  rondo stats\n",
      socket.c_str());
  if (kHasJobs) std::printf("  rondo job list\n  rondo job runs sample/every-200ms\n");
  std::fflush(stdout);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC);
  while (daemon_->running()) {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, 500) > 0) break;
  }
  ::close(fd);
}

std::string beside(const char* program, const std::string& name) {
  const std::string self{program};
  const std::size_t slash = self.rfind('/');
  return (slash == std::string::npos ? std::string{"."} : self.substr(0, slash)) + "/../" + name + "/" + name;
}

}  // namespace
}  // namespace rondo::demo

int main(int argc, char** argv) {
  if (!rondo::keep_standard_files()) return 1;
  if (argc > 1 && std::string_view{argv[1]} == "jobs") {
#ifdef RONDO_WITH_JOBS
    return rondo::demo::jobs_main(argc - 1, argv + 1, rondo::demo::beside(argv[0], "rondod"));
#else
    std::fprintf(stderr, "rondo-demo: built without jobs (missing: libsqlite3-dev)\n");
    return 1;
#endif
  }
  if (argc > 1 && std::string_view{argv[1]} == "frr")
    return rondo::demo::frr_main(argc - 1, argv + 1, rondo::demo::beside(argv[0], "rondod"));
  rondo::demo::Options options;
  options.rondod = rondo::demo::beside(argv[0], "rondod");
  constexpr unsigned feed_ports = rondo::feed::kPorts;
  CLI::App app{"Programs a full routing table through rondod and checks the kernel", "rondo-demo"};
  app.add_option("--routes", options.files, "Route file (plain or gzip); several are fed one after the other")->check(CLI::ExistingFile);
  app.add_option("--ipv4", options.ipv4, "Synthetic IPv4 prefixes")->capture_default_str();
  app.add_option("--ipv6", options.ipv6, "Synthetic IPv6 prefixes")->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the synthetic table and its order")->capture_default_str();
  app.add_flag("--sorted", options.sorted, "Feed the synthetic table sorted instead of shuffled");
  app.add_flag("--exit", options.exit, "End when done, with 0 only if the data plane equals what was asked");
  app.add_flag("--simulated", options.simulated, "Use the simulated data plane");
  app.add_option_function<std::string>(
         "--store", [&options](const std::string& store) { options.redis = store == "redis"; },
         "Where the tables are: embedded (in rondod), or redis (a private redis-server on a Unix socket)")
      ->check(CLI::IsMember({"embedded", "redis"}));
  app.add_option("--flap", options.flap_ms, "Milliseconds between two moves of the cable")
      ->capture_default_str()
      ->check(CLI::Range(1, 3'600'000));
  app.add_option(
         "--flap-port", options.flap_port,
         "Which port's cable moves: 0 to 7 carry routes, 8 is a spare one. With IPv6 routes in it the kernel walks its whole IPv6 table "
         "at each move of a cable of the first eight, and that is then most of what is measured")
      ->capture_default_str()
      ->check(CLI::Range(0U, feed_ports));
  app.add_option("--job-runs", options.job_runs, "Runs of jobs a second beside the sample jobs, in steps of ten")
      ->capture_default_str()
      ->check(CLI::Range(0, 10'000));
  app.add_option("--reserve", options.reserve_mib,
                 "MiB of memory that rondod touches at start, so that no turn waits for a page; by default what its table will need")
      ->check(CLI::Range(0, 1024 * 1024));
  app.add_flag("!--no-floor", options.floor, "Do not measure the bare netlink loop");
  app.add_option("--json", options.json_path, "Write the figures to this file");
  app.add_option_function<std::string>(
      "--journal", [&options](const std::string& path) { options.journal_path = std::filesystem::absolute(path).string(); },
      "Record the day in this file; `rondo replay FILE` runs it again");
  app.add_option("--rondod", options.rondod, "The daemon to run")->capture_default_str();
  if (const auto code = rondo::manual::parse_words(app, argc, argv)) return *code;
  const bool exit_when_done = options.exit;
  const std::string json_path = options.json_path;
  rondo::demo::Demo demo(std::move(options));
  rondo::Status status = demo.run();
  if (!demo.report().dataplane.empty()) std::printf("\n%s", rondo::demo::to_text(demo.report()).c_str());
  if (!json_path.empty()) {
    const rondo::Status written = rondo::demo::write_json(demo.report(), json_path);
    if (status.ok()) status = written;
  }
  if (!status.ok()) std::fprintf(stderr, "rondo-demo: %s\n", status.to_string().c_str());
  if (status.ok() && !exit_when_done) demo.serve();
  return status.ok() ? 0 : 1;
}
