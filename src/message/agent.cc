#include "rondo/message/agent.h"

#include <algorithm>

#include "message/agents_impl.h"
#include "rondo/base/assert.h"
#include "rondo/message/agents.h"
#include "rondo/message/limits.h"

namespace rondo {

Agent::Agent(AgentGroup& group, std::string name, Priority priority, AgentOptions options) : options_(options) {
  if (name.empty()) throw message::FailedAgent({StatusCode::InvalidArgument, "an agent: its name is empty"});
  if (options.retries_max > limits::kMessageRetriesMost) {
    throw message::FailedAgent({StatusCode::InvalidArgument, "agent '" + name + "': retries_max is " + std::to_string(options.retries_max) +
                                                                 ", and may be at most " + std::to_string(limits::kMessageRetriesMost)});
  }
  state_ = &group.agents().impl_->make_state(*this, std::move(name), priority);
}

Agent::~Agent() {
  for (const std::shared_ptr<message::TopicCore>& topic : topics_) topic->remove(*state_);
  // An agent that was never added is known only to the holders of its address, and its figures are not reported.
  if (state_->group == nullptr) state_->queue->context().core.forget_unadded(*state_);
}

const std::string& Agent::name() const noexcept { return state_->name; }
Priority Agent::priority() const noexcept { return state_->priority; }
Address Agent::address() const noexcept { return state_->address(); }

Scheduler& Agent::scheduler() const {
  RONDO_EXPECT(state_->group != nullptr, "agent '" + name() + "': scheduler(), send_later() or send_every() in its constructor");
  return state_->queue->context().scheduler;
}

void Agent::add_handler(message::Handler handler) {
  if (handler.takes_over && options_.reaction == Reaction::Retry) {
    throw message::FailedAgent({StatusCode::InvalidArgument, "agent '" + name() + "': its handler takes messages " +
                                                                 name_of(*handler.type) +
                                                                 " over, so none of them can be tried again (Reaction::Retry)"});
  }
  state_->add_handler(handler);
}

void Agent::add_limit(const message::MessageType& type, Limit limit, message::KeyOf key) { state_->add_limit(type, limit, key); }

Status Agent::subscribe(const std::shared_ptr<message::TopicCore>& topic, message::Handler handler) {
  if (std::ranges::find(topics_, topic) != topics_.end()) {
    return {StatusCode::AlreadyExists, "agent '" + name() + "': it has subscribed to topic '" + topic->name() + "'"};
  }
  topics_.reserve(topics_.size() + 1);
  RONDO_ASSERT(topic->add(*state_, state_->keep(handler)));
  topics_.push_back(topic);  // Nothing after this fails.
  return {};
}

void Agent::unsubscribe(const std::shared_ptr<message::TopicCore>& topic) noexcept {
  if (std::erase(topics_, topic) > 0) topic->remove(*state_);
}

}  // namespace rondo
