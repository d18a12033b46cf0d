// ZmqContext, ZmqSocket, ZmqMessage: libzmq's handles as values that close themselves, and its errors as Status. No call blocks, except the
// destructor of a context, while its sockets linger. All calls are made on the scheduler's thread; a context also has a thread of libzmq.
//
// Use with a reactor: the socket's descriptor (ZMQ_FD) becomes readable when something may have changed, edge-triggered whatever the
// reactor's mode. It is armed again only after everything reported has been processed: when receive() or send() here returns false. So
// every turn must continue until it gets false.
#pragma once

#include <zmq.h>

#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/result.h"

namespace rondo::store {

/// The error of the last failed libzmq call; 'what' names the call and its object.
Status zmq_status(std::string_view what);

class ZmqContext {
 public:
  ZmqContext() : handle_(::zmq_ctx_new()) {}
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  void* get() const noexcept { return handle_; }

 private:
  void* handle_;
};

/// A received message, or one part of it.
class ZmqMessage {
 public:
  ZmqMessage() noexcept { ::zmq_msg_init(&message_); }
  ~ZmqMessage() { ::zmq_msg_close(&message_); }
  ZmqMessage(const ZmqMessage&) = delete;
  ZmqMessage& operator=(const ZmqMessage&) = delete;

  std::string_view bytes() const noexcept {
    return {static_cast<const char*>(::zmq_msg_data(const_cast<zmq_msg_t*>(&message_))), ::zmq_msg_size(&message_)};
  }
  /// Another part of the same message follows.
  bool more() const noexcept { return ::zmq_msg_more(&message_) != 0; }
  /// libzmq's descriptor of the connection from which the message arrived; -1: unknown.
  int source() const noexcept { return ::zmq_msg_get(&message_, ZMQ_SRCFD); }
  /// Frees the message's memory.
  void clear() noexcept {
    ::zmq_msg_close(&message_);
    ::zmq_msg_init(&message_);
  }

 private:
  friend class ZmqSocket;
  zmq_msg_t message_;
};

class ZmqSocket {
 public:
  ZmqSocket() noexcept = default;
  static Result<ZmqSocket> open(const ZmqContext& context, int type);
  ZmqSocket(ZmqSocket&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ZmqSocket& operator=(ZmqSocket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~ZmqSocket() { close(); }

  void close() noexcept;
  void* get() const noexcept { return handle_; }
  Status set(int option, int value);
  Status set(int option, std::string_view value);
  Status bind(const std::string& endpoint);
  Status connect(const std::string& endpoint);
  /// The endpoint as bound, with the actual port.
  std::string last_endpoint() const;
  int fd() const;

  /// False when no message waits, or the socket is unusable.
  bool receive(ZmqMessage& message) noexcept;
  /// True if receive() would return a message. If it would, the descriptor does not report that message again.
  bool has_message() const noexcept { return (events() & ZMQ_POLLIN) != 0; }
  /// False when there is no room now.
  bool send(std::string_view bytes, bool more = false) noexcept;

 private:
  int events() const noexcept;

  void* handle_ = nullptr;
};

}  // namespace rondo::store
