// WorkerSubscription: one subscription of a worker. It holds the changes that arrived through the ring and were not taken yet. Worker's
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rondo/store/store.h"
#include "store/bridge/link.h"

namespace rondo::store::bridge {

/// The subscription of a Staged or Queue table outlives its consumer and keeps the changes that the consumer left. Subscriptions of other
/// tables close with the consumer.
class WorkerSubscription {
 public:
  /// Enqueues a request for the home thread; false when there is no room now.
  using RequestHome = std::function<bool(Request&& request)>;

  /// Begins to take from 'ring'. The changes that an earlier ring left are delivered first, except Sets of a Staged table whose standing
  /// rows are wanted: home delivers these again.
  void open(std::shared_ptr<ChangeRing> ring, const SubscribeOptions& options, RequestHome request_home);
  /// Called when the consumer closes. The ring is handed over to the home thread, which closes it.
  void close();
  bool is_open() const noexcept { return open_; }

  void on_ready(std::function<void()> wake);
  std::size_t take(std::size_t max, std::vector<Change>& out);
  bool empty();
  std::size_t depth() const noexcept { return waiting_keys() + (ring_ ? ring_->far_depth.load(std::memory_order_relaxed) : 0); }
  bool take_gap();
  void ack(const Change& change);
  void requeue(std::string_view key);
  bool caught_up() const noexcept;
  /// See Subscription. Visits what was kept and the whole ring.
  bool has_fetched(std::string_view key) const;
  /// Returns the acknowledgements that were not sent to the home thread yet.
  std::deque<Change> take_unsent_acks() { return std::exchange(unsent_acks_, {}); }
  std::uint64_t dropped() const noexcept { return ring_ ? ring_->dropped.load(std::memory_order_relaxed) : 0; }

  /// Called after the forwarder has woken it: wakes the consumer if it waits and there are changes.
  void notify();
  /// Keys or entries that have left the home table and were not taken.
  std::size_t waiting_keys() const noexcept { return kept_keys_ + (ring_ ? ring_->keys() : 0); }
  ChangeRing* ring() const noexcept { return ring_.get(); }

 private:
  std::size_t take_kept(std::size_t max, std::vector<Change>& out);
  std::size_t take_ring(std::size_t max, std::vector<Change>& out);
  void keep_ring();
  void merge_watched();
  bool pass_gaps();
  bool has_changes();
  bool has_news() { return has_changes() || gap_ahead_ || passed_gap_; }
  void give_back(std::uint64_t keys);
  bool wait();
  void request_home();
  bool request_one(Request::Kind kind, const Change& change, std::string_view key);

  std::shared_ptr<ChangeRing> ring_;
  RequestHome request_home_;
  std::deque<Change> unsent_acks_;            // Acknowledged changes whose request found no room in the ring.
  std::unordered_set<std::string> requeues_;  // Keys to requeue whose request found no room in the ring.
  std::function<void()> wake_;
  bool open_ = false;
  bool waits_ = false;       // The consumer found no changes; the next notify() that finds some wakes it.
  bool gap_ahead_ = false;   // A gap precedes the next event.
  bool passed_gap_ = false;  // take() passed a gap.
  /// Changes outside the ring. Staged, Queue: those that an earlier ring left. Watched: the newest state of each key that arrived.
  std::deque<Entry> kept_;
  std::size_t kept_keys_ = 0;
  std::uint64_t kept_until_ = 0;                            // The value of kept_front_ once the standing rows among them were taken.
  std::uint64_t kept_front_ = 0;                            // The number of kept_.front(), counted from the first entry ever kept.
  std::unordered_map<std::string, std::uint64_t> kept_at_;  // Watched: the number of the entry, by key.
};

}  // namespace rondo::store::bridge
