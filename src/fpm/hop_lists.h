// HopLists: the distinct lists of next hops that route messages contain, as numbered lists. Routes count their references, and a list
// without one is freed. Only so many lists are admitted, because each becomes a row of NEXTHOP_GROUP_TABLE; a list beyond them is kept, so
// that it can be admitted when another one is freed. The members of all lists count against a quota. One thread. O(members).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/row_index.h"
#include "base/slab.h"
#include "fpm/decode.h"
#include "fpm/quota.h"

namespace rondo::fpm {

class HopLists {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// 'members' must outlive the lists.
  HopLists(std::size_t admitted_max, Quota& members) : admitted_(admitted_max), members_(members) {}

  /// Returns the list with these hops, and counts a reference. A new list is admitted if there is room for it. kNone: the quota of members
  /// has no room, and nothing is kept.
  std::uint32_t refer(const std::vector<Hop>& hops);
  /// Ends a reference. Returns true if an admitted list was freed, so that another one may be admitted.
  bool release(std::uint32_t list);
  /// Returns whether the list is admitted, and admits it if there is room.
  bool admit(std::uint32_t list);
  bool is_admitted(std::uint32_t list) const noexcept { return lists_[list].admitted; }
  /// Ends all references. O(lists).
  void clear();

  const std::vector<Hop>& hops(std::uint32_t list) const noexcept { return lists_[list].hops; }
  std::size_t size() const noexcept { return lists_.live(); }

 private:
  struct List {
    std::vector<Hop> hops;
    std::uint32_t references = 0;
    bool admitted = false;
  };
  void free(std::uint32_t list);

  Quota admitted_;
  Quota& members_;
  Slab<List> lists_;
  RowIndex by_content_;
};

}  // namespace rondo::fpm
