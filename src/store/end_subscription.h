// EndSubscription: the consumer's handle of an end that the store also keeps, so that fetched changes outlive the consumer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/store/store.h"

namespace rondo::store {

/// 'End' has the calls of a Subscription; 'on_close' is called when the consumer closes its handle.
template <class End, class OnClose>
class EndSubscription final : public Subscription {
 public:
  EndSubscription(std::shared_ptr<End> end, OnClose on_close) : end_(std::move(end)), on_close_(std::move(on_close)) {}
  ~EndSubscription() override { on_close_(*end_); }
  void on_ready(std::function<void()> wake) override { end_->on_ready(std::move(wake)); }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return end_->take(max, out); }
  bool empty() const override { return end_->empty(); }
  std::size_t depth() const override { return end_->depth(); }
  Gap take_gap() override { return end_->take_gap(); }
  std::uint64_t dropped() const override { return end_->dropped(); }
  void requeue(std::string_view key) override { end_->requeue(key); }
  bool caught_up() const override { return end_->caught_up(); }
  void dealt_with(const Change& change) override {
    if constexpr (requires { end_->dealt_with(change); }) end_->dealt_with(change);
  }

 private:
  std::shared_ptr<End> end_;
  OnClose on_close_;
};

template <class End, class OnClose>
std::unique_ptr<Subscription> subscription_of(std::shared_ptr<End> end, OnClose on_close) {
  return std::make_unique<EndSubscription<End, OnClose>>(std::move(end), std::move(on_close));
}

}  // namespace rondo::store
