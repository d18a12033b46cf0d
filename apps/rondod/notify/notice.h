// Notice: what a notification says about a run of a job, and its forms: JSON for webhooks and commands, a message for mail. Pure values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/jobs/job_run.h"

namespace rondo::daemon {

enum class Event : std::uint8_t {
  Failure,   // A run has failed or timed out, after its retries.
  Recovery,  // The first success of the job after a failure.
  Late,      // A run has not begun for a while after it was due.
  Test,      // A person asks for it.
};
/// "failure", "recovery", "late" or "test".
std::string_view to_string(Event event) noexcept;

struct Notice {
  Event event = Event::Test;
  jobs::JobRun run = {};
  std::uint64_t failures = 0;  // Runs in a row that have failed; in a recovery, those before it.
  std::uint64_t more = 0;      // Earlier events of this kind and job that were not sent on their own.
  Duration late{0};            // How long after its due time the run has not begun.
};

/// A JSON object in one line. Its texts are safe to display.
std::string json_of(const Notice& notice, std::string_view host);

/// One line for people.
std::string subject_of(const Notice& notice);

/// A message of mail (RFC 5322): header and body, with CR LF at the ends of lines. No text of a job or a run is in the header but its name,
/// which has no control characters here, and the body is Base64: so no text can add a line to the header.
std::string mail_of(const Notice& notice, std::string_view host, const std::string& from, const std::vector<std::string>& to, WallTime now);

}  // namespace rondo::daemon
