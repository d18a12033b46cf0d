#include "rondo-demo/measurement/witness.h"

#include <utility>

#include "rondo/base/thread_settings.h"
#include "rondo/sched/policy.h"

namespace rondo::demo {

Result<std::unique_ptr<Witness>> Witness::start(DataPlane& plane, const std::string& port) {
  std::unique_ptr<Witness> witness{new Witness};
  auto reactor = make_epoll_reactor();
  if (!reactor) return failure(reactor.error());
  witness->reactor_ = std::move(*reactor);
  auto policy = make_policy(StrictPriority{});
  if (!policy) return failure(policy.error());
  witness->scheduler_ = std::make_unique<Scheduler>(witness->clock_, *witness->reactor_, std::move(*policy));
  witness->port_ = port;
  auto monitor = plane.monitor(*witness->scheduler_, Priority{0}, [w = witness.get()](const LinkEvent& event) { w->note(event); });
  if (!monitor) return failure(monitor.error());
  witness->monitor_ = std::move(*monitor);
  witness->thread_ = std::thread([w = witness.get()] {
    // A delayed witness measures nothing. If the priority is not permitted, it runs without it, and the report's slack covers a small
    // delay.
    static_cast<void>(set_thread_nice(-20));
    w->scheduler_->run();
  });
  return witness;
}

void Witness::note(const LinkEvent& event) {
  if (event.name != port_) return;
  if (known_ && event.carrier != carrier_) announced_.push_back({event.carrier, event.seen});
  known_ = true;
  carrier_ = event.carrier;
}

std::vector<Witness::Announced> Witness::stop() {
  scheduler_->stop();
  if (thread_.joinable()) thread_.join();
  return std::move(announced_);
}

Witness::~Witness() {
  if (thread_.joinable()) stop();
  monitor_.reset();
}

}  // namespace rondo::demo
