// WriteFailures: accepted writes of the admin socket that a store elsewhere could not finish. Who wrote was told "accepted" and may be
// gone, so they are counted, for `rondo stats`, and the log has the newest. The embedded store has none: what it accepts is done, and who
// writes to a table that waits for the disk is told the end itself.
// Scheduler's thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "rondo/store/store.h"
#include "rondod/config.h"
#include "rondod/stores.h"

namespace rondo::daemon {

class WriteFailures {
 public:
  explicit WriteFailures(const Config& config) : config_(config) {}

  /// For Store::write() to 'table'; none where nothing can fail later.
  WriteDone listener(std::string_view table) {
    if (!ends_elsewhere(config_, table) || waits_for_disk(table)) return {};
    return [this](const Status& end) {
      if (end.ok()) return;
      ++count_;
      last_ = end;
    };
  }
  bool waits_for_disk(std::string_view table) const { return daemon::waits_for_disk(config_, table); }
  std::uint64_t count() const noexcept { return count_; }
  const Status& last() const noexcept { return last_; }

 private:
  const Config& config_;
  std::uint64_t count_ = 0;
  Status last_;
};

}  // namespace rondo::daemon
