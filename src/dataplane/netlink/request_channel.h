// RequestChannel: one request to the kernel and its one answer, on a socket of its own. For look-ups of the programming thread. One thread;
// blocks while the kernel answers, about 5 us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/netlink/message.h"
#include "dataplane/netlink/network_namespace.h"
#include "dataplane/netlink/socket.h"

namespace rondo::netlink {

class RequestChannel {
 public:
  /// 'where' must outlive it.
  explicit RequestChannel(const NetworkNamespace& where) : where_(where) {}

  /// The sequence number that the next request must have.
  std::uint32_t next_sequence() noexcept { return ++sequence_; }
  /// Ends and sends the message in 'writer', and returns the answer, which is valid until the next call. After a failure the next request
  /// uses a new socket, so that no late answer is taken for its own.
  Result<Message> ask(MessageWriter& writer);

 private:
  const NetworkNamespace& where_;
  std::optional<Socket> socket_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace rondo::netlink
