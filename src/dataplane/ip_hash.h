// IpHash: a hash of addresses and prefixes.
#pragma once

#include <cstddef>

#include "rondo/dataplane/ip.h"

namespace rondo {

/// For hash maps: well mixed, unkeyed.
struct IpHash {
  using is_avalanching = void;
  std::size_t operator()(const IpAddress& address) const noexcept;
  std::size_t operator()(const Prefix& prefix) const noexcept;
};

}  // namespace rondo
