// Limit: how many messages of one type may wait for one agent, and what becomes of one too many. Counted are those that wait, in the queue
// or parked for another attempt, not the one being handled. A type with a limit takes the queue's lock at either end (some 20 ns each); one
// without is bounded by its queue alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "rondo/message/message.h"

namespace rondo {

/// The answer to one message too many.
enum class Overflow : std::uint8_t {
  Reject,       // The sender is told ResourceExhausted. For what somebody can do again later.
  DropNewest,   // The new one is dropped and counted. For samples, when the first word counts.
  DropOldest,   // The one that has waited longest is dropped and counted, and the new one goes behind the others.
  StopAgent,    // The sender is told, and the agent's group is removed at once, with the reason. For what must not happen.
  StopRuntime,  // The sender is told, and the runtime is stopped (AgentsOptions::on_stop).
};

struct Limit {
  std::size_t most = limits::kMessagesOfType;  // At least 1.
  Overflow overflow = Overflow::Reject;
};

namespace message {

/// How to tell the keys of messages apart. For types that merge by key.
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
