// OrchMailbox: the agent of a MessagingOrch. Its handlers are those of the Orch, which ends before the scheduler gives another turn.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rondo/message/agents.h"

namespace rondo::message {

class OrchMailbox final : public Agent {
 public:
  OrchMailbox(Group& group, std::string name, Priority priority) : Agent(group, std::move(name), priority) {}
  /// Makes a mailbox that is not added yet. Asserts that there is room for it.
  static std::unique_ptr<OrchMailbox> make(Agents& agents, std::string name, Priority priority);
  /// Adds 'mailbox' to 'agents', which own it from then on.
  static void add(std::unique_ptr<OrchMailbox> mailbox, Agents& agents);

  void add(const Handler& handler) { add_handler(handler); }
  void add(const MessageType& type, const Limit& limit, const KeyOf& key) { add_limit(type, limit, key); }
  Status add(const std::shared_ptr<TopicCore>& topic, const Handler& handler) { return subscribe(topic, handler); }
};

}  // namespace rondo::message
