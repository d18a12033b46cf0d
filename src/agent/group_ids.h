// GroupIds: the kernel's numbers of next-hop groups, by fact. Written by the nexthop-groups Orch, read by routes. A group that is known
// here may be absent from the kernel for a while (all its ports lost their carrier, and the kernel took the group and its routes with it
// without a word); 'losses' counts how often, so that whoever put routes behind it knows which of them are gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/dataplane/op.h"
#include "rondo/orch/constraint.h"

namespace rondo::agent {

class GroupIds {
 public:
  struct Entry {
    NexthopId id;
    bool usable = false;       // In the kernel with at least one member.
    bool forgotten = false;    // Its row was deleted; look the name up again.
    std::uint32_t losses = 0;  // How often the kernel dropped it.
  };

  /// Null when no such group was ever made (or it was deleted).
  std::shared_ptr<const Entry> find(ConstraintKind kind, std::string_view name) const {
    const auto of_kind = by_kind_.find(kind.name());
    if (of_kind == by_kind_.end()) return nullptr;
    const auto it = of_kind->second.find(name);
    return it == of_kind->second.end() ? nullptr : it->second;
  }
  /// The entry to write to, made if need be.
  Entry& at(const Constraint& fact) {
    std::shared_ptr<Entry>& entry = by_kind_[fact.kind.name()][fact.key];
    if (!entry) entry = std::make_shared<Entry>();
    return *entry;
  }
  void forget(const Constraint& fact) {
    auto& of_kind = by_kind_[fact.kind.name()];
    const auto it = of_kind.find(fact.key);
    if (it == of_kind.end()) return;
    it->second->usable = false;
    it->second->forgotten = true;
    of_kind.erase(it);
  }

 private:
  std::map<std::string_view, std::map<std::string, std::shared_ptr<Entry>, std::less<>>> by_kind_;
};

}  // namespace rondo::agent
