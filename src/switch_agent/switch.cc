#include "rondo/switch_agent/switch.h"

#include <string>
#include <utility>

#include "orch/reports_health.h"
#include "orch/runtime_part.h"
#include "rondo/base/assert.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"
#include "switch_agent/agent.h"

namespace rondo {

class Switch::Impl {
 public:
  Impl(Runtime& runtime, DataPlane& target, switch_agent::SwitchAgentOptions options)
      : claim(target), agent(runtime, target, std::move(options)) {}
  /// The claim of the data plane, which ends after the agent.
  struct Claim {
    explicit Claim(DataPlane& of) : plane(of) {}
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { give_up(); }
    void give_up() {
      if (std::exchange(is_held, false)) plane.release();
    }
    Status take() {
      Status claimed = plane.claim();
      is_held = claimed.ok();
      return claimed.with_context("claiming the data plane");
    }
    DataPlane& plane;
    bool is_held = false;
  };
  Claim claim;
  switch_agent::SwitchAgent agent;
};

/// The runtime's part: it asserts the order in which both end.
class Switch::Tie final : public RuntimePart, public Source, public ReportsHealth {
 public:
  Tie() : Source("switch", Priority::p0) { go_before_all(); }
  void switch_ends() {
    has_ended_ = true;
    wake();
  }
  Turn run(const Budget&) override {
    RONDO_EXPECT(!has_ended_, "the Runtime runs a turn after its Switch was destroyed; destroy the Switch after the last turn");
    return {};
  }
  void end() noexcept override { RONDO_EXPECT(has_ended_, "the Runtime is destroyed before its Switch; destroy the Switch first"); }
  Status health() const override {
    if (was_started) return {};
    if (!failed.ok()) return failed.with_context("the start of the switch failed, so nothing is programmed (Switch::start)");
    return {StatusCode::FailedPrecondition, "the switch was not started, so nothing is programmed (Switch::start)"};
  }
  bool was_started = false;
  Status failed;  // What the last start() returned, if it failed.

 private:
  bool has_ended_ = false;
};

Switch::Switch(Runtime& runtime, DataPlane& plane, const SwitchOptions& options) {
  const std::uint8_t known = plane.protocol();
  RONDO_EXPECT(known == 0 || known == options.protocol, "SwitchOptions::protocol is " + std::to_string(options.protocol) +
                                                            ", and its data plane (" + plane.describe() + ") has protocol " +
                                                            std::to_string(known) + ": both need the same number");
  switch_agent::SwitchAgentOptions given;
  given.in_line = options.in_line;
  given.table = options.table;
  given.protocol = options.protocol;
  given.hold = options.hold;
  if (options.operations_max != 0) given.orders_max = options.operations_max;
  impl_ = std::make_unique<Impl>(runtime, plane, std::move(given));
  auto tie = std::make_unique<Tie>();
  runtime.scheduler().add(*tie);
  tie_ = tie.get();
  runtime.add_part(std::move(tie));
}
Switch::~Switch() { tie_->switch_ends(); }

Status Switch::start() {
  if (tie_->was_started) return {StatusCode::FailedPrecondition, "Switch::start was called before"};
  tie_->failed = impl_->claim.take();
  if (!tie_->failed.ok()) return tie_->failed;
  tie_->failed = impl_->agent.start();
  tie_->was_started = tie_->failed.ok();
  if (!tie_->was_started) impl_->claim.give_up();
  return tie_->failed;
}
bool Switch::has_restarted() const noexcept { return impl_->agent.has_restarted(); }
std::size_t Switch::operations_in_flight() const noexcept { return impl_->agent.programmer().in_flight(); }

}  // namespace rondo
