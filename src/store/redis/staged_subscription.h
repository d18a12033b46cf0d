// StagedSubscription: consumes a Staged table as SONiC's ConsumerStateTable does, so that SONiC's producers and ours can write to it.
//
// A consumer first receives the standing rows. It reads them page by page, at most two pops' worth ahead of the consumer, and writes
// nothing to Redis. Each page is one atomic step in Redis, and leaves out rows for which something is staged. Pops wait until the last page
// has arrived, and deliver the left-out rows whole. So no row is delivered twice, and none is older than one delivered before. After a lost
// connection the walk starts again. Redis itself may return a key twice while it shrinks its table of keys; that row is delivered twice,
// too.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/scan_bound.h"
#include "store/redis/single_consumer_subscription.h"

namespace rondo::redis {

class StagedSubscription final : public SingleConsumerSubscription {
 public:
  using SingleConsumerSubscription::SingleConsumerSubscription;

  void use(const SubscribeOptions& options) override;
  void requeue(std::string_view key) override;
  bool caught_up() const override { return walk_ == Walk::Ended && was_emptied_and_taken(); }

 protected:
  void closed() override;
  bool goes_before_pops() override;
  void go_beside_pops() override;
  void broke_off() override;
  void row_recovered(Entry& entry) override;
  void write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) override;
  void write_recover(std::span<const std::string> fields) override;
  void write_count() override { link().commands.out().command({"SCARD", keys().pending}); }
  const Shape& popped_shape() const override { return shape::kPoppedStaged; }
  const Shape& recovered_shape() const override { return shape::kRecoveredStaged; }
  void read_popped(const Reply& content, Batch& batch) override;
  std::vector<Batch> read_recovered(const Reply& content) override;

 private:
  enum class Walk : std::uint8_t { Ended, ToBegin, UnderWay };
  using Keys = std::vector<std::string>;

  void ask_keys();
  void read(Keys keys, bool again);
  void read_answered(const Keys& keys, bool again, const Reply& reply);
  std::vector<Entry> without_fetched(std::vector<Entry> entries) const;

  Rows rows_ = Rows::Whole;
  Walk walk_ = Walk::Ended;
  std::string cursor_;  // The cursor of Redis, behind the keys in found_.
  ScanBound bound_{link().options.scan_keys_max};
  bool walk_stopped_ = false;  // The server does not end the walk: nothing is popped until a reconnect.
  Keys found_;                 // Keys whose rows must be read.
  bool page_asked_ = false;
  std::set<std::string> delivered_;  // In flight from an earlier process and delivered with their Deletes; the walk skips them.
  std::set<std::string> again_;      // Keys to deliver again.
  bool again_asked_ = false;
  bool renames() const noexcept { return rename_in_ == 0; }
  // Renaming a staged hash that becomes a new row, and reading it from here, is cheaper for Redis than copying it. For an existing row it
  // costs more. The choice follows what the last pop met.
  unsigned rename_in_ = 0;  // The number of pops until a rename is tried again.
};

}  // namespace rondo::redis
