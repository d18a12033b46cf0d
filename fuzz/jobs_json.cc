// Fuzzes the JSON form of jobs, and the text of their schedules and excluded days. A refusal has a reason; an accepted job has the same
// JSON form again, and an accepted schedule has instants that increase.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/job_json.h"
#include "rondo/base/assert.h"
#include "rondo/calendar/schedule.h"
#include "rondo/jobs/job.h"

namespace {

using namespace rondo;

void check_instants(const calendar::Schedule& schedule) {
  WallTime at = WallTime::from_nanoseconds(1'711'756'800'000'000'000);
  for (int i = 0; i < 20; ++i) {
    const std::optional<calendar::Firing> next = calendar::next_firing(schedule, calendar::Zone::utc(), at);
    if (!next) return;
    RONDO_ASSERT(next->scheduled > at && next->due >= next->scheduled);
    at = next->scheduled;
  }
}

void check_schedule(const jobs::ScheduleText& text) {
  const auto schedule = jobs::compile(text, 1);
  if (schedule) return check_instants(*schedule);
  RONDO_ASSERT(!schedule.error().message().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  check_schedule({.when = std::string{text}});
  check_schedule({.when = "every 1h", .excluded = std::string{text}});
  const auto job = jobs::job_from_json(text);
  if (!job) {
    RONDO_ASSERT(!job.error().message().empty());
    return 0;
  }
  check_schedule(job->schedule);
  static_cast<void>(jobs::check(*job));
  const auto again = jobs::job_from_json(jobs::to_json(*job));
  RONDO_ASSERT(again.has_value() && jobs::to_json(*again) == jobs::to_json(*job));
  return 0;
}
