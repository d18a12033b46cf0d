#include "store/zmq/socket.h"

#include <cerrno>

#include "rondo/base/assert.h"

namespace rondo::store {

Status zmq_status(std::string_view what) {
  const int error = ::zmq_errno();
  StatusCode code = StatusCode::Internal;
  switch (error) {
    case EINVAL:
    case EPROTONOSUPPORT:
    case ENOCOMPATPROTO: code = StatusCode::InvalidArgument; break;
    case EADDRINUSE: code = StatusCode::AlreadyExists; break;
    case EADDRNOTAVAIL:
    case ENODEV:
    case ENOENT: code = StatusCode::NotFound; break;
    case EACCES:
    case EPERM: code = StatusCode::PermissionDenied; break;
    case EMFILE:
    case ENOMEM:
    case EMTHREAD: code = StatusCode::ResourceExhausted; break;
    default: break;
  }
  return {code, std::string{what} + ": " + ::zmq_strerror(error), error};
}

ZmqContext::~ZmqContext() {
  if (handle_ == nullptr) return;
  while (::zmq_ctx_term(handle_) != 0 && ::zmq_errno() == EINTR) {
  }
}

Result<ZmqSocket> ZmqSocket::open(const ZmqContext& context, int type) {
  ZmqSocket socket;
  if (context.get() != nullptr) socket.handle_ = ::zmq_socket(context.get(), type);
  if (socket.handle_ == nullptr) return failure(zmq_status("zmq_socket"));
  return socket;
}

void ZmqSocket::close() noexcept {
  if (handle_ != nullptr) ::zmq_close(std::exchange(handle_, nullptr));
}

Status ZmqSocket::set(int option, int value) {
  if (::zmq_setsockopt(handle_, option, &value, sizeof value) == 0) return {};
  return zmq_status("zmq_setsockopt " + std::to_string(option));
}

Status ZmqSocket::set(int option, std::string_view value) {
  if (::zmq_setsockopt(handle_, option, value.data(), value.size()) == 0) return {};
  return zmq_status("zmq_setsockopt " + std::to_string(option));
}

Status ZmqSocket::bind(const std::string& endpoint) {
  return ::zmq_bind(handle_, endpoint.c_str()) == 0 ? Status{} : zmq_status("bind " + endpoint);
}

Status ZmqSocket::connect(const std::string& endpoint) {
  return ::zmq_connect(handle_, endpoint.c_str()) == 0 ? Status{} : zmq_status("connect " + endpoint);
}

std::string ZmqSocket::last_endpoint() const {
  char text[512] = {};
  std::size_t size = sizeof text;
  return ::zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text, &size) == 0 ? std::string{text} : std::string{};
}

int ZmqSocket::fd() const {
  int fd = -1;
  std::size_t size = sizeof fd;
  const int answer = ::zmq_getsockopt(handle_, ZMQ_FD, &fd, &size);
  RONDO_ASSERT(answer == 0);
  return fd;
}

bool ZmqSocket::receive(ZmqMessage& message) noexcept {
  int size = 0;
  do {
    size = ::zmq_msg_recv(&message.message_, handle_, ZMQ_DONTWAIT);
  } while (size < 0 && ::zmq_errno() == EINTR);
  return size >= 0;
}

bool ZmqSocket::send(std::string_view bytes, bool more) noexcept {
  while (::zmq_send(handle_, bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) < 0) {
    if (::zmq_errno() == EINTR) continue;
    // A send without room does not process what the peer's side reported in the last millisecond. Reading the events does, and only that
    // arms the descriptor again.
    if (::zmq_errno() != EAGAIN || (events() & ZMQ_POLLOUT) == 0) return false;
  }
  return true;
}

int ZmqSocket::events() const noexcept {
  int events = 0;
  std::size_t size = sizeof events;
  return ::zmq_getsockopt(handle_, ZMQ_EVENTS, &events, &size) == 0 ? events : 0;
}

}  // namespace rondo::store
