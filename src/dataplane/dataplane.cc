#include "rondo/dataplane/dataplane.h"

namespace rondo {

DataPlane::~DataPlane() = default;

Result<std::unique_ptr<Source>> DataPlane::watch_objects(Scheduler&, Priority, ObjectHandler) { return std::unique_ptr<Source>{}; }

}  // namespace rondo
