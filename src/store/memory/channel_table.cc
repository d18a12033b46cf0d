#include "store/memory/channel_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "store/event_buffer.h"

namespace rondo::store {

class ChannelTable::Listener final : public Subscription {
 public:
  explicit Listener(std::shared_ptr<ChannelTable> channel) : channel_(std::move(channel)), events_(queue_capacity(channel_->spec())) {
    channel_->listeners_.push_back(this);
  }
  ~Listener() override { std::erase(channel_->listeners_, this); }

  void on_ready(std::function<void()> wake) override {
    wake_ = std::move(wake);
    if (events_.has_news() && wake_) wake_();
  }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return events_.take(max, out); }
  bool empty() const override { return events_.empty(); }
  std::size_t depth() const override { return events_.size(); }
  bool take_gap() override { return events_.take_gap(); }
  std::uint64_t dropped() const override { return events_.dropped(); }
  void requeue(std::string_view) override {}
  bool caught_up() const override { return true; }

  void deliver(const Change& event) {
    const bool was_empty = events_.empty();
    events_.push(event);
    if (was_empty && wake_) wake_();
  }

 private:
  std::shared_ptr<ChannelTable> channel_;
  EventBuffer events_;
  std::function<void()> wake_;
};

Status ChannelTable::write(Change change) {
  for (Listener* listener : listeners_) listener->deliver(change);
  return {};
}

Result<std::unique_ptr<Subscription>> ChannelTable::subscribe(const SubscribeOptions&) {
  return std::make_unique<Listener>(std::static_pointer_cast<ChannelTable>(shared_from_this()));
}

}  // namespace rondo::store
