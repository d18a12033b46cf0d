// Answer: the handle by which a handler answers one request of the HTTP server, in its call or in a later turn.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "http/message.h"
#include "rondo/base/time.h"

namespace rondo::http {

/// Turns bytes of the other side of a relay into bytes for the client; an empty text: none. nullopt ends the relay after what was returned
/// before. Called on the server's thread. It may keep a state, and must be as short as a handler.
using Convert = std::function<std::optional<std::string>(std::string_view bytes)>;

/// Makes a response of bytes of another side; empty while it is incomplete. No bytes: the other side has ended, and there must be a
/// response. Called on the server's thread. It may keep a state, and must be as short as a handler.
using Collect = std::function<std::optional<Response>(std::string_view bytes)>;

/// Takes the answer of the request that is under way. Implemented by the connection.
class AnswerSink {
 public:
  /// One of these is called, at most once for a request.
  virtual void answered(Response response) noexcept = 0;
  virtual void relayed(Response head, UniqueFd other, Convert convert) noexcept = 0;
  virtual void asked(UniqueFd other, Collect collect, Response late, Duration limit) noexcept = 0;
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
  /// Sends 'head' and its body without a length, and then moves bytes between the client and 'other', a stream socket, until one of them
  /// ends; then closes both. The status is 101, with a field Upgrade, or 200. Ignored, and refused, as in send(); 'other' is closed then.
  ///   without 'convert'  bytes go in both directions unchanged, first those that the client sent after its request. When the client ends
  ///                      its output, the relay ends after those bytes: a client that has left looks like one that only listens.
  ///   with 'convert'     for streams of events: what it returns goes to the client. Bytes of the client are dropped. If nothing was sent
  ///                      for ServerOptions::relay_beat, the client gets the comment ": ".
  /// A client that takes no byte for ServerOptions::stall_time is closed; there is no other limit of time. To HEAD only 'head' is sent.
  void relay(Response head, UniqueFd other, Convert convert = {}) noexcept {
    if (const std::shared_ptr<Slot> slot = std::exchange(slot_, nullptr); slot && slot->sink != nullptr) {
      std::exchange(slot->sink, nullptr)->relayed(std::move(head), std::move(other), std::move(convert));
    }
  }
  /// Sends the response that 'collect' makes of the bytes of 'other', a stream socket, which is closed then, or when the client is gone.
  /// After 'limit' without a response the client gets 'late'; zero: after ServerOptions::ask_time. Ignored as in send().
  void ask(UniqueFd other, Collect collect, Response late, Duration limit = {}) noexcept {
    if (const std::shared_ptr<Slot> slot = std::exchange(slot_, nullptr); slot && slot->sink != nullptr) {
      std::exchange(slot->sink, nullptr)->asked(std::move(other), std::move(collect), std::move(late), limit);
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
