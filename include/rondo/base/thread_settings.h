// Settings of a thread in the operating system: its CPUs and its nice value. Keep a thread that must answer in time off the CPUs on which
// the kernel does work for other threads. Deferred work of a system call, such as RCU callbacks of freed routes, runs later on the CPU that
// made the call. It interrupts the thread that runs there at that time for milliseconds.
#pragma once

#include <pthread.h>

#include <span>
#include <vector>

#include "rondo/base/result.h"

namespace rondo {

/// The CPUs that the calling thread may use, ascending. Empty if the system call fails.
std::vector<unsigned> allowed_cpus();

/// Binds 'thread' to 'cpus'; an empty list changes nothing. InvalidArgument names a CPU that does not exist or is not allowed for the
/// process.
Status pin_thread(pthread_t thread, std::span<const unsigned> cpus);

/// Sets the nice value of the calling thread only (Linux has one for each thread), from -20 (most favoured) to 19. PermissionDenied without
/// CAP_SYS_NICE or a sufficient RLIMIT_NICE.
Status set_thread_nice(int nice);

}  // namespace rondo
