// GroupIds: the kernel's numbers of next-hop groups, by fact. The nexthop-groups Orch writes it; routes read it. A known group may be
// absent from the kernel for a while: when all its ports lose their carrier, the kernel drops the group and its routes without an event.
// 'losses' counts these events, so that routes can tell which of their orders the kernel has dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rondo/dataplane/op.h"
#include "rondo/orch/fact.h"
#include "rondo/store/record.h"

namespace rondo::switch_agent {

class GroupIds {
 public:
  struct Entry {
    NexthopId id;
    bool usable = false;       // In the kernel with at least one member.
    bool forgotten = false;    // Its row was deleted; the reader must look the name up again.
    bool of_others = false;    // All its next hops are on ports of other software: it is not in the kernel, and neither are its routes.
    std::string device = {};   // The port, if its only next hop is to the device itself.
    std::uint32_t losses = 0;  // How often the kernel dropped it.
  };

  /// Null when no such group was ever made (or it was deleted).
  std::shared_ptr<const Entry> find(FactKind kind, std::string_view name) const {
    for (const auto& [known, of_kind] : by_kind_) {
      if (known != kind) continue;
      const auto it = of_kind.find(name);
      return it == of_kind.end() ? nullptr : it->second;
    }
    return nullptr;
  }
  /// Returns the entry for writing; creates it if absent.
  Entry& at(const Fact& fact) {
    std::shared_ptr<Entry>& entry = of_kind(fact.kind)[fact.key];
    if (!entry) entry = std::make_shared<Entry>();
    return *entry;
  }
  void forget(const Fact& fact) {
    ByName& names = of_kind(fact.kind);
    const auto it = names.find(fact.key);
    if (it == names.end()) return;
    it->second->usable = false;
    it->second->forgotten = true;
    names.erase(it);
  }

 private:
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return hash_key(key); }
  };
  using ByName = std::unordered_map<std::string, std::shared_ptr<Entry>, KeyHash, std::equal_to<>>;
  ByName& of_kind(FactKind kind) {
    for (auto& [known, names] : by_kind_) {
      if (known == kind) return names;
    }
    return by_kind_.emplace_back(kind, ByName{}).second;
  }
  std::vector<std::pair<FactKind, ByName>> by_kind_;  // Two kinds.
};

}  // namespace rondo::switch_agent
