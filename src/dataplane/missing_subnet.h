// MissingSubnet: what DataPlane::missing_subnets() reports.
#pragma once

#include "rondo/dataplane/op.h"

namespace rondo {

/// A subnet that is directly connected and that copy_subnets_to() could not copy.
struct MissingSubnet {
  Prefix subnet;
  IfIndex port;
  Status why;
};

}  // namespace rondo
