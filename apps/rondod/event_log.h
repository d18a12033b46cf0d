// EventLog: what happens to ports and rows, as lines of the log: ports that go and come, rows that the data plane lost with them, changes
// that were rejected, orders that were refused. A burst is a few lines and one that says where the rest is. Scheduler's thread, except
// refused().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/log.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/routes.h"

namespace rondo::daemon {

class EventLog {
 public:
  /// 'is_ours': whether a row names the port. Events of other devices are not logged.
  EventLog(Log& log, std::function<bool(std::string_view port)> is_ours) : log_(log), is_ours_(std::move(is_ours)) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// The whole state of one device. The first news of a device is no event.
  void link(const LinkEvent& event, Instant now);
  void rejected(const Change& change, const Status& why);
  /// Any thread. The data plane refused the order, and it is no delete of what is gone.
  void refused(const Operation& operation);
  /// Called every second: tells routes in whose place other programs have one, when there are more of them, and when there is none any
  /// more.
  void held_by_others(const switch_agent::Routes::HeldByOthers& held);
  /// Called every second: tells rows that were withdrawn or came back since the last call, and what a burst left out.
  void look(const std::vector<ConsumerStats>& consumers);

 private:
  struct Port {
    std::string name;
    bool carrier = false;
    Instant since;
  };
  void tell_port(std::string_view message, const Port& port, Instant now);

  Log& log_;
  const std::function<bool(std::string_view port)> is_ours_;
  std::map<IfIndex, Port> ports_;
  std::vector<std::string> lost_before_;                       // Ports that went before the last look: their rows may be counted after it.
  std::vector<std::string> lost_ports_;                        // Since the last look.
  std::map<std::string, std::size_t, std::less<>> withdrawn_;  // Rows of each table at the last look.
  std::size_t held_by_others_ = 0;                             // Told.
  std::uint32_t rejected_lines_ = 0;                           // Since the last look.
  std::uint64_t rejected_left_out_ = 0;
};

}  // namespace rondo::daemon
