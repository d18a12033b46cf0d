#include "rondo/dataplane/dataplane.h"

namespace rondo {

DataPlane::~DataPlane() = default;

}  // namespace rondo
