// What the system is told of a thread: which CPUs it may use, and how it ranks among others there. A thread that must answer in time is
// kept off the CPUs where the kernel works for others: what a system call leaves behind (RCU callbacks of freed routes, milliseconds at a
// time) is done on the CPU that made the call, in the middle of whatever runs there then.
#pragma once

#include <pthread.h>

#include <span>
#include <vector>

#include "rondo/base/result.h"

namespace rondo {

/// The CPUs that the calling thread may use, ascending. Empty when the system does not tell.
std::vector<unsigned> allowed_cpus();

/// Keeps 'thread' on 'cpus'; an empty list changes nothing. InvalidArgument names the CPU that does not exist or is not allowed here.
Status pin_thread(pthread_t thread, std::span<const unsigned> cpus);

/// Sets the nice value of the calling thread alone (Linux has one a thread), -20 first to 19 last. PermissionDenied without CAP_SYS_NICE or
/// a sufficient RLIMIT_NICE.
Status set_thread_nice(int nice);

}  // namespace rondo
