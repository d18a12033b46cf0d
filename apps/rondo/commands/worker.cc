// `rondo worker`: reads the configuration, and works until a signal ends it.
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "backends/remote.h"
#include "backends/socket_path.h"
#include "base/counted.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "commands/actions.h"
#include "output/exit_code.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "worker/config.h"
#include "worker/worker.h"

namespace rondo::cli {

namespace {

/// Bad input file.
constexpr int kExitConfig = 78;

Result<UniqueFd> open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  if (const int failed = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); failed != 0)
    return failure(status_from_errno(failed, "blocking signals"));
  UniqueFd fd{::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)};
  if (!fd) return failure(status_from_errno(errno, "signalfd"));
  // What a command leaves behind becomes a child of the worker, as it does where the worker is process 1 of a container.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return failure(status_from_errno(errno, "PR_SET_CHILD_SUBREAPER"));
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // A write beyond the limit of a file's size fails as one on a full disk does.
  return fd;
}

/// The options of the command line go before those of the file.
Result<std::vector<worker::Connect>> servers_of(const Options& options, const worker::WorkerConfig& config) {
  std::vector<RemoteChoice> remotes;
  const bool is_given = options.remote.given() || !options.socket.empty();
  if (options.remote.given()) remotes.push_back(options.remote);
  if (!is_given) {
    for (const std::string& url : config.urls) remotes.push_back({url, config.token_file, config.ca_file});
  }
  if (remotes.empty()) {
    const std::string socket = socket_candidates(is_given ? options.socket : config.socket).front();
    return std::vector<worker::Connect>{[socket] { return AdminClient::connect(socket); }};
  }
  std::vector<worker::Connect> servers;
  for (const RemoteChoice& remote : remotes) {
    const Result<Connect> connect = open_remote(remote);
    if (!connect) return failure(connect.error().with_context(config.file));
    servers.emplace_back([connect = *connect] { return connect(Duration{30s}); });
  }
  return servers;
}

}  // namespace

int worker(const Options& options, const WorkerCall& call) {
  // Blocked before anything that takes time: a SIGTERM meanwhile ends the worker as one later does, with 0.
  const Result<UniqueFd> signals = call.checks_only ? UniqueFd{} : open_signals();
  if (!signals) return report(options, signals.error());
  Result<worker::WorkerConfig> config = worker::read_worker_config(call.config);
  if (!config) return report(options, config.error(), kExitConfig);
  if (const Status refused = worker::Worker::check(*config); !refused.ok()) return report(options, refused, kExitConfig);
  if (call.checks_only) {
    for (const std::string& command : worker::unready_commands(*config)) print_error("rondo: warning: " + command + "\n");
    print(call.config + ": " + counted(config->commands.size(), "command") + "\n");
    return finish_output();
  }
  Result<std::vector<worker::Connect>> servers = servers_of(options, *config);
  if (!servers) return report(options, servers.error(), kExitConfig);
  const SystemClock clock;
  Log log(clock);
  const auto warn = [&log](const worker::WorkerConfig& of) {
    for (const std::string& command : worker::unready_commands(of)) log.warn("a command cannot begin", {{"why", command}});
  };
  warn(*config);
  Result<std::unique_ptr<worker::Worker>> worker = worker::Worker::open(*std::move(config), *std::move(servers), log);
  if (!worker) return report(options, worker.error());
  (*worker)->run(signals->get(), [&] {
    Result<worker::WorkerConfig> again = worker::read_worker_config(call.config, Pipes::Refuse);  // The writer of a pipe may have gone.
    if (again) warn(*again);
    const Status changed = again ? (*worker)->reconfigure(*std::move(again)) : again.error();
    if (!changed.ok()) log.error("cannot read the configuration, keeping the current one", {{"why", changed}});
  });
  return kExitDone;
}

}  // namespace rondo::cli
