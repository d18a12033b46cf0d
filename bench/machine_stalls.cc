// The stalls of the machine itself, as the floor of every longest turn. One thread per CPU, bound to it and with real-time priority if
// permitted, only reads the clock and counts each long step between two readings. On an otherwise idle machine the steps are interrupts,
// and times when a hypervisor runs another guest. Bursts of 0.4 s with pauses, because Linux throttles a real-time thread that never
// pauses. Plain main, without repetitions.
//   bench_machine_stalls [seconds]
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"

namespace {

using namespace rondo;

constexpr std::array<Duration, 5> kSteps{500us, 1000us, 2000us, 5000us, 10000us};

struct Stalls {
  bool real_time = false;
  Duration watched{0};
  Duration longest{0};
  std::array<unsigned, kSteps.size()> above{};
};

void bind(std::size_t cpu, Stalls& stalls) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
  const sched_param rank{.sched_priority = 1};
  stalls.real_time = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &rank) == 0;
}

void watch(std::size_t cpu, Duration length, Stalls& stalls) {
  bind(cpu, stalls);
  const SystemClock clock;
  for (const Instant end = clock.now() + length; clock.now() < end;) {
    const Instant begin = clock.now();
    Instant last = begin;
    while (last - begin < 400ms) {
      const Instant now = clock.now();
      const Duration step = now - last;
      last = now;
      if (step < kSteps.front()) continue;
      for (std::size_t i = 0; i < kSteps.size() && step > kSteps[i]; ++i) ++stalls.above[i];
      stalls.longest = std::max(stalls.longest, step);
    }
    stalls.watched += last - begin;
    std::this_thread::sleep_for(100ms);
  }
}

double ms(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 20;
  if (seconds < 1) {
    std::fputs("usage: bench_machine_stalls [seconds]\n", stderr);
    return 2;
  }
  std::vector<Stalls> stalls(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (std::size_t cpu = 0; cpu < stalls.size(); ++cpu) {
    threads.emplace_back(watch, cpu, std::chrono::seconds{seconds}, std::ref(stalls[cpu]));
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("steps of a thread that only reads the clock, one a CPU\n");
  std::printf("  cpu  rank       watched s   >0.5 ms  >1 ms  >2 ms  >5 ms  >10 ms   longest ms\n");
  for (std::size_t cpu = 0; cpu < stalls.size(); ++cpu) {
    const Stalls& s = stalls[cpu];
    std::printf("  %3zu  %-9s  %9.1f   %7u  %5u  %5u  %5u  %6u   %10.2f\n", cpu, s.real_time ? "real-time" : "normal", ms(s.watched) / 1e3,
                s.above[0], s.above[1], s.above[2], s.above[3], s.above[4], ms(s.longest));
  }
}
