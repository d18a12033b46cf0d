// DumpChannel: reads objects from the kernel over its own socket. It repeats a dump that the kernel reports as inconsistent
// (NLM_F_DUMP_INTR), a bounded number of times. A missing answer ends in DeadlineExceeded. After any failure the next dump uses a new
// socket, so that no late message of the old dump is mistaken for its answer. One thread at a time; blocks while the kernel answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "dataplane/netlink/message.h"
#include "dataplane/netlink/socket.h"

namespace rondo::netlink {

class DumpChannel {
 public:
  explicit DumpChannel(NetworkNamespace where, Duration answer_wait = 5s);
  /// For tests that simulate the kernel: uses 'socket' until the first failure.
  DumpChannel(NetworkNamespace where, Duration answer_wait, Socket socket);

  struct Dump {
    /// Writes the request with flags NLM_F_REQUEST | NLM_F_DUMP and the given sequence number: begin(), attributes, not end().
    std::function<void(MessageWriter& writer, std::uint32_t sequence)> request;
    /// Called before the first message of each attempt; must discard everything visited so far.
    std::function<void()> restart;
    std::function<void(const Message& message)> visit;
  };
  Status run(const Dump& dump);

 private:
  enum class Outcome { Complete, Interrupted };
  Result<Outcome> attempt(const Dump& dump);
  Result<Outcome> read_answers(const Dump& dump, std::uint32_t sequence);

  NetworkNamespace where_;
  Duration answer_wait_;
  std::optional<Socket> socket_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace rondo::netlink
