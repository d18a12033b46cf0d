// Mailbox: delivers messages from other threads to the scheduler. Bounded. A burst of posts wakes the scheduler once. The scheduler's
// thread takes the whole burst with one swap and hands it to the handler within its budget.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/sched/source.h"

namespace rondo {

/// Messages of type T, each handled once, in the order of arrival, on the scheduler's thread. T must be movable.
template <class T>
class Mailbox final : public Source {
 public:
  using Handler = std::function<void(T&&)>;
  Mailbox(std::string name, Priority priority, Handler handler, std::size_t capacity = limits::kMailboxMessages)
      : Source(std::move(name), priority), handler_(std::move(handler)), capacity_(capacity) {}

  /// Any thread. ResourceExhausted when 'capacity' messages wait behind the burst that is being handled; FailedPrecondition once its
  /// handler has thrown, because a mailbox that is quarantined handles no more messages. The caller then keeps the message. Messages posted
  /// before the mailbox is added to a scheduler are handled after it is added.
  Status post(T&& message) {
    if (is_quarantined()) {
      return Status{StatusCode::FailedPrecondition,
                    "mailbox '" + std::string{name()} + "' is quarantined, because its handler threw, and handles no more messages"};
    }
    bool first = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (arriving_.size() >= capacity_) {
        ++refused_;
        return Status{StatusCode::ResourceExhausted, "mailbox '" + std::string{name()} + "' is full"};
      }
      first = arriving_.empty();
      arriving_.push_back(std::move(message));
    }
    if (first) wake_from_any_thread();
    return {};
  }

  /// Any thread.
  std::uint64_t turned_away() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return refused_;
  }

  Result<Backlog> collect() override { return has_backlog() ? Backlog::More : Backlog::Empty; }

  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items) {
      if (position_ == taken_.size() && !refill()) return turn;
      handler_(std::move(taken_[position_++]));
      ++turn.items;
      if (turn_is_over(budget, turn.items)) break;
    }
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }

  bool has_backlog() const override {
    if (position_ < taken_.size()) return true;
    const std::lock_guard<std::mutex> lock(mutex_);
    return !arriving_.empty();
  }

  std::size_t depth() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return taken_.size() - position_ + arriving_.size();
  }

 private:
  bool refill() {
    taken_.clear();
    position_ = 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_.swap(arriving_);
    return !taken_.empty();
  }

  Handler handler_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<T> arriving_;    // Guarded by mutex_.
  std::uint64_t refused_ = 0;  // Guarded by mutex_.
  std::vector<T> taken_;       // Scheduler's thread.
  std::size_t position_ = 0;   // Scheduler's thread.
};

}  // namespace rondo
