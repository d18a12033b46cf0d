// JobsTestbed: a program with jobs on a real clock, for tests: a runtime, its Jobs and an SQLite file in a folder of their own. close() and
// open() are a restart on the same file. Tests only; one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/job_store.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs::test {

class JobsTestbed : public testing::Test {
 protected:
  /// Only ends what hangs.
  static constexpr Duration kPatience = 30s;

  explicit JobsTestbed(const JobsOptions& with = {.cycle = 50ms}) : options(with) {}
  ~JobsTestbed() override { close(); }
  std::string path() const { return folder.file("jobs.db"); }
  /// A process begins; the test sets the handlers and starts its jobs.
  void open() {
    runtime = std::make_unique<Runtime>();
    jobs = std::make_unique<Jobs>(*runtime, make_sqlite_job_store(path()).value(), options);
  }
  /// The process ends.
  void close() {
    jobs.reset();
    runtime.reset();
  }
  /// Called before each turn of becomes().
  virtual void look() {}
  /// Runs turns until 'condition' holds. A condition that has held is not called again, because it may take an answer.
  bool becomes(const std::function<bool()>& condition) {
    const Instant deadline = runtime->clock().now() + kPatience;
    for (;;) {
      look();
      if (condition()) return true;
      if (runtime->clock().now() >= deadline) return false;
      runtime->scheduler().run_for(1ms);
    }
  }
  void run_a_while(Duration time = 50ms) {
    const Instant until = runtime->clock().now() + time;
    becomes([&] { return runtime->clock().now() >= until; });
  }
  /// Waits for the answer of an asynchronous function.
  template <class T>
  Result<T> answer(const std::function<void(Jobs::Done<T>)>& call) {
    std::optional<Result<T>> got;
    call([&got](Result<T> result) { got = std::move(result); });
    EXPECT_TRUE(becomes([&got] { return got.has_value(); }));
    return got ? std::move(*got) : failure(StatusCode::DeadlineExceeded, "no answer");
  }

  // --- Jobs
  Result<StoredJob> stored(const Job& job) {
    return answer<StoredJob>([&](auto done) { jobs->define(job, done); });
  }
  Status defined(const Job& job) {
    const auto made = stored(job);
    return made ? Status{} : made.error();
  }
  /// Defines a job, which must be accepted.
  StoredJob define(const Job& job) {
    const auto made = stored(job);
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
    return made.value_or(StoredJob{});
  }
  Status stopped(const std::string& name) {
    const auto stored = answer<StoredJob>([&](auto done) { jobs->stop(name, {}, done); });
    return stored ? Status{} : stored.error();
  }

  // --- Runs
  JobRun trigger(const std::string& name) {
    const auto run = answer<JobRun>([&](auto done) { jobs->trigger(name, done); });
    EXPECT_TRUE(run.has_value()) << run.error().to_string();
    return run.value_or(JobRun{});
  }
  /// The newest stored runs of a job, the newest first.
  std::vector<JobRun> rows(const std::string& name, std::size_t most = 1000) {
    return answer<std::vector<JobRun>>([&](auto done) { jobs->runs(name, INT64_MAX, most, done); }).value_or(std::vector<JobRun>{});
  }
  /// The same as "state note", the oldest first.
  std::vector<std::string> runs(const std::string& name) {
    std::vector<std::string> texts;
    for (const JobRun& run : rows(name)) {
      texts.insert(texts.begin(), std::string{to_string(run.state)} + (run.note.empty() ? "" : " " + run.note));
    }
    return texts;
  }
  bool all_ended() {
    return becomes([this] { return jobs->stats().pending == 0; });
  }

  TemporaryFolder folder;
  JobsOptions options;  // Of the next open().
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Jobs> jobs;
};

}  // namespace rondo::jobs::test
