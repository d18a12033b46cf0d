// Jobs::put_checked(): the checks of one call, and then put_all().
#include <utility>

#include "jobs/jobs_impl.h"
#include "rondo/base/assert.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

/// The checks of one call, in sequence. The functions given to the handlers keep it alive.
struct Jobs::ParameterChecks : std::enable_shared_from_this<ParameterChecks> {
  ParameterChecks(Jobs& of, std::vector<JobEdit> of_call, bool is_dry_run, Done<std::vector<StoredJob>> when_done)
      : jobs(of),
        alive(of.impl_->self),
        until(of.impl_->core.now() + limits::kParameterChecks),
        edits(std::move(of_call)),
        is_dry(is_dry_run),
        done(std::move(when_done)) {}

  /// Checks the next jobs until a handler needs longer than the call, or all are checked.
  void go_on() {
    while (refusal.ok() && unchecked.size() < edits.size()) {
      const std::size_t at = unchecked.size();
      is_calling = true;
      ask(at);
      is_calling = false;
      if (refusal.ok() && unchecked.size() == at) return;  // take() continues.
    }
    is_over = true;
    refusal.ok() ? put() : refuse();
  }

  void ask(std::size_t at) {
    Impl& parts = *jobs.impl_;
    const Job& job = edits[at].job;
    const HandlerEntry* const found = parts.handlers.find(job.handler);
    if (found == nullptr)
      return unchecked.push_back(parts.handlers.waits_for(job.handler) ? parts.handlers.why_absent(job.handler) : std::string{});
    // A copy: the check may remove its handler.
    const CheckParameters check = found->async != nullptr ? found->async->basic.check : found->check;
    // put_all() refuses a larger one.
    const bool is_small = job.name.size() <= limits::kJobName && job.parameters.size() <= limits::kJobParameters;
    if (!check || !is_small || edits.size() > limits::kJobsOfPut) return unchecked.push_back({});
    if (parts.core.now() >= until)
      return unchecked.push_back("the checks of the jobs before it took " + std::to_string(limits::kParameterChecks / 1s) + " s");
    const Status thrown = parts.core.call_out(
        [&] { check(job, [of = shared_from_this(), at](const Status& checked) { of->take(at, checked); }); }, "the check of parameters");
    if (!thrown.ok()) take(at, thrown);
  }

  /// The answer of a handler. The first one counts.
  void take(std::size_t at, const Status& checked) {
    if (alive.expired() || is_over || !refusal.ok() || at != unchecked.size()) return;
    jobs.impl_->core.expect_here("put_checked");
    if (checked.code() == StatusCode::InvalidArgument) {
      refusal = checked.with_context("job '" + edits[at].job.name + "'");
    } else {
      unchecked.emplace_back(checked.ok() ? std::string_view{} : checked.message());
    }
    if (!is_calling) go_on();
  }

  void put() {
    jobs.put_all(std::move(edits), is_dry,
                 [done = std::move(done), unchecked = std::move(unchecked)](Result<std::vector<StoredJob>> stored) mutable {
                   for (std::size_t i = 0; stored && i < stored->size(); ++i) (*stored)[i].unchecked = std::move(unchecked[i]);
                   done(std::move(stored));
                 });
  }

  void refuse() {
    Impl& parts = *jobs.impl_;
    const Status thrown = parts.core.call_out([this] { done(failure(refusal)); }, "the 'done' of Jobs::put_checked()");
    if (!thrown.ok()) parts.core.report(Change::event("checked", "jobs", {}), thrown);
  }

  Jobs& jobs;
  const std::weak_ptr<Impl*> alive;
  const Instant until;
  std::vector<JobEdit> edits;
  const bool is_dry;
  Done<std::vector<StoredJob>> done;
  std::vector<std::string> unchecked;  // Of the jobs that were checked: StoredJob::unchecked.
  Status refusal;                      // By a handler.
  bool is_calling = false;             // Within ask().
  bool is_over = false;                // put() or refuse() was called.
};

void Jobs::put_checked(std::vector<JobEdit> edits, bool is_dry, Done<std::vector<StoredJob>> done) {
  impl_->core.expect_here("put_checked");
  RONDO_EXPECT(done != nullptr, "Jobs::put_checked() was called with an empty 'done'");
  std::make_shared<ParameterChecks>(*this, std::move(edits), is_dry, std::move(done))->go_on();
}

}  // namespace rondo::jobs
