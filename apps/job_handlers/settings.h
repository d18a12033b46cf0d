// The settings of rondod's jobs that decisions depend on, in its journal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::daemon {

/// Records the settings, if the runtime has a journal. Before the first turn.
void note_settings(const Runtime& runtime, const jobs::JobsOptions& options);

/// Returns the text that the journal recorded under a name (Replay::note()).
using Note = std::function<std::optional<std::string>(std::string_view name)>;
/// The settings of the recorded run. Unimplemented: an older rondod recorded it. DataLoss: a setting is missing or malformed.
Result<jobs::JobsOptions> noted_settings(const Note& note);

}  // namespace rondo::daemon
