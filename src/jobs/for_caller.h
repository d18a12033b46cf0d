// ForCaller: calls of a Jobs that only read, for a caller that a replay does not have: an admin command, or the health of rondod. The
// journal has the calls and whether they succeeded, without what was read: a replay makes the calls again, and no part of it uses their
// answers. Parts of a program that run in a replay, too, call Jobs itself. Lists of runs have the first limits::kRunNote bytes of a run's
// own parameters. Scheduler thread only.
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
