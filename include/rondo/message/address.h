// Address: names an agent that receives messages. A value that can be copied, kept and used on any thread. It outlives its agent: a post to
// an agent that no longer exists returns an error. See Agent.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "rondo/base/status.h"
#include "rondo/message/message.h"
#include "rondo/sched/priority.h"

namespace rondo {

namespace message {
class AgentState;
/// Moves the message at 'stored' into the queue of 'agent'; the caller destroys what remains at 'stored'.
Status post(AgentState& agent, const MessageType& type, void* stored);
}  // namespace message

/// Thread-safe like a shared_ptr.
class Address {
 public:
  /// The address of no agent.
  Address() noexcept = default;
  Address(const Address& other) noexcept;
  Address(Address&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Address& operator=(Address other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Address();

  /// Puts 'message' behind all messages that were posted to agents of the same priority before, and returns. Its handler runs in a later
  /// turn. Any thread. On the agent's own thread, in the turn of an agent, it takes no lock. Ok also if the limit of the type drops or
  /// merges the message. ResourceExhausted when the limit of the type refuses or the queue is full. NotFound when the agent has no handler
  /// for M, does not exist any more, was stopped (AgentThreads::stop), or was not added yet. After an error the message is lost. O(1).
  /// Allocates for messages that do not travel inline (kTravelsInline) and for error messages. Throws std::bad_alloc if that fails; then
  /// nothing was posted.
  template <class M>
  requires Message<std::remove_cvref_t<M>> Status post(M&& message)
  const {
    using Type = std::remove_cvref_t<M>;
    if (state_ == nullptr) return nobody();
    auto stored = rondo::message::stored<Type>(std::forward<M>(message));
    return rondo::message::post(*state_, rondo::message::kType<Type>, &stored);
  }

  /// Name of the agent; empty for the address of no agent.
  std::string_view name() const noexcept;
  explicit operator bool() const noexcept { return state_ != nullptr; }
  friend bool operator==(const Address& a, const Address& b) noexcept { return a.state_ == b.state_; }

 private:
  friend class TimedMessage;
  friend class message::AgentState;
  explicit Address(message::AgentState* state) noexcept : state_(state) {}  // Takes over one reference.
  static Status nobody();
  message::AgentState* state_ = nullptr;
};

}  // namespace rondo
