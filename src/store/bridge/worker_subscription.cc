#include "store/bridge/worker_subscription.h"

#include <algorithm>
#include <utility>

namespace rondo::store::bridge {

void WorkerSubscription::open(std::shared_ptr<ChangeRing> ring, const SubscribeOptions& options, RequestHome request_home) {
  keep_ring();  // The old ring has no forwarder: the home thread closed it before it opened the new one.
  ring_ = std::move(ring);
  if (ring_->spec.kind == TableKind::Staged && options.standing_rows) {
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
  if (!ring_) return;
  const bool counts = ring_->spec.kind == TableKind::Queue || (ring_->spec.kind == TableKind::Staged && change.op() == ChangeOp::Delete);
  if (!counts) return;
  unsent_acks_.push_back(change);
  request_home();
}

void WorkerSubscription::requeue(std::string_view key) {
  if (!ring_ || (ring_->spec.kind != TableKind::Staged && ring_->spec.kind != TableKind::Watched)) return;
  if (kept_at_.contains(std::string{key})) return;
  requeues_.emplace(key);
  request_home();
}

bool WorkerSubscription::caught_up() const noexcept {
  if (!ring_) return true;
  const std::uint64_t standing = ring_->standing_keys.load(std::memory_order_acquire);
  return standing != ChangeRing::kUnknown && ring_->keys_taken.load(std::memory_order_relaxed) >= standing && kept_front_ >= kept_until_;
}

bool WorkerSubscription::has_fetched(std::string_view key) const {
  const auto is_of_key = [key](const Entry& entry) { return entry.mark != Entry::Mark::Gap && entry.record.key() == key; };
  if (std::ranges::any_of(kept_, is_of_key)) return true;
  for (std::size_t i = 0, ready = ring_ ? ring_->entries.available(SIZE_MAX) : 0; i < ready; ++i) {
    if (is_of_key(ring_->entries.peek(i))) return true;
  }
  return false;
}

void WorkerSubscription::request_home() {
  while (!unsent_acks_.empty() && request_one(Request::Kind::Ack, unsent_acks_.front(), {})) unsent_acks_.pop_front();
  while (!requeues_.empty() && request_one(Request::Kind::Requeue, {}, *requeues_.begin())) requeues_.erase(requeues_.begin());
}

bool WorkerSubscription::request_one(Request::Kind kind, const Change& change, std::string_view key) {
  Request request;
  request.kind = kind;
  request.table = &ring_->spec;
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
  // The forwarder may have woken it for changes that the consumer has taken since. That wake may have ended a wait that began later, and
  // the forwarder does not wake it twice. So wait again.
  if (!has_news() && wait()) return;
  waits_ = false;
  wake_();
}

/// From now on the forwarder wakes it. False when an entry arrived in between.
bool WorkerSubscription::wait() {
  waits_ = !ring_ || ring_->entries.wait_for_items();
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
  if (ring_ && ring_->spec.kind == TableKind::Watched) merge_watched();
  std::size_t taken = take_kept(max, out);
  if (ring_ && ring_->spec.kind != TableKind::Watched) taken += take_ring(max - taken, out);
  // A consumer that took everything need not poll. Changes that arrived since wake it now; the forwarder wakes it for later ones.
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

std::size_t WorkerSubscription::take_ring(std::size_t max, std::vector<Change>& out) {
  Ring<Entry>& entries = ring_->entries;
  const std::size_t before = out.size();
  std::uint64_t keys = 0;
  bool with_next = false;
  while ((keys < max || with_next) && entries.available() > 0) {
    if (entries.peek().mark == Entry::Mark::Gap) {
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
    Entry entry = entries.take();
    with_next = entry.mark == Entry::Mark::WithNext;
    if (!with_next) ++keys;
    out.emplace_back(entry.op, std::move(entry.record));
  }
  if (out.size() > before) give_back(keys);
  return out.size() - before;
}

void WorkerSubscription::give_back(std::uint64_t keys) {
  ring_->keys_taken.store(ring_->keys_taken.load(std::memory_order_relaxed) + keys, std::memory_order_release);
  if (ring_->entries.release(ring_->wake_room()) && open_ && ring_->forwarder != nullptr) ring_->forwarder->wake_from_any_thread();
}

/// Removes the gaps at the head of the ring. Returns whether there were any.
bool WorkerSubscription::pass_gaps() {
  bool any = false;
  while (ring_->entries.available() > 0 && ring_->entries.peek().mark == Entry::Mark::Gap) {
    ring_->entries.take();
    gap_ahead_ = any = true;
  }
  if (any) give_back(0);
  return any;
}

bool WorkerSubscription::has_changes() {
  if (!kept_.empty()) return true;
  if (!ring_) return false;
  pass_gaps();
  return ring_->entries.available() > 0;
}

bool WorkerSubscription::take_gap() {
  if (ring_) pass_gaps();
  return std::exchange(passed_gap_, false) || std::exchange(gap_ahead_, false);
}

/// Keeps the rest of an ended ring for the next consumer.
void WorkerSubscription::keep_ring() {
  if (!ring_) return;
  while (ring_->entries.available() > 0) {
    kept_.push_back(ring_->entries.take());
    if (kept_.back().mark != Entry::Mark::WithNext) ++kept_keys_;
  }
  ring_.reset();
}

/// Keeps each changed key once, with its newest state, in the order of its first change. At most as many keys as the ring has slots are
/// kept here, so that further changes still merge in the home table.
void WorkerSubscription::merge_watched() {
  Ring<Entry>& entries = ring_->entries;
  const std::uint64_t standing = ring_->standing_keys.load(std::memory_order_acquire);
  std::uint64_t keys = 0;
  while (kept_.size() < entries.capacity() && entries.available() > 0) {
    Entry entry = entries.take();
    ++keys;
    const auto [at, is_new] = kept_at_.try_emplace(std::string{entry.record.key()}, kept_front_ + kept_.size());
    if (is_new) {
      kept_.push_back(std::move(entry));
      ++kept_keys_;
    } else {
      kept_[static_cast<std::size_t>(at->second - kept_front_)] = std::move(entry);
    }
    if (ring_->keys_taken.load(std::memory_order_relaxed) + keys <= standing) kept_until_ = kept_front_ + kept_.size();
  }
  if (keys > 0) give_back(keys);
}

}  // namespace rondo::store::bridge
