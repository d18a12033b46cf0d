#include "rondo/message/runtime_agents.h"

#include <memory>
#include <new>
#include <string>
#include <typeinfo>
#include <utility>

#include "orch/handler_fault.h"
#include "orch/runtime_part.h"
#include "rondo/base/assert.h"

namespace rondo {

namespace {

/// Reports a message whose handler threw as a reject.
void report(Runtime& runtime, const MessageFault& fault) noexcept {
  try {
    std::string where{fault.agent};
    where.append(" ").append(fault.message);
    runtime.report_reject(fault.agent, Change::event("message", fault.message, {}), status_of_exception(fault.error).with_context(where));
  } catch (const std::bad_alloc&) {  // The exception is counted without its text.
  }
}

class RuntimeAgents final : public RuntimePart {
 public:
  RuntimeAgents(Runtime& runtime, AgentsOptions options)
      : owned_(std::make_unique<Agents>(runtime.scheduler(), std::move(options))), agents_(*owned_) {}
  /// Agents that finish may call agents_of() meanwhile.
  void end() noexcept override { owned_.reset(); }
  Agents& agents() noexcept { return agents_; }

 private:
  std::unique_ptr<Agents> owned_;
  Agents& agents_;
};

}  // namespace

Agents& agents_of(Runtime& runtime) {
  RuntimePart* const known = runtime.find_part(typeid(RuntimeAgents));
  return known != nullptr ? static_cast<RuntimeAgents*>(known)->agents() : make_agents(runtime, {});
}

Agents& make_agents(Runtime& runtime, AgentsOptions options) {
  RONDO_EXPECT(runtime.find_part(typeid(RuntimeAgents)) == nullptr, "make_agents(): the runtime has its agents already");
  if (!options.on_fault) options.on_fault = [&runtime](const MessageFault& fault) { report(runtime, fault); };
  auto made = std::make_unique<RuntimeAgents>(runtime, std::move(options));
  Agents& agents = made->agents();
  runtime.add_part(std::move(made));
  return agents;
}

}  // namespace rondo
