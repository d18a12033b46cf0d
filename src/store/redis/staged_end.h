// StagedEnd: consumes a Staged table as SONiC's ConsumerStateTable does, so that its producers and ours can feed it.
//
// A consumer begins with the standing rows. They are read page by page, at most two pops' worth ahead of the consumer, and nothing is
// written to Redis. Each page is one step in Redis: it leaves out rows for which something is staged. Pops wait until the last page is
// here, and give these rows whole. So no row is given twice and none is older than what was given before. A lost connection begins the walk
// anew. Redis itself may name a key twice while it shrinks its table of keys; that row is given twice, too.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/popped_end.h"
#include "store/redis/scan_bound.h"

namespace rondo::redis {

class StagedEnd final : public PoppedEnd {
 public:
  using PoppedEnd::PoppedEnd;

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
  void write_recover() override;
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
  std::string cursor_;  // Redis' own; of the keys behind those in found_.
  ScanBound bound_{link().options.scan_keys_max};
  bool walk_stopped_ = false;  // The server does not end it: nothing is popped before the connection comes back.
  Keys found_;                 // Their rows are to be read.
  bool page_asked_ = false;
  std::set<std::string> told_;   // In flight from an earlier process, and given with their Deletes: not given by the walk.
  std::set<std::string> again_;  // To be given again.
  bool again_asked_ = false;
  bool renames() const noexcept { return rename_in_ == 0; }
  // Staged hashes that become new rows are renamed, and read by us, which is cheaper for Redis; for rows that exist it is dearer. Learnt
  // from what the last pop met.
  unsigned rename_in_ = 0;  // Pops until it is tried again.
};

}  // namespace rondo::redis
