// LogKeeper: the newest lines of the log, for a support bundle. Any thread.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/limits.h"

namespace rondo::daemon {

class LogKeeper {
 public:
  /// Only the first limits::kLogLineBytesKept bytes of a long line are kept.
  void add(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(line.substr(0, limits::kLogLineBytesKept));
    if (lines_.size() > limits::kLogLinesKept) lines_.pop_front();
  }
  /// Oldest first.
  std::vector<std::string> lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {lines_.begin(), lines_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;  // Guarded by mutex_.
};

}  // namespace rondo::daemon
