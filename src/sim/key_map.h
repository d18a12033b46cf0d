// KeyMap: a hash map from keys; lookups take records, whose hash is known, or views. NodeMap: the same with stable entry addresses.
// TableMap: a NodeMap by table names that caches the table of the last lookup, which is usually the next one too.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rondo/store/record.h"

namespace rondo::sim {

struct KeyHash {
  using is_transparent = void;
  using is_avalanching = void;
  std::size_t operator()(std::string_view key) const noexcept { return hash_key(key); }
  std::size_t operator()(const Record& record) const noexcept { return record.key_hash(); }
};
struct KeyEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const noexcept { return a == b; }
  bool operator()(const Record& a, std::string_view b) const noexcept { return a.key() == b; }
  bool operator()(std::string_view a, const Record& b) const noexcept { return a == b.key(); }
};
template <class T>
using KeyMap = boost::unordered_flat_map<std::string, T, KeyHash, KeyEqual>;
template <class T>
using NodeMap = std::unordered_map<std::string, T, KeyHash, KeyEqual>;

/// Returns the entry of 'key' and makes it if it is absent.
template <class Map>
typename Map::mapped_type& entry_of(Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found != map.end() ? found->second : map.try_emplace(std::string{key}).first->second;
}
template <class Map>
typename Map::mapped_type& entry_of(Map& map, const Record& record) {
  const auto found = map.find(record);
  return found != map.end() ? found->second : map.try_emplace(std::string{record.key()}).first->second;
}

/// Entries are never erased one by one, only all together.
template <class T>
class TableMap {
 public:
  T& operator[](std::string_view table) {
    if (last_ == nullptr || last_name_ != table) {
      auto found = map_.find(table);
      if (found == map_.end()) found = map_.try_emplace(std::string{table}).first;
      last_name_ = found->first;
      last_ = &found->second;
    }
    return *last_;
  }
  /// The map's own text of a name that it contains.
  std::string_view name_of(std::string_view table) const { return map_.find(table)->first; }
  /// Null if there is none.
  T* find(std::string_view table) {
    const auto found = map_.find(table);
    return found == map_.end() ? nullptr : &found->second;
  }
  void clear() {
    map_.clear();
    last_ = nullptr;
  }
  auto begin() { return map_.begin(); }
  auto end() { return map_.end(); }

 private:
  NodeMap<T> map_;
  std::string_view last_name_;
  T* last_ = nullptr;
};

}  // namespace rondo::sim
