#include "message/agent_state.h"

#include <algorithm>

#include "message/agent_queue.h"
#include "rondo/base/assert.h"

namespace rondo::message {

void AgentState::add_limit(const MessageType& type, Limit limit, KeyOf key) {
  const auto call = [&] { return "agent '" + name + "': limit() or coalesce() of " + name_of(type); };
  RONDO_EXPECT(stage == Stage::Made && group == nullptr, call() + " after its constructor");
  RONDO_EXPECT(limit_of(type) == nullptr, call() + ", which has a limit");
  RONDO_EXPECT(std::ranges::none_of(handlers_, [&](const Handler& handler) { return handler.type == &type; }),
               call() + " after receive() of it");
  limits_.push_back(std::make_unique<TypeLimit>(type, limit, key));
}

TypeLimit* AgentState::limit_of(const MessageType& type) noexcept {
  const auto found = std::ranges::find_if(limits_, [&](const auto& one) { return &one->type() == &type; });
  return found != limits_.end() ? found->get() : nullptr;
}

const Handler& AgentState::keep(Handler handler) {
  const auto known = std::ranges::find_if(
      handlers_, [&](const Handler& one) { return one.type == handler.type && one.call == handler.call && one.object == handler.object; });
  if (known != handlers_.end()) return *known;  // Subscribed before; repeated subscriptions add no handlers.
  handler.limit = limit_of(*handler.type);
  return handlers_.emplace_back(handler);
}

void AgentState::add_handler(Handler handler) {
  RONDO_EXPECT(group == nullptr, "agent '" + name + "': receive() of " + name_of(*handler.type) + " after its constructor");
  RONDO_EXPECT(find(*handler.type) == nullptr, "agent '" + name + "': a second handler of " + name_of(*handler.type));
  by_type_.emplace(handler.type, &keep(handler));
}

void AgentState::DrainTimer::on_due() { agent_.queue->context().lifecycle.request(agent_, AgentState::kRemoveAtOnce); }

}  // namespace rondo::message
