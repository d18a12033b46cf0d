// Listener: the source between a Channel or Queue and an Orch's event handler. Events owe no outcome: each is handled once, in order. If a
// handler throws, that one event is lost and reported; the next is handled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orch/journal_recorder.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"

namespace rondo {

class Listener final : public Source {
 public:
  using Handler = std::function<void(const Change& event)>;
  using OnGap = std::function<void()>;  // May be empty.
  using OnThrow = std::function<void(const Change& event, const std::exception_ptr& thrown)>;
  Listener(std::string name, Priority priority, std::unique_ptr<Subscription> subscription, Handler handler, OnGap on_gap, OnThrow on_throw,
           JournalRecorder& journal)
      : Source(std::move(name), priority),
        journal_(journal),
        table_name_(journal.name(this->name())),
        subscription_(std::move(subscription)),
        handler_(std::move(handler)),
        on_gap_(std::move(on_gap)),
        on_throw_(std::move(on_throw)) {}

  /// Call it after the listener was added to a scheduler.
  void start() {
    subscription_->on_ready([this] {
      journal_.became_ready(table_name_);
      wake();
    });
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items) {
      take_gap();  // The subscription ends a take before a gap, so the events behind a gap are handled after it.
      events_.clear();
      turn.items += static_cast<std::uint32_t>(subscription_->take(1, events_));  // Every event that is taken is handled in this turn.
      if (!events_.empty()) journal_.took(table_name_, events_.size(), subscription_->empty());
      for (const Change& event : events_) {
        journal_.event(table_name_, event);
        deliver(event, handler_);
        subscription_->dealt_with(event);
      }
      if (subscription_->empty() || turn_is_over(budget, turn.items)) break;
    }
    // A gap behind the last event: without this, it would be reported only with the next event.
    if (subscription_->empty()) take_gap();
    turn.backlog = subscription_->empty() ? Backlog::Empty : Backlog::More;
    return turn;
  }
  bool has_backlog() const override { return !subscription_->empty(); }
  std::size_t depth() const override { return subscription_->depth(); }
  std::uint64_t turned_away() const override { return subscription_->dropped(); }

 private:
  template <class To>
  void deliver(const Change& event, const To& to) {
    try {
      to(event);
    } catch (...) {
      on_throw_(event, std::current_exception());
    }
  }

  void take_gap() {
    if (subscription_->take_gap() != Gap::Possible) return;
    journal_.gap(table_name_);
    deliver(Change{}, [this](const Change&) {
      if (on_gap_) on_gap_();
    });
  }

  JournalRecorder& journal_;
  const std::uint32_t table_name_;  // The journal's number for the table.
  std::unique_ptr<Subscription> subscription_;
  Handler handler_;
  OnGap on_gap_;
  OnThrow on_throw_;
  std::vector<Change> events_;
};

}  // namespace rondo
