// ReactorEvent: what Reactor::poll() reports.
#pragma once

#include <cstdint>

namespace rondo {

class Source;

struct ReactorEvent {
  Source* source = nullptr;
  int fd = -1;
  // The number of the watch() call for 'fd' that this event belongs to: the kernel reuses closed descriptor numbers.
  std::uint32_t watch = 0;
  bool error = false;  // The descriptor is in error or hung up. collect() is still called: unread data may be left.
};

}  // namespace rondo
