#include "rondo/sched/stall_watchdog.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/stacktrace.hpp>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "rondo/base/status.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

namespace {

constexpr int kLooksPerLimit = 4;
/// How long the watchdog waits for the thread's answer to the signal.
constexpr Duration kAnswer = 100ms;
/// Frames of the handler and of the system's signal code.
constexpr std::size_t kOwnFrames = 2;

/// Written by the scheduler's thread in the handler. An answer may arrive at any time after the question.
struct Answer {
  const Scheduler* scheduler = nullptr;
  bool wants_stack = false;
  std::atomic<bool> there{false};
  std::array<char, 128> name{};
  std::array<boost::stacktrace::frame::native_frame_ptr_t, 64> frames{};
};

/// Does only what is safe in a handler. The source of the running turn exists, because its turn runs below this frame.
void answer(int, siginfo_t* info, void*) {
  // Other processes can send the signal; only the watchdog's own has a question.
  if (info->si_code != SI_QUEUE || info->si_pid != ::getpid() || info->si_value.sival_ptr == nullptr) return;
  const int before = errno;
  auto& to = *static_cast<Answer*>(info->si_value.sival_ptr);
  const Source* source = to.scheduler->running();
  const std::string_view name = source == nullptr ? std::string_view{} : source->name();
  const std::size_t length = std::min(name.size(), to.name.size() - 1);
  std::copy_n(name.data(), length, to.name.data());
  to.name[length] = '\0';
  if (to.wants_stack) boost::stacktrace::safe_dump_to(to.frames.data(), sizeof to.frames);
  to.there.store(true, std::memory_order_release);
  errno = before;
}

Status take_signal(int signal) {
  struct sigaction known {};
  if (::sigaction(signal, nullptr, &known) != 0) return status_from_errno(errno, "signal " + std::to_string(signal));
  const bool ours = (known.sa_flags & SA_SIGINFO) != 0 && known.sa_sigaction == answer;
  if (!ours && known.sa_handler != SIG_DFL) {
    return {StatusCode::AlreadyExists,
            "signal " + std::to_string(signal) + " has a handler already; choose another one for the stall watchdog"};
  }
  struct sigaction action {};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  return status_from_errno(::sigaction(signal, &action, nullptr) == 0 ? 0 : errno, "handling signal " + std::to_string(signal));
}

/// Returns the function, or the file and offset of the frame: addr2line needs the offset, because the file may be mapped anywhere.
std::string line_of(const boost::stacktrace::frame& frame) {
  if (std::string name = frame.name(); !name.empty()) return name;
  Dl_info file{};
  if (::dladdr(frame.address(), &file) == 0 || file.dli_fname == nullptr) return "unknown";
  const auto offset = static_cast<const char*>(frame.address()) - static_cast<const char*>(file.dli_fbase);
  std::array<char, 2 + 16 + 1> text{};
  std::snprintf(text.data(), text.size(), "0x%tx", offset);
  return std::string{file.dli_fname} + "+" + text.data();
}

std::vector<std::string> lines_of(const boost::stacktrace::stacktrace& trace) {
  std::vector<std::string> lines;
  for (const boost::stacktrace::frame& frame : trace) lines.push_back(line_of(frame));
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(kOwnFrames, lines.size())));
  return lines;
}

}  // namespace

class StallWatchdog::Impl {
 public:
  Impl(const Scheduler& scheduler, StallWatchdogOptions options)
      : scheduler_(scheduler), options_(std::move(options)), runs_it_(::pthread_self()) {
    // The first stack trace loads a library, which a handler must not do.
    static_cast<void>(boost::stacktrace::safe_dump_to(answer_->frames.data(), sizeof answer_->frames));
    answer_->scheduler = &scheduler;
    answer_->wants_stack = options_.stack;
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  ~Impl() {
    scheduler_.expect_same_process("the end of a StallWatchdog");
    thread_.request_stop();
    thread_.join();
    static_cast<void>(has_answer() ? nullptr : answer_.release());  // The signal handler may still write to it.
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::uint64_t stalls() const noexcept { return stalls_.load(std::memory_order_relaxed); }

 private:
  bool has_answer() const noexcept { return !asked_ || answer_->there.load(std::memory_order_acquire); }

  void work(const std::stop_token& stop) {
    // Signals of the process must not be handled on this thread.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock(mutex_);
    std::uint64_t seen = scheduler_.beat();
    Instant since = clock_.now();
    Instant next_heartbeat = since;
    Duration told{0};  // How long the stall had lasted at its last report; zero when there is none.
    const Duration step = std::max<Duration>(options_.limit / kLooksPerLimit, 1ms);
    const Duration pause = options_.heartbeat > Duration{0} ? std::min(step, options_.heartbeat) : step;
    while (!changed_.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); })) {
      const Instant now = clock_.now();
      const std::uint64_t beat = scheduler_.beat();
      if (beat != seen || beat % 2 == 1) {
        if (told > Duration{0} && options_.on_end) options_.on_end(now - since);
        told = Duration{0};
        seen = beat;
        since = now;
      } else if (now - since > options_.limit && now - since >= 2 * told) {
        if (told == Duration{0}) stalls_.fetch_add(1, std::memory_order_relaxed);
        told = now - since;
        if (options_.on_stall) options_.on_stall(ask(seen, told));
      }
      if (told == Duration{0} && options_.on_heartbeat && options_.heartbeat > Duration{0} && now >= next_heartbeat) {
        next_heartbeat = now + options_.heartbeat;
        options_.on_heartbeat();
      }
    }
  }

  Stall ask(std::uint64_t beat, Duration lasted) {
    Stall stall{.source = {}, .lasted = lasted, .stack = {}};
    if (!has_answer()) return stall;  // The last question has no answer yet.
    answer_->there.store(false, std::memory_order_relaxed);
    asked_ = true;
    const sigval to{.sival_ptr = answer_.get()};
    if (::pthread_sigqueue(runs_it_, options_.signal, to) != 0) {
      asked_ = false;
      return stall;
    }
    const Instant deadline = clock_.now() + kAnswer;
    while (!answer_->there.load(std::memory_order_acquire)) {
      if (clock_.now() > deadline) return stall;
      std::this_thread::yield();
    }
    if (scheduler_.beat() != beat) return stall;  // The turn has ended meanwhile: the name may be that of the next source.
    stall.source = answer_->name.data();
    if (options_.stack) {
      stall.stack = lines_of(boost::stacktrace::stacktrace::from_dump(answer_->frames.data(), sizeof answer_->frames));
    }
    return stall;
  }

  const Scheduler& scheduler_;
  const StallWatchdogOptions options_;
  const pthread_t runs_it_;
  const SystemClock clock_;
  std::unique_ptr<Answer> answer_ = std::make_unique<Answer>();
  bool asked_ = false;
  std::atomic<std::uint64_t> stalls_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

Result<std::unique_ptr<StallWatchdog>> StallWatchdog::start(const Scheduler& scheduler, StallWatchdogOptions options) {
  if (options.limit <= Duration{0}) return failure(StatusCode::InvalidArgument, "the stall watchdog's limit must be above zero");
  if (options.signal == 0) options.signal = SIGRTMAX;
  if (Status taken = take_signal(options.signal); !taken.ok()) return failure(std::move(taken));
  try {
    return std::unique_ptr<StallWatchdog>{new StallWatchdog{std::make_unique<Impl>(scheduler, std::move(options))}};
  } catch (const std::system_error& error) {
    return failure(StatusCode::ResourceExhausted, std::string{"the stall watchdog: there is no thread: "} + error.what());
  }
}

StallWatchdog::StallWatchdog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StallWatchdog::~StallWatchdog() = default;

std::uint64_t StallWatchdog::stalls() const noexcept { return impl_->stalls(); }

}  // namespace rondo
