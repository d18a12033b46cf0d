// TopicCore: the subscribers of a topic, in the order of delivery. A publisher copies the pointer to the list and posts without the lock;
// a new subscription makes a new list. O(subscribers).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "message/agent_state.h"
#include "rondo/message/topic.h"

namespace rondo::message {

class TopicCore {
 public:
  explicit TopicCore(std::string name) : name_(std::move(name)), subscribers_(std::make_shared<const Subscribers>()) {}

  const std::string& name() const noexcept { return name_; }
  /// Returns false if the agent has subscribed already.
  bool add(AgentState& agent, const Handler& handler);
  void remove(const AgentState& agent) noexcept;
  Delivery publish(const MessageType& type, const void* original, void (*copy)(void*, const void*)) const;

 private:
  struct Subscriber {
    Subscriber(Address to, const Handler& by) : address(std::move(to)), handler(&by) {}
    const Address address;  // Keeps the agent, and with it the handler, alive.
    const Handler* const handler;
    std::atomic<bool> gone{false};
  };
  using Subscribers = std::vector<std::shared_ptr<Subscriber>>;
  std::shared_ptr<const Subscribers> current() const;

  const std::string name_;
  mutable std::mutex lock_;
  std::shared_ptr<const Subscribers> subscribers_;  // Guarded by lock_.
};

}  // namespace rondo::message
