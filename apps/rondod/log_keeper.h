// LogKeeper: the newest lines of the log, for a support bundle. Any thread.
#pragma once

#include <cstdint>
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
    if (line.size() > limits::kLogLineBytesKept) ++counts_.cut;
    lines_.emplace_back(line.substr(0, limits::kLogLineBytesKept));
    if (lines_.size() <= limits::kLogLinesKept) return;
    lines_.pop_front();
    ++counts_.forgotten;
  }
  /// Oldest first.
  std::vector<std::string> lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {lines_.begin(), lines_.end()};
  }
  struct Counts {
    std::uint64_t forgotten = 0;  // Lines beyond limits::kLogLinesKept.
    std::uint64_t cut = 0;        // Lines longer than limits::kLogLineBytesKept.
  };
  Counts counts() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;  // Guarded by mutex_.
  Counts counts_;                  // Guarded by mutex_.
};

}  // namespace rondo::daemon
