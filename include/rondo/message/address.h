// Address: where an agent gets its messages. A value that can be copied, kept and used on any thread, and outlives what it names: whoever
// posts to an agent that has gone is told so. See Agent.
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
class Cell;
/// Puts what lies at 'stored' into the queue of 'cell'; what is left there is the caller's to destroy.
Status post(Cell& cell, const MessageType& type, void* stored);
void count_large(Cell& cell) noexcept;
}  // namespace message

/// Thread-safe as a shared_ptr is.
class Address {
 public:
  /// Nobody's.
  Address() noexcept = default;
  Address(const Address& other) noexcept;
  Address(Address&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  Address& operator=(Address other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~Address();

  /// Puts 'message' behind all that was posted to agents of the same priority before, and returns; its handler runs in a turn of its own.
  /// Any thread; on the agent's own thread, in the turn of an agent, without a lock. Ok also when the type's limit chose to drop or to
  /// merge. ResourceExhausted when the type's limit refuses or the queue is full, NotFound when the agent has no handler for M, has gone
  /// or was stopped (AgentThreads::stop), or was not added yet; the message is then gone. O(1). Allocates for messages that do not
  /// travel inline (kTravelsInline) and for the words of a refusal; std::bad_alloc where there is no memory for them: nothing was posted
  /// then.
  template <class M>
  requires Message<std::remove_cvref_t<M>> Status post(M&& message)
  const {
    using Type = std::remove_cvref_t<M>;
    if (cell_ == nullptr) return nobody();
    if constexpr (kTravelsInline<Type>) {
      Type stored(std::forward<M>(message));
      return rondo::message::post(*cell_, rondo::message::kType<Type>, &stored);
    } else {
      auto stored = std::make_shared<Type>(std::forward<M>(message));
      rondo::message::count_large(*cell_);
      return rondo::message::post(*cell_, rondo::message::kType<Type>, &stored);
    }
  }

  /// Empty for nobody's.
  std::string_view name() const noexcept;
  explicit operator bool() const noexcept { return cell_ != nullptr; }
  friend bool operator==(const Address& a, const Address& b) noexcept { return a.cell_ == b.cell_; }

 private:
  friend class message::Cell;
  explicit Address(message::Cell* cell) noexcept : cell_(cell) {}  // Takes over one reference.
  static Status nobody();
  message::Cell* cell_ = nullptr;
};

}  // namespace rondo
