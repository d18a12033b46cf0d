// rondod: parses the command line, reads the configuration, opens the daemon and serves. Exit codes: 0 ended on request, 1 failed, 2 wrong
// usage, 69 a needed service or resource is unavailable or another rondod has it, 77 not permitted, 78 the configuration is wrong
// (sysexits.h).
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/standard_files.h"
#include "base/unique_fd.h"
#include "commands/recent_log.h"
#include "commands/signals.h"
#include "heap/heap.h"
#include "manual/command_words.h"
#include "manual/man_page.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondod/configuration/config.h"
#include "rondod/configuration/description.h"
#include "rondod/configuration/start_check.h"
#include "rondod/daemon.h"

namespace {

int exit_code(const rondo::Status& status) {
  switch (status.code()) {
    case rondo::StatusCode::PermissionDenied: return 77;
    case rondo::StatusCode::AlreadyExists:
    case rondo::StatusCode::Unavailable:
    case rondo::StatusCode::NotFound: return 69;
    default: return 1;
  }
}

/// The description of this option.
const rondo::manual::Option& option_of(std::string_view name) {
  return *std::ranges::find(rondo::daemon::program().options, name, &rondo::manual::Option::name);
}

/// An option with the name of a file. An empty name is an error, not the same as no option.
void take_path(CLI::App& app, const std::string& names, std::string& path) {
  const rondo::manual::Option& option = option_of(names.substr(0, names.find(',')));
  app.add_option(names, path, std::string{option.help})
      ->type_name(std::string{option.value})
      ->check(CLI::Validator{[](const std::string& given) { return std::string{given.empty() ? "needs the name of a file" : ""}; }, ""});
}

std::string exit_codes() {
  std::string text = "Exit codes:";
  for (const rondo::manual::Entry& code : rondo::daemon::program().exit_codes) {
    text.append(text.ends_with(':') ? " " : ", ").append(code.name).append(" ").append(code.meaning);
  }
  return text + ".";
}

/// Warns of settings that are permitted but may be unintended.
void warn_of_policy(const rondo::daemon::Config& config) {
  const auto settings = rondo::resolve_policy(config.policy.options());
  if (!settings) return;  // Refused when the configuration was read.
  for (const std::string& why : rondo::policy_warnings(*settings)) {
    std::fprintf(stderr, "rondod: warning: scheduler.policy: %s\n", why.c_str());
  }
}

/// Prints the findings that would prevent a start. Returns the exit code.
int report_findings(const rondo::daemon::Config& config) {
  std::vector<rondo::daemon::StartFinding> findings = rondo::daemon::check_start(config);
  std::ranges::move(rondo::daemon::warnings(config), std::back_inserter(findings));
  for (const rondo::daemon::StartFinding& finding : findings) {
    std::fprintf(stderr, "rondod: %s: %s: %s\n", finding.is_error ? "error" : "warning", finding.setting.c_str(),
                 rondo::visible_text(finding.what).c_str());
  }
  std::erase_if(findings, [](const rondo::daemon::StartFinding& finding) { return !finding.is_error; });
  return findings.empty() ? 0 : rondo::daemon::exit_code(findings);
}

/// Calls Daemon::open(). Returns an error if the system has no memory, or no threads.
rondo::Result<std::unique_ptr<rondo::daemon::Daemon>> open_daemon(const rondo::daemon::Config& config, rondo::Log& log,
                                                                  const rondo::RecentLog& kept) try {
  return rondo::daemon::Daemon::open(config, log, kept);
} catch (const std::system_error& error) {
  return rondo::failure(rondo::StatusCode::ResourceExhausted, error.what());
} catch (const std::bad_alloc&) {
  return rondo::failure(rondo::StatusCode::ResourceExhausted, "there is not enough memory");
}

/// Opens the daemon and serves until it ends. A standby that takes over opens it again.
int serve(rondo::daemon::Config config, rondo::Log& log, const rondo::RecentLog& kept) {
  if (const auto findings = rondo::daemon::check_start(config); !findings.empty()) {
    for (const rondo::daemon::StartFinding& finding : findings) {
      log.error("cannot start", {{"setting", finding.setting}, {"why", finding.what}});
    }
    return rondo::daemon::exit_code(findings);
  }
  for (;;) {
    auto daemon = open_daemon(config, log, kept);
    if (!daemon) {
      log.error("cannot start", {{"why", daemon.error()}});
      return exit_code(daemon.error());
    }
    const rondo::Status ended = (*daemon)->run();
    if (!ended.ok()) return exit_code(ended);
    if (!(*daemon)->takes_over()) return 0;
    config = (*daemon)->config();
  }
}

/// Raises the limit of descriptors, because each connection of a feeder or an operator takes some, and many systems start programs with
/// 1024. Best effort: the bounds of the listeners follow the limit. The kernel's table of descriptors grows now, while there is one
/// thread: later each doubling stops the thread that needs it for some 10 ms.
void raise_descriptors() {
  constexpr rlim_t kWanted = 65536;
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < kWanted) {
    descriptors.rlim_cur = std::min(descriptors.rlim_max, kWanted);
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  constexpr int kTable = 4096;
  const rondo::UniqueFd high{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kTable - 1)};
}

}  // namespace

int main(int argc, char** argv) {
  if (!rondo::keep_standard_files()) return 1;
  CLI::App app{"rondod: " + std::string{rondo::daemon::program().summary}, "rondod"};
  std::string config_path;
  std::string socket;
  std::string page;
  bool check = false;
  take_path(app, "--config,-c", config_path);
  take_path(app, "--socket", socket);
  app.add_flag("--check-config", check, std::string{option_of("--check-config").help});
  app.add_option("--manual", page)->group("")->check(CLI::IsMember({"rondod", "rondod.toml"}));
  app.set_version_flag("--version", std::string{"rondod "} + RONDO_VERSION);
  app.footer(exit_codes());
  if (const auto code = rondo::manual::parse_words(app, argc, argv)) return *code;
  if (!page.empty()) {
    const auto& described = page == "rondod" ? rondo::daemon::program() : rondo::daemon::configuration();
    return rondo::manual::print_text("rondod", rondo::manual::man_page(described, RONDO_VERSION));
  }

  rondo::daemon::Config config;
  if (!config_path.empty()) {
    auto read = rondo::daemon::read_config(config_path);
    if (!read) {
      std::fprintf(stderr, "rondod: %s\n", rondo::visible_text(read.error().message()).c_str());
      return 78;
    }
    config = *read;
  }
  config.socket_given = !socket.empty();
  if (config.socket_given) config.socket = socket;
  if (const rondo::Status bad = rondo::daemon::check_socket_path(config.socket); !bad.ok()) {
    std::fprintf(stderr, "rondod: %s\n", rondo::visible_text(bad.message()).c_str());
    return 78;
  }
  if (check) {
    const int printed = rondo::manual::print_text("rondod", rondo::daemon::to_toml(config));
    warn_of_policy(config);
    const int found = report_findings(config);
    return printed != 0 ? printed : found;
  }

  const rondo::SystemClock clock;
  std::signal(SIGPIPE, SIG_IGN);  // The reader of standard error may end.
  std::signal(SIGXFSZ, SIG_IGN);  // A write beyond the limit of a file's size (LimitFSIZE=) fails as one on a full disk does.
  raise_descriptors();
  rondo::heap::keep_frees_short();
  rondo::LogOptions log_options;
  log_options.level = config.log_level;
  rondo::RecentLog kept;
  log_options.copy = [&kept](std::string_view line) { kept.add(line); };
  rondo::Log log(clock, std::move(log_options));
  if (rondo::Status blocked = rondo::commands::hold_signals(); !blocked.ok()) {
    log.error("cannot start", {{"why", blocked}});
    return 1;
  }
  if (rondo::Status reserved = rondo::heap::reserve(config.reserve_mib << 20); !reserved.ok()) {
    log.error("cannot start", {{"why", reserved}});
    return exit_code(reserved);
  }
  return serve(std::move(config), log, kept);
}
