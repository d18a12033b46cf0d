// dump.cc: see dump.h.
#include "dataplane/netlink/dump.h"

#include <utility>

#include "dataplane/netlink/decode.h"

namespace rondo::netlink {

namespace {
// Measured under churn: a handful of attempts. If this many fail, the tables change faster than they can be read.
constexpr int kAttemptsMax = 32;
constexpr std::size_t kRequestBytes = 256;
// Datagrams without a message for this dump. A socket of our own gets none; the bound keeps an endless stream from blocking us.
constexpr int kForeignMax = 64;
}  // namespace

DumpChannel::DumpChannel(NetworkNamespace where, Duration answer_wait)
    : where_(std::move(where)), answer_wait_(answer_wait), buffer_(std::make_unique<std::byte[]>(kDatagramBytes)) {}

DumpChannel::DumpChannel(NetworkNamespace where, Duration answer_wait, Socket socket) : DumpChannel(std::move(where), answer_wait) {
  socket_ = std::move(socket);
}

Status DumpChannel::run(const Dump& dump) {
  for (int i = 0; i < kAttemptsMax; ++i) {
    auto outcome = attempt(dump);
    if (!outcome) {
      socket_.reset();
      return std::move(outcome.error());
    }
    if (*outcome == Outcome::Complete) return {};
  }
  return Status{StatusCode::Unavailable, "the kernel's tables changed during each of " + std::to_string(kAttemptsMax) + " dumps"};
}

Result<DumpChannel::Outcome> DumpChannel::attempt(const Dump& dump) {
  if (!socket_) {
    auto opened = Socket::open(where_, {});
    if (!opened) return failure(std::move(opened.error()));
    socket_ = std::move(*opened);
  }
  dump.restart();
  std::byte request[kRequestBytes];
  MessageWriter writer{request};
  const std::uint32_t sequence = ++sequence_;
  dump.request(writer, sequence);
  if (!writer.end()) return failure(StatusCode::Internal, "a dump request is too long");
  if (Status sent = socket_->send(writer.bytes()); !sent.ok()) return failure(std::move(sent));
  return read_answers(dump, sequence);
}

Result<DumpChannel::Outcome> DumpChannel::read_answers(const Dump& dump, std::uint32_t sequence) {
  bool interrupted = false;
  for (int foreign = 0; foreign < kForeignMax; ++foreign) {
    const auto datagram = socket_->receive({buffer_.get(), kDatagramBytes}, answer_wait_);
    if (!datagram) return failure(datagram.error());
    if (datagram->empty()) return failure(StatusCode::DeadlineExceeded, "the kernel did not finish a dump in time");
    MessageReader reader{*datagram};
    for (Message message; reader.next(message);) {
      if (message.header.nlmsg_seq != sequence) continue;
      foreign = -1;  // This datagram was for this dump.
      interrupted = interrupted || (message.header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (message.header.nlmsg_type != NLMSG_DONE && message.header.nlmsg_type != NLMSG_ERROR) {
        dump.visit(message);
        continue;
      }
      const auto answer = decode_answer(message);
      if (!answer) return failure(StatusCode::DataLoss, "the end of a dump is malformed");
      if (answer->error_number != 0) return failure(status_from_errno(answer->error_number, "dump: " + answer->words));
      return interrupted ? Outcome::Interrupted : Outcome::Complete;
    }
    if (reader.is_malformed()) return failure(StatusCode::DataLoss, "a netlink datagram is malformed");
  }
  return failure(StatusCode::DataLoss, "the answers of a dump are not for us");
}

}  // namespace rondo::netlink
