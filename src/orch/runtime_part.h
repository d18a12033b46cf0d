// RuntimePart: an object that belongs to a runtime and ends with it. A component above the Orchs, such as the agents of
// rondo/message/runtime_agents.h, keeps its state of a runtime in one. Runtime's thread.
#pragma once

namespace rondo {

class RuntimePart {
 public:
  RuntimePart() = default;
  /// Called after end(), before the runtime's scheduler and store are destroyed.
  virtual ~RuntimePart() = default;
  RuntimePart(const RuntimePart&) = delete;
  RuntimePart& operator=(const RuntimePart&) = delete;

  /// The runtime ends: its Orchs are destroyed and no turn follows. Scheduler, store and Runtime::find_part can still be used.
  virtual void end() noexcept {}
};

}  // namespace rondo
