// ShortLock: a mutex for a handful of instructions. A thread that finds it taken looks again some hundred times before it sleeps, so two
// threads that meet seldom pay for a switch; a thread that was preempted inside costs the others a sleep, not a time slice of spinning.
#pragma once

#include <pthread.h>

namespace rondo::message {

class ShortLock {
 public:
  ShortLock() noexcept = default;
  ShortLock(const ShortLock&) = delete;
  ShortLock& operator=(const ShortLock&) = delete;
  ~ShortLock() { ::pthread_mutex_destroy(&mutex_); }
  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

}  // namespace rondo::message
