// FakeKernel: the other end of a netlink socket, for tests that need answers that no real kernel gives: late, malformed, for another
// request, or none. Tests queue answers before the request, because the real kernel has them ready when send() returns.
#pragma once

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "dataplane/netlink/message.h"
#include "dataplane/netlink/socket.h"

namespace rondo::netlink {

class FakeKernel {
 public:
  FakeKernel() {
    int ends[2] = {-1, -1};
    static_cast<void>(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    ours_ = ends[0];
    theirs_ = ends[1];
  }
  ~FakeKernel() { hang_up(); }
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  /// Returns the end to be tested. Call once.
  Socket socket() { return Socket::adopt(theirs_); }
  void hang_up() {
    if (ours_ >= 0) ::close(ours_);
    ours_ = -1;
  }
  /// False if the datagram does not fit the queue.
  bool queue(std::span<const std::byte> datagram) const {
    return ::send(ours_, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(datagram.size());
  }
  bool queue_error(std::uint32_t sequence, int error_number, std::string_view words) const {
    return queue(error(sequence, error_number, words));
  }
  /// Returns one datagram that was sent to the fake kernel; empty if there is none.
  std::vector<std::byte> take() const {
    std::vector<std::byte> datagram(256 * 1024);
    const ssize_t length = ::recv(ours_, datagram.data(), datagram.size(), MSG_DONTWAIT);
    datagram.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return datagram;
  }

  /// An NLMSG_ERROR in the kernel's format under NETLINK_CAP_ACK and NETLINK_EXT_ACK.
  static std::vector<std::byte> error(std::uint32_t sequence, int error_number, std::string_view words) {
    std::vector<std::byte> buffer(512);
    MessageWriter writer{buffer};
    nlmsgerr body{};
    body.error = -error_number;
    body.msg.nlmsg_seq = sequence;
    writer.begin(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, sequence, body);
    if (!words.empty()) {
      std::vector<char> terminated(words.begin(), words.end());
      terminated.push_back('\0');
      writer.attribute(NLMSGERR_ATTR_MSG, terminated.data(), terminated.size());
    }
    writer.end();
    buffer.resize(writer.bytes().size());
    return buffer;
  }
  /// The last message of a dump.
  static std::vector<std::byte> done(std::uint32_t sequence, int error_number, std::uint16_t flags) {
    std::vector<std::byte> buffer(64);
    MessageWriter writer{buffer};
    writer.begin(NLMSG_DONE, static_cast<std::uint16_t>(NLM_F_MULTI | flags), sequence, int{-error_number});
    writer.end();
    buffer.resize(writer.bytes().size());
    return buffer;
  }

 private:
  int ours_ = -1;
  int theirs_ = -1;
};

}  // namespace rondo::netlink
