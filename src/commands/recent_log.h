// RecentLog: keeps the newest lines of the log for a support bundle. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/secrets.h"
#include "rondo/commands/limits.h"

namespace rondo {

class RecentLog {
 public:
  /// Stores the line without secrets. Only the first limits::kLogLineBytesKept bytes of a long line are kept. Secrets are hidden before the
  /// line is cut, because a cut address may no longer show that it has a password.
  void add(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    std::string kept = hide_secrets(line);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kept.size() > limits::kLogLineBytesKept) ++counts_.cut;
    kept.resize(std::min(kept.size(), limits::kLogLineBytesKept));
    lines_.push_back(std::move(kept));
    if (lines_.size() <= limits::kLogLinesKept) return;
    lines_.pop_front();
    ++counts_.forgotten;
  }
  /// The lines, oldest first.
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

}  // namespace rondo
