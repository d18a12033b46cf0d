// Which handler serves a job, by the names under which handlers were set.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo::jobs {

/// Handlers that executors serve: "executor/GROUP/NAME".
inline constexpr std::string_view kExecutorHandlers = "executor/";

/// What the handlers of a group of executors begin with.
inline std::string handlers_of(std::string_view group) { return std::string{kExecutorHandlers} + std::string{group} + "/"; }

/// The element of a map or set of handlers by name that serves 'handler': its own; or else the longest name that ends with '/' and begins
/// 'handler'. O(depth * log(handlers)).
template <class Names>
typename Names::const_iterator serving(const Names& names, std::string_view handler) {
  for (std::string_view name = handler;;) {
    const auto found = names.find(name);
    if (found != names.end() || name.empty()) return found;
    const std::size_t slash = name.substr(0, name.size() - 1).rfind('/');
    if (slash == std::string_view::npos) return names.end();
    name = name.substr(0, slash + 1);
  }
}

}  // namespace rondo::jobs
