// The cost of a turn with an empty handler for sources in the process (10 to 100,000 of them ready). Also that of a descriptor, compared
// with a bare loop of epoll_wait and read in the same run (10 to 10,000 eventfds, all ready before each round), and of a wake from another
// thread. Plain main: only ratios within one run matter, not the figures of one machine. Processor time, best of several rounds; the last
// line is elapsed time.
//   bench_scheduler [rounds]
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/sched/mailbox.h"
#include "rondo/sched/scheduler.h"

namespace {

using namespace rondo;

const SystemClock kClock;

/// Processor time of this thread: other processes do not count (except that they evict our caches).
Instant spent() {
  timespec ts{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return Instant::from_nanoseconds(static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec);
}

double each(Duration time, std::uint64_t operations) { return static_cast<double>(time.count()) / static_cast<double>(operations); }

std::unique_ptr<Policy> policy() { return std::move(make_policy(StrictPriority{}).value()); }

struct Empty final : Source {
  explicit Empty(std::string name) : Source(std::move(name), Priority{5}) {}
  Turn run(const Budget&) override { return {.items = 1, .backlog = Backlog::More}; }
};

double turn_cost(std::size_t count) {
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(kClock, *reactor, policy());
  std::vector<std::unique_ptr<Empty>> sources;
  for (std::size_t i = 0; i < count; ++i) {
    sources.push_back(std::make_unique<Empty>("source " + std::to_string(i)));
    scheduler.add(*sources.back());
    sources.back()->wake();
  }
  const std::uint64_t turns = std::max<std::uint64_t>(1'000'000, 20 * count);
  scheduler.run_until_idle(2 * count);
  const Instant begin = spent();
  scheduler.run_until_idle(turns);
  return each(spent() - begin, turns);
}

/// 'count' eventfds, closed by the destructor; empty if the process may not have so many.
class EventFds {
 public:
  explicit EventFds(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      if (fd < 0) {
        error_ = errno;
        return;
      }
      fds_.push_back(fd);
    }
  }
  EventFds(const EventFds&) = delete;
  EventFds& operator=(const EventFds&) = delete;
  ~EventFds() {
    for (const int fd : fds_) ::close(fd);
  }
  int error() const { return error_; }
  const std::vector<int>& all() const { return fds_; }
  void notify_all() const {
    const std::uint64_t one = 1;
    for (const int fd : fds_) {
      if (::write(fd, &one, sizeof one) != static_cast<ssize_t>(sizeof one)) std::abort();
    }
  }

 private:
  std::vector<int> fds_;
  int error_ = 0;
};

void read_one(int fd) {
  std::uint64_t value;
  if (::read(fd, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
}

struct Descriptor final : Source {
  Descriptor(std::string name, int descriptor) : Source(std::move(name), Priority{5}), fd(descriptor) {}
  Turn run(const Budget&) override {
    read_one(fd);
    return {.items = 1, .backlog = Backlog::Empty};
  }
  int fd;
};

/// The floor: the same work without order, fairness or accounting.
class BareLoop {
 public:
  explicit BareLoop(const std::vector<int>& fds) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (const int fd : fds) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = fd;
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) std::abort();
    }
  }
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;
  ~BareLoop() { ::close(epoll_); }
  void run(std::size_t expected) {
    for (std::size_t done = 0; done < expected;) {
      const int count = ::epoll_wait(epoll_, events_, 256, 0);
      for (int i = 0; i < count; ++i) read_one(events_[i].data.fd);
      done += static_cast<std::size_t>(count);
    }
  }

 private:
  int epoll_;
  epoll_event events_[256];
};

struct Pair {
  double bare = 1e9;
  double scheduler = 1e9;
};

Pair descriptor_cost(const EventFds& fds, int rounds) {
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(kClock, *reactor, policy());
  std::vector<std::unique_ptr<Descriptor>> sources;
  for (const int fd : fds.all()) {
    sources.push_back(std::make_unique<Descriptor>("descriptor", fd));
    scheduler.add(*sources.back());
    if (!reactor->watch(fd, Interest::Read, *sources.back()).ok()) std::abort();
  }
  const std::size_t count = fds.all().size();
  const std::size_t repeats = std::max<std::size_t>(1, 20'000 / count);
  const auto measure = [&](auto work) {
    Duration time{0};
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      fds.notify_all();
      const Instant begin = spent();
      work();
      time += spent() - begin;
    }
    return each(time, repeats * count);
  };
  Pair best;
  for (int round = 0; round < rounds; ++round) {
    {
      // Only one epoll watches them at a time: each further one makes the waking write more expensive.
      BareLoop bare(fds.all());
      best.bare = std::min(best.bare, measure([&] { bare.run(count); }));
    }
    best.scheduler = std::min(best.scheduler, measure([&] {
                                if (scheduler.run_until_idle() != count) std::abort();
                              }));
  }
  return best;
}

double post_cost(int messages) {
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(kClock, *reactor, policy());
  int received = 0;
  Mailbox<int> mailbox(
      "bench", Priority{5},
      [&](int&&) {
        if (++received == messages) scheduler.stop();
      },
      static_cast<std::size_t>(messages));
  scheduler.add(mailbox);
  const Instant begin = kClock.now();
  std::thread poster([&] {
    for (int i = 0; i < messages; ++i) {
      if (!mailbox.post(int{i}).ok()) std::abort();
    }
  });
  scheduler.run();
  poster.join();
  return each(kClock.now() - begin, static_cast<std::uint64_t>(messages));
}

rlim_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::fprintf(stderr, "RLIMIT_NOFILE stays as it is: %s\n", std::strerror(errno));
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::printf("A turn with an empty handler, ns, best of %d (target: under 100, flat from 10 to 10,000)\n", rounds);
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{10}, std::size_t{100}, std::size_t{1000}, std::size_t{10'000}, std::size_t{100'000}}) {
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) best = std::min(best, turn_cost(count));
    std::printf("  %7zu ready %8.1f\n", count, best);
  }
  const rlim_t limit = raise_descriptor_limit();
  std::printf("A ready descriptor, ns, best of %d (target: within 1.3x of the bare loop)\n", rounds);
  std::printf("  %11s %10s %10s %7s\n", "descriptors", "epoll+read", "Scheduler", "ratio");
  for (const std::size_t count : {std::size_t{10}, std::size_t{100}, std::size_t{1000}, std::size_t{10'000}}) {
    const EventFds fds(count);
    if (fds.error() != 0) {
      std::printf("  %11zu skipped: %s (limit %llu)\n", count, std::strerror(fds.error()), static_cast<unsigned long long>(limit));
      continue;
    }
    const Pair cost = descriptor_cost(fds, rounds);
    std::printf("  %11zu %10.1f %10.1f %7.2f\n", count, cost.bare, cost.scheduler, cost.scheduler / cost.bare);
  }
  double post = 1e9;
  for (int round = 0; round < rounds; ++round) post = std::min(post, post_cost(1'000'000));
  std::printf("A message from another thread, post to handler: %.1f ns\n", post);
  return 0;
}
