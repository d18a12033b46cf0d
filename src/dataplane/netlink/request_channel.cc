// request_channel.cc: see request_channel.h.
#include "dataplane/netlink/request_channel.h"

#include <utility>

namespace rondo::netlink {

namespace {
constexpr Duration kAnswerWait = 5s;
}  // namespace

Result<Message> RequestChannel::ask(MessageWriter& writer) {
  if (buffer_ == nullptr) buffer_ = std::make_unique<std::byte[]>(kDatagramBytes);
  if (!socket_) {
    auto opened = Socket::open(where_, {});
    if (!opened) return failure(std::move(opened.error()));
    socket_ = std::move(*opened);
  }
  writer.end();
  const auto fail = [this](Status status) {
    socket_.reset();
    return failure(std::move(status));
  };
  if (Status sent = socket_->send(writer.bytes()); !sent.ok()) return fail(std::move(sent));
  const auto datagram = socket_->receive({buffer_.get(), kDatagramBytes}, kAnswerWait);
  if (!datagram) return fail(datagram.error());
  MessageReader reader{*datagram};
  Message message;
  if (!reader.next(message) || message.header.nlmsg_seq != sequence_) {
    return fail(Status{StatusCode::DeadlineExceeded, "the kernel does not answer a look-up"});
  }
  return message;
}

}  // namespace rondo::netlink
