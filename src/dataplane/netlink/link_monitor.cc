// link_monitor.cc: see link_monitor.h.
#include "dataplane/netlink/link_monitor.h"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <utility>

#include "dataplane/netlink/link_dump.h"

namespace rondo::netlink {

LinkMonitor::LinkMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket socket,
                         std::uint8_t protocol)
    : EventMonitor("link-monitor", "devices", scheduler, priority, std::move(handler), std::move(socket)),
      protocol_(protocol),
      dumps_(where) {}

Result<std::unique_ptr<LinkMonitor>> LinkMonitor::open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                       Handler handler, int receive_buffer_bytes, std::uint8_t protocol) {
  // Listen first, then read: a change in between is seen twice and dropped once.
  auto socket = Socket::open(where, {.receive_buffer_bytes = receive_buffer_bytes, .groups = {RTNLGRP_LINK}});
  if (!socket) return failure(socket.error().with_context("monitor devices"));
  std::unique_ptr<LinkMonitor> monitor{new LinkMonitor(where, scheduler, priority, std::move(handler), std::move(*socket), protocol)};
  if (Status status = monitor->resync(); !status.ok()) return failure(std::move(status));
  if (Status status = monitor->start(); !status.ok()) return failure(std::move(status));
  return monitor;
}

void LinkMonitor::notice(const Message& message) {
  if (auto link = decode_link(message, protocol_)) learn(std::move(*link), false);
}

Status LinkMonitor::resync() {
  auto links = dump_links(dumps_, protocol_);
  if (!links) return std::move(links.error());
  forget_absent(*links);
  for (LinkState& link : *links) learn(std::move(link), true);
  return {};
}

void LinkMonitor::learn(LinkState state, bool after_gap) {
  state.event.seen = scheduler_of_events().clock().now();
  const auto found = known_.find(state.event.port);
  if (state.event.removed) {
    if (found == known_.end()) return;
    known_.erase(found);
    report(std::move(state.event));
    return;
  }
  if (found == known_.end()) {
    report(state.event);
    known_.emplace(state.event.port, std::move(state));
    return;
  }
  const bool flapped =
      after_gap && found->second.event.carrier && state.event.carrier && found->second.carrier_losses != state.carrier_losses;
  if (flapped) {
    LinkEvent lost = state.event;
    lost.carrier = false;
    report(std::move(lost));
  }
  if (flapped || found->second.event != state.event) report(state.event);
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
