// WatchedSubscription: follows a table that any client writes. Redis reports which keys changed (client tracking in broadcast mode). So
// expiry, rename and FLUSHDB are reported, too, and the server needs no setting. Each changed key is then read once, many in a round trip.
// After a gap it reads the whole table page by page and reports the difference. No turn takes longer because the table is large.
#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "store/redis/remote_subscription.h"
#include "store/redis/scan_bound.h"
#include "store/watched_view.h"

namespace rondo::redis {

class WatchedSubscription final : public RemoteSubscription {
 public:
  using RemoteSubscription::RemoteSubscription;

  std::string channel() const override { return {}; }
  void message(std::string_view) override {}
  void tick() override;
  void go_on() override { compare(); }
  /// A key of this table (without the table's prefix) changed. Call fetch() after a burst of these.
  void changed(std::string_view key);
  void fetch();
  /// Any key may have changed.
  void resync();

  void use(const SubscribeOptions& options) override {
    if (!options.standing_rows) view_.know_first_rows();
  }
  void requeue(std::string_view key) override;
  bool caught_up() const override { return view_.caught_up(); }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return view_.take(max, out); }
  bool empty() const override { return view_.empty(); }
  std::size_t depth() const override { return view_.depth() + dirty_.size(); }
  Status trouble() const override;

 protected:
  void online() override { resync(); }
  void offline() override;
  void closed() override { offline(); }

 private:
  void scan(std::string cursor);
  void scanned(const Reply& reply);
  void page_read(const std::string& cursor);
  void compare();
  void read(const std::shared_ptr<std::vector<std::string>>& keys, std::function<void(const std::string& key, Result<Record> row)> each,
            std::function<void()> end);

  store::WatchedView view_;
  std::unordered_set<std::string> dirty_;
  std::size_t reading_ = 0;
  ScanBound bound_{link().options.scan_keys_max};
  Status stopped_;          // Why the full read was stopped.
  bool scanning_ = false;   // A full read is running.
  bool comparing_ = false;  // All rows were read; the deleted rows are being determined.
  bool again_ = false;      // Another full read must follow this one.
  bool notify_due_ = false;
  bool failed_ = false;  // The full read failed; tick() retries.
  bool unread_ = false;  // Some keys of dirty_ could not be read; tick() retries.
};

}  // namespace rondo::redis
