#include "job_handlers/settings.h"

#include <array>
#include <charconv>
#include <cstdint>

#include "journal/recorder.h"

namespace rondo::daemon {

namespace {

/// Version of the calls and ends in a journal. A journal of version 1 has none of them.
constexpr std::string_view kVersion = "2";

struct Setting {
  std::string_view name;
  std::int64_t (*get)(const jobs::JobsOptions& options);
  void (*set)(jobs::JobsOptions& options, std::int64_t value);
};

constexpr std::array kSettings{
    Setting{"jobs.window_ns", [](const jobs::JobsOptions& of) { return std::int64_t{of.window.count()}; },
            [](jobs::JobsOptions& of, std::int64_t value) { of.window = Duration{value}; }},
    Setting{"jobs.grace_ns", [](const jobs::JobsOptions& of) { return std::int64_t{of.grace.count()}; },
            [](jobs::JobsOptions& of, std::int64_t value) { of.grace = Duration{value}; }},
    Setting{"jobs.cycle_ns", [](const jobs::JobsOptions& of) { return std::int64_t{of.cycle.count()}; },
            [](jobs::JobsOptions& of, std::int64_t value) { of.cycle = Duration{value}; }},
};

}  // namespace

void note_settings(const Runtime& runtime, const jobs::JobsOptions& options) {
  JournalRecorder* const journal = JournalRecorder::of(runtime);
  if (journal == nullptr) return;
  journal->note("jobs", kVersion);
  for (const Setting& setting : kSettings) journal->note(setting.name, std::to_string(setting.get(options)));
}

Result<jobs::JobsOptions> noted_settings(const Note& note) {
  if (note("jobs") != kVersion) {
    return failure(StatusCode::Unimplemented,
                   "the run has jobs, and an older rondod recorded it without what a replay of jobs needs: `rondo journal` shows the run");
  }
  jobs::JobsOptions options;
  for (const Setting& setting : kSettings) {
    const std::string text = note(setting.name).value_or("");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value <= 0)
      return failure(StatusCode::DataLoss, "the run's note '" + std::string{setting.name} + "' is missing or malformed");
    setting.set(options, value);
  }
  // The constructor of Jobs asserts these.
  if (options.window < 1s || options.window > 50s || options.grace < options.window || options.cycle > options.window / 2)
    return failure(StatusCode::DataLoss, "the run's settings of jobs are out of their ranges");
  return options;
}

}  // namespace rondo::daemon
