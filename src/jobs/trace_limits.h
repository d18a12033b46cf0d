// Limits of the traces of runs. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Traces of runs

/// Runs without a stored end that keep the trace of the call that asked for them: some 700 bytes each.
/// Reached: further runs have no trace, and run without one. Figure: none: the run shows no trace. Test:
/// `LiveRunTraces.BeyondTheLimitARunHasNone`.
inline constexpr std::size_t kTracedRuns = 10'000;

}  // namespace rondo::limits
