#include "rondod/process/signals.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/signalfd.h>
#include <unistd.h>

namespace rondo::daemon {

namespace {
sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}
}  // namespace

Status block_signals() {
  const sigset_t set = our_signals();
  return status_from_errno(pthread_sigmask(SIG_BLOCK, &set, nullptr), "blocking signals");
}

Result<std::unique_ptr<Signals>> Signals::open(Scheduler& scheduler, Handler handler) {
  const sigset_t set = our_signals();
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return failure(status_from_errno(errno, "signalfd"));
  std::unique_ptr<Signals> signals{new Signals(fd, std::move(handler))};
  scheduler.add(*signals);
  if (Status watched = scheduler.reactor().watch(fd, Interest::Read, *signals); !watched.ok()) return failure(std::move(watched));
  return signals;
}

Signals::Signals(int fd, Handler handler) : Source("signals", Priority{63}), fd_(fd), handler_(std::move(handler)) {}

Signals::~Signals() {
  if (scheduler() != nullptr) scheduler()->reactor().unwatch(fd_);
  ::close(fd_);
}

Result<Backlog> Signals::collect() {
  signalfd_siginfo info{};
  while (::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) arrived_.push_back(static_cast<int>(info.ssi_signo));
  return arrived_.empty() ? Backlog::Empty : Backlog::More;
}

Turn Signals::run(const Budget&) {
  Turn turn;
  for (const int signal : std::exchange(arrived_, {})) {
    handler_(signal);
    ++turn.items;
  }
  return turn;
}

}  // namespace rondo::daemon
