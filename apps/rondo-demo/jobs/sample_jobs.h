// Sample jobs beside the routes, to look at with `rondo job`: one with a cron expression, one with a rate below a second, and its child.
#pragma once

#include "rondo/admin/client.h"
#include "rondo/base/status.h"

namespace rondo::demo {

Status add_sample_jobs(AdminClient& client);

}  // namespace rondo::demo
