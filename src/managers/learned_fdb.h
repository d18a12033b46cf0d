// LearnedFdb: which station is behind which port of which VLAN, as the bridges have learned it. STATE_DB shows it, as SONiC's fdborch does
// (state_rows.h). Nothing of it is programmed back. Bounded by the monitor of the data plane (limits::kLearnedStations). Scheduler's
// thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/learned.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::managers {

/// A request to forget stations, and how far it is.
struct FlushWalk {
  std::string port;                                       // Empty: of every port.
  std::string vlan;                                       // Empty: of every VLAN.
  std::optional<std::pair<IfIndex, MacAddress>> after{};  // The last station that was looked at, and its bridge.
  bool at_end = false;
};

class LearnedFdb {
 public:
  /// 'changed' is called with the key ("Vlan10:02:00:00:00:00:aa") of each entry that may have changed.
  explicit LearnedFdb(std::function<void(const std::string& key)> changed) : changed_(std::move(changed)) {}

  /// True if VLAN_TABLE has a row of the VLAN. A bridge without one belongs to another program: its stations are neither shown nor
  /// flushed. O(stations of the bridge).
  void set_row(std::string_view vlan, bool has_row);
  void fdb_event(const FdbEvent& event);
  /// O(stations of the bridge, or behind the device).
  void link_event(const LinkEvent& event);

  /// The port behind which the station is; a tagged member is the port, not its 802.1Q device. Nothing if the VLAN has not learned it.
  std::optional<std::string> port_of(std::string_view key) const;
  /// Orders that make the bridges forget what they have learned, of the next 'limit' stations of the walk. O(limit).
  std::vector<Operation> to_flush(FlushWalk& walk, std::size_t limit) const;
  std::size_t stations() const noexcept { return stations_.size(); }

 private:
  using Place = std::pair<IfIndex, MacAddress>;  // Bridge, station.
  struct Device {
    std::string name;
    std::uint16_t vlan = 0;
    IfIndex lower{};
  };
  /// Empty for a bridge that no row names.
  std::string vlan_of(IfIndex bridge) const;
  std::string port_name(IfIndex device) const;
  void note(const Place& place, std::string_view vlan) const;
  void note_behind(IfIndex device) const;
  void forget(std::map<Place, IfIndex>::iterator station);

  const std::function<void(const std::string& key)> changed_;
  std::map<Place, IfIndex> stations_;          // The device behind which each is.
  std::map<IfIndex, std::set<Place>> behind_;  // The stations by that device.
  std::map<IfIndex, Device> devices_;
  std::map<IfIndex, std::set<IfIndex>> tagged_;  // The 802.1Q devices of each port that has some.
  std::map<std::string, IfIndex, std::less<>> numbers_;
  std::set<std::string, std::less<>> rows_;  // The VLANs that have a row.
};

}  // namespace rondo::managers
