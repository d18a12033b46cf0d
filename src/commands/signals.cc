#include "commands/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

namespace rondo::commands {

namespace {

constexpr std::array<int, 3> kSignals{SIGTERM, SIGINT, SIGHUP};

/// The end of the pipe into which the handler writes; -1: no Signals exists.
std::atomic<int> signal_pipe{-1};

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

/// Async-signal-safe. A full pipe has enough signals.
void on_signal(int signal) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(signal);
  const int to = signal_pipe.load(std::memory_order_relaxed);
  if (to >= 0 && ::write(to, &byte, 1) < 0) errno = before;
  errno = before;
}

}  // namespace

Status hold_signals() {
  const sigset_t set = our_signals();
  return status_from_errno(pthread_sigmask(SIG_BLOCK, &set, nullptr), "blocking signals");
}

struct Signals::Before {
  std::array<struct sigaction, kSignals.size()> actions{};
  sigset_t mask{};
};

Result<std::unique_ptr<Signals>> Signals::open(Scheduler& scheduler, Handler handler) {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return failure(status_from_errno(errno, "a pipe for signals"));
  std::unique_ptr<Signals> signals{new Signals(UniqueFd{ends[0]}, UniqueFd{ends[1]}, std::move(handler))};
  scheduler.add(*signals);
  if (Status watched = scheduler.reactor().watch(ends[0], Interest::Read, *signals); !watched.ok()) return failure(std::move(watched));
  if (Status taken = signals->take(); !taken.ok()) return failure(std::move(taken));
  return signals;
}

Signals::Signals(UniqueFd reader, UniqueFd writer, Handler handler)
    : Source("signals", Priority{63}), reader_(std::move(reader)), writer_(std::move(writer)), handler_(std::move(handler)) {}

Status Signals::take() {
  int none = -1;
  if (!signal_pipe.compare_exchange_strong(none, writer_.get())) {
    return {StatusCode::AlreadyExists, "another part of this process handles SIGTERM, SIGINT and SIGHUP"};
  }
  before_ = std::make_unique<Before>();
  struct sigaction ours {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &ours, &before_->actions[i]);
  const sigset_t set = our_signals();
  return status_from_errno(pthread_sigmask(SIG_UNBLOCK, &set, &before_->mask), "unblocking signals");
}

Signals::~Signals() {
  if (scheduler() != nullptr) scheduler()->reactor().unwatch(reader_.get());
  if (before_ == nullptr) return;
  pthread_sigmask(SIG_SETMASK, &before_->mask, nullptr);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_->actions[i], nullptr);
  signal_pipe.store(-1);
}

Result<Backlog> Signals::collect() {
  unsigned char signal = 0;
  while (::read(reader_.get(), &signal, 1) == 1) arrived_.push_back(signal);
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

}  // namespace rondo::commands
