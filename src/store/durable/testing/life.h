// One life of a process that has a durable store, simulated by scheduler turns, and a fixture with its file. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "rondo/sim/world.h"
#include "rondo/store/durable_store.h"
#include "store/durable/testing/file.h"
#include "store/store_contract.h"

namespace rondo::store::durable {

inline constexpr TableKind kStaged = TableKind::Staged;
inline constexpr TableKind kWatched = TableKind::Watched;
inline constexpr TableKind kQueue = TableKind::Queue;

/// One life of a process that has a durable store.
class Life {
 public:
  explicit Life(const std::string& path, Durability durability = Durability::EveryBatch, std::uint64_t slack = 1U << 20)
      : Life({.path = path, .durability = durability, .slack_bytes = slack}) {}
  explicit Life(DurableStoreOptions options) {
    options.mode = DurableStoreOptions::Mode::Inline;
    Result<std::unique_ptr<DurableStore>> opened = DurableStore::open(scheduler_, std::move(options));
    if (opened) {
      store_ = std::move(*opened);
    } else {
      trouble_ = opened.error();
    }
  }
  DurableStore& store() { return *store_; }
  const Status& trouble() const { return trouble_; }
  sim::World& world() { return world_; }
  Scheduler& scheduler() { return scheduler_; }
  void settle() { world_.run_for(scheduler_, 200ms); }
  void declare(const std::string& table, TableKind kind) {
    const Status status = store_->declare({.name = table, .kind = kind});
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  Status write(std::string_view table, Change change) {
    Status end{StatusCode::Cancelled, "not told"};
    if (Status refused = store_->write(table, std::move(change), [&end](const Status& status) { end = status; }); !refused.ok())
      return refused;
    settle();
    return end;
  }
  std::unique_ptr<Subscription> subscribe(std::string_view table) { return std::move(*store_->subscribe(table)); }
  /// Returns all waiting changes, one line each.
  static std::vector<std::string> take(Subscription& from) {
    std::vector<Change> changes;
    from.take(1'000'000, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(line(change));
    return lines;
  }

 private:
  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  std::unique_ptr<DurableStore> store_;
  Status trouble_;
};

class DurableStoreTest : public testing::Test {
 protected:
  explicit DurableStoreTest(const std::filesystem::path& where = std::filesystem::temp_directory_path()) : folder_(where) {}
  std::string path() const { return folder_.file("tables"); }
  bool is_there(const char* suffix) const { return std::filesystem::exists(path() + suffix); }
  /// Copies the current files to another name.
  std::string copy() {
    const std::string to = folder_.file("copy-" + std::to_string(++copies_));
    for (const char* const suffix : {"", "-wal"}) {
      if (std::filesystem::exists(path() + suffix)) std::filesystem::copy_file(path() + suffix, to + suffix);
    }
    return to;
  }
  TemporaryFolder folder_;
  int copies_ = 0;
};

}  // namespace rondo::store::durable
