// Seat: an agent whose handlers belong to another object with its own lifetime: an Orch. That object must end before the scheduler gives
// another turn, or not before Agents does.
#pragma once

#include <memory>
#include <string>

#include "rondo/message/agents.h"

namespace rondo::message {

class Seat final : public Agent {
 public:
  /// Makes a seat that is not added yet. Asserts that there is a place for it.
  static std::unique_ptr<Seat> make(Agents& agents, std::string name, Priority priority);
  /// Adds the seat; from then on it belongs to its Agents.
  static void take(std::unique_ptr<Seat> seat, Agents& agents);

  Seat(Group& group, std::string name, Priority priority) : Agent(group, std::move(name), priority) {}
  void add(const Handler& handler) { add_handler(handler); }
  void add(const MessageType& type, const Limit& limit, const KeyOf& key) { add_limit(type, limit, key); }
  Status add(const std::shared_ptr<TopicCore>& topic, const Handler& handler) { return subscribe(topic, handler); }
};

}  // namespace rondo::message
