#include "rondo/base/thread_settings.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace rondo {

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

Status pin_thread(pthread_t thread, std::span<const unsigned> cpus) {
  if (cpus.empty()) return {};
  const std::vector<unsigned> allowed = allowed_cpus();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) {
    if (!std::ranges::binary_search(allowed, cpu)) {
      return Status{StatusCode::InvalidArgument, "there is no CPU " + std::to_string(cpu) + ", or this process is not allowed to use it"};
    }
    CPU_SET(cpu, &set);
  }
  const int error = ::pthread_setaffinity_np(thread, sizeof set, &set);
  return error == 0 ? Status{} : status_from_errno(error, "keeping a thread on its CPUs");
}

Status set_thread_nice(int nice) {
  if (::setpriority(PRIO_PROCESS, 0, nice) == 0) return {};
  return status_from_errno(errno, "setting a thread's nice value to " + std::to_string(nice));
}

}  // namespace rondo
