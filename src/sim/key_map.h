// KeyMap: a hash map from keys, found by views of them.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "rondo/store/record.h"

namespace rondo::sim {

struct KeyHash {
  using is_transparent = void;
  using is_avalanching = void;
  std::size_t operator()(std::string_view key) const noexcept { return hash_key(key); }
};
template <class T>
using KeyMap = boost::unordered_flat_map<std::string, T, KeyHash, std::equal_to<>>;

/// The entry of 'key', made if there is none.
template <class T>
T& entry_of(KeyMap<T>& map, std::string_view key) {
  const auto found = map.find(key);
  return found != map.end() ? found->second : map.try_emplace(std::string{key}).first->second;
}

}  // namespace rondo::sim
