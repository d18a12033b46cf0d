// fdb_monitor.cc: see fdb_monitor.h.
#include "dataplane/netlink/fdb_monitor.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <optional>
#include <utility>
#include <vector>

#include "dataplane/netlink/decode.h"

namespace rondo::netlink {

namespace {

/// An entry that is not learned is reported as removed.
std::optional<FdbEvent> event_of(const Message& message) {
  const std::optional<FdbRecord> record = decode_fdb(message);
  if (!record) return std::nullopt;
  return FdbEvent{.bridge = record->bridge, .port = record->port, .mac = record->mac, .removed = record->removed || !record->is_learned};
}

}  // namespace

FdbMonitor::FdbMonitor(const NetworkNamespace& where, Scheduler& scheduler, Priority priority, Handler handler, Socket events,
                       std::size_t max)
    : EventMonitor("fdb-monitor", "the stations of bridges", scheduler, priority, std::move(handler), std::move(events)),
      dumps_(where),
      book_(max) {}

Result<std::unique_ptr<FdbMonitor>> FdbMonitor::open(const NetworkNamespace& where, Scheduler& scheduler, Priority priority,
                                                     Handler handler, int receive_buffer_bytes, std::size_t max) {
  // Listen first, then read: a change in between is seen twice and dropped once.
  auto events = Socket::open(where, {.receive_buffer_bytes = receive_buffer_bytes, .groups = {RTNLGRP_NEIGH}});
  if (!events) return failure(events.error().with_context("monitor the stations of bridges"));
  std::unique_ptr<FdbMonitor> monitor{new FdbMonitor(where, scheduler, priority, std::move(handler), std::move(*events), max)};
  if (Status status = monitor->resync(); !status.ok()) return failure(std::move(status));
  if (Status status = monitor->start(); !status.ok()) return failure(std::move(status));
  return monitor;
}

void FdbMonitor::notice(const Message& message) {
  const std::optional<FdbEvent> event = event_of(message);
  if (!event) return;
  learn(*event);
  if (event->removed && book_.take_room()) static_cast<void>(resync());  // If it fails, the next notification of a station adds it.
}

Status FdbMonitor::dump(std::set<FdbBook::Place>& present) {
  std::vector<FdbEvent> events;
  const Status status = dumps_.run({.request =
                                        [](MessageWriter& writer, std::uint32_t sequence) {
                                          ndmsg header{};
                                          header.ndm_family = AF_BRIDGE;
                                          writer.begin(RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP, sequence, header);
                                        },
                                    .restart = [&events] { events.clear(); },
                                    .visit =
                                        [&events](const Message& message) {
                                          if (auto event = event_of(message)) events.push_back(*event);
                                        }});
  if (!status.ok()) return status.with_context("read the stations of bridges");
  for (const FdbEvent& event : events) {
    if (!event.removed) present.emplace(event.bridge, event.mac);
    learn(event);
  }
  return {};
}

Status FdbMonitor::resync() {
  std::set<FdbBook::Place> present;
  if (Status status = dump(present); !status.ok()) return status;
  if (book_.absent(present).empty()) return {};
  if (Status status = dump(present); !status.ok()) return status;
  for (const FdbEvent& event : book_.absent(present)) learn(event);
  return {};
}

void FdbMonitor::learn(const FdbEvent& event) {
  if (book_.learn(event)) report(event);
}

}  // namespace rondo::netlink
