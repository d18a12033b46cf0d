// Replaces file_backend.cc in a program that was built without SQLite.
#include "backends/file.h"

namespace rondo::cli {

Result<std::unique_ptr<Backend>> open_file(const Options&) {
  return failure(Code::Unimplemented, "--store file://: this rondo was built without durable tables (libsqlite3-dev was missing)");
}

}  // namespace rondo::cli
