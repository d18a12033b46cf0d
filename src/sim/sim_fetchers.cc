#include "sim/sim_fetchers.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo::sim {

// --- SimFetcher

Status SimFetcher::open(const SubscribeOptions& options) {
  open_ = true;
  options_ = options;
  if (!wire_.connected()) return {};
  Status status = attach();
  open_ = status.ok();
  return status;
}

void SimFetcher::close() {
  open_ = false;
  wake_ = nullptr;
  far_.reset();
}

Status SimFetcher::attach() {
  Result<std::unique_ptr<Subscription>> far = server_.subscribe(table_, far_options());
  if (!far) return far.error();
  far_ = std::move(*far);
  far_->on_ready([this] { fetch(); });
  fetch();  // Also when there is nothing: an empty read is an answer.
  return {};
}

void SimFetcher::lose() {
  far_.reset();
  fetching_ = false;
}

void SimFetcher::regain() {
  if (!open_) return;
  const Status status = attach();
  RONDO_ASSERT(status.ok());  // The one consumer is this store's: see SimStore::server().
}

void SimFetcher::on_ready(std::function<void()> wake) {
  wake_ = std::move(wake);
  notify();
}

void SimFetcher::fetch() {
  if (fetching_ || far_ == nullptr || !wants_more()) return;
  fetching_ = true;
  wire_.send({.perform = {},
              .deliver =
                  [self = weak_from_this()] {
                    if (const std::shared_ptr<SimFetcher> end = self.lock()) end->arrive();
                  },
              .lost = {}});
}

void SimFetcher::arrive() {
  fetching_ = false;
  if (far_ == nullptr) return;
  const bool was_empty = empty();
  const bool was_behind = !caught_up();
  fetched(*far_);
  if (was_empty) notify();
  if (was_behind && caught_up() && wake_) wake_();  // Also if there was no row: others may wait for the end of the standing rows.
  if (!far_->empty()) fetch();
}

// --- Staged and Queue

/// The standing rows come from the server: of an earlier consumer's changes here only the Deletes count.
Status SimSingleConsumerFetcher::open(const SubscribeOptions& options) {
  const bool is_staged = options_.keys_swapped != nullptr;
  if (is_staged && options.standing_rows) {
    std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.change.op() == ChangeOp::Set; });
    for (Waiting& waiting : waiting_) waiting.with_next = false;
    waiting_keys_ = waiting_.size();
  }
  keys_taken_ = 0;
  standing_keys_ = is_staged && options.standing_rows ? kUnknown : 0;
  requeues_.clear();
  return SimFetcher::open(options);
}

/// Standing rows are delivered from the beginning if the connection broke before all of them were fetched.
SubscribeOptions SimSingleConsumerFetcher::far_options() const {
  return {options().rows, options().standing_rows && !knows_standing_rows()};
}

void SimSingleConsumerFetcher::regain() {
  SimFetcher::regain();
  for (const std::string& key : std::exchange(requeues_, {})) requeue(key);
}

void SimSingleConsumerFetcher::requeue(std::string_view key) {
  if (std::ranges::any_of(waiting_, [key](const Waiting& waiting) { return waiting.change.key() == key; })) return;
  if (far() == nullptr) {
    requeues_.emplace(key);
  } else {
    far()->requeue(key);
  }
}

void SimSingleConsumerFetcher::fetched(Subscription& far_end) {
  std::vector<Change> changes;
  far_end.take(options_.prefetch - std::min(options_.prefetch, waiting_.size()), changes);
  const std::size_t first = waiting_.size();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    // One pop never has two entries of a key except this pair. A Queue's entries are counted one by one, and so may be a pair.
    const bool pair = i + 1 < changes.size() && changes[i].op() == ChangeOp::Delete && changes[i + 1].op() == ChangeOp::Set &&
                      changes[i].key() == changes[i + 1].key();
    waiting_.push_back({changes[i], pair});
    if (!pair) ++waiting_keys_;
  }
  if (options_.keys_swapped != nullptr && *options_.keys_swapped > 0) swap_keys(first);
  if (!knows_standing_rows() && far_end.caught_up()) standing_keys_ = keys_taken_ + waiting_keys_;
}

/// Swaps neighbours of one fetch, which have different keys. A Delete that was popped with its Set keeps its place.
void SimSingleConsumerFetcher::swap_keys(std::size_t first) {
  for (std::size_t i = first; i + 1 < waiting_.size(); ++i) {
    const bool is_pair = waiting_[i].with_next || waiting_[i + 1].with_next || (i > first && waiting_[i - 1].with_next);
    if (is_pair || !random().chance(*options_.keys_swapped)) continue;
    fault("two keys change places");
    std::swap(waiting_[i], waiting_[i + 1]);
  }
}

std::size_t SimSingleConsumerFetcher::take(std::size_t max, std::vector<Change>& out) {
  const std::size_t before = out.size();
  for (std::size_t keys = 0; keys < max && !waiting_.empty(); ++keys) {
    bool with_next = true;
    while (with_next) {
      with_next = waiting_.front().with_next;
      out.push_back(std::move(waiting_.front().change));
      waiting_.pop_front();
    }
    --waiting_keys_;
    ++keys_taken_;
  }
  if (far_depth() > 0) fetch();
  return out.size() - before;
}

// --- Watched

Status SimWatchedFetcher::open(const SubscribeOptions& options) {
  if (!options.standing_rows) view_.know_first_rows();
  return SimFetcher::open(options);
}

void SimWatchedFetcher::requeue(std::string_view key) {
  const bool was_empty = empty();
  view_.requeue(key);
  if (was_empty) notify();
}

void SimWatchedFetcher::lose() {
  SimFetcher::lose();
  read_ = false;
}

void SimWatchedFetcher::fetched(Subscription& far_end) {
  std::vector<Change> changes;
  far_end.take(SIZE_MAX, changes);
  if (!std::exchange(read_, true)) {
    std::vector<Record> rows;
    for (const Change& change : changes) {
      if (change.op() == ChangeOp::Set) rows.push_back(change.record());
    }
    view_.resync(rows);
    std::erase_if(changes, [](const Change& change) { return change.op() == ChangeOp::Set; });
  }
  for (const Change& change : changes) view_.changed(change);
}

// --- Channel

void SimChannelFetcher::lose() {
  far_dropped_ = dropped() - events_.dropped();
  SimFetcher::lose();
}

void SimChannelFetcher::regain() {
  SimFetcher::regain();
  fault("a Channel has a gap");
  events_.mark_gap();
  if (empty()) notify();
}

void SimChannelFetcher::fetched(Subscription& far_end) {
  std::vector<Change> changes;
  do {
    if (far_end.take_gap()) events_.mark_gap();
    changes.clear();
    far_end.take(SIZE_MAX, changes);
    for (const Change& change : changes) events_.push(change);
  } while (!changes.empty());
}

}  // namespace rondo::sim
