// Limit: how many messages of one type may wait for one agent, and what happens to one too many. It counts messages that wait in the queue
// or are parked for a retry, not the one being handled. A type with a limit takes the queue's lock at both ends (about 20 ns each); one
// without is limited by its queue only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "rondo/message/limits.h"
#include "rondo/message/message.h"

namespace rondo {

/// What happens to one message too many.
enum class Overflow : std::uint8_t {
  Reject,      // The sender gets ResourceExhausted. For work that the sender can submit again later.
  DropNewest,  // The new message is dropped and counted. For samples of which the first counts.
  DropOldest,  // The message that has waited longest is dropped and counted, and the new one is queued behind the others.
  // The sender gets the error, and the agent's group is removed immediately, with the reason. For conditions that must never occur.
  StopAgent,
  StopRuntime,  // The sender gets the error, and the runtime is stopped (AgentsOptions::on_stop).
};

struct Limit {
  std::size_t most = limits::kMessagesOfType;  // At least 1.
  Overflow overflow = Overflow::Reject;
};

namespace message {

/// Hash and equality of message keys, for types that merge by key.
struct KeyOf {
  std::size_t (*hash)(void* stored) = nullptr;
  bool (*same)(void* one, void* other) = nullptr;
};

template <class M, auto Key>
inline constexpr KeyOf kKeyOf{[](void* stored) -> std::size_t {
                                const M& message = value_of<M>(stored);
                                return std::hash<std::remove_cvref_t<decltype(std::invoke(Key, message))>>{}(std::invoke(Key, message));
                              },
                              [](void* one, void* other) -> bool {
                                const M& a = value_of<M>(one);
                                const M& b = value_of<M>(other);
                                return std::invoke(Key, a) == std::invoke(Key, b);
                              }};

}  // namespace message
}  // namespace rondo
