// LearnedFdb: which station is behind which port of which VLAN, as the bridges have learned it. STATE_DB shows it, as SONiC's fdborch does
// (state_rows.h). Nothing of it is programmed back. Bounded by the monitor of the data plane (limits::kLearnedStations). Scheduler's
// thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/dataplane/dataplane.h"

namespace rondo::managers {

class LearnedFdb {
 public:
  /// 'changed' is called with the key ("Vlan10:02:00:00:00:00:aa") of each entry that may have changed.
  explicit LearnedFdb(std::function<void(const std::string& key)> changed) : changed_(std::move(changed)) {}

  void fdb_event(const FdbEvent& event);
  void link_event(const LinkEvent& event);

  /// The port behind which the station is; a tagged member is the port, not its 802.1Q device. Nothing if the VLAN has not learned it.
  std::optional<std::string> port_of(std::string_view key) const;
  /// Orders that make the bridges forget what they have learned; empty: of every port, of every VLAN. O(stations).
  std::vector<Operation> to_flush(std::string_view port, std::string_view vlan) const;
  std::size_t stations() const noexcept { return stations_.size(); }

 private:
  using Place = std::pair<IfIndex, MacAddress>;  // Bridge, station.
  struct Device {
    std::string name;
    std::uint16_t vlan = 0;
    IfIndex lower{};
  };
  /// Empty for a bridge without the name of a VLAN.
  std::string vlan_of(IfIndex bridge) const;
  std::string port_name(IfIndex device) const;
  void note(const Place& place, std::string_view vlan) const;

  const std::function<void(const std::string& key)> changed_;
  std::map<Place, IfIndex> stations_;  // The device behind which each is.
  std::map<IfIndex, Device> devices_;
  std::map<std::string, IfIndex, std::less<>> numbers_;
};

}  // namespace rondo::managers
