// Listener: the source between a Channel or Queue and an Orch's event handler. Events need no settling: each is handled once, in order. If
// a handler throws, that one event is lost and reported; the next is handled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orch/observers.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"

namespace rondo {

class Listener final : public Source {
 public:
  using Handler = std::function<void(const Change& event)>;
  using OnGap = std::function<void()>;  // May be empty.
  using OnThrow = std::function<void(const Change& event, const std::exception_ptr& thrown)>;
  Listener(std::string name, Priority priority, std::unique_ptr<Subscription> subscription, Handler handler, OnGap on_gap, OnThrow on_throw,
           Observers& observers)
      : Source(std::move(name), priority),
        observers_(observers),
        table_number_(observers.add_table(this->name())),
        subscription_(std::move(subscription)),
        handler_(std::move(handler)),
        on_gap_(std::move(on_gap)),
        on_throw_(std::move(on_throw)) {}

  /// Call it after the listener was added to a scheduler.
  void start() {
    subscription_->on_ready([this] {
      for (RuntimeEvents* const one : observers_) one->table_ready(table_number_);
      wake();
    });
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items) {
      take_gap();  // The subscription ends a take before a gap, so the events behind a gap are handled after it.
      events_.clear();
      turn.items += static_cast<std::uint32_t>(subscription_->take(1, events_));  // Every event that is taken is handled in this turn.
      for (const Change& event : events_) {
        report_taken(event);
        deliver(event, handler_);
        subscription_->ack(event);
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

  void report_taken(const Change& event) {
    for (RuntimeEvents* const one : observers_) {
      one->changes_taken(table_number_, 1, subscription_->empty());
      one->event_taken(table_number_, event);
    }
  }

  void take_gap() {
    if (!subscription_->take_gap()) return;
    for (RuntimeEvents* const one : observers_) one->gap(table_number_);
    deliver(Change{}, [this](const Change&) {
      if (on_gap_) on_gap_();
    });
  }

  const Observers& observers_;
  const std::uint32_t table_number_;
  std::unique_ptr<Subscription> subscription_;
  Handler handler_;
  OnGap on_gap_;
  OnThrow on_throw_;
  std::vector<Change> events_;
};

}  // namespace rondo
