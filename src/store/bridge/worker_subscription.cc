#include "store/bridge/worker_subscription.h"

#include <algorithm>
#include <utility>

namespace rondo::store::bridge {

void WorkerSubscription::open(std::shared_ptr<Lane> lane, const SubscribeOptions& options, RequestHome request_home) {
  keep_lane();  // The old lane has no pump: the home thread closed it before it opened the new one.
  lane_ = std::move(lane);
  if (lane_->spec.kind == TableKind::Staged && options.standing_rows) {
    std::erase_if(kept_, [](const Entry& entry) { return entry.op == ChangeOp::Set; });
    for (Entry& entry : kept_) entry.mark = Entry::Mark::None;
    kept_keys_ = kept_.size();
  }
  request_home_ = std::move(request_home);
  open_ = true;
}

void WorkerSubscription::close() {
  open_ = false;
  wake_ = nullptr;
  waits_ = false;
  requeues_.clear();  // These requests belong to the consumer that closes.
}

void WorkerSubscription::ack(const Change& change) {
  if (!lane_) return;
  const bool counts = lane_->spec.kind == TableKind::Queue || (lane_->spec.kind == TableKind::Staged && change.op() == ChangeOp::Delete);
  if (!counts) return;
  unsent_acks_.push_back(change);
  request_home();
}

void WorkerSubscription::requeue(std::string_view key) {
  if (!lane_ || (lane_->spec.kind != TableKind::Staged && lane_->spec.kind != TableKind::Watched)) return;
  if (kept_at_.contains(std::string{key})) return;
  requeues_.emplace(key);
  request_home();
}

bool WorkerSubscription::caught_up() const noexcept {
  if (!lane_) return true;
  const std::uint64_t standing = lane_->standing_keys.load(std::memory_order_acquire);
  return standing != Lane::kUnknown && lane_->keys_taken.load(std::memory_order_relaxed) >= standing && kept_front_ >= kept_until_;
}

void WorkerSubscription::request_home() {
  while (!unsent_acks_.empty() && request_one(Request::Kind::Ack, unsent_acks_.front(), {})) unsent_acks_.pop_front();
  while (!requeues_.empty() && request_one(Request::Kind::Requeue, {}, *requeues_.begin())) requeues_.erase(requeues_.begin());
}

bool WorkerSubscription::request_one(Request::Kind kind, const Change& change, std::string_view key) {
  Request request;
  request.kind = kind;
  request.table = &lane_->spec;
  request.change = change;
  request.text = key;
  return request_home_(std::move(request));
}

void WorkerSubscription::on_ready(std::function<void()> wake) {
  wake_ = std::move(wake);
  if (has_news() || !wait()) wake_();
}

void WorkerSubscription::notify() {
  if (!unsent_acks_.empty() || !requeues_.empty()) request_home();
  if (!waits_ || !wake_) return;
  // The pump may have rung for changes that the consumer has taken since. That ring may have ended a wait that began later, and the pump
  // does not ring twice. So wait again.
  if (!has_news() && wait()) return;
  waits_ = false;
  wake_();
}

/// From now on the pump rings. False when an entry arrived in between.
bool WorkerSubscription::wait() {
  waits_ = !lane_ || lane_->ring.wait_for_items();
  return waits_;
}

bool WorkerSubscription::empty() {
  while (!has_changes()) {
    if (wait()) return true;
  }
  return false;
}

std::size_t WorkerSubscription::take(std::size_t max, std::vector<Change>& out) {
  if (!unsent_acks_.empty()) request_home();
  if (lane_ && lane_->spec.kind == TableKind::Watched) merge_watched();
  std::size_t taken = take_kept(max, out);
  if (lane_ && lane_->spec.kind != TableKind::Watched) taken += take_lane(max - taken, out);
  // A consumer that took everything need not poll. Changes that arrived since wake it now; the pump's ring wakes it for later ones.
  if (!has_changes() && !empty() && wake_) wake_();
  return taken;
}

std::size_t WorkerSubscription::take_kept(std::size_t max, std::vector<Change>& out) {
  const std::size_t before = out.size();
  bool with_next = false;
  for (std::size_t keys = 0; (keys < max || with_next) && !kept_.empty();) {
    Entry entry = std::move(kept_.front());
    kept_.pop_front();
    ++kept_front_;
    with_next = entry.mark == Entry::Mark::WithNext;
    if (!with_next) {
      ++keys;
      --kept_keys_;
    }
    if (!kept_at_.empty()) kept_at_.erase(std::string{entry.record.key()});
    out.emplace_back(entry.op, std::move(entry.record));
  }
  return out.size() - before;
}

std::size_t WorkerSubscription::take_lane(std::size_t max, std::vector<Change>& out) {
  Ring<Entry>& ring = lane_->ring;
  const std::size_t before = out.size();
  std::uint64_t keys = 0;
  bool with_next = false;
  while ((keys < max || with_next) && ring.available() > 0) {
    if (ring.peek().mark == Entry::Mark::Gap) {
      if (out.size() > before) break;
      pass_gaps();
      continue;
    }
    if (std::exchange(gap_ahead_, false)) {
      if (out.size() > before) {
        gap_ahead_ = true;
        break;
      }
      passed_gap_ = true;
    }
    Entry entry = ring.take();
    with_next = entry.mark == Entry::Mark::WithNext;
    if (!with_next) ++keys;
    out.emplace_back(entry.op, std::move(entry.record));
  }
  if (out.size() > before) give_back(keys);
  return out.size() - before;
}

void WorkerSubscription::give_back(std::uint64_t keys) {
  lane_->keys_taken.store(lane_->keys_taken.load(std::memory_order_relaxed) + keys, std::memory_order_release);
  if (lane_->ring.release(lane_->wake_room()) && open_ && lane_->pump != nullptr) lane_->pump->wake_from_any_thread();
}

/// Removes the gaps at the head of the lane. Returns whether there were any.
bool WorkerSubscription::pass_gaps() {
  bool any = false;
  while (lane_->ring.available() > 0 && lane_->ring.peek().mark == Entry::Mark::Gap) {
    lane_->ring.take();
    gap_ahead_ = any = true;
  }
  if (any) give_back(0);
  return any;
}

bool WorkerSubscription::has_changes() {
  if (!kept_.empty()) return true;
  if (!lane_) return false;
  pass_gaps();
  return lane_->ring.available() > 0;
}

Gap WorkerSubscription::take_gap() {
  if (lane_) pass_gaps();
  const bool gap = std::exchange(passed_gap_, false) || std::exchange(gap_ahead_, false);
  return gap ? Gap::Possible : Gap::None;
}

/// Keeps the rest of an ended lane for the next consumer.
void WorkerSubscription::keep_lane() {
  if (!lane_) return;
  while (lane_->ring.available() > 0) {
    kept_.push_back(lane_->ring.take());
    if (kept_.back().mark != Entry::Mark::WithNext) ++kept_keys_;
  }
  lane_.reset();
}

/// Keeps each changed key once, with its newest state, in the order of its first change. At most as many keys as the lane has slots are
/// kept here, so that further changes still merge in the home table.
void WorkerSubscription::merge_watched() {
  Ring<Entry>& ring = lane_->ring;
  const std::uint64_t standing = lane_->standing_keys.load(std::memory_order_acquire);
  std::uint64_t keys = 0;
  while (kept_.size() < ring.capacity() && ring.available() > 0) {
    Entry entry = ring.take();
    ++keys;
    const auto [at, is_new] = kept_at_.try_emplace(std::string{entry.record.key()}, kept_front_ + kept_.size());
    if (is_new) {
      kept_.push_back(std::move(entry));
      ++kept_keys_;
    } else {
      kept_[static_cast<std::size_t>(at->second - kept_front_)] = std::move(entry);
    }
    if (lane_->keys_taken.load(std::memory_order_relaxed) + keys <= standing) kept_until_ = kept_front_ + kept_.size();
  }
  if (keys > 0) give_back(keys);
}

}  // namespace rondo::store::bridge
