// Replaces file.cc in a rondod that was built without SQLite.
#include "rondod/stores/file.h"

namespace rondo::daemon {

bool is_durable(std::string_view url) { return url.starts_with("file:"); }
std::optional<std::string> table_file(std::string_view) { return {}; }
bool waits_for_disk(std::string_view) { return false; }
Result<StoreMaker> durable_maker(const std::string&, DurableHooks) {
  return failure(Code::Unimplemented, "this rondod was built without durable tables (libsqlite3-dev was missing)");
}

}  // namespace rondo::daemon
