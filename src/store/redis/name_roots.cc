#include "store/redis/name_roots.h"

#include <utility>

namespace rondo::redis {

Status NameRoots::add(const TableSpec& spec) {
  if (spec.kind == TableKind::Channel) return {};  // Its events are messages, and no keys.
  std::vector<std::string> roots{spec.name};
  if (spec.kind == TableKind::Staged) roots.push_back("_" + spec.name);
  for (const std::string& root : roots) {
    const std::string* const other = find_table(root, spec.kind);
    if (other == nullptr) continue;
    return {StatusCode::InvalidArgument, "table " + quoted(spec.name) + " would share keys of Redis with table " + quoted(*other) +
                                             ", so that rows of one would be rows of the other: rename one of them"};
  }
  for (std::string& root : roots) tables_.emplace(std::move(root), Table{spec.name, spec.kind});
  return {};
}

const std::string* NameRoots::find_table(const std::string& root, TableKind kind) const {
  const auto shares = [kind](const Table& table) { return kind != TableKind::Watched || table.kind != TableKind::Watched; };
  for (std::size_t end = root.find(separator_); end != std::string::npos; end = root.find(separator_, end + 1)) {
    const auto above = tables_.find(std::string_view{root}.substr(0, end));
    if (above != tables_.end() && shares(above->second)) return &above->second.name;
  }
  if (const auto same = tables_.find(root); same != tables_.end()) return &same->second.name;
  const std::string begin = root + separator_;
  for (auto below = tables_.lower_bound(begin); below != tables_.end() && below->first.starts_with(begin); ++below) {
    if (shares(below->second)) return &below->second.name;
  }
  return nullptr;
}

}  // namespace rondo::redis
