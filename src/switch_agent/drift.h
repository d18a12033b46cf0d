// Drift: a difference between the data plane and what the Orchs ordered, found by an audit (audit.h). An audit reads all objects of a
// kind, and the Orch that owns the kind compares them with its own, a slice at a time. A difference counts only if two consecutive
// readings show it, because a single reading is out of date for orders given meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/drift_kind.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

/// The order in which an audit handles the kinds: each kind before those that depend on it.
enum class ObjectKind : std::uint8_t { Address, Neighbor, Nexthop, Route, Fdb };
inline constexpr std::size_t kObjectKinds = 5;
/// "addresses", "neighbors", "nexthops", "routes", "fdb".
std::string_view to_string(ObjectKind kind) noexcept;
ObjectKind kind_of(const DeleteOrder& object) noexcept;

/// One difference, as text for operators.
struct Drift {
  DriftKind kind = DriftKind::Missing;
  DeleteOrder object;
  std::string table = {};   // The table of the row that asks for the object; empty if no row does.
  std::string key = {};     // The key of that row; empty if no row asks for the object.
  std::string wanted = {};  // "route 10.0.0.0/8 via nexthop 7"; empty if unwanted.
  std::string actual = {};  // What the data plane has; empty if missing.
};

/// A setting of a device, as its row asks for it and as the data plane has it: "up" and "down".
struct Setting {
  std::string wanted;
  std::string actual;
};
/// Adds a difference that names the settings that differ, if any do. No audit reads devices: link events report them.
void add_difference(std::vector<Drift>& found, const char* table, const std::string& device, std::initializer_list<Setting> settings);

/// The text of `why` for a row that an audit found missing or changed.
inline constexpr const char* kLostWords = "an audit found that the kernel does not have it as it was set";

/// Differences kept with their text, for each kind of object; further ones are only counted.
inline constexpr std::size_t kDriftsKept = 1000;
/// Unwanted objects that one audit remembers between its two readings; the next audit finds the others.
inline constexpr std::size_t kUnwantedKept = 65536;

/// Keys of rows, by table.
using RowNames = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

/// The differences found by both readings of one audit of one kind. For small kinds this class remembers what the first reading found.
/// Routes carry marks of their own.
class Findings {
 public:
  /// 'with_unwanted': an object that no row asks for is a difference.
  explicit Findings(bool with_unwanted = true) : with_unwanted_(with_unwanted) {}
  void begin_look(unsigned look) {
    look_ = look;
    unwanted_before_ = std::exchange(unwanted_, 0);
  }
  unsigned look() const noexcept { return look_; }
  bool with_unwanted() const noexcept { return with_unwanted_; }

  /// Adds a difference. In the first reading it is remembered. In the second it counts if the first reading had it, and 'describe' returns
  /// its Drift.
  template <class Describe>
  void add(DriftKind kind, const DeleteOrder& object, Describe describe) {
    if (kind == DriftKind::Unwanted && !with_unwanted_) return;
    if (kind == DriftKind::Unwanted) ++unwanted_;
    if (look_ == 1) {
      if (kind != DriftKind::Unwanted || suspects_.size() < kUnwantedKept) suspects_.emplace(kind, object);
      return;
    }
    if (suspects_.contains({kind, object})) confirm(kind, object, describe);
  }
  /// Second reading only: adds a difference that the caller remembers from the first.
  template <class Describe>
  void confirm(DriftKind kind, const DeleteOrder& object, Describe describe) {
    ++counts_[static_cast<std::size_t>(kind)];
    const auto* const route = std::get_if<RouteDelete>(&object);
    if (route == nullptr || kept_.size() < kDriftsKept) {
      Drift drift = describe();
      if (route == nullptr && !drift.table.empty()) rows_[drift.table].insert(drift.key);
      if (kept_.size() < kDriftsKept) kept_.push_back(std::move(drift));
    }
    confirmed_[static_cast<std::size_t>(kind)].push_back(object);
  }
  /// First reading only: the caller itself remembers a difference.
  void suspect() noexcept { has_suspects_ = true; }
  bool has_suspects() const noexcept { return has_suspects_ || !suspects_.empty(); }

  /// Returns the differences confirmed since the last call.
  std::vector<DeleteOrder> take_confirmed(DriftKind kind) { return std::exchange(confirmed_[static_cast<std::size_t>(kind)], {}); }
  /// The number of differences of this kind. Unwanted objects beyond the kUnwantedKept remembered ones count too, if both readings have as
  /// many.
  std::uint64_t count(DriftKind kind) const noexcept {
    const std::uint64_t confirmed = counts_[static_cast<std::size_t>(kind)];
    const bool has_more = kind == DriftKind::Unwanted && unwanted_before_ > kUnwantedKept && look_ == 2;
    return has_more ? std::max(confirmed, std::min(unwanted_before_, unwanted_)) : confirmed;
  }
  std::uint64_t total() const noexcept { return count(DriftKind::Missing) + count(DriftKind::Changed) + count(DriftKind::Unwanted); }
  std::vector<Drift>& kept() noexcept { return kept_; }
  /// The rows of all confirmed differences, including those beyond kDriftsKept. Excludes routes, which carry a flag of their own
  /// (RouteMap::Route::drifted).
  RowNames& rows() noexcept { return rows_; }

 private:
  const bool with_unwanted_;
  struct ByObject {
    using Difference = std::pair<DriftKind, DeleteOrder>;
    bool operator()(const Difference& a, const Difference& b) const noexcept;
  };
  unsigned look_ = 1;
  bool has_suspects_ = false;
  std::set<std::pair<DriftKind, DeleteOrder>, ByObject> suspects_;
  std::array<std::uint64_t, 3> counts_{};
  std::uint64_t unwanted_ = 0;         // Seen in this reading.
  std::uint64_t unwanted_before_ = 0;  // Seen in the previous reading.
  std::array<std::vector<DeleteOrder>, 3> confirmed_;
  std::vector<Drift> kept_;
  RowNames rows_;
};

/// Visits at most 'limit' entries of 'map' after the key 'after', and advances 'after'. Returns true at the end of the map.
template <class Map, class Visit>
bool walk_slice(Map& map, std::optional<typename Map::key_type>& after, std::size_t& limit, Visit visit) {
  auto it = after ? map.upper_bound(*after) : map.begin();
  for (; it != map.end() && limit > 0; ++it, --limit) {
    after = it->first;
    visit(it->first, it->second);
  }
  return it == map.end();
}

/// The objects read of one small kind, and the progress of their comparison with those of an Orch, which has them in a map by 'Key'.
template <class Entry, class Key>
struct Look {
  std::vector<Entry> actual;  // Sorted by what the Orch looks for.
  std::vector<bool> wanted;   // By index in 'actual': an Orch asks for it.
  std::size_t next_actual = 0;
  std::optional<Key> after;  // The key that was compared last.
  bool walked = false;       // All objects of the Orch were compared.

  void want(const Entry& entry) { wanted[static_cast<std::size_t>(&entry - actual.data())] = true; }
  /// Returns the entry for which 'place_of' returns 'place'; null if there is none. O(log).
  template <class Place, class PlaceOf>
  const Entry* find(const Place& place, PlaceOf place_of) const {
    const auto it = std::ranges::lower_bound(actual, place, {}, place_of);
    return it == actual.end() || std::invoke(place_of, *it) != place ? nullptr : &*it;
  }
  /// Calls 'compare' with about 'limit' of the Orch's objects that were not compared yet.
  template <class Map, class Compare>
  void walk(Map& own, std::size_t& limit, Compare compare) {
    if (!walked) walked = walk_slice(own, after, limit, compare);
  }
  /// After the walk: adds the entries that are not wanted and that 'is_left' does not leave. Returns true at the end of both.
  template <class ObjectOf, class IsLeft, class WordsOf>
  bool add_unwanted(std::size_t limit, Findings& findings, ObjectOf object_of, IsLeft is_left, WordsOf words_of) {
    for (; walked && next_actual < actual.size() && limit > 0; ++next_actual, --limit) {
      const Entry& entry = actual[next_actual];
      if (wanted[next_actual] || is_left(entry)) continue;
      const DeleteOrder object = object_of(entry);
      findings.add(DriftKind::Unwanted, object,
                   [&] { return Drift{.kind = DriftKind::Unwanted, .object = object, .actual = words_of(entry)}; });
    }
    return walked && next_actual == actual.size();
  }
};
using AddressLook = Look<AddressEntry, std::string>;                            // By port and address; of the Orch, by port.
using NeighborLook = Look<NeighborEntry, std::pair<std::string, IpAddress>>;    // By port and address.
using FdbLook = Look<FdbEntry, std::pair<std::string, MacAddress>>;             // By bridge and address.
struct NexthopLook : Look<NexthopEntry, std::pair<std::string, std::string>> {  // By number; of the Orch, the groups.
  std::optional<HopKey> after_nexthop;
  bool walked_nexthops = false;
};
struct RouteLook {
  std::vector<RouteEntry> actual;  // In any order.
  std::size_t next_actual = 0;
  std::uint32_t next_slot = 0;
  std::set<RouteDelete> last_resorts;  // Those that were read.
};

/// Reads all objects of 'kind'. Blocks. Call from any thread that may use the data plane's dumps.
struct PlaneSnapshot {
  AddressLook addresses;
  NeighborLook neighbors;
  NexthopLook nexthops;
  RouteLook routes;
  FdbLook fdb;
  /// The number of objects that have our protocol number.
  std::size_t objects() const noexcept;
};
Status read_objects(DataPlane& plane, ObjectKind kind, PlaneSnapshot& snapshot);

}  // namespace rondo::switch_agent
