// NearEnd: the worker's end of one subscription: what has come through the lane and was not taken. Worker's thread.
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

/// A popped table's end (Staged, Queue) outlives its consumer, with what the consumer left; the others go with it.
class NearEnd {
 public:
  /// Hands a request over to the home thread; false when there is no room now.
  using TellHome = std::function<bool(Request&& request)>;

  /// Begins to take from 'lane'; what an earlier lane had left comes first. Not the Sets of a Staged table where standing rows are wanted:
  /// these come from home.
  void open(std::shared_ptr<Lane> lane, const SubscribeOptions& options, TellHome tell_home);
  /// The consumer goes. The lane is handed over to be closed at home.
  void close();
  bool is_open() const noexcept { return open_; }

  void on_ready(std::function<void()> wake);
  std::size_t take(std::size_t max, std::vector<Change>& out);
  bool empty();
  std::size_t depth() const noexcept { return waiting_keys() + (lane_ ? lane_->far_depth.load(std::memory_order_relaxed) : 0); }
  Gap take_gap();
  void dealt_with(const Change& change);
  void requeue(std::string_view key);
  bool caught_up() const noexcept;
  /// What the home thread was not told of yet.
  std::deque<Change> take_untold() { return std::exchange(untold_, {}); }
  std::uint64_t dropped() const noexcept { return lane_ ? lane_->dropped.load(std::memory_order_relaxed) : 0; }

  /// The pump has rung: calls the consumer if it waits and there is something.
  void tell();
  /// Keys or entries on this side of the home table.
  std::size_t waiting_keys() const noexcept { return kept_keys_ + (lane_ ? lane_->keys() : 0); }
  Lane* lane() const noexcept { return lane_.get(); }

 private:
  std::size_t take_kept(std::size_t max, std::vector<Change>& out);
  std::size_t take_lane(std::size_t max, std::vector<Change>& out);
  void keep_lane();
  void merge_watched();
  bool pass_gaps();
  bool has_changes();
  bool has_news() { return has_changes() || gap_ahead_ || passed_gap_; }
  void give_back(std::uint64_t keys);
  bool wait();
  void tell_home();
  bool tell_one(Request::Kind kind, const Change& change, std::string_view key);

  std::shared_ptr<Lane> lane_;
  TellHome tell_home_;
  std::deque<Change> untold_;                 // Dealt with; there was no room to say so.
  std::unordered_set<std::string> requeues_;  // Likewise, keys to be given again.
  std::function<void()> wake_;
  bool open_ = false;
  bool waits_ = false;       // Found nothing: the next tell() that finds something calls.
  bool gap_ahead_ = false;   // Before the next event.
  bool passed_gap_ = false;  // take() went past one.
  /// What is here beside the lane. Staged, Queue: what an earlier lane had left. Watched: what came, the newest of each key.
  std::deque<Entry> kept_;
  std::size_t kept_keys_ = 0;
  std::uint64_t kept_until_ = 0;                            // kept_front_ once the standing rows among them were taken.
  std::uint64_t kept_front_ = 0;                            // The number of kept_.front(), counted from the first ever kept.
  std::unordered_map<std::string, std::uint64_t> kept_at_;  // Watched: by key, its number.
};

}  // namespace rondo::store::bridge
