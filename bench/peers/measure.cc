#include "peers/measure.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "rondo/base/thread_settings.h"

namespace rondo::bench {

namespace {
const SystemClock kClock;
constexpr std::size_t kFiguresMost = 16;
}  // namespace

void fail(std::string_view what) {
  std::fflush(stdout);
  std::fprintf(stderr, "bench_peer_loops: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

Instant now() { return kClock.now(); }

Instant spent() {
  timespec ts{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return Instant::from_nanoseconds(static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec);
}

void burn(Duration time) {
  const Instant end = now() + time;
  while (now() < end) {
  }
}

double quantile(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(fraction * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

std::vector<double> in_own_process(const std::function<std::vector<double>()>& measure) {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  require(child >= 0, "no process");
  if (child == 0) {
    const std::vector<double> figures = measure();
    const std::size_t bytes = figures.size() * sizeof(double);
    require(::write(ends[1], figures.data(), bytes) == static_cast<ssize_t>(bytes), "no answer");
    ::_exit(0);
  }
  ::close(ends[1]);
  double figures[kFiguresMost];
  const ssize_t bytes = ::read(ends[0], figures, sizeof figures);  // One write, so one read.
  ::close(ends[0]);
  int status = 0;
  require(::waitpid(child, &status, 0) == child && status == 0 && bytes > 0, "a measurement failed");
  return {figures, figures + static_cast<std::size_t>(bytes) / sizeof(double)};
}

void stay_on(unsigned processor) {
  // The first call runs before any thread is bound, so it reads all permitted CPUs.
  static const std::vector<unsigned> allowed = allowed_cpus();
  if (allowed.size() < 2) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(allowed[processor], &set);
  // Not pin_thread(), which knows only the CPUs that its caller may use now.
  require(::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0, "a thread could not be kept on its processor");
}

EventFds::EventFds(std::size_t count, unsigned initial, bool one_by_one) {
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = ::eventfd(initial, EFD_NONBLOCK | EFD_CLOEXEC | (one_by_one ? EFD_SEMAPHORE : 0));
    if (fd < 0) {
      error_ = errno;
      return;
    }
    fds_.push_back(fd);
  }
}

EventFds::~EventFds() {
  for (const int fd : fds_) ::close(fd);
}

void EventFds::notify_all() const {
  const std::uint64_t one = 1;
  for (const int fd : fds_) {
    require(::write(fd, &one, sizeof one) == static_cast<ssize_t>(sizeof one), "an eventfd could not be written");
  }
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::fprintf(stderr, "RLIMIT_NOFILE stays as it is: %s\n", std::strerror(errno));
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace rondo::bench
