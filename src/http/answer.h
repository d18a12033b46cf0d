// Answer: the handle by which a handler answers one request of the HTTP server, in its call or in a later turn.
#pragma once

#include <memory>
#include <utility>

#include "http/message.h"

namespace rondo::http {

/// Takes the answer of the request that is under way. Implemented by the connection.
class AnswerSink {
 public:
  /// One of these is called, at most once for a request.
  virtual void answered(Response response) noexcept = 0;
  virtual void dropped() noexcept = 0;

 protected:
  ~AnswerSink() = default;
};

/// Move-only. An Answer that is destroyed unused answers 500. Only on the thread on which it was given. It may outlive the connection and
/// the server; then the answer is ignored.
class Answer {
 public:
  /// The sink, or null when nobody waits any more. Shared by a connection and its Answer.
  struct Slot {
    AnswerSink* sink = nullptr;
  };

  Answer() noexcept = default;
  explicit Answer(std::shared_ptr<Slot> slot) noexcept : slot_(std::move(slot)) {}
  Answer(Answer&&) noexcept = default;
  Answer& operator=(Answer&& other) noexcept {
    if (this != &other) {
      drop();
      slot_ = std::move(other.slot_);
    }
    return *this;
  }
  ~Answer() { drop(); }

  /// Sends 'response'. A second call is ignored, as is an answer to a client that is gone. A response that cannot be sent (an unknown
  /// status, a malformed field, a field of the server's) becomes a 500.
  void send(Response response) noexcept {
    if (const std::shared_ptr<Slot> slot = std::exchange(slot_, nullptr); slot && slot->sink != nullptr) {
      std::exchange(slot->sink, nullptr)->answered(std::move(response));
    }
  }
  /// False if the client is gone, or the request was answered.
  bool is_awaited() const noexcept { return slot_ && slot_->sink != nullptr; }

 private:
  void drop() noexcept {
    if (slot_ && slot_->sink != nullptr) std::exchange(slot_->sink, nullptr)->dropped();
    slot_.reset();
  }

  std::shared_ptr<Slot> slot_;
};

}  // namespace rondo::http
