#include "rondo/jobs/job_run.h"

#include "jobs/names.h"

namespace rondo::jobs {

namespace {
constexpr Names<RunState, 7> kStates{{"due", "succeeded", "failed", "timed-out", "killed", "discarded", "skipped"}};
constexpr Names<Band, 5> kBands{{"ring", "direct", "misfire", "manual", "backfill"}};
}  // namespace

std::string_view to_string(RunState state) noexcept { return kStates.of(state); }
std::optional<RunState> run_state_of(std::string_view name) noexcept { return kStates.find(name); }
std::string_view to_string(Band band) noexcept { return kBands.of(band); }
std::optional<Band> band_of(std::string_view name) noexcept { return kBands.find(name); }

}  // namespace rondo::jobs
