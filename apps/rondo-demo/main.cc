// rondo-demo: the programs that ./run starts: the main job (routes/routes_demo.h), `rondo-demo jobs` (jobs/jobs_demo.h) and
// `rondo-demo frr` (frr/frr_demo.h). `rondo-demo jobs` starts `rondo-demo executor` (jobs/executor.h). Exit codes: 0 the data plane equals
// the feed, 1 it does not or a step failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/standard_files.h"
#include "manual/command_words.h"
#include "rondo-demo/frr/frr_demo.h"
#include "rondo-demo/jobs/jobs_demo.h"
#ifdef RONDO_WITH_HTTP
#include "rondo-demo/jobs/executor.h"
#endif
#include "rondo-demo/output/report.h"
#include "rondo-demo/routes/routes_demo.h"

namespace rondo::demo {
namespace {

std::string beside(const char* program, const std::string& name) {
  const std::string self{program};
  const std::size_t slash = self.rfind('/');
  return (slash == std::string::npos ? std::string{"."} : self.substr(0, slash)) + "/../" + name + "/" + name;
}

/// Runs the program that the first word names; empty if it names none.
std::optional<int> run_other(int argc, const char* const* argv) {
  const std::string_view name = argv[1];
  if (name == "jobs") {
#ifdef RONDO_WITH_JOBS
    return jobs_main(argc - 1, argv + 1, beside(argv[0], "rondod"));
#else
    std::fprintf(stderr, "rondo-demo: built without jobs (missing: libsqlite3-dev or libssl-dev)\n");
    return 1;
#endif
  }
#ifdef RONDO_WITH_HTTP
  if (name == "executor") return executor_main(argc - 1, argv + 1);
#endif
  if (name == "frr") return frr_main(argc - 1, argv + 1, beside(argv[0], "rondod"));
  return std::nullopt;
}

}  // namespace
}  // namespace rondo::demo

int main(int argc, char** argv) {
  if (!rondo::keep_standard_files()) return 1;
  if (argc > 1) {
    if (const auto code = rondo::demo::run_other(argc, argv)) return *code;
  }
  rondo::demo::RoutesOptions options;
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
  app.add_option("--flap-routes", options.flap_routes,
                 "At the end this many routes are withdrawn and announced again five times, while the cable of a port that carries some "
                 "of them moves; 50000 if no number is given")
      ->expected(0, 1)
      ->default_str("50000")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--job-runs", options.job_runs, "Runs of jobs a second beside the sample jobs, in steps of ten")
      ->capture_default_str()
      ->check(CLI::Range(0, 10'000));
  app.add_option("--executors", options.executors, "Carry those runs out at so many executors of xxl-job instead of in rondod")
      ->check(CLI::Range(1, 100));
  app.add_option("--reserve", options.reserve_mib,
                 "MiB of memory that rondod touches at start, so that no turn waits for a page; by default what its table will need")
      ->check(CLI::Range(0, 1024 * 1024));
  app.add_flag("!--no-baseline", options.baseline, "Do not measure the bare netlink loop");
  app.add_option("--json", options.json_path, "Write the figures to this file");
  app.add_option_function<std::string>(
      "--journal", [&options](const std::string& path) { options.journal_path = std::filesystem::absolute(path).string(); },
      "Record the day in this file; `rondo replay FILE` runs it again");
  app.add_option("--rondod", options.rondod, "The daemon to run")->capture_default_str();
  if (const auto code = rondo::manual::parse_words(app, argc, argv)) return *code;
  const bool exit_when_done = options.exit;
  const std::string json_path = options.json_path;
  rondo::demo::RoutesDemo demo(std::move(options));
  rondo::Status status = demo.run();
  if (!demo.report().dataplane.empty()) std::printf("\n%s", rondo::demo::to_text(demo.report()).c_str());
  if (!json_path.empty()) {
    const rondo::Status written = rondo::demo::write_json(demo.report(), json_path);
    if (status.ok()) status = written;
  }
  if (status.ok() && !exit_when_done) status = demo.serve();
  if (!status.ok()) std::fprintf(stderr, "rondo-demo: %s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
