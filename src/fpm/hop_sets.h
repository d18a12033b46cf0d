// HopSets: the sets of next hops that routes of FPM use, each with one row of NEXTHOP_GROUP_TABLE. The name of a set follows from its
// content, not from zebra's number: the numbers change when zebra restarts, and then neither a row nor the kernel changes. Routes count
// their references; a set without one is deleted. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/slab.h"
#include "rondo/base/status.h"
#include "rondo/dataplane/ip.h"
#include "rondo/store/store.h"

namespace rondo::fpm {

/// Names of groups that begin with this belong to the FPM server, and so do the routes that name them.
inline constexpr std::string_view kOwned = "fpm:";

/// One next hop whose device has a name.
struct NamedHop {
  IpAddress gateway;
  std::string device;
  std::uint16_t weight = 1;
  friend auto operator<=>(const NamedHop&, const NamedHop&) = default;
};

class HopSets {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// 'table' must be declared in 'store'; both must outlive the sets.
  HopSets(Store& store, std::string_view table) : store_(store), table_(table) {}

  /// Returns the set with these hops, which may be in any order and repeat. O(hops log sets).
  std::uint32_t find_or_add(std::vector<NamedHop> hops);
  /// Returns the set of this name without a row: routes that name it wait for a row, or need none.
  std::uint32_t find_or_add_name(std::string_view name);
  /// Takes over a row that an earlier run wrote. It is deleted at the next delete_unused() unless a route refers to it.
  void adopt(const Record& row);

  /// Writes the row of the set unless it is written, or was lost since. An error is that of Store::write().
  Status write(std::uint32_t set);
  /// The store has lost the rows. O(sets).
  void rows_were_lost();
  void refer(std::uint32_t set) { ++sets_[set].references; }
  /// The set may be deleted by the next delete_unused().
  void release(std::uint32_t set);
  /// Deletes the rows of sets that no route refers to. Stops at the first error of Store::write(), which it returns.
  Status delete_unused();

  std::string_view name(std::uint32_t set) const noexcept { return sets_[set].name; }
  /// Sets with a row.
  std::size_t rows() const noexcept { return rows_; }

 private:
  struct Set {
    std::string name;
    std::string gateways;
    std::string devices;
    std::string weights;  // Empty: 1 each.
    std::uint32_t references = 0;
    bool has_row = false;  // The table should have a row.
    bool written = false;
    bool lost = false;    // After it was written: its consumer has the row, and the store does not.
    bool unused = false;  // In 'unused_'.
  };
  std::uint32_t add(std::string name);
  void note_unused(std::uint32_t set);

  Store& store_;
  const std::string table_;
  Slab<Set> sets_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::vector<std::uint32_t> unused_;
  std::size_t rows_ = 0;
};

}  // namespace rondo::fpm
