#include "base/cpu_counter.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace rondo {

namespace {
#if defined(__x86_64__)
bool is_source_of_time() noexcept {
  const int file = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[8];
  const ssize_t length = ::read(file, name, sizeof name);
  ::close(file);
  return length > 0 && std::string_view{name, static_cast<std::size_t>(length)} == "tsc\n";
}
#endif
}  // namespace

bool CpuCounter::is_even() noexcept {
#if defined(__x86_64__)
  static const bool is = is_source_of_time();
  return is;
#else
  return false;
#endif
}

}  // namespace rondo
