// order_sender.cc: see order_sender.h.
#include "dataplane/netlink/order_sender.h"

#include <cerrno>
#include <utility>

#include "dataplane/kernel_status.h"
#include "dataplane/netlink/decode.h"
#include "dataplane/order_check.h"
#include "rondo/base/assert.h"
#include "rondo/dataplane/limits.h"

namespace rondo::netlink {

namespace {
// 256 routes take 14 KiB; the largest group 8 KiB. Far below the default send buffer (208 KiB).
constexpr std::size_t kSendBytes = 64 * 1024;
}  // namespace

OrderSender::OrderSender(Socket socket, ObjectMarks marks, std::size_t batch)
    : socket_(std::move(socket)),
      marks_(marks),
      batch_(batch),
      out_(std::make_unique<std::byte[]>(kSendBytes)),
      in_(std::make_unique<std::byte[]>(kDatagramBytes)),
      writer_({out_.get(), kSendBytes}) {
  RONDO_ASSERT(batch_ >= 1 && batch_ <= limits::kNetlinkBatch);
  sent_.reserve(batch_);
}

void OrderSender::apply(std::span<Operation> ops) {
  for (Operation& op : ops) add(op);
  flush();
}

void OrderSender::add(Operation& op) {
  op.status = check_order(op.order);
  if (!op.status.ok()) return;
  if (sent_.size() == batch_) flush();
  const auto sequence = [this] { return first_sequence_ + static_cast<std::uint32_t>(sent_.size()); };
  if (!encode(writer_, op.order, sequence(), marks_)) {
    flush();
    const bool fits = encode(writer_, op.order, sequence(), marks_);
    RONDO_ASSERT(fits);  // check_order() bounds every order far below kSendBytes.
  }
  sent_.push_back(&op);
}

void OrderSender::flush() {
  if (sent_.empty()) return;
  const Status status = socket_.send(writer_.bytes());
  if (!status.ok()) {
    for (Operation* const op : sent_) op->status = status.with_context(to_string(op->order));
  }
  const bool complete = drain();
  first_sequence_ += static_cast<std::uint32_t>(sent_.size());
  if (!complete && sent_.size() > 1) repeat_one_by_one();
  writer_.clear();
  sent_.clear();
}

// Called when the kernel lost an answer, so that it is unknown which order failed. Sends each order alone, because the answer to a single
// order always fits. That is safe: a repeated Set changes nothing, and a repeated Delete returns NotFound, which callers treat as done.
// Happens only with a receive buffer hundreds of times smaller than ours.
void OrderSender::repeat_one_by_one() {
  ++overruns_;
  const std::vector<Operation*> again = std::exchange(sent_, {});
  sent_.reserve(batch_);
  for (Operation* const op : again) {
    writer_.clear();
    sent_.clear();
    add(*op);
    flush();
  }
}

bool OrderSender::drain() {
  bool complete = true;
  for (;;) {
    const auto datagram = socket_.receive({in_.get(), kDatagramBytes}, Duration::zero());
    if (datagram && datagram->empty()) return complete;
    if (datagram) {
      take_answers(*datagram);
    } else if (datagram.error().code() == StatusCode::DataLoss) {
      complete = false;
    } else {
      // The socket is no longer usable: no order of this send may count as done.
      for (Operation* const op : sent_) {
        if (op->status.ok()) op->status = datagram.error().with_context(to_string(op->order));
      }
      return true;
    }
  }
}

void OrderSender::take_answers(std::span<const std::byte> datagram) {
  MessageReader reader{datagram};
  for (Message message; reader.next(message);) {
    const auto answer = message.header.nlmsg_type == NLMSG_ERROR ? decode_answer(message) : std::nullopt;
    const std::uint32_t slot = answer ? answer->sequence - first_sequence_ : UINT32_MAX;
    if (slot >= sent_.size()) {
      ++strays_;
      continue;
    }
    if (answer->error_number == 0) continue;
    sent_[slot]->status = status_from_kernel(sent_[slot]->order, answer->error_number, answer->words);
    if (answer->error_number == EEXIST) ++existing_;
  }
  if (reader.is_malformed()) ++strays_;
}

}  // namespace rondo::netlink
