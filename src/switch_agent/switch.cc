#include "rondo/switch_agent/switch.h"

#include "switch_agent/agent.h"

namespace rondo {

class Switch::Parts {
 public:
  Parts(Runtime& runtime, DataPlane& plane, switch_agent::SwitchAgentOptions options) : agent(runtime, plane, std::move(options)) {}
  switch_agent::Agent agent;
};

Switch::Switch(Runtime& runtime, DataPlane& plane, const SwitchOptions& options) {
  switch_agent::SwitchAgentOptions given;
  given.mode = options.in_line ? Programmer::Mode::Inline : Programmer::Mode::Thread;
  given.table = options.table;
  given.protocol = options.protocol;
  given.hold = options.hold;
  if (options.operations_max != 0) given.orders_max = options.operations_max;
  parts_ = std::make_unique<Parts>(runtime, plane, std::move(given));
}
Switch::~Switch() = default;

Status Switch::start() { return parts_->agent.start(); }
bool Switch::has_restarted() const noexcept { return parts_->agent.has_restarted(); }
std::size_t Switch::operations_in_flight() const noexcept { return parts_->agent.programmer().in_flight(); }

}  // namespace rondo
