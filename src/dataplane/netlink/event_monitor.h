// EventMonitor: the common part of the monitors, which report the notifications of one netlink socket. It reads the socket, delivers the
// events in turns, and repairs a gap in the notifications: after an overrun (ENOBUFS) or a malformed datagram it empties the socket, so
// that what resync() reads is newer than everything before the gap, and calls resync(). A storm of overruns costs one resync in 50 ms. A
// monitor derives from it, says what an event is, and calls start() last. 'Base' is Source, or an interface that derives from it.
// Scheduler thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "dataplane/limits.h"
#include "dataplane/netlink/message.h"
#include "dataplane/netlink/socket.h"
#include "rondo/dataplane/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::netlink {

template <class Base, class Event>
class EventMonitor : public Base, private TimerNode {
 public:
  using Handler = std::function<void(const Event&)>;

  ~EventMonitor() override {
    scheduler_.timers().cancel(*this);
    scheduler_.reactor().unwatch(socket_.descriptor());
  }

  Result<Backlog> collect() override {
    if (Status status = read_socket(); !status.ok()) return failure(std::move(status));
    return has_backlog() ? Backlog::More : Backlog::Empty;
  }

  Turn run(const Budget& budget) override {
    if (!drained_) {
      if (const Status status = read_socket(); !status.ok()) throw std::runtime_error(status.to_string());
    }
    if (gap_) resync_when_due();
    Turn turn;
    while (turn.items < budget.items && !pending_.empty()) {
      const Event event = std::move(pending_.front());
      pending_.pop_front();
      ++turn.items;
      handler_(event);
    }
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }

  bool has_backlog() const override { return !pending_.empty() || !drained_ || (gap_ && !TimerNode::armed()); }
  std::size_t depth() const override { return pending_.size(); }
  /// The gaps that resync() had to repair. Each stands for one or more notifications.
  std::uint64_t turned_away() const override { return gaps_; }

 protected:
  /// 'what': the objects, for messages. 'socket' already listens, so a change between a first dump and start() is seen twice and not lost.
  EventMonitor(std::string name, std::string what, Scheduler& scheduler, Priority priority, Handler handler, Socket socket)
      : Base(std::move(name), priority),
        scheduler_(scheduler),
        handler_(std::move(handler)),
        what_(std::move(what)),
        socket_(std::move(socket)),
        buffer_(std::make_unique<std::byte[]>(kDatagramBytes)) {}

  /// Adds the monitor to its scheduler and watches the socket.
  Status start() {
    scheduler_.add(*this);
    if (Status status = scheduler_.reactor().watch(socket_.descriptor(), Interest::Read, *this); !status.ok()) {
      return status.with_context("monitor " + what_);
    }
    drained_ = false;  // Data that arrived before the watch causes no edge.
    this->wake();
    return {};
  }

  /// Calls report() for what a notification changed. Must be cheap: about 1 us.
  virtual void notice(const Message& message) = 0;
  /// Reads the objects again and calls report() for each difference from what is known. After eight failures in a row, 50 ms apart, the
  /// monitor is quarantined with the last reason.
  virtual Status resync() = 0;

  void report(Event event) { pending_.push_back(std::move(event)); }
  Scheduler& scheduler_of_events() const noexcept { return scheduler_; }

 private:
  static constexpr int kReadsPerTurn = 128;  // Datagrams per collect(), which must stay cheap.
  static constexpr Duration kResyncInterval = 50ms;
  static constexpr int kResyncAttempts = 8;

  void on_due() override { this->wake(); }

  Status read_socket() {
    drained_ = false;
    for (int reads = 0; reads < kReadsPerTurn && pending_.size() < limits::kLinkEvents; ++reads) {
      const auto datagram = socket_.receive({buffer_.get(), kDatagramBytes}, Duration::zero());
      if (!datagram) {
        if (datagram.error().code() != StatusCode::DataLoss) return datagram.error();
        gap_ = true;  // Messages still queued are older than the gap; they are read and compared like the others.
        continue;
      }
      if (datagram->empty()) {
        drained_ = true;
        return {};
      }
      MessageReader reader{*datagram};
      for (Message message; reader.next(message);) notice(message);
      gap_ = gap_ || reader.is_malformed();
    }
    return {};
  }

  void resync_when_due() {
    if (!drained_ || TimerNode::armed()) return;
    const Instant now = scheduler_.clock().now();
    if (now < next_resync_) {
      scheduler_.timers().insert(*this, next_resync_);
      return;
    }
    ++gaps_;
    const Status status = resync();
    next_resync_ = scheduler_.clock().now() + kResyncInterval;
    if (status.ok()) {
      gap_ = false;
      failed_resyncs_ = 0;
    } else if (++failed_resyncs_ >= kResyncAttempts) {
      throw std::runtime_error(what_ + " could not be read again after a gap: " + status.to_string());
    } else {
      scheduler_.timers().insert(*this, next_resync_);
    }
  }

  Scheduler& scheduler_;
  const Handler handler_;
  const std::string what_;
  Socket socket_;
  std::unique_ptr<std::byte[]> buffer_;
  std::deque<Event> pending_;
  bool drained_ = true;  // A read found the socket empty; until then no edge wakes this source.
  bool gap_ = false;
  int failed_resyncs_ = 0;
  Instant next_resync_;
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::netlink
