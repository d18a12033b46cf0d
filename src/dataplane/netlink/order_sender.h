// OrderSender: executes orders in the order given, up to 'batch' in one send, without acknowledgements: a request that succeeds leaves no
// answer, one that fails leaves its sequence number, errno and words. The kernel goes on after a failure, so a send is no transaction.
// (Data plane specification A, "Which tricks matter" 1 to 5.) One thread at a time. Beyond the kernel's work about 20 ns a route and two
// system calls a send; no allocation unless an order fails.
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

  /// Executes and fills in each status. Blocks while the kernel works.
  void apply(std::span<Operation> ops);

  /// Creations of routes that were refused since the last call because a route is there.
  std::size_t take_existing() noexcept { return std::exchange(existing_, 0); }
  /// Answers that matched no order of their send; expected to stay 0.
  std::uint64_t strays() const noexcept { return strays_; }
  /// Sends whose errors overran the socket and that were repeated one by one.
  std::uint64_t overruns() const noexcept { return overruns_; }

 private:
  void add(Operation& op);
  void flush();
  void repeat_one_by_one();
  bool drain();  // False when answers were lost.
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
