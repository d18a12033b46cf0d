// LateEvents: a data plane whose link events come as late as a test says. Everything else is that of the plane behind it. Scheduler's
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/dataplane/dataplane.h"

namespace rondo {

class LateEvents final : public DataPlane {
 public:
  explicit LateEvents(DataPlane& plane) : plane_(plane) {}

  /// From now on events wait for release().
  void hold() { held_ = true; }
  void release() {
    held_ = false;
    const std::vector<LinkEvent> events = std::exchange(events_, {});
    for (const LinkEvent& event : events) handler_(event);
  }
  std::size_t waiting() const noexcept { return events_.size(); }

  void apply(std::span<Operation> ops) override { plane_.apply(ops); }
  Result<std::vector<LinkEvent>> links() override { return plane_.links(); }
  Result<std::vector<AddressEntry>> addresses() override { return plane_.addresses(); }
  Result<std::vector<NeighborEntry>> neighbors() override { return plane_.neighbors(); }
  Result<std::vector<NexthopEntry>> nexthops() override { return plane_.nexthops(); }
  Status routes(const std::function<void(const RouteEntry&)>& visit) override { return plane_.routes(visit); }
  Result<std::vector<FdbEntry>> fdb() override { return plane_.fdb(); }
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override {
    handler_ = std::move(handler);
    return plane_.monitor(scheduler, priority, [this](const LinkEvent& event) { held_ ? events_.push_back(event) : handler_(event); });
  }
  Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) override {
    return plane_.watch_objects(scheduler, priority, std::move(handler));
  }
  std::string describe() const override { return plane_.describe(); }

 private:
  DataPlane& plane_;
  std::function<void(const LinkEvent&)> handler_;
  std::vector<LinkEvent> events_;
  bool held_ = false;
};

}  // namespace rondo
