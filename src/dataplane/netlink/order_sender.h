// OrderSender: executes orders in sequence, up to 'batch' in one send, without acknowledgements. A successful request leaves no answer,
// and a failed one leaves its sequence number, errno and text. The kernel continues after a failure, so a send is no transaction. One
// thread at a time. Beyond the kernel's work it costs about 20 ns a route and two system calls a send. It allocates only when an order
// fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/op.h"

namespace rondo::netlink {

class OrderSender {
 public:
  /// 'batch' is 1..limits::kNetlinkBatch: more could overrun the queue of errors.
  OrderSender(Socket socket, ObjectMarks marks, std::size_t batch);

  /// Executes the orders and fills in each status. Blocks while the kernel works.
  void apply(std::span<Operation> ops);

  /// Returns how many route creations were refused since the last call because a route is present.
  std::size_t take_existing() noexcept { return std::exchange(existing_, 0); }
  /// Answers that match no order of their send; expected to stay 0.
  std::uint64_t strays() const noexcept { return strays_; }
  /// Sends whose errors overran the socket, so that their orders were repeated one by one.
  std::uint64_t overruns() const noexcept { return overruns_; }

 private:
  void add(Operation& op);
  void flush();
  void repeat_one_by_one();
  bool drain();  // Returns false if answers were lost.
  void take_answers(std::span<const std::byte> datagram);

  Socket socket_;
  const ObjectMarks marks_;
  const std::size_t batch_;
  std::unique_ptr<std::byte[]> out_;
  std::unique_ptr<std::byte[]> in_;
  MessageWriter writer_;
  std::vector<Operation*> sent_;  // sent_[i] has the sequence number first_sequence_ + i.
  std::uint32_t first_sequence_ = 1;
  std::size_t existing_ = 0;
  std::uint64_t strays_ = 0;
  std::uint64_t overruns_ = 0;
};

}  // namespace rondo::netlink
