#include "rondo-demo/measurement/link_event_log.h"

#include <utility>

#include "rondo/base/thread_settings.h"
#include "rondo/sched/policy.h"

namespace rondo::demo {

Result<std::unique_ptr<LinkEventLog>> LinkEventLog::start(DataPlane& plane, const std::string& port) {
  std::unique_ptr<LinkEventLog> log{new LinkEventLog};
  auto reactor = make_epoll_reactor();
  if (!reactor) return failure(reactor.error());
  log->reactor_ = std::move(*reactor);
  auto policy = make_policy(StrictPriority{});
  if (!policy) return failure(policy.error());
  log->scheduler_ = std::make_unique<Scheduler>(log->clock_, *log->reactor_, std::move(*policy));
  log->port_ = port;
  auto monitor = plane.monitor(*log->scheduler_, Priority{0}, [w = log.get()](const LinkEvent& event) { w->note(event); });
  if (!monitor) return failure(monitor.error());
  log->monitor_ = std::move(*monitor);
  log->thread_ = std::thread([w = log.get()] {
    // A delayed listener measures nothing. If the priority is not permitted, it runs without it, and the report's slack covers a small
    // delay.
    static_cast<void>(set_thread_nice(-20));
    w->scheduler_->run();
  });
  return log;
}

void LinkEventLog::note(const LinkEvent& event) {
  if (event.name != port_) return;
  if (known_ && event.carrier != carrier_) announced_.push_back({event.carrier, event.seen});
  known_ = true;
  carrier_ = event.carrier;
}

std::vector<LinkEventLog::Announced> LinkEventLog::stop() {
  scheduler_->stop();
  if (thread_.joinable()) thread_.join();
  return std::move(announced_);
}

LinkEventLog::~LinkEventLog() {
  if (thread_.joinable()) stop();
  monitor_.reset();
}

}  // namespace rondo::demo
