// LearnedNeighbors: writes the neighbours that the kernel resolved into NEIGH_TABLE, in the place of SONiC's neighsyncd, and makes the
// kernel resolve those that rows wait for, in the place of nbrmgrd.
//
// A row that it writes names the learned address twice, in `neigh` and in `learned`. The switch agent orders nothing for such a row: the
// kernel keeps the neighbour, ages it, and follows a host that moves to another link address. A permanent entry would stop all of that. A
// row in which the two differ, or without `learned`, belongs to another program, and is never changed here. So a program that overwrites
// `neigh` takes the row over.
//
// Only neighbours on a port with a row of INTF_TABLE, and of a family of which the port has a row with an address. A Delete of such a row
// counts from when it is taken: the switch agent deletes an address only after its neighbours.
//
// Level-triggered: an event notes the neighbours that may have changed, and a turn compares each with its row and writes the difference.
// Rows that an earlier process left are compared when all rows have been handled. From then on rows that the store no longer has, because a
// Redis lost its data, are written again (owned_rows.h). Bounded by the kernel's neighbours and the table. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/learned.h"
#include "orch/owned_rows.h"
#include "orch/row_tap.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::managers {

struct LearnedNeighborsOptions {
  /// Makes the kernel resolve an address: NeighborWatch::resolve().
  std::function<Status(IfIndex port, const IpAddress& address)> resolve = {};
  /// Calls 'visit' with the neighbours ("port:address") that no row waits for, but without which next hops are left out.
  std::function<void(const std::function<void(std::string_view)>& visit)> for_each_left_out = {};
  /// True if every row that the tables had at the start has been handled. Called until it returns true.
  std::function<bool()> is_settled = {};
  /// False while another process may write the rows.
  std::function<bool()> may_write = {};
};

class LearnedNeighbors final : public Source {
 public:
  /// Adds itself to the runtime's scheduler. 'runtime' must outlive it. Create it before the runtime takes rows. NotFound if the runtime
  /// does not consume NEIGH_TABLE and INTF_TABLE.
  static Result<std::unique_ptr<LearnedNeighbors>> open(Runtime& runtime, LearnedNeighborsOptions options);
  ~LearnedNeighbors() override;

  void neighbor_event(const NeighborEvent& event);
  void link_event(const LinkEvent& event);

  /// Neighbours that the kernel has learned, on any device; the rows that this program has in the table; the unresolved neighbours that
  /// rows wait for; rows that were written again because the store had lost them; and writes that the store refused.
  struct Counts {
    std::size_t kernel = 0;
    std::size_t rows = 0;
    std::size_t resolving = 0;
    std::uint64_t repaired = 0;
    std::uint64_t refused = 0;
  };
  Counts counts() const noexcept;
  /// Describes how a neighbour ("port:address") is being resolved that has not answered. Empty if it is not.
  std::string words_about(std::string_view key) const;

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !changed_.empty() && may_write_; }
  std::size_t depth() const override { return changed_.size(); }

 private:
  using Place = std::pair<std::string, IpAddress>;  // Port, address.
  struct Device {
    IfIndex index;
    bool carrier = false;
  };
  struct Port {
    bool is_interface = false;
    std::map<std::string, bool> addresses;  // Rows of INTF_TABLE with an address; true: IPv6.
  };
  struct Probe {
    Instant next;
    Duration pause;
  };

  LearnedNeighbors(Runtime& runtime, LearnedNeighborsOptions options);
  Status follow();
  void neighbor_row(const RowEvent& event);
  void interface_row(const RowEvent& event);
  void interface_changed(std::string_view key, bool exists);
  void note(Place place);
  void note_port(const std::string& port);
  bool is_owned(const Place& place) const;
  const MacAddress* learned(const Place& place) const;
  /// Compares a neighbour with its row and writes the difference.
  void refresh(const Place& place);
  void tick();
  void resolve_needed();
  /// Notes that the neighbour is needed, and makes the kernel resolve it if it is time and 'left', which it decrements, is not 0.
  void need(const Place& place, std::size_t& left);
  bool probe(const Place& place, Instant now);

  Runtime& runtime_;
  const LearnedNeighborsOptions options_;
  std::unique_ptr<RowTap> neighbor_rows_;
  std::unique_ptr<RowTap> interface_rows_;
  std::map<std::pair<IfIndex, IpAddress>, MacAddress> kernel_;
  std::map<IfIndex, std::string> names_;
  std::map<std::string, Device, std::less<>> devices_;
  std::map<std::string, Port, std::less<>> ports_;
  std::map<Place, std::set<std::string>> others_;  // Keys of the rows of other programs, which may spell the address otherwise.
  std::set<Place> used_;                           // Our row was deleted, and the Delete waits: next hops use the neighbour.
  std::set<Place> changed_;
  std::map<Place, Probe> probes_;  // Needed and not resolved.
  std::set<Place> needed_;         // Found so far in this walk through the awaited facts.
  std::uint32_t walk_place_ = 0;
  bool may_write_ = false;
  bool settled_ = false;
  TimerSource timer_;
  OwnedRows rows_;
};

}  // namespace rondo::managers
