#include "rondo-demo/routes/routes_demo.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "admin/bulk_writer.h"
#include "feed/route_file.h"
#include "feed/synthetic.h"
#include "rondo-demo/jobs/sample_jobs.h"
#include "rondo-demo/measurement/baseline.h"
#include "rondo-demo/measurement/pairing.h"
#include "rondo-demo/output/live_line.h"
#include "rondo/base/thread_settings.h"

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

constexpr unsigned kFailingPort = 0;  // While routes flap. It carries some of them.
constexpr unsigned kFlapRounds = 5;

const json::object* consumer(const json::object& stats, std::string_view table) {
  for (const json::value& row : stats.at("consumers").as_array()) {
    if (row.at("table").as_string() == table) return &row.as_object();
  }
  return nullptr;
}

std::uint64_t number(const json::value& value) { return value.to_number<std::uint64_t>(); }

}  // namespace

Status RoutesDemo::prepare_routes() {
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

Status RoutesDemo::prepare_box() {
  std::vector<std::string> ports;
  for (unsigned p = 0; p <= feed::kPorts; ++p) ports.push_back(plan_->port_name(p));
  // With executors the daemon listens for them, at a port inside the namespace.
  if (options_.executors == 0) console_.emplace();
  if (!options_.simulated) {
    Status made;
    if (auto testbed = Testbed::enter()) {
      testbed_ = std::make_unique<Testbed>(std::move(*testbed));
      made = testbed_->make_ports(ports);
      if (made.ok()) made = Testbed::without_ipv6(plan_->port_name(feed::kPorts));
    } else {
      made = testbed.error();
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
                                      .jobs = kHasJobs,
                                      .executors = options_.executors > 0,
                                      .console = console_ ? console_->socket() : -1});
  if (!daemon) return daemon.error();
  if (Status pinned = pin_thread(::pthread_self(), cpus.others); !pinned.ok()) return pinned;
  daemon_ = std::move(*daemon);
  auto client = daemon_->connect();
  if (!client) return client.error();
  client_ = std::move(*client);
  // The producer and executors represent other machines, so they must not take the processor from the daemon.
  if (Status ranked = set_thread_nice(10); !ranked.ok()) return ranked;
  if (Status started = kHasJobs ? start_jobs() : Status{}; !started.ok()) return started;
  std::printf("rondod runs (pid %d), socket %s\n", static_cast<int>(daemon_->pid()), daemon_->socket().c_str());
  if (!console_) std::printf("no console: with --executors rondod's HTTP port is in the namespace of the executors\n");
  if (Status opened = console_ ? console_->open(*client_) : Status{}; !opened.ok()) return opened;
  if (options_.simulated) return {};
  auto plane = make_linux_dataplane({});
  if (!plane) return plane.error();
  plane_ = std::move(*plane);
  return {};
}

Status RoutesDemo::start_jobs() {
  if (options_.executors == 0) return add_sample_jobs(*client_, options_.job_runs, "none");
#ifdef RONDO_WITH_HTTP
  auto load = ExecutorsLoad::start(options_.executors, *daemon_, *client_);
  if (!load) return load.error();
  executors_ = std::move(*load);
  return add_sample_jobs(*client_, options_.job_runs, ExecutorsLoad::kHandler);
#else
  return {StatusCode::Unimplemented, "built without HTTP (missing: libcurl4-openssl-dev)"};
#endif
}

Status RoutesDemo::set_carrier(bool up) {
  if (options_.simulated) {
    const auto done = flap_client_->call("sim-carrier", {{"port", flapping_port()}, {"up", up}});
    return done ? Status{} : done.error();
  }
  std::vector<Operation> operation;
  operation.push_back({LinkSet{far_end_, up, std::nullopt}, {}});
  far_plane_->apply(operation);
  return operation.front().status;
}

Status RoutesDemo::start_flapping() {
  if (options_.simulated) {
    auto client = daemon_->connect();
    if (!client) return client.error();
    flap_client_ = std::move(*client);
    // A simulated port is down until a row sets it up; the spare one has no row in the feed.
    const json::object row{{"table", "PORT_TABLE"}, {"key", flapping_port()}, {"fields", json::array{json::array{"admin_status", "up"}}}};
    if (const auto up = flap_client_->call("set", row); !up) return up.error();
  } else {
    auto far_plane = make_linux_dataplane({.network_namespace = testbed_->far_side()});
    if (!far_plane) return far_plane.error();
    far_plane_ = std::move(*far_plane);
    const auto links = far_plane_->links();
    if (!links) return links.error();
    const auto link = std::ranges::find(*links, Testbed::far_end(flapping_port()), &LinkEvent::name);
    if (link == links->end()) return Status{StatusCode::NotFound, "the flapping port has no far end"};
    far_end_ = link->port;
    auto log = LinkEventLog::start(*plane_, flapping_port());
    if (!log) return log.error();
    link_events_ = std::move(*log);
  }
  flapper_ = std::make_unique<Flapper>(std::chrono::milliseconds(options_.flap_ms), [this](bool up) { return set_carrier(up); });
  return {};
}

Status RoutesDemo::feed(std::span<const feed::Route> routes, const feed::Parts& parts) {
  BulkWriter writer(*client_);
  if (Status fed = feed::feed_all(routes, *plan_, parts, writer); !fed.ok()) return fed;
  const auto totals = writer.finish();
  if (!totals) return totals.error();
  if (totals->unwritten > 0) return totals->first_error.with_context(std::to_string(totals->unwritten) + " rows not written yet");
  return totals->refused == 0 ? Status{} : totals->first_error.with_context(std::to_string(totals->refused) + " rows refused");
}

Status RoutesDemo::feed_routes() {
  std::printf("feeding the routes first: each must wait for a next-hop group that has no row yet\n");
  const Instant start = clock_.now();
  if (Status fed = feed(routes_, {.routes = true}); !fed.ok()) return fed;
  const double seconds = std::chrono::duration<double>(clock_.now() - start).count();
  report_.feed_rows_per_second = static_cast<double>(routes_.size()) / seconds;
  // Withdrawals in a file leave rows that need no group; all other rows wait.
  return watch("waiting", [](const Progress& p) { return p.queued == 0 && p.in_flight == 0; });
}

Status RoutesDemo::feed_the_rest() {
  std::printf("now groups, neighbours, interfaces, ports: the last row releases the chain\n");
  constexpr feed::Parts kRest{.routes = false, .groups = true, .neighbors = true, .interfaces = true, .ports = true, .mtu = 1500};
  if (Status fed = feed(routes_, kRest); !fed.ok()) return fed;
  return watch("programming", [this](const Progress& p) {
    return p.programmed == asked_ && p.queued == 0 && p.in_flight == 0 && p.parked == 0 && p.orders == 0;
  });
}

Result<json::object> RoutesDemo::stats() { return client_->call("stats", {}); }

Result<RoutesDemo::Progress> RoutesDemo::progress() {
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

void RoutesDemo::show(const char* phase, const Progress& p, bool stays) {
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

Status RoutesDemo::watch(const char* phase, const std::function<bool(const Progress&)>& is_done) {
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

Result<PortEvents> RoutesDemo::collect_port_events() {
  PortEvents found;
  std::vector<std::pair<bool, Instant>> handled;
  const std::string port = flapping_port();
  const auto end = client_->call("port-events", {}, [&](const json::value& row) {
    if (row.at("port").as_string() != port) return;
    handled.emplace_back(row.at("carrier").as_bool(), Instant::from_nanoseconds(row.at("at_ns").as_int64()));
  });
  if (!end) return failure(end.error());
  const std::vector<Flapper::Flap> flaps = flapper_->flaps();
  pair_up(flaps, &Flapper::Flap::asked, handled, found.cable_ns);
  if (link_events_ == nullptr) {  // In the simulation, the cable's move is the announcement.
    found.unseen = pair_up(flaps, &Flapper::Flap::asked, handled, found.handled_ns);
  } else {
    found.unseen = pair_up(link_events_->stop(), &LinkEventLog::Announced::at, handled, found.handled_ns);
  }
  found.count = found.handled_ns.count();
  return found;
}

/// What rondod has done for the table of routes since its start.
Result<RouteFlap> RoutesDemo::route_figures() {
  RouteFlap figures;
  const auto all = stats();
  if (!all) return failure(all.error());
  if (const json::object* const routes = consumer(*all, "ROUTE_TABLE")) figures.done = number(routes->at("done"));
  const auto sources = client_->call("sources", {}, [&](const json::value& row) {
    if (row.at("name").as_string() != "ROUTE_TABLE") return;
    figures.turns = number(row.at("turns"));
    figures.longest_turn_us = row.at("longest_us").to_number<double>();
  });
  if (!sources) return failure(sources.error());
  return figures;
}

/// A peer that flaps: its routes are withdrawn and announced again before rondod is done with them. The cable of a port that carries some
/// of them moves at the same time.
Status RoutesDemo::flap_routes() {
  options_.flap_port = kFailingPort;
  if (Status started = start_flapping(); !started.ok()) return started;
  std::vector<feed::Route> announced;
  for (const feed::Route& route : routes_) {
    if (announced.size() == options_.flap_routes) break;
    if (!route.withdrawn) announced.push_back(route);
  }
  std::vector<feed::Route> withdrawn = announced;
  for (feed::Route& route : withdrawn) route.withdrawn = true;
  std::printf("%zu routes are withdrawn and announced again, %u times, while the cable of %s moves\n", announced.size(), kFlapRounds,
              flapping_port().c_str());
  const auto before = route_figures();
  if (!before) return before.error();
  const Instant start = clock_.now();
  for (unsigned round = 0; round < kFlapRounds; ++round) {
    for (const auto* const rows : {&withdrawn, &announced}) {
      if (Status fed = feed(*rows, {.routes = true}); !fed.ok()) return fed;
    }
  }
  const Status settled =
      watch("flapping", [this](const Progress& p) { return p.programmed == asked_ && p.queued == 0 && p.in_flight == 0; });
  if (!settled.ok()) return settled;
  const double seconds = std::chrono::duration<double>(clock_.now() - start).count();
  flapper_->stop();
  auto figures = route_figures();
  if (!figures) return figures.error();
  figures->routes = announced.size();
  figures->rounds = kFlapRounds;
  figures->written = 2 * announced.size() * kFlapRounds;
  figures->done -= before->done;
  figures->turns -= before->turns;
  figures->seconds = seconds;
  if (Status equal = verify(); !equal.ok()) return equal.with_context("after the flap of routes");
  auto ports = collect_port_events();
  if (!ports) return ports.error();
  figures->ports = std::move(*ports);
  report_.flap = std::move(*figures);
  return {};
}

Status RoutesDemo::collect_figures() {
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

Result<KernelState> RoutesDemo::read_simulated() {
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

Status RoutesDemo::verify() {
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

Status RoutesDemo::run() {
  const Instant start = clock_.now();
  for (const auto step : {&RoutesDemo::prepare_routes, &RoutesDemo::prepare_box, &RoutesDemo::start_flapping, &RoutesDemo::feed_routes,
                          &RoutesDemo::feed_the_rest}) {
    if (Status status = (this->*step)(); !status.ok()) return status;
  }
  flapper_->stop();
  std::printf("comparing the data plane's table with what was asked\n");
  std::fflush(stdout);  // bench/beside_jobs.py reads the processor time of rondod now.
  // Collect the figures first: reading a simulated table back takes long turns.
  if (Status status = collect_figures(); !status.ok()) return status;
  Status equal = verify();
  auto ports = collect_port_events();
  if (!ports) return ports.error();
  report_.ports = std::move(*ports);
  if (equal.ok() && options_.flap_routes > 0) equal = flap_routes();
  report_.seconds = std::chrono::duration<double>(clock_.now() - start).count();
  if (!options_.simulated && options_.baseline) {
    std::printf("measuring what a bare netlink loop does with the same routes\n");
    const auto baseline = measure_baseline(routes_, *plan_);
    if (!baseline) return baseline.error().with_context("measuring the baseline");
    report_.baseline_per_second = *baseline;
  }
  return equal;
}

Status RoutesDemo::serve() {
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
  if (console_) console_->print();
  std::fflush(stdout);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC);
  while (daemon_->running()) {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, 500) > 0) {
      ::close(fd);
      return {};
    }
  }
  ::close(fd);
  return {StatusCode::Unavailable, "rondod has ended, with exit code " + std::to_string(daemon_->stop())};
}

}  // namespace rondo::demo
