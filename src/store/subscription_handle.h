// SubscriptionHandle: the consumer's handle of a subscription that the store also keeps, so that fetched changes outlive the consumer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/store/store.h"

namespace rondo::store {

/// 'Shared' has the calls of a Subscription; 'on_close' is called when the consumer closes its handle.
template <class Shared, class OnClose>
class SubscriptionHandle final : public Subscription {
 public:
  SubscriptionHandle(std::shared_ptr<Shared> shared, OnClose on_close) : shared_(std::move(shared)), on_close_(std::move(on_close)) {}
  ~SubscriptionHandle() override { on_close_(*shared_); }
  void on_ready(std::function<void()> wake) override { shared_->on_ready(std::move(wake)); }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return shared_->take(max, out); }
  bool empty() const override { return shared_->empty(); }
  std::size_t depth() const override { return shared_->depth(); }
  bool take_gap() override { return shared_->take_gap(); }
  std::uint64_t dropped() const override { return shared_->dropped(); }
  void requeue(std::string_view key) override { shared_->requeue(key); }
  bool caught_up() const override { return shared_->caught_up(); }
  bool has_fetched(std::string_view key) const override {
    if constexpr (requires { shared_->has_fetched(key); }) return shared_->has_fetched(key);
    return false;
  }
  void next_arrivals(std::size_t max, std::vector<Arrival>& out) const override {
    if constexpr (requires { shared_->next_arrivals(max, out); }) shared_->next_arrivals(max, out);
  }
  void ack(const Change& change) override {
    if constexpr (requires { shared_->ack(change); }) shared_->ack(change);
  }

 private:
  std::shared_ptr<Shared> shared_;
  OnClose on_close_;
};

template <class Shared, class OnClose>
std::unique_ptr<Subscription> subscription_of(std::shared_ptr<Shared> shared, OnClose on_close) {
  return std::make_unique<SubscriptionHandle<Shared, OnClose>>(std::move(shared), std::move(on_close));
}

}  // namespace rondo::store
