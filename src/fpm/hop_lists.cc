#include "fpm/hop_lists.h"

#include "dataplane/ip_hash.h"
namespace rondo::fpm {

namespace {

std::uint64_t hash_of(const std::vector<Hop>& hops) noexcept {
  std::uint64_t hash = hops.size();
  const auto mix = [&hash](std::uint64_t value) {  // The finalizer of MurmurHash3.
    hash = (hash ^ value) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 33U;
  };
  for (const Hop& hop : hops) {
    mix(IpHash{}(hop.gateway));
    mix(std::uint64_t{hop.device} << 32U | std::uint64_t{hop.weight} << 3U | (hop.has_gateway ? 1U : 0U) | (hop.encapsulated ? 2U : 0U) |
        (hop.onlink ? 4U : 0U));
  }
  return hash * 0xc4ceb9fe1a85ec53U;
}

}  // namespace

std::uint32_t HopLists::refer(const std::vector<Hop>& hops) {
  const std::uint64_t hash = hash_of(hops);
  std::uint32_t list = by_content_.find(hash, [&](std::uint32_t known) { return lists_[known].hops == hops; });
  if (list == RowIndex::kNone) {
    if (!members_.take(hops.size())) return kNone;
    list = lists_.take();
    lists_[list] = List{.hops = hops, .references = 0, .admitted = admitted_.take(1)};
    by_content_.insert(hash, list);
  }
  ++lists_[list].references;
  return list;
}

bool HopLists::admit(std::uint32_t list) {
  List& one = lists_[list];
  if (!one.admitted) one.admitted = admitted_.take(1);
  return one.admitted;
}

bool HopLists::release(std::uint32_t list) {
  List& one = lists_[list];
  RONDO_ASSERT(one.references > 0);
  if (--one.references > 0) return false;
  const bool was_admitted = one.admitted;
  free(list);
  return was_admitted;
}

void HopLists::free(std::uint32_t list) {
  List& one = lists_[list];
  by_content_.erase(hash_of(one.hops), list);
  members_.give_back(one.hops.size());
  if (one.admitted) admitted_.give_back(1);
  one = List{};
  lists_.give_back(list);
}

void HopLists::clear() {
  for (std::uint32_t list = 0; list < lists_.limit(); ++list) {
    if (lists_[list].references > 0) free(list);
  }
}

}  // namespace rondo::fpm
