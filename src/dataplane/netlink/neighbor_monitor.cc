// neighbor_monitor.cc: see neighbor_monitor.h.
#include "dataplane/netlink/neighbor_monitor.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "dataplane/netlink/decode.h"

namespace rondo::netlink {

NeighborMonitor::NeighborMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket events,
                                 Socket requests)
    : EventMonitor("neighbor-monitor", "neighbours", scheduler, priority, std::move(handler), std::move(events)),
      requests_(std::move(requests)),
      dumps_(where),
      answers_(std::make_unique<std::byte[]>(kDatagramBytes)) {}

Result<std::unique_ptr<NeighborMonitor>> NeighborMonitor::open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                               Handler handler, int receive_buffer_bytes) {
  // Listen first, then read: a change in between is seen twice and dropped once.
  auto events = Socket::open(where, {.receive_buffer_bytes = receive_buffer_bytes, .groups = {RTNLGRP_NEIGH}});
  if (!events) return failure(events.error().with_context("monitor neighbours"));
  auto requests = Socket::open(where, {});
  if (!requests) return failure(requests.error().with_context("monitor neighbours"));
  std::unique_ptr<NeighborMonitor> monitor{
      new NeighborMonitor(where, scheduler, priority, std::move(handler), std::move(*events), std::move(*requests))};
  if (Status status = monitor->resync(); !status.ok()) return failure(std::move(status));
  if (Status status = monitor->start(); !status.ok()) return failure(std::move(status));
  return monitor;
}

/// NTF_USE is what `ip neighbor add ... use` sends: the kernel treats the neighbour as if a packet needed it. No acknowledgement is
/// requested, so only errors are answered, and these wait in the socket until the next call. The kernel would resolve a permanent entry
/// as well, and its link address would be lost.
Status NeighborMonitor::resolve(IfIndex port, const IpAddress& address) {
  if (given_.contains({port, address})) return {};
  while (true) {
    const auto answer = requests_.receive({answers_.get(), kDatagramBytes}, Duration::zero());
    if (answer && answer->empty()) break;
    if (!answer && answer.error().code() != StatusCode::DataLoss) return answer.error();
  }
  ndmsg header{};
  header.ndm_family = address.is_v6() ? AF_INET6 : AF_INET;
  header.ndm_ifindex = static_cast<int>(port.value());
  header.ndm_state = NUD_NONE;
  header.ndm_flags = NTF_USE;
  std::byte out[128];
  MessageWriter writer{out};
  writer.begin(RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_CREATE, 0, header);
  const auto bytes = address.bytes();
  writer.attribute(NDA_DST, bytes.data(), address.size());
  if (!writer.end()) return {StatusCode::Internal, "a request for a neighbour is too long"};
  return requests_.send(writer.bytes());
}

void NeighborMonitor::notice(const Message& message) {
  const auto event = decode_learned_neighbor(message);
  if (!event) return;
  if (is_given_neighbor(message)) {
    given_.insert({event->port, event->address});
  } else {
    given_.erase({event->port, event->address});
  }
  learn(*event);
}

Status NeighborMonitor::dump(std::set<Place>& present) {
  std::vector<NeighborEvent> events;
  std::set<Place> given;
  const Status status =
      dumps_.run({.request = [](MessageWriter& writer,
                                std::uint32_t sequence) { writer.begin(RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP, sequence, ndmsg{}); },
                  .restart =
                      [&] {
                        events.clear();
                        given.clear();
                      },
                  .visit =
                      [&](const Message& message) {
                        const auto event = decode_learned_neighbor(message);
                        if (!event) return;
                        events.push_back(*event);
                        if (is_given_neighbor(message)) given.insert({event->port, event->address});
                      }});
  if (!status.ok()) return status.with_context("read the neighbours");
  given_ = std::move(given);
  for (const NeighborEvent& event : events) {
    if (!event.removed) present.emplace(event.port, event.address);
    learn(event);
  }
  return {};
}

Status NeighborMonitor::resync() {
  std::set<Place> present;
  if (Status status = dump(present); !status.ok()) return status;
  const auto has_absent = [&] {
    for (const auto& [place, mac] : known_) {
      if (!present.contains(place)) return true;
    }
    return false;
  };
  if (!has_absent()) return {};
  if (Status status = dump(present); !status.ok()) return status;
  std::vector<Place> absent;
  for (const auto& [place, mac] : known_) {
    if (!present.contains(place)) absent.push_back(place);
  }
  for (const Place& place : absent) learn({.port = place.first, .address = place.second, .mac = {}, .removed = true});
  return {};
}

void NeighborMonitor::learn(const NeighborEvent& event) {
  const Place place{event.port, event.address};
  const auto found = known_.find(place);
  if (event.removed) {
    if (found == known_.end()) return;
    known_.erase(found);
  } else if (found == known_.end()) {
    known_.emplace(place, event.mac);
  } else if (found->second != event.mac) {
    found->second = event.mac;
  } else {
    return;
  }
  report(event);
}

}  // namespace rondo::netlink
