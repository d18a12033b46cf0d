// Sample jobs beside the routes, to look at with `rondo job`: one with a cron expression, one with a rate below a second, and its child.
// For a load, further jobs run each 100 ms.
#pragma once

#include <string>

#include "rondo/admin/client.h"
#include "rondo/base/status.h"

namespace rondo::demo {

/// Adds the three samples, and jobs of 'handler' for 'load' further runs a second, in steps of ten.
Status add_sample_jobs(AdminClient& client, unsigned load, const std::string& handler);

}  // namespace rondo::demo
