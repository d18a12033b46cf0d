#include "rondo/message/address.h"

#include <cxxabi.h>

#include <cstdlib>

#include "message/agent_queue.h"

namespace rondo {

Address::Address(const Address& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->acquire();
}

Address::~Address() {
  if (state_ != nullptr) state_->release();
}

std::string_view Address::name() const noexcept { return state_ != nullptr ? std::string_view{state_->name} : std::string_view{}; }

Status Address::nobody() { return {StatusCode::NotFound, "the address is empty"}; }

namespace message {

Status post(AgentState& agent, const MessageType& type, void* stored) {
  if (!type.is_inline) agent.queue->count_large();
  const Handler* const handler = agent.find(type);
  if (handler == nullptr)
    return {StatusCode::NotFound, "message " + name_of(type) + " to agent '" + agent.name + "': it has no handler for this type"};
  return agent.queue->post(agent, *handler, stored);
}

std::string name_of(const MessageType& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.info->name(), nullptr, nullptr, &status), &std::free);
  return name != nullptr ? name.get() : type.info->name();
}

}  // namespace message
}  // namespace rondo
