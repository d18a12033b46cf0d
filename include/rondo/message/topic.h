// Topic: a named place to publish messages of one type to all subscribers. Agents::topic makes it; a value that can be copied and used on
// any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "rondo/message/address.h"
#include "rondo/message/message.h"

namespace rondo {

class Agent;
class Agents;
class MessagingOrch;

/// Result of one publish().
struct Delivery {
  std::size_t delivered = 0;  // Subscribers whose queue took the message, or whose limit dropped or merged it.
  std::size_t refused = 0;    // Subscribers whose limit refused the message, whose queue is full, or for which it could not be copied.
};

namespace message {

class TopicCore;
std::string_view name_of(const TopicCore& topic) noexcept;
/// 'copy' constructs the stored message of one subscriber from 'original'.
Delivery publish(const TopicCore& topic, const MessageType& type, const void* original, void (*copy)(void* to, const void* original));

}  // namespace message

template <class M>
class Topic {
 public:
  /// Delivers to every subscriber, from the highest priority down; those of one priority in the order in which they subscribed. Any thread.
  /// Each subscriber gets a copy if the message travels inline; otherwise all share one allocation. Nothing else is allocated, even if a
  /// subscriber refuses. If a copy throws, it counts as refused. O(subscribers).
  Delivery publish(M value) const {
    static_assert(Message<M> && std::is_copy_constructible_v<message::Stored<M>>, "what is published is copied for each subscriber");
    message::Stored<M> original = message::stored<M>(std::move(value));
    return message::publish(*core_, message::kType<M>, &original, [](void* to, const void* from) {
      ::new (to) message::Stored<M>(*static_cast<const message::Stored<M>*>(from));
    });
  }
  std::string_view name() const noexcept { return message::name_of(*core_); }

 private:
  friend class Agent;
  friend class Agents;
  friend class MessagingOrch;
  explicit Topic(std::shared_ptr<message::TopicCore> core) : core_(std::move(core)) {}
  std::shared_ptr<message::TopicCore> core_;
};

}  // namespace rondo
