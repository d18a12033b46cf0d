// EventLog: logs events of ports and rows: ports that disappear and return, rows that the data plane lost with them, rejected changes,
// refused orders. A burst gives a few lines and one that states where the rest is. Scheduler thread only, except refused().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/fdb.h"
#include "switch_agent/routes.h"

namespace rondo::daemon {

class EventLog {
 public:
  /// 'is_ours': true if a row names the port. Events of other devices are not logged.
  EventLog(Log& log, std::function<bool(std::string_view port)> is_ours) : log_(log), is_ours_(std::move(is_ours)) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// Handles the whole state of one device. The first state of a device is not logged.
  void link(const LinkEvent& event, Instant now);
  void rejected(const Change& change, const Status& why);
  /// Any thread. Logs an order that the data plane refused, except a delete of an absent object. The same refusal is logged once in ten
  /// minutes.
  void refused(const Operation& operation);
  /// Called every second: logs routes in whose place other programs have one, when their number has grown and when none is left.
  void held_by_others(const switch_agent::Routes::HeldByOthers& held);
  /// The same for static entries of VLANs.
  void held_by_others(const switch_agent::Fdb::HeldByOthers& held);
  /// A start has set up a port, a LAG or a VLAN that was down. Logged with the next check().
  void set_up(std::string_view port) { set_up_.emplace_back(port); }
  /// Called every second: logs rows that were withdrawn or restored since the last call, and how many lines a burst omitted.
  void check(const std::vector<ConsumerStats>& consumers);

 private:
  struct Port {
    std::string name;
    bool carrier = false;
    Instant since;
    IfIndex master = {};
    Instant moved = {};  // When it was put into a device, or taken out of one.
  };
  bool is_worth_a_line(const Operation& operation);
  void note_name(const LinkEvent& event);
  std::string name_of(IfIndex port);
  void report_refused_left_out();
  void report_port(std::string_view message, const Port& port, Instant now);
  void report_down(const Port& port, bool admin_up, Instant now);

  Log& log_;
  const std::function<bool(std::string_view port)> is_ours_;
  std::map<IfIndex, Port> ports_;
  std::vector<std::string> lost_before_;                       // Ports lost before the last check: their rows may be counted after it.
  std::vector<std::string> lost_ports_;                        // Since the last check.
  std::map<std::string, std::size_t, std::less<>> withdrawn_;  // Rows of each table at the last check.
  std::size_t held_by_others_ = 0;                             // Already logged.
  std::size_t entries_held_ = 0;                               // Already logged.
  std::vector<std::string> set_up_;                            // Since the last check.
  std::uint32_t rejected_lines_ = 0;                           // Since the last check.
  std::uint64_t rejected_left_out_ = 0;
  std::mutex refused_mutex_;
  std::map<IfIndex, std::string> names_;                  // As in 'ports_', and of 'gone_'; guarded by the mutex.
  std::deque<IfIndex> gone_;                              // The newest kNamesOfGone devices that went, the oldest first.
  std::set<std::pair<std::string, int>> refused_orders_;  // Already logged, with their errno.
  std::uint32_t refused_lines_ = 0;                       // Since the last check.
  std::uint64_t refused_left_out_ = 0;
  std::uint64_t refused_checks_ = 0;
};

}  // namespace rondo::daemon
