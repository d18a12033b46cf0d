// FactObserver: reports to an Orch, in a turn of its own, that facts of a kind began or ended. Events of one fact merge while they
// wait, but an end is never lost. "Ended, then holds again" is delivered as both, because the data plane may have dropped objects in
// between. So at most two events wait for a fact, whatever its owner does. If a handler throws, that one event is lost and reported; the
// next is handled.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "rondo/sched/source.h"

namespace rondo {

class FactObserver final : public Source {
 public:
  using Handler = std::function<void(std::string_view key, bool holds)>;
  using OnThrow = std::function<void(std::string_view key, bool holds, const std::exception_ptr& thrown)>;
  FactObserver(std::string name, Priority priority, Handler handler, OnThrow on_throw)
      : Source(std::move(name), priority), handler_(std::move(handler)), on_throw_(std::move(on_throw)) {}

  void notify(const std::string& key, bool holds) {
    const auto [it, first] = waiting_.try_emplace(key);
    if (first) order_.push_back(&it->first);
    if (!holds) it->second.ended = true;
    it->second.holds = holds;
    wake();
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items && !order_.empty()) {
      const auto node = waiting_.extract(*order_.front());
      order_.pop_front();
      ++turn.items;
      if (node.mapped().ended) deliver(node.key(), false);
      if (node.mapped().holds) deliver(node.key(), true);
      if (turn_is_over(budget, turn.items)) break;
    }
    turn.backlog = order_.empty() ? Backlog::Empty : Backlog::More;
    return turn;
  }
  bool has_backlog() const override { return !order_.empty(); }
  std::size_t depth() const override { return order_.size(); }

 private:
  struct State {
    bool ended = false;
    bool holds = false;
  };
  void deliver(const std::string& key, bool holds) {
    try {
      handler_(key, holds);
    } catch (...) {
      on_throw_(key, holds, std::current_exception());
    }
  }

  Handler handler_;
  OnThrow on_throw_;
  std::unordered_map<std::string, State> waiting_;
  std::deque<const std::string*> order_;  // Points to keys of waiting_, whose addresses are stable.
};

}  // namespace rondo
