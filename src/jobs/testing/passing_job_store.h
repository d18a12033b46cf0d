// PassingJobStore: a JobStore that forwards all calls to another one, which outlives it; the base of stores with one difference. Tests
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/job_store.h"

namespace rondo::jobs::test {

class PassingJobStore : public JobStore {
 public:
  /// 'store' must outlive this.
  explicit PassingJobStore(JobStore& store) : store_(store) {}
  /// Keeps 'store': for a test whose fixture destroys the jobs after the test's own variables.
  explicit PassingJobStore(std::shared_ptr<JobStore> store) : kept_(std::move(store)), store_(*kept_) {}
  Status claim() override { return store_.claim(); }
  Result<bool> is_changed_elsewhere() override { return store_.is_changed_elsewhere(); }
  Duration clock_difference() const noexcept override { return store_.clock_difference(); }
  Result<std::vector<SchedulerClaim>> schedulers() override { return store_.schedulers(); }
  Status atomically(const std::function<Status()>& work) override { return store_.atomically(work); }
  Result<StoredJob> put(const Job& job, std::optional<WallTime> next) override { return store_.put(job, next); }
  Status remove(std::string_view name) override { return store_.remove(name); }
  Status set_running(std::string_view name, bool is_running, std::optional<WallTime> next, std::string_view note) override {
    return store_.set_running(name, is_running, next, note);
  }
  Result<StoredJob> find(std::string_view name) override { return store_.find(name); }
  Result<std::vector<StoredJob>> list(std::string_view after, std::size_t max) override { return store_.list(after, max); }
  Result<std::vector<StoredJob>> due(WallTime until, DuePlace after, std::size_t max) override { return store_.due(until, after, max); }
  Result<std::vector<StoredJob>> children(std::string_view parent) override { return store_.children(parent); }
  Result<std::set<std::string, std::less<>>> parents_among(const std::vector<std::string>& names) override {
    return store_.parents_among(names);
  }
  Status plan(std::span<Plan> plans) override { return store_.plan(plans); }
  Status add_runs(std::span<JobRun> runs) override { return store_.add_runs(runs); }
  Status finish(std::span<const RunEnd> ends) override { return store_.finish(ends); }
  Status note_worker(std::int64_t run, std::string_view worker) override { return store_.note_worker(run, worker); }
  Status note_killed(std::int64_t run) override { return store_.note_killed(run); }
  Result<std::vector<JobRun>> unfinished(std::int64_t after, std::size_t max) override { return store_.unfinished(after, max); }
  Result<JobRun> run(std::int64_t id) override { return store_.run(id); }
  Result<std::vector<JobRun>> runs(std::string_view job, std::int64_t before, std::size_t max) override {
    return store_.runs(job, before, max);
  }
  Status remember(std::string_view key, std::string_view text) override { return store_.remember(key, text); }
  Result<std::string> remembered(std::string_view key) override { return store_.remembered(key); }
  Result<std::vector<JobRun>> failures(WallTime since, std::int64_t before, std::size_t max, std::string_view handlers) override {
    return store_.failures(since, before, max, handlers);
  }
  Result<std::optional<JobRun>> last_ended(std::string_view job) override { return store_.last_ended(job); }
  Result<std::optional<JobRun>> last_succeeded(std::string_view job) override { return store_.last_succeeded(job); }
  Result<std::vector<JobRun>> newest_ends(const std::vector<std::string>& names) override { return store_.newest_ends(names); }
  Result<std::vector<WallTime>> instants(std::int64_t job_id, WallTime from, WallTime to, std::size_t max) override {
    return store_.instants(job_id, from, to, max);
  }
  Result<bool> forget(WallTime before, std::size_t max) override { return store_.forget(before, max); }
  Result<bool> forget_beyond(std::size_t kept, std::size_t max) override { return store_.forget_beyond(kept, max); }
  Result<std::optional<RemovedInstants>> removed_instants(std::int64_t job_id) override { return store_.removed_instants(job_id); }
  Result<std::string> unusable_rows() override { return store_.unusable_rows(); }

 protected:
  JobStore& store() noexcept { return store_; }

 private:
  const std::shared_ptr<JobStore> kept_;
  JobStore& store_;
};

}  // namespace rondo::jobs::test
