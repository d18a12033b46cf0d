// ZmqContext, ZmqSocket, ZmqMessage: libzmq's handles as values that close themselves, and its errors as Status. Nothing here waits, but
// the destructor of a context, for as long as its sockets linger. One thread, that of the scheduler; a context has a thread of libzmq's
// own.
//
// How a socket meets a reactor: its descriptor (ZMQ_FD) becomes readable when something may have changed, edge-triggered whatever the
// reactor does. It is armed again only by looking at everything that was reported: receive() and send() here have done so when they answer
// false. So every turn goes on until it gets that answer.
#pragma once

#include <zmq.h>

#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/result.h"

namespace rondo::store {

/// The error of the libzmq call that failed last; 'what' names the call and its object.
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
  /// libzmq's descriptor of the connection that it came from; -1: unknown.
  int source() const noexcept { return ::zmq_msg_get(&message_, ZMQ_SRCFD); }
  /// Gives the memory back.
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
  /// The endpoint as bound.
  std::string last_endpoint() const;
  int fd() const;

  /// False when nothing waits, or the socket is beyond use.
  bool receive(ZmqMessage& message) noexcept;
  /// Whether receive() would find one. Where it would, the descriptor does not tell of it again.
  bool has_message() const noexcept { return (events() & ZMQ_POLLIN) != 0; }
  /// False when there is no room now.
  bool send(std::string_view bytes, bool more = false) noexcept;

 private:
  int events() const noexcept;

  void* handle_ = nullptr;
};

}  // namespace rondo::store
