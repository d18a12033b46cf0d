// ChannelSubscription: receives a channel's events as SONiC's NotificationConsumer does. Events sent while the connection was lost are
// gone; the consumer sees a gap.
#pragma once

#include <string>

#include "store/event_buffer.h"
#include "store/redis/remote_subscription.h"
#include "store/redis/wire_json.h"
#include "store/table_rules.h"

namespace rondo::redis {

class ChannelSubscription final : public RemoteSubscription {
 public:
  ChannelSubscription(Link& link, Target& target) : RemoteSubscription(link, target), events_(store::queue_capacity(target.spec)) {}

  std::string channel() const override { return spec().name; }
  void message(std::string_view payload) override {
    Result<Change> event = parse_event(payload);
    if (!event) {
      ++stats().malformed;
      ++stats().bad_events;
      stats().last_bad_event = spec().name + ": " + std::string{event.error().message().substr(0, kReasonBytes)};
      return;
    }
    const bool was_empty = empty();  // An unread gap does not count: it does not wake the consumer again.
    events_.push(*event);
    if (was_empty) notify();
  }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return events_.take(max, out); }
  bool empty() const override { return events_.empty(); }
  std::size_t depth() const override { return events_.size(); }
  bool take_gap() override { return events_.take_gap(); }
  std::uint64_t dropped() const override { return events_.dropped(); }

 protected:
  void online() override {
    listening_ = true;
    if (!was_away_) return;
    was_away_ = false;
    events_.mark_gap();
    if (empty()) notify();
  }
  void offline() override {
    was_away_ = was_away_ || listening_;
    listening_ = false;
  }
  bool has_news() const override { return events_.has_news(); }

 private:
  static constexpr std::size_t kReasonBytes = 200;  // Bytes of the reason, which may repeat text of the event.
  store::EventBuffer events_;
  bool listening_ = false;
  bool was_away_ = false;
};

}  // namespace rondo::redis
