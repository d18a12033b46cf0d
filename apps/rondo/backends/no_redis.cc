// Replaces the files redis_*.cc in a program that was built without Redis.
#include "backends/backend.h"

namespace rondo::cli {

Result<std::unique_ptr<Backend>> open_store(const Options&) {
  return failure(Code::Unimplemented, "--store: this rondo was built without Redis (libhiredis-dev and libssl-dev were missing)");
}

}  // namespace rondo::cli
