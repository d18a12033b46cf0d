// PostBox: carries the functions given to Runtime::post from any thread to turns of the runtime's thread. A bounded queue under a lock. It
// joins the scheduler as a source with the first function, so a runtime without posts has no such source in its scheduler or journal. A
// burst costs one write to the scheduler's inbox.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/status.h"
#include "rondo/sched/inbox.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"

namespace rondo {

class PostBox final : public Inbox {
 public:
  using Function = std::function<void()>;
  using OnThrow = std::function<void(const std::exception_ptr& thrown)>;
  PostBox(Scheduler& scheduler, Priority priority, OnThrow on_throw) : scheduler_(scheduler), turns_(*this, priority, std::move(on_throw)) {
    scheduler_.add(*this);
  }

  /// Any thread.
  Status post(Function function) {
    if (scheduler_.stopping()) return {StatusCode::Cancelled, "the runtime was stopped, and runs nothing that is posted"};
    bool sleeps = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!quarantine_.ok()) return quarantine_;
      if (arrived_.size() >= limits::kMailboxMessages) {
        ++refused_;
        return {StatusCode::ResourceExhausted, "the runtime has " + std::to_string(arrived_.size()) + " posted functions that wait"};
      }
      arrived_.push_back(std::move(function));
      ++came_;
      sleeps = mark(turns_.priority(), scheduler_);
    }
    if (sleeps) scheduler_.check_inboxes();
    return {};
  }

 private:
  /// The source whose turns run the functions.
  class Turns final : public Source {
   public:
    Turns(PostBox& box, Priority priority, OnThrow on_throw)
        : Source("posted functions", priority), box_(box), on_throw_(std::move(on_throw)) {}

    Turn run(const Budget& budget) override {
      Turn turn;
      while (turn.items < budget.items) {
        if (next_ == taken_.size() && !refill()) return turn;
        const Function function = std::move(taken_[next_++]);
        ++turn.items;
        try {
          function();
        } catch (...) {
          report(std::current_exception());
        }
        if (turn_is_over(budget, turn.items)) break;
      }
      turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
      return turn;
    }
    bool has_backlog() const override { return depth() > 0; }
    std::size_t depth() const override {
      const std::lock_guard<std::mutex> lock(box_.mutex_);
      return taken_.size() - next_ + box_.arrived_.size();
    }
    std::uint64_t turned_away() const override {
      const std::lock_guard<std::mutex> lock(box_.mutex_);
      return box_.refused_;
    }

   private:
    /// What on_reject() throws quarantines this source: no function runs any more.
    void report(const std::exception_ptr& thrown) {
      try {
        on_throw_(thrown);
      } catch (const std::exception& error) {
        box_.close(error.what());
        throw;
      } catch (...) {
        box_.close("something that is no std::exception");
        throw;
      }
    }
    bool refill() {
      taken_.clear();
      next_ = 0;
      const std::lock_guard<std::mutex> lock(box_.mutex_);
      taken_.swap(box_.arrived_);
      return !taken_.empty();
    }

    PostBox& box_;
    OnThrow on_throw_;
    std::vector<Function> taken_;
    std::size_t next_ = 0;
  };

  /// The source of the turns is about to be quarantined.
  void close(const std::string& thrown) {
    const std::lock_guard<std::mutex> lock(mutex_);
    quarantine_ = {StatusCode::FailedPrecondition,
                   "the source 'posted functions' is quarantined and runs nothing that is posted: Runtime::on_reject threw " + thrown};
  }

  std::uint64_t hand_out() noexcept override {
    if (turns_.scheduler() == nullptr) {
      try {
        scheduler_.add(turns_);
      } catch (const std::bad_alloc&) {
        return 0;  // The mark stays set, so the next poll tries again.
      }
    }
    std::uint64_t came = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      clear();
      came = std::exchange(came_, 0);
    }
    turns_.wake();
    return came;
  }
  bool is_for(const Source& source) const noexcept override { return &source == &turns_; }

  Scheduler& scheduler_;
  std::mutex mutex_;
  std::vector<Function> arrived_;  // Guarded by mutex_, as are came_ and refused_.
  std::uint64_t came_ = 0;         // Functions that arrived since the last hand_out().
  std::uint64_t refused_ = 0;
  Status quarantine_;  // Guarded by mutex_. Not ok: no turns follow.
  Turns turns_;
};

}  // namespace rondo
