// NexthopSets: the sets of next hops that routes name themselves, by name. Routes writes it: a set is wanted while a route uses it or a row
// waits for it. NexthopGroups reads it, and makes one group of each set.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switch_agent/schema.h"

namespace rondo::switch_agent {

/// One text per set of next hops, independent of their order: "10.0.0.1 on Ethernet0, 10.0.0.2 on Ethernet4 (weight 2) (onlink)".
std::string name_of(const std::vector<Hop>& hops);

class NexthopSets {
 public:
  /// Called with the name of each set that begins or ceases to be wanted.
  void on_change(std::function<void(const std::string& name)> handler) { changed_ = std::move(handler); }
  /// 'name' is name_of(hops).
  void want(std::string_view name, const std::vector<Hop>& hops) {
    const auto [set, is_new] = sets_.try_emplace(std::string{name}, hops);
    if (is_new) changed_(set->first);
  }
  void drop(const std::string& name) {
    if (sets_.erase(name) != 0) changed_(name);
  }
  /// Null if no route wants it.
  const std::vector<Hop>* find(std::string_view name) const {
    const auto set = sets_.find(name);
    return set == sets_.end() ? nullptr : &set->second;
  }

 private:
  std::map<std::string, std::vector<Hop>, std::less<>> sets_;
  std::function<void(const std::string& name)> changed_;
};

}  // namespace rondo::switch_agent
