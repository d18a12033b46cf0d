// Drift: how the data plane differs from what the Orchs ordered, found by an audit (audit.h). An audit reads all objects of a kind back,
// and the Orch that owns the kind compares them with its own, a slice at a time. A difference counts only when two readings, one after the
// other, show it: the first is out of date for what was ordered meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"

namespace rondo::switch_agent {

/// In the order in which an audit goes: what others hang on comes first.
enum class ObjectKind : std::uint8_t { Address, Neighbor, Nexthop, Route };
inline constexpr std::size_t kObjectKinds = 4;
/// "addresses", "neighbors", "nexthops", "routes".
std::string_view to_string(ObjectKind kind) noexcept;
ObjectKind kind_of(const DeleteOrder& object) noexcept;

/// One difference, for people.
struct Drift {
  DriftKind kind = DriftKind::Missing;
  DeleteOrder object;
  std::string table;   // Of the row that asks for it; empty if none does.
  std::string key;     // Likewise.
  std::string wanted;  // "route 10.0.0.0/8 via nexthop 7"; empty if unwanted.
  std::string actual;  // Likewise; empty if missing.
};

/// What `why` says of a row that an audit found missing or changed.
inline constexpr const char* kLostWords = "an audit found that the kernel does not have it as it was set";

/// Differences kept with their words, for each kind of object; beyond that they are only counted.
inline constexpr std::size_t kDriftsKept = 1000;
/// Unwanted objects that one audit remembers between its looks; the next audit finds the others.
inline constexpr std::size_t kUnwantedKept = 65536;

/// Keys of rows, by table.
using RowNames = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

/// What the looks of one audit of one kind find. Small kinds are confirmed here, by what the first look added; routes by their own marks.
class Findings {
 public:
  /// 'with_unwanted': what nothing asks for is a difference.
  explicit Findings(bool with_unwanted = true) : with_unwanted_(with_unwanted) {}
  void begin_look(unsigned look) {
    look_ = look;
    unwanted_before_ = std::exchange(unwanted_, 0);
  }
  unsigned look() const noexcept { return look_; }

  /// A difference. In the first look it is remembered; in the second it counts if the first had it, and 'describe' gives its Drift.
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
  /// In the second look: a difference that the caller knows from the first.
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
  /// In the first look: the caller remembers a difference by itself.
  void suspect() noexcept { has_suspects_ = true; }
  bool has_suspects() const noexcept { return has_suspects_ || !suspects_.empty(); }

  /// Since the last call.
  std::vector<DeleteOrder> take_confirmed(DriftKind kind) { return std::exchange(confirmed_[static_cast<std::size_t>(kind)], {}); }
  /// Of unwanted objects also those beyond the kUnwantedKept that are remembered, if both looks have as many.
  std::uint64_t count(DriftKind kind) const noexcept {
    const std::uint64_t confirmed = counts_[static_cast<std::size_t>(kind)];
    const bool has_more = kind == DriftKind::Unwanted && unwanted_before_ > kUnwantedKept && look_ == 2;
    return has_more ? std::max(confirmed, std::min(unwanted_before_, unwanted_)) : confirmed;
  }
  std::uint64_t total() const noexcept { return count(DriftKind::Missing) + count(DriftKind::Changed) + count(DriftKind::Unwanted); }
  std::vector<Drift>& kept() noexcept { return kept_; }
  /// Of all that was confirmed, also beyond kDriftsKept, but not of routes: those know it themselves (RouteMap::Route::drifted).
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
  std::uint64_t unwanted_ = 0;         // Seen in this look,
  std::uint64_t unwanted_before_ = 0;  // and in the one before.
  std::array<std::vector<DeleteOrder>, 3> confirmed_;
  std::vector<Drift> kept_;
  RowNames rows_;
};

/// What was read of one kind, sorted by what finds an entry, and how far the comparison is. 'wanted' notes which entries an Orch asks for.
struct AddressLook {
  std::vector<AddressEntry> actual;  // By port and address.
  std::vector<bool> wanted;
  std::size_t next_actual = 0;
  std::string after;  // The port whose addresses were compared last.
  bool walked = false;
};
struct NeighborLook {
  std::vector<NeighborEntry> actual;  // By port and address.
  std::vector<bool> wanted;
  std::size_t next_actual = 0;
  std::optional<std::pair<std::string, IpAddress>> after;
  bool walked = false;
};
struct NexthopLook {
  std::vector<NexthopEntry> actual;  // By number.
  std::vector<bool> wanted;
  std::size_t next_actual = 0;
  std::optional<std::pair<std::string, IpAddress>> after_nexthop;
  std::optional<std::pair<std::string, std::string>> after_group;
  bool walked_nexthops = false;
  bool walked = false;
};
struct RouteLook {
  std::vector<RouteEntry> actual;  // In any order.
  std::size_t next_actual = 0;
  std::uint32_t next_slot = 0;
};

/// Reads all objects of 'kind'. Blocks; any thread that may use the data plane's dumps.
struct PlaneSnapshot {
  AddressLook addresses;
  NeighborLook neighbors;
  NexthopLook nexthops;
  RouteLook routes;
  /// Of ours.
  std::size_t objects() const noexcept;
};
Status read_objects(DataPlane& plane, ObjectKind kind, PlaneSnapshot& snapshot);

/// Visits at most 'limit' entries of 'map' behind the key 'after', which follows. True at the end of the map.
template <class Map, class Visit>
bool walk_slice(Map& map, std::optional<typename Map::key_type>& after, std::size_t& limit, Visit visit) {
  auto it = after ? map.upper_bound(*after) : map.begin();
  for (; it != map.end() && limit > 0; ++it, --limit) {
    visit(it->first, it->second);
    after = it->first;
  }
  return it == map.end();
}

}  // namespace rondo::switch_agent
