#include "store/redis/name_roots.h"

#include <utility>

namespace rondo::redis {

Status NameRoots::add(const TableSpec& spec) {
  if (spec.kind == TableKind::Channel) return {};  // Its events are messages, and no keys.
  std::vector<std::string> roots{spec.name};
  if (spec.kind == TableKind::Staged) roots.push_back("_" + spec.name);
  for (const std::string& root : roots) {
    const std::string* const other = find_table(root);
    if (other == nullptr) continue;
    return {StatusCode::InvalidArgument, "table " + quoted(spec.name) + " would share keys of Redis with table " + quoted(*other) +
                                             ", so that rows of one would be rows of the other: rename one of them"};
  }
  for (std::string& root : roots) tables_.emplace(std::move(root), spec.name);
  return {};
}

const std::string* NameRoots::find_table(const std::string& root) const {
  for (std::size_t end = root.find(separator_); end != std::string::npos; end = root.find(separator_, end + 1)) {
    const auto above = tables_.find(std::string_view{root}.substr(0, end));
    if (above != tables_.end()) return &above->second;
  }
  if (const auto same = tables_.find(root); same != tables_.end()) return &same->second;
  const auto below = tables_.lower_bound(root + separator_);
  return below != tables_.end() && below->first.starts_with(root + separator_) ? &below->second : nullptr;
}

}  // namespace rondo::redis
