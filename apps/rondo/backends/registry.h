// The kinds of stores that --store can name: what names them, who answers the commands, what the build needs for them, and how they open.
// A new kind of store is one entry in registry.cc and its files in CMakeLists.txt.
#pragma once

#include <memory>
#include <string_view>

#include "backends/backend.h"
#include "manual/description.h"

namespace rondo::cli {

struct StoreKind {
  std::string_view name;      // Completes "this rondo was built without".
  std::string_view packages;  // The packages without which a build lacks it.
  bool (*is_named_by)(std::string_view where);
  manual::Answerer answerer;                                         // The commands that it can answer.
  Result<std::unique_ptr<Backend>> (*open)(const Options& options);  // Null: this program was built without it.
};

/// The kind of store that `--store WHERE` names, whether or not this program can open it. Null if WHERE has an unknown scheme.
const StoreKind* find_store_kind(std::string_view where);

/// Opens options.store. Unimplemented, with the packages that were missing, if this program was built without its kind of store.
/// InvalidArgument for an unknown scheme.
Result<std::unique_ptr<Backend>> open_store(const Options& options);

}  // namespace rondo::cli
