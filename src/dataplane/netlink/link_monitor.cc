// link_monitor.cc: see link_monitor.h.
#include "dataplane/netlink/link_monitor.h"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "dataplane/netlink/link_dump.h"
#include "rondo/dataplane/limits.h"

namespace rondo::netlink {

namespace {
// The most messages read per collect() (2 us each), which must stay cheap.
constexpr int kReadsPerTurn = 128;
// A storm that keeps overrunning the socket costs one dump in this time, not one per turn.
constexpr Duration kResyncInterval = 50ms;
constexpr int kResyncAttempts = 8;
}  // namespace

LinkMonitor::LinkMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket socket,
                         std::uint8_t protocol)
    : Source("link-monitor", priority),
      owner_(scheduler),
      handler_(std::move(handler)),
      protocol_(protocol),
      events_(std::move(socket)),
      dumps_(where),
      buffer_(std::make_unique<std::byte[]>(kDatagramBytes)) {}

Result<std::unique_ptr<LinkMonitor>> LinkMonitor::open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                       Handler handler, int receive_buffer_bytes, std::uint8_t protocol) {
  // Listen first, then read: a change in between is seen twice and dropped once.
  auto socket = Socket::open(where, {.receive_buffer_bytes = receive_buffer_bytes, .groups = {RTNLGRP_LINK}});
  if (!socket) return failure(socket.error().with_context("monitor devices"));
  std::unique_ptr<LinkMonitor> monitor{new LinkMonitor(where, scheduler, priority, std::move(handler), std::move(*socket), protocol)};
  if (Status status = monitor->resync(); !status.ok()) return failure(std::move(status));
  scheduler.add(*monitor);
  if (Status status = scheduler.reactor().watch(monitor->events_.descriptor(), Interest::Read, *monitor); !status.ok()) {
    return failure(status.with_context("monitor devices"));
  }
  monitor->drained_ = false;  // Data that arrived before the watch causes no edge.
  monitor->wake();
  return monitor;
}

LinkMonitor::~LinkMonitor() {
  owner_.timers().cancel(*this);
  owner_.reactor().unwatch(events_.descriptor());
}

void LinkMonitor::on_due() { wake(); }

Result<Backlog> LinkMonitor::collect() {
  if (Status status = read_events(); !status.ok()) return failure(std::move(status));
  return has_backlog() ? Backlog::More : Backlog::Empty;
}

Turn LinkMonitor::run(const Budget& budget) {
  if (!drained_) {
    if (const Status status = read_events(); !status.ok()) throw std::runtime_error(status.to_string());
  }
  if (gap_) resync_when_due();
  Turn turn;
  while (turn.items < budget.items && !pending_.empty()) {
    const LinkEvent event = std::move(pending_.front());
    pending_.pop_front();
    ++turn.items;
    handler_(event);
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

Status LinkMonitor::read_events() {
  drained_ = false;
  for (int reads = 0; reads < kReadsPerTurn && pending_.size() < limits::kLinkEvents; ++reads) {
    const auto datagram = events_.receive({buffer_.get(), kDatagramBytes}, Duration::zero());
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
    for (Message message; reader.next(message);) {
      if (auto link = decode_link(message, protocol_)) learn(std::move(*link), false);
    }
    gap_ = gap_ || reader.is_malformed();
  }
  return {};
}

// Empties the socket first, so that the dump is newer than everything before the gap.
void LinkMonitor::resync_when_due() {
  if (!drained_ || TimerNode::armed()) return;
  const Instant now = owner_.clock().now();
  if (now < next_resync_) {
    owner_.timers().insert(*this, next_resync_);
    return;
  }
  ++gaps_;
  const Status status = resync();
  next_resync_ = owner_.clock().now() + kResyncInterval;
  if (status.ok()) {
    gap_ = false;
    failed_resyncs_ = 0;
  } else if (++failed_resyncs_ >= kResyncAttempts) {
    throw std::runtime_error("devices could not be read again after a gap: " + status.to_string());
  } else {
    owner_.timers().insert(*this, next_resync_);
  }
}

Status LinkMonitor::resync() {
  auto links = dump_links(dumps_, protocol_);
  if (!links) return std::move(links.error());
  forget_absent(*links);
  for (LinkState& link : *links) learn(std::move(link), true);
  return {};
}

void LinkMonitor::learn(LinkState state, bool after_gap) {
  state.event.seen = owner_.clock().now();
  const auto found = known_.find(state.event.port);
  if (state.event.removed) {
    if (found == known_.end()) return;
    known_.erase(found);
    pending_.push_back(std::move(state.event));
    return;
  }
  if (found == known_.end()) {
    pending_.push_back(state.event);
    known_.emplace(state.event.port, std::move(state));
    return;
  }
  const bool flapped =
      after_gap && found->second.event.carrier && state.event.carrier && found->second.carrier_losses != state.carrier_losses;
  if (flapped) {
    LinkEvent lost = state.event;
    lost.carrier = false;
    pending_.push_back(std::move(lost));
  }
  if (flapped || found->second.event != state.event) pending_.push_back(state.event);
  found->second = std::move(state);
}

void LinkMonitor::forget_absent(const std::vector<LinkState>& present) {
  std::vector<LinkState> absent;
  for (const auto& known : known_) {
    const bool found =
        std::any_of(present.begin(), present.end(), [&known](const LinkState& link) { return link.event.port == known.first; });
    if (!found) absent.push_back(known.second);
  }
  std::sort(absent.begin(), absent.end(), [](const LinkState& a, const LinkState& b) { return a.event.port < b.event.port; });
  for (LinkState& link : absent) {
    link.event.removed = true;
    link.event.admin_up = link.event.carrier = false;
    learn(std::move(link), true);
  }
}

}  // namespace rondo::netlink
