// Candidate: one of the executors among which Router chooses.
#pragma once

#include <string_view>

namespace rondo::jobs {

struct Candidate {
  std::string_view name;
  bool is_healthy = true;
  bool is_idle = true;  // It does not run the job of the choice, and has no run of it waiting.
};

}  // namespace rondo::jobs
