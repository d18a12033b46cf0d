#include "managers/flush_channel.h"

#include <string>
#include <utility>
#include <vector>

#include "managers/priorities.h"

namespace rondo::managers {

FlushChannel::FlushChannel(std::unique_ptr<Subscription> requests, std::function<bool()> may_flush, Flush flush)
    : Source("fdb flush requests", kStateRows),
      requests_(std::move(requests)),
      may_flush_(std::move(may_flush)),
      flush_(std::move(flush)) {}

FlushChannel::~FlushChannel() = default;

Result<std::unique_ptr<FlushChannel>> FlushChannel::open(Scheduler& scheduler, Store& store, std::function<bool()> may_flush, Flush flush) {
  if (Status declared = store.declare({.name = std::string{kFlushRequest}, .kind = TableKind::Channel}); !declared.ok()) {
    return failure(std::move(declared));
  }
  Result<std::unique_ptr<Subscription>> requests = store.subscribe(kFlushRequest);
  if (!requests) return failure(requests.error());
  std::unique_ptr<FlushChannel> channel{new FlushChannel(std::move(*requests), std::move(may_flush), std::move(flush))};
  scheduler.add(*channel);
  channel->requests_->on_ready([source = channel.get()] { source->wake(); });
  return channel;
}

Turn FlushChannel::run(const Budget& budget) {
  static_cast<void>(requests_->take_gap());  // The operator asks again.
  Turn turn;
  while (turn.items < budget.items && has_backlog()) {
    ++turn.items;
    if (walk_) {
      go_on();
    } else {
      std::vector<Change> requests;
      requests_->take(1, requests);
      for (const Change& request : requests) take(request.verb(), request.key());
    }
    if (time_is_up(budget)) break;
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

void FlushChannel::go_on() {
  if (!may_flush_()) return walk_.reset();
  *waits_ = true;
  const auto answered = [this, waits = std::weak_ptr<bool>{waits_}] {
    const std::shared_ptr<bool> is_there = waits.lock();
    if (is_there == nullptr) return;
    *is_there = false;
    wake();
  };
  if (!flush_(*walk_, answered)) *waits_ = false;
  if (walk_->at_end) walk_.reset();
}

void FlushChannel::take(std::string_view what, std::string_view data) {
  const std::size_t bar = data.find('|');
  if (what == "ALL") {
    walk_.emplace();
  } else if (what == "PORT" && !data.empty()) {
    walk_ = FlushWalk{.port = std::string{data}, .vlan = {}};
  } else if (what == "VLAN" && !data.empty()) {
    walk_ = FlushWalk{.port = {}, .vlan = std::string{data}};
  } else if (what == "PORTVLAN" && bar != std::string_view::npos && bar != 0 && bar + 1 != data.size()) {
    walk_ = FlushWalk{.port = std::string{data.substr(0, bar)}, .vlan = std::string{data.substr(bar + 1)}};
  } else {
    ++malformed_;
  }
}

}  // namespace rondo::managers
