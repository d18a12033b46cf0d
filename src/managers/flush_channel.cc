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
  std::vector<Change> requests;
  static_cast<void>(requests_->take_gap());  // The operator asks again.
  requests_->take(budget.items, requests);
  for (const Change& request : requests) {
    if (may_flush_()) take(request.verb(), request.key());
  }
  return {static_cast<std::uint32_t>(requests.size()), requests_->empty() ? Backlog::Empty : Backlog::More};
}

void FlushChannel::take(std::string_view what, std::string_view data) {
  const std::size_t bar = data.find('|');
  if (what == "ALL") {
    flush_({}, {});
  } else if (what == "PORT" && !data.empty()) {
    flush_(data, {});
  } else if (what == "VLAN" && !data.empty()) {
    flush_({}, data);
  } else if (what == "PORTVLAN" && bar != std::string_view::npos && bar != 0 && bar + 1 != data.size()) {
    flush_(data.substr(0, bar), data.substr(bar + 1));
  } else {
    ++malformed_;
  }
}

}  // namespace rondo::managers
