// The one include of a first program: Runtime, Orch, Table, Outcome, Fact, Fields, Status and what they use. The simulation, the
// agent, the stores on Redis and on disk, workers and the admin socket have headers of their own.
#pragma once

#include "rondo/base/result.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/batch.h"
#include "rondo/orch/fact.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/outcome.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/change.h"
#include "rondo/store/record.h"
