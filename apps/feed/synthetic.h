// Synthetic routing tables: any number of distinct prefixes with the prefix lengths of the real default-free tables of 2024, reproducible
// from a seed. Addresses are spread evenly over the unicast space, which is harder for a routing trie than the clustered real ones.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "feed/next_hops.h"
#include "feed/route.h"
#include "rondo/base/result.h"

namespace rondo::feed {

struct SyntheticOptions {
  std::uint64_t ipv4 = 0;
  std::uint64_t ipv6 = 0;
  std::uint64_t seed = 1;
};

/// Returns the number of prefixes of each length in a table of 'total', in the proportions of the real histogram (largest remainders). A
/// length without room for its share passes the rest to the next longer one. ResourceExhausted if 'total' does not fit at all.
Result<std::map<unsigned, std::uint64_t>> length_counts(Family family, std::uint64_t total);

/// Returns IPv4 routes outside 0/8, 10/8, 127/8 and 224/3 and IPv6 routes inside 2000::/3, with no host bits and no duplicates; IPv4
/// first, by length. About 20 ns and 32 bytes a route.
Result<std::vector<Route>> synthetic_routes(const SyntheticOptions& options, const NextHopPlan& plan);

}  // namespace rondo::feed
