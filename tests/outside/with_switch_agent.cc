// The component agent: the switch agent starts on a user's own data plane without ports, and programs nothing.
#include <cstdio>
#include <memory>
#include <string>

#include "rondo/rondo.h"
#include "rondo/switch_agent/switch.h"

namespace {

class EmptyPlane final : public rondo::DataPlane {
 public:
  void apply(std::span<rondo::Operation>) override { ++applied_; }
  rondo::Result<std::vector<rondo::LinkEvent>> links() override { return std::vector<rondo::LinkEvent>{}; }
  rondo::Result<std::vector<rondo::AddressEntry>> addresses() override { return std::vector<rondo::AddressEntry>{}; }
  rondo::Result<std::vector<rondo::NeighborEntry>> neighbors() override { return std::vector<rondo::NeighborEntry>{}; }
  rondo::Result<std::vector<rondo::NexthopEntry>> nexthops() override { return std::vector<rondo::NexthopEntry>{}; }
  rondo::Status routes(const std::function<void(const rondo::RouteEntry&)>&) override { return {}; }
  rondo::Result<std::unique_ptr<rondo::Source>> monitor(rondo::Scheduler&, rondo::Priority,
                                                        std::function<void(const rondo::LinkEvent&)>) override {
    return tl::make_unexpected(rondo::Status{rondo::StatusCode::Unavailable, "this plane has no links to watch"});
  }
  std::string describe() const override { return "empty"; }
  std::size_t applied() const { return applied_; }

 private:
  std::size_t applied_ = 0;
};

}  // namespace

int main() {
  EmptyPlane plane;
  rondo::Runtime runtime{rondo::RuntimeOptions{}};
  rondo::Switch device{runtime, plane, {.in_line = true}};
  const rondo::Status started = device.start();
  if (started.code() != rondo::StatusCode::Unavailable) return 1;
  if (!runtime.table("PORT_TABLE").set("Ethernet0", {{"admin_status", "up"}}).ok()) return 2;
  runtime.run_until_idle();
  if (plane.applied() != 0 || device.operations_in_flight() != 0) return 3;
  std::puts("agent: the switch reports what its plane could not do");
  return 0;
}
