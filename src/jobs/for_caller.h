// ForCaller: calls of a Jobs that only read, for a caller outside of the program, such as that of an admin command. The journal has the
// calls and whether they succeeded, without what was read: a replay makes the calls again, but does not have the caller. An answer on which
// a part of the program depends that a replay runs must not be read in this way. Scheduler thread only.
//   ForCaller(jobs)->find(name, done);
#pragma once

#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

class ForCaller {
 public:
  explicit ForCaller(Jobs& jobs);
  ~ForCaller();
  ForCaller(const ForCaller&) = delete;
  ForCaller& operator=(const ForCaller&) = delete;
  Jobs* operator->() const noexcept { return &jobs_; }

 private:
  Jobs& jobs_;
};

}  // namespace rondo::jobs
