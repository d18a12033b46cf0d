#include "jobs/sqlite/family_check.h"

#include <algorithm>

namespace rondo::jobs::sqlite {

void FamilyCheck::add(const StoredJob& stored) {
  if (is_readable(stored)) {
    parents_.emplace(stored.job.name, stored.job.parents);
  } else {
    unreadable_.insert(stored.job.name);
  }
}

NamedFew FamilyCheck::without_parent() const {
  NamedFew found;
  for (const auto& [name, parents] : parents_) {
    const auto lost = std::ranges::find_if(
        parents, [this](const std::string& parent) { return !parents_.contains(parent) && !unreadable_.contains(parent); });
    if (lost != parents.end()) found.add("'" + name + "': there is no job '" + *lost + "'");
  }
  return found;
}

NamedFew FamilyCheck::cycles() const {
  NamedFew found;
  std::set<std::string> done;
  for (const auto& [name, parents] : parents_) climb(name, done, found);
  return found;
}

void FamilyCheck::climb(const std::string& name, std::set<std::string>& done, NamedFew& found) const {
  struct Place {
    std::string job;
    std::size_t next = 0;  // Of its parents.
  };
  std::vector<Place> path;
  std::set<std::string> on_path;
  const auto enter = [&](const std::string& job) {
    if (done.contains(job) || !parents_.contains(job)) return;
    if (on_path.insert(job).second) return path.push_back({job});
    const auto above = std::ranges::find(path, job, &Place::job);
    std::string cycle = job;
    for (auto at = path.rbegin(); at.base() != above; ++at) cycle += " -> " + at->job;
    found.add(cycle);
  };
  enter(name);
  while (!path.empty()) {
    Place& last = path.back();
    const std::vector<std::string>& parents = parents_.at(last.job);
    if (last.next < parents.size()) {
      const std::string parent = parents[last.next++];
      enter(parent);
    } else {
      on_path.erase(last.job);
      done.insert(last.job);
      path.pop_back();
    }
  }
}

NamedFew FamilyCheck::differences(const std::set<std::pair<std::string, std::string>>& stored) const {
  NamedFew found;
  for (const auto& [parent, child] : stored) {
    const auto known = parents_.find(child);
    const bool is_defined = known != parents_.end() && std::ranges::find(known->second, parent) != known->second.end();
    if (!is_defined && !unreadable_.contains(child))
      found.add(child.empty() ? "a child of '" + parent + "' that does not exist"
                              : "'" + child + "' has the parent '" + parent + "' there alone");
  }
  for (const auto& [name, parents] : parents_) {
    for (const std::string& parent : parents) {
      if (!stored.contains({parent, name})) found.add("'" + name + "' lacks its parent '" + parent + "'");
    }
  }
  return found;
}

}  // namespace rondo::jobs::sqlite
