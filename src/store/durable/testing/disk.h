// A slow and failing disk for tests: each group waits until the test sets how it ends. For tests only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/durable/log_file.h"
#include "store/durable/log_record.h"

namespace rondo::store::durable {

/// Shared by the test and the file that the writer owns.
struct Disk {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> keys;  // Keys on the disk.
  int asked = 0;               // Groups received.
  std::vector<Status> ends;    // The results of the next groups.
  Status checkpoint;           // The result of each checkpoint.
  Status drop;                 // The result of each drop.
  int dropped = 0;             // How often entries were dropped.

  void let(Status end) {
    const std::lock_guard lock(mutex);
    ends.push_back(std::move(end));
    changed.notify_all();
  }
  void wait_until_asked(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asked >= count; });
  }
  /// Sets the result of the upkeep from now on.
  void set(Status& which, Status end) {
    const std::lock_guard lock(mutex);
    which = std::move(end);
  }
  int times_dropped() {
    const std::lock_guard lock(mutex);
    return dropped;
  }
  std::set<std::string> written() {
    const std::lock_guard lock(mutex);
    return keys;
  }
};

class SlowFile final : public LogFile {
 public:
  explicit SlowFile(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}
  Reading read(const std::function<Status(std::string_view)>&) override { return {}; }
  Status append(std::span<const std::string> entries) override {
    std::unique_lock lock(disk_->mutex);
    ++disk_->asked;
    disk_->changed.notify_all();
    disk_->changed.wait(lock, [this] { return !disk_->ends.empty(); });
    Status end = std::move(disk_->ends.front());
    disk_->ends.erase(disk_->ends.begin());
    if (!end.ok()) return end;
    for (std::string_view entry : entries) {
      while (!entry.empty()) disk_->keys.emplace(decode(entry)->record.key());
    }
    return {};
  }
  std::int64_t last() const override {
    const std::lock_guard lock(disk_->mutex);
    return disk_->asked;
  }
  Result<bool> drop_until(std::int64_t, std::uint32_t) override {
    const std::lock_guard lock(disk_->mutex);
    if (!disk_->drop.ok()) return failure(disk_->drop);
    ++disk_->dropped;
    return false;
  }
  Status check_names() override { return {}; }
  Status checkpoint(bool) override {
    const std::lock_guard lock(disk_->mutex);
    return disk_->checkpoint;
  }

 private:
  std::shared_ptr<Disk> disk_;
};

}  // namespace rondo::store::durable
