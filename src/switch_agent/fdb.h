// Fdb: owns FDB_TABLE. A row with the type static is a static entry in the forwarding database of the bridge of its VLAN: the station is
// behind the port, and the bridge neither ages nor moves it. For a row with the type dynamic nothing is ordered: the bridge learns the
// station itself. VLAN and link address identify an entry; if several rows spell one address, the first row has the entry (spellings.h).
// An entry of another control plane and the address of a device stay: the row waits for kFdbFree, which is announced when the data plane
// reports a change of the entry, and at growing intervals.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/sched/timer.h"
#include "switch_agent/drift.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"
#include "switch_agent/schema.h"
#include "switch_agent/spellings.h"

namespace rondo::switch_agent {

/// The key of the fact kFdbSpelling, and the canonical key of a row.
std::string fdb_key(std::string_view vlan, const MacAddress& mac);

class Fdb final : public Orch {
 public:
  Fdb(Runtime& runtime, Programmer& programmer, const PortIds& ids);

  /// Returns the state in the data plane of the row 'key' of FDB_TABLE. O(log(rows)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(rows).
  PlaneCounts state_counts() const;
  /// Rows that wait for the end of an entry of another program, or because the address is that of a device. O(rows).
  struct HeldByOthers {
    std::size_t rows = 0;
    std::string first;  // Who has the first such address.
  };
  HeldByOthers held_by_others() const;
  /// Compares about 'limit' of the requested entries with those read. Returns true at the end of both.
  bool compare(FdbLook& look, std::size_t limit, Findings& findings) const;
  /// True if the entry is another program's: it is on a device that no row names, such as that of a virtual machine, and it is not as
  /// orders make it.
  bool is_foreign(const FdbEntry& entry) const;
  /// Orders again an entry that another program deleted or changed. Rows that wait for the end of such an entry are retried.
  void program_again(const FdbDelete& object);
  /// True if a row asks for a static entry of this address in the bridge that the port is in.
  bool has(const FdbDelete& object) const;
  /// True if a row waits for the end of an entry of this address, in any bridge, or is being retried.
  bool is_awaited(const FdbDelete& object) const;
  /// True if the event of such an entry is a difference from its row, and not only what the row asks for.
  bool is_changed_by(const FdbDelete& object, const ObjectEvent& event) const;

 private:
  using Place = std::pair<std::string, MacAddress>;    // VLAN, address.
  using Waiting = std::pair<MacAddress, std::string>;  // The same for rows that wait for kFdbFree.
  struct Entry {
    std::string port;
    bool is_static = false;
    bool applied = false;
    bool present = false;  // According to the last answer, and since then the membership has not ended.
    bool leaving = false;  // Its Delete is under way.
    IfIndex device{};      // The device that was ordered last.
    unsigned orders = 0;   // Orders under way.
    std::string holder;    // Who has the address in the bridge, as text for operators; the row waits for the end of that.
    unsigned denials = 0;  // Answers in a row that named a holder.
    Instant denied_at{};   // The last of them.
    std::string refused_again;
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome set_static(const Place& place);
  Outcome set_dynamic(const Place& place);
  Outcome answered(const Place& place, IfIndex device, const Status& status);
  void gone(const Place& place);
  std::string holder_words(const Place& place, const Status& answer) const;
  void await_end(const Place& place, const Status& answer);
  void retry_now(const Waiting& waiting);
  void retry_due();
  void retry_soon(const MacAddress& mac);
  void member_changed(std::string_view key, bool is_member);
  void repaired(const Place& place, const Status& answer);
  IfIndex device_of(const Place& place, std::string_view port) const;
  const Entry* find(const FdbDelete& object, Place& place) const;

  Programmer& programmer_;
  const PortIds& ids_;
  Refusals<std::string> refusals_;  // By canonical key.
  std::map<Place, Entry> entries_;  // Those that have a row, or whose Delete is under way.
  Spellings spellings_;
  ConsumerHandle consumer_;
  std::map<Waiting, Instant> waiting_;         // With the instant of the next retry.
  std::set<std::pair<Instant, Waiting>> due_;  // The same by instant.
  TimerSource retry_timer_;
};

}  // namespace rondo::switch_agent
