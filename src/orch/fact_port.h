// FactPort: where the notifications of the SharedFacts reach a runtime, in turns of the port's own. Announcements queue parked rows, the
// provider's state answers questions, and observers receive beginnings and ends. Runtime's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orch/shared_facts.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"

namespace rondo {

class FactPort final : public Source {
 public:
  using Notification = SharedFacts::Notification;
  using Handler = std::function<void(const Notification&)>;
  /// On one thread an announcement takes effect immediately; this priority keeps the delay between threads short.
  static constexpr Priority kUrgent{limits::kPriorities - 2};
  /// Joins 'shared' and 'scheduler', and leaves both when destroyed.
  FactPort(Scheduler& scheduler, std::shared_ptr<SharedFacts> shared, Handler handler)
      : Source("facts of other threads", kUrgent),
        shared_(std::move(shared)),
        subscriber_(shared_->join(*this)),
        handler_(std::move(handler)) {
    try {
      scheduler.add(*this);
    } catch (...) {
      shared_->leave(subscriber_);
      throw;
    }
  }
  ~FactPort() override { shared_->leave(subscriber_); }

  SharedFacts& shared_facts() noexcept { return *shared_; }
  const std::shared_ptr<SharedFacts>& shared_facts_ptr() const noexcept { return shared_; }
  SharedFacts::Subscriber subscriber() const noexcept { return subscriber_; }

  Result<Backlog> collect() override { return has_backlog() ? Backlog::More : Backlog::Empty; }
  bool has_backlog() const override { return shared_->has_notifications(subscriber_); }
  Turn run(const Budget& budget) override {
    Turn turn;
    notifications_.clear();
    turn.backlog = shared_->take(subscriber_, budget.items, notifications_) ? Backlog::More : Backlog::Empty;
    for (const Notification& notification : notifications_) handler_(notification);
    turn.items = static_cast<std::uint32_t>(notifications_.size());
    return turn;
  }

 private:
  std::shared_ptr<SharedFacts> shared_;
  SharedFacts::Subscriber subscriber_;
  Handler handler_;
  std::vector<Notification> notifications_;
};

}  // namespace rondo
