#include "rondo/message/topic.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "message/agent_queue.h"
#include "message/topic_core.h"
#include "rondo/message/limits.h"

namespace rondo::message {

std::shared_ptr<const TopicCore::Subscribers> TopicCore::current() const {
  const std::lock_guard guard(lock_);
  return subscribers_;
}

bool TopicCore::add(AgentState& agent, const Handler& handler) {
  auto subscriber = std::make_shared<Subscriber>(agent.address(), handler);
  // Repeats if another thread changed the list first; the lock is not held during the allocation.
  for (;;) {
    const std::shared_ptr<const Subscribers> before = current();
    auto after = std::make_shared<Subscribers>();
    after->reserve(before->size() + 1);
    for (const auto& one : *before) {
      if (one->gone.load(std::memory_order_relaxed)) continue;
      if (AgentState::of(one->address) == &agent) return false;
      after->push_back(one);
    }
    const auto behind =
        std::ranges::find_if(*after, [&](const auto& one) { return AgentState::of(one->address)->priority < agent.priority; });
    after->insert(behind, subscriber);
    const std::lock_guard guard(lock_);
    if (subscribers_ != before) continue;
    subscribers_ = std::move(after);
    return true;
  }
}

/// Allocates nothing: a subscriber that has gone is skipped, and left out of the next list.
void TopicCore::remove(const AgentState& agent) noexcept {
  const std::shared_ptr<const Subscribers> all = current();
  for (const auto& one : *all) {
    if (AgentState::of(one->address) == &agent) one->gone.store(true, std::memory_order_relaxed);
  }
  // A list made in between shares this subscriber and its mark.
}

Delivery TopicCore::publish(const MessageType& type, const void* original, void (*copy)(void*, const void*)) const {
  Delivery delivery;
  const std::shared_ptr<const Subscribers> all = current();
  for (const auto& one : *all) {
    if (one->gone.load(std::memory_order_relaxed)) continue;
    alignas(16) std::byte stored[limits::kInlineMessageBytes];
    try {
      copy(stored, original);
    } catch (...) {
      ++delivery.refused;
      continue;
    }
    AgentState& agent = *AgentState::of(one->address);
    const StatusCode code = agent.queue->offer(agent, *one->handler, stored);
    if (type.destroy != nullptr) type.destroy(stored);
    if (code == StatusCode::Ok) {
      ++delivery.delivered;
    } else if (code != StatusCode::NotFound) {
      ++delivery.refused;
    }
  }
  return delivery;
}

std::string_view name_of(const TopicCore& topic) noexcept { return topic.name(); }

Delivery publish(const TopicCore& topic, const MessageType& type, const void* original, void (*copy)(void* to, const void* original)) {
  return topic.publish(type, original, copy);
}

}  // namespace rondo::message
