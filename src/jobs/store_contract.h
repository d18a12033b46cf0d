// The contract of JobStore as tests that each implementation instantiates: JobStoreContract with a function that opens a store in a folder.
// Opening the same folder again is a restart. Tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/job_store.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

struct StoreKind {
  std::string name;
  std::function<Result<std::shared_ptr<JobStore>>(const std::filesystem::path& folder)> open;
  std::string missing = {};  // Why the tests cannot run here; empty: they can.
};

class JobStoreContract : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    reopen();
  }
  void reopen() {
    store.reset();
    auto opened = GetParam().open(folder);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    store = std::move(*opened);
  }
  static WallTime at(std::int64_t second) { return WallTime::from_nanoseconds(second * 1'000'000'000); }
  /// A started job whose next time is 'next'.
  StoredJob started(const std::string& name, WallTime next, const std::string& handler = "h") {
    EXPECT_TRUE(store->put({.name = name, .handler = handler}, std::nullopt).has_value());
    EXPECT_TRUE(store->set_running(name, true, next, {}).ok());
    return store->find(name).value();
  }
  /// Plans one run of a job.
  JobRun planned(const StoredJob& job, WallTime scheduled, std::optional<WallTime> next) {
    std::vector<Plan> plans{{.job_id = job.id, .next = next, .runs = {{.job_id = job.id, .scheduled = scheduled, .due = scheduled}}}};
    EXPECT_TRUE(store->plan(plans).ok());
    return plans[0].runs[0];
  }
  std::vector<std::string> names(const Result<std::vector<StoredJob>>& jobs) {
    std::vector<std::string> names;
    for (const StoredJob& job : jobs.value()) names.push_back(job.job.name);
    return names;
  }
  std::vector<std::int64_t> ids(const Result<std::vector<JobRun>>& runs) {
    std::vector<std::int64_t> ids;
    for (const JobRun& run : runs.value()) ids.push_back(run.id);
    return ids;
  }

  TemporaryFolder folder;
  std::shared_ptr<JobStore> store;
  std::int64_t last_ = 0;  // Seconds, for scheduled instants.
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JobStoreContract);

TEST_P(JobStoreContract, AJobComesBackAsItWasPut) {
  const Job job{.name = "a/b.c_d-e",
                .handler = "h",
                .parameters = "p \"q\" \n",
                .schedule = {.when = "cron 0 2 * * *",
                             .dialect = "unix",
                             .zone = "Europe/Berlin",
                             .dst = "spring",
                             .from = at(5),
                             .until = at(9),
                             .jitter = 1s},
                .priority = Priority{63},
                .misfire = Misfire::DoNothing,
                .overlap = Overlap::Concurrent,
                .concurrency = 3,
                .overlap_scope = OverlapScope::Job,
                .route = Route::Busyover,
                .retries = 4,
                .backoff = 5s,
                .timeout = 6s,
                .parents = {"p", "q"},
                .required_facts = {"port:Ethernet0"},
                .owner = "me",
                .tags = {"x", "y"},
                .note = "n"};
  ASSERT_TRUE(store->put(job, at(100)).has_value());
  reopen();
  const auto found = store->find(job.name);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->job, job);
  EXPECT_EQ(found->next, at(100));
  EXPECT_FALSE(found->is_running);
}

TEST_P(JobStoreContract, CallsWithinAtomicallyAreOneTransaction) {
  started("kept", at(10));
  const Status failed = store->atomically([this]() -> Status {
    EXPECT_TRUE(store->put({.name = "new", .handler = "h"}, std::nullopt).has_value());
    EXPECT_TRUE(store->set_running("kept", false, std::nullopt, "stopped").ok());
    EXPECT_THAT(names(store->list("", 10)), testing::ElementsAre("kept", "new")) << "its own calls see the changes";
    return {StatusCode::InvalidArgument, "undone"};
  });
  EXPECT_EQ(failed.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(names(store->list("", 10)), testing::ElementsAre("kept"));
  EXPECT_TRUE(store->find("kept")->is_running);
  EXPECT_THROW(static_cast<void>(store->atomically([this]() -> Status {
                 EXPECT_TRUE(store->put({.name = "new", .handler = "h"}, std::nullopt).has_value());
                 throw std::runtime_error("no more");
               })),
               std::runtime_error);
  EXPECT_THAT(names(store->list("", 10)), testing::ElementsAre("kept")) << "and what comes later is not a part of it";
  const Status done = store->atomically([this]() -> Status {
    EXPECT_TRUE(store->put({.name = "new", .handler = "h"}, std::nullopt).has_value());
    return store->set_running("kept", false, std::nullopt, "stopped");
  });
  EXPECT_TRUE(done.ok()) << done.to_string();
  reopen();
  EXPECT_THAT(names(store->list("", 10)), testing::ElementsAre("kept", "new"));
  EXPECT_FALSE(store->find("kept")->is_running);
}

TEST_P(JobStoreContract, AnEditedJobKeepsItsIdItsStateAndItsRuns) {
  const StoredJob before = started("a", at(10));
  const JobRun run = planned(before, at(10), at(20));
  const auto after = store->put({.name = "a", .handler = "other"}, at(30));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->id, before.id);
  EXPECT_TRUE(after->is_running);
  EXPECT_EQ(after->job.handler, "other");
  EXPECT_THAT(ids(store->runs("a", INT64_MAX, 10)), testing::ElementsAre(run.id));
}

TEST_P(JobStoreContract, DueJobsAreTheStartedOnesInTheOrderOfTheirTimes) {
  started("late", at(30));
  started("early", at(10));
  started("beyond", at(31));
  ASSERT_TRUE(store->put({.name = "stopped", .handler = "h"}, at(1)).has_value());
  EXPECT_THAT(names(store->due(at(30), {}, 10)), testing::ElementsAre("early", "late"));
  EXPECT_THAT(names(store->due(at(30), {}, 1)), testing::ElementsAre("early"));
  EXPECT_THAT(names(store->list("", 3)), testing::ElementsAre("beyond", "early", "late"));
  EXPECT_THAT(names(store->list("late", 3)), testing::ElementsAre("stopped"));
}

TEST_P(JobStoreContract, DueJobsAreReadInPages) {
  started("a", at(10));
  started("b", at(10));
  started("c", at(20));
  const StoredJob first = store->due(at(30), {}, 1)->front();
  const auto rest = store->due(at(30), {*first.next, first.id}, 10);
  EXPECT_EQ(first.job.name, "a");
  EXPECT_THAT(names(rest), testing::ElementsAre("b", "c"));
  EXPECT_THAT(names(store->due(at(30), {*rest->back().next, rest->back().id}, 10)), testing::IsEmpty());
}

TEST_P(JobStoreContract, AWithdrawnRunGivesItsInstantBack) {
  const StoredJob job = started("a", at(10));
  const JobRun run = planned(job, at(10), at(20));
  const std::vector<RunEnd> ends{{.id = run.id, .next = at(10), .is_withdrawn = true}};
  ASSERT_TRUE(store->finish(ends).ok());
  EXPECT_THAT(ids(store->runs("a", INT64_MAX, 10)), testing::IsEmpty());
  EXPECT_EQ(store->find("a")->next, at(10));
  EXPECT_GT(planned(job, at(10), at(20)).id, run.id) << "an id is not used again";
}

TEST_P(JobStoreContract, AWithdrawalDoesNotDelayAJobNorStartOneNorRemoveARunThatHasEnded) {
  const StoredJob job = started("a", at(5));
  const JobRun run = planned(job, at(10), at(5));
  const JobRun ended = planned(job, at(20), at(5));
  ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = ended.id, .state = RunState::Killed}}).ok());
  ASSERT_TRUE(store
                  ->finish(std::vector<RunEnd>{{.id = run.id, .next = at(10), .is_withdrawn = true},
                                               {.id = ended.id, .next = at(1), .is_withdrawn = true}})
                  .ok());
  EXPECT_EQ(store->find("a")->next, at(5));
  EXPECT_THAT(ids(store->runs("a", INT64_MAX, 10)), testing::ElementsAre(ended.id));
  const JobRun other = planned(job, at(30), at(40));
  ASSERT_TRUE(store->set_running("a", false, std::nullopt, {}).ok());
  ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = other.id, .next = at(30), .is_withdrawn = true}}).ok());
  EXPECT_EQ(store->find("a")->next, std::nullopt);
}

TEST_P(JobStoreContract, APlanMovesTheNextTimeAndWritesTheRunTogether) {
  const StoredJob job = started("a", at(10));
  const JobRun run = planned(job, at(10), at(20));
  EXPECT_GT(run.id, 0);
  reopen();
  EXPECT_EQ(store->find("a")->next, at(20));
  EXPECT_THAT(ids(store->unfinished(0, 10)), testing::ElementsAre(run.id));
  EXPECT_EQ(store->unfinished(0, 10)->front().job, "a");
}

TEST_P(JobStoreContract, AnInstantHasOneRowHoweverOftenItIsPlanned) {
  const StoredJob job = started("a", at(10));
  planned(job, at(10), at(20));
  EXPECT_EQ(planned(job, at(10), at(20)).id, 0);
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->size(), 1U);
}

TEST_P(JobStoreContract, ATriggerOfTheSameInstantIsAnotherRun) {
  const StoredJob job = started("a", at(10));
  planned(job, at(10), at(20));
  std::vector<JobRun> manual(2, {.job_id = job.id, .job = "a", .scheduled = at(10), .due = at(10), .band = Band::Manual});
  ASSERT_TRUE(store->add_runs(manual).ok());
  EXPECT_GT(manual[0].id, 0);
  EXPECT_GT(manual[1].id, manual[0].id);
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->size(), 3U);
}

TEST_P(JobStoreContract, ABackfilledInstantIsNotPlannedAndAPlannedOneIsNotBackfilled) {
  const StoredJob job = started("a", at(10));
  planned(job, at(10), at(20));
  std::vector<JobRun> runs;
  for (const std::int64_t second : {5, 10}) {
    runs.push_back({.job_id = job.id, .job = "a", .scheduled = at(second), .due = at(30), .band = Band::Backfill});
  }
  ASSERT_TRUE(store->add_runs(runs).ok());
  EXPECT_GT(runs[0].id, 0);
  EXPECT_EQ(runs[1].id, 0);
  EXPECT_EQ(planned(job, at(5), at(20)).id, 0);
  reopen();
  EXPECT_EQ(store->run(runs[0].id)->band, Band::Backfill);
}

TEST_P(JobStoreContract, TheInstantsOfARangeAreThoseOfTheScheduleThatHaveARun) {
  const StoredJob job = started("a", at(10));
  const StoredJob other = started("b", at(10));
  for (const std::int64_t second : {30, 10, 20, 40}) planned(job, at(second), at(50));
  planned(other, at(25), at(50));
  std::vector<JobRun> manual(1, {.job_id = job.id, .job = "a", .scheduled = at(26), .due = at(26), .band = Band::Manual});
  ASSERT_TRUE(store->add_runs(manual).ok());
  EXPECT_THAT(store->instants(job.id, at(20), at(40), 10).value(), testing::ElementsAre(at(20), at(30)));
  EXPECT_THAT(store->instants(job.id, at(0), at(99), 3).value(), testing::ElementsAre(at(10), at(20), at(30)));
}

TEST_P(JobStoreContract, ARunHasTheIdsOfItsParents) {
  const StoredJob a = started("a", at(10));
  const StoredJob b = started("b", at(10));
  const StoredJob c = started("c", at(10));
  const auto plan = [&](std::span<const StoredJob> jobs) {
    std::vector<Plan> plans{{.job_id = a.id, .next = at(20), .runs = {}}};
    for (const StoredJob& job : jobs) plans[0].runs.push_back({.job_id = job.id, .scheduled = at(10), .due = at(10)});
    plans[0].runs[1].parents = {0};
    if (jobs.size() > 2) plans[0].runs[2].parents = {0, 1};
    EXPECT_TRUE(store->plan(plans).ok());
    return plans[0].runs;
  };
  const std::vector<JobRun> runs = plan(std::vector{a, b, c});
  EXPECT_THAT(runs[2].parents, testing::ElementsAre(runs[0].id, runs[1].id));
  reopen();
  EXPECT_THAT(store->run(runs[2].id)->parents, testing::ElementsAre(runs[0].id, runs[1].id));
  EXPECT_THAT(store->unfinished(runs[0].id, 1)->front().parents, testing::ElementsAre(runs[0].id));
  EXPECT_EQ(store->run(99).error().code(), StatusCode::NotFound);
  const StoredJob d = started("d", at(10));
  const std::vector<JobRun> again = plan(std::vector{a, d});
  EXPECT_EQ(again[1].id, 0) << "a was planned before, so d is not";
}

TEST_P(JobStoreContract, ChildrenFollowThePutsAndRemovals) {
  started("root", at(10));
  for (const char* const name : {"x", "y"}) ASSERT_TRUE(store->put({.name = name, .handler = "h", .parents = {"root"}}, {}).has_value());
  EXPECT_THAT(names(store->children("root")), testing::ElementsAre("x", "y"));
  ASSERT_TRUE(store->put({.name = "y", .handler = "h", .parents = {"x"}}, {}).has_value());
  EXPECT_THAT(names(store->children("root")), testing::ElementsAre("x"));
  EXPECT_THAT(names(store->children("x")), testing::ElementsAre("y"));
  ASSERT_TRUE(store->remove("y").ok());
  EXPECT_THAT(names(store->children("x")), testing::IsEmpty());
}

TEST_P(JobStoreContract, TheFirstFinalStateWins) {
  const JobRun run = planned(started("a", at(10)), at(10), at(20));
  const std::vector<RunEnd> retried{
      {.id = run.id, .state = RunState::Due, .due = at(15), .attempt = 1, .begun = at(11), .ended = at(12), .note = "x"}};
  ASSERT_TRUE(store->finish(retried).ok());
  EXPECT_EQ(store->unfinished(0, 10)->front().due, at(15));
  EXPECT_EQ(store->unfinished(0, 10)->front().attempt, 1U);
  const std::vector<RunEnd> first{
      {.id = run.id, .state = RunState::Succeeded, .due = at(15), .attempt = 2, .begun = at(15), .ended = at(16)}};
  const std::vector<RunEnd> second{
      {.id = run.id, .state = RunState::Failed, .due = at(15), .attempt = 3, .begun = at(17), .ended = at(18)}};
  ASSERT_TRUE(store->finish(first).ok());
  ASSERT_TRUE(store->finish(second).ok());
  const JobRun ended = store->runs("a", INT64_MAX, 10)->front();
  EXPECT_EQ(ended.state, RunState::Succeeded);
  EXPECT_EQ(ended.attempt, 2U);
  EXPECT_EQ(ended.ended, at(16));
  EXPECT_TRUE(store->unfinished(0, 10)->empty());
}

TEST_P(JobStoreContract, ALongNoteOfARunIsCut) {
  const JobRun run = planned(started("a", at(10)), at(10), at(20));
  const std::vector<RunEnd> end{{.id = run.id,
                                 .state = RunState::Failed,
                                 .due = at(10),
                                 .attempt = 1,
                                 .ended = at(12),
                                 .note = std::string(limits::kRunNote, 'x') + "y"}};
  ASSERT_TRUE(store->finish(end).ok());
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->front().note, std::string(limits::kRunNote, 'x'));
}

TEST_P(JobStoreContract, TheEndOfARunMaySetTheNextTimeOfItsJob) {
  const JobRun run = planned(started("a", at(10)), at(10), std::nullopt);
  const std::vector<RunEnd> end{{.id = run.id, .state = RunState::Succeeded, .due = at(10), .attempt = 1, .ended = at(12), .next = at(42)}};
  ASSERT_TRUE(store->finish(end).ok());
  EXPECT_EQ(store->find("a")->next, at(42));
}

TEST_P(JobStoreContract, ARemovedJobTakesItsRunsWithItAndItsIdIsNotUsedAgain) {
  const StoredJob job = started("a", at(10));
  planned(job, at(10), at(20));
  ASSERT_TRUE(store->remove("a").ok());
  EXPECT_EQ(store->find("a").error().code(), StatusCode::NotFound);
  EXPECT_TRUE(store->unfinished(0, 10)->empty());
  EXPECT_EQ(store->remove("a").code(), StatusCode::NotFound);
  EXPECT_EQ(store->set_running("a", true, std::nullopt, {}).code(), StatusCode::NotFound);
  EXPECT_NE(started("a", at(10)).id, job.id);
}

TEST_P(JobStoreContract, RunsOfAStoppedJobKeepItStopped) {
  Job noted = started("a", at(10)).job;
  noted.note = "n";
  const StoredJob job = *store->put(noted, at(10));
  ASSERT_TRUE(store->set_running("a", false, std::nullopt, "maintenance").ok());
  planned(job, at(10), at(20));
  EXPECT_EQ(store->find("a")->next, std::nullopt) << "a plan that was made before the stop does not start it again";
  EXPECT_EQ(store->find("a")->job.stop_note, "maintenance");
  EXPECT_EQ(store->find("a")->job.note, "n");
}

TEST_P(JobStoreContract, OldEndedRunsAreForgottenInSlices) {
  const StoredJob job = started("a", at(0));
  std::vector<RunEnd> ends;
  for (int i = 0; i < 10; ++i) ends.push_back({.id = planned(job, at(i), at(i + 1)).id, .state = RunState::Succeeded, .ended = at(i)});
  planned(job, at(10), at(11));
  ASSERT_TRUE(store->finish(ends).ok());
  EXPECT_TRUE(store->forget(at(8), 5).value());
  EXPECT_EQ(store->runs("a", INT64_MAX, 100)->size(), 6U);
  EXPECT_FALSE(store->forget(at(8), 5).value());
  EXPECT_EQ(store->runs("a", INT64_MAX, 100)->size(), 3U) << "two ended later, one has no end";
}

TEST_P(JobStoreContract, ARunHasTheWorkerToWhichItWasGivenLast) {
  const JobRun run = planned(started("a", at(0)), at(0), at(1));
  EXPECT_EQ(store->run(run.id)->worker, "");
  ASSERT_TRUE(store->note_worker(run.id, "web-1").ok());
  ASSERT_TRUE(store->note_worker(run.id, "web-2").ok());
  reopen();
  EXPECT_EQ(store->unfinished(0, 10)->front().worker, "web-2");
  std::vector<RunEnd> ends{{.id = run.id, .state = RunState::Succeeded, .ended = at(1)}};
  ASSERT_TRUE(store->finish(ends).ok());
  ASSERT_TRUE(store->note_worker(run.id, "web-3").ok());
  EXPECT_EQ(store->run(run.id)->worker, "web-2");
}

TEST_P(JobStoreContract, AKillIsKeptUntilTheRunHasEnded) {
  const JobRun run = planned(started("a", at(0)), at(0), at(1));
  EXPECT_FALSE(store->run(run.id)->is_killed);
  ASSERT_TRUE(store->note_killed(run.id).ok());
  std::vector<RunEnd> ends{{.id = run.id, .state = RunState::Due, .due = at(2), .attempt = 1, .ended = at(1)}};
  ASSERT_TRUE(store->finish(ends).ok());
  reopen();
  EXPECT_TRUE(store->unfinished(0, 10)->front().is_killed);
  const JobRun ended = planned(started("b", at(0)), at(0), at(1));
  ends = {{.id = ended.id, .state = RunState::Succeeded, .ended = at(1)}};
  ASSERT_TRUE(store->finish(ends).ok());
  ASSERT_TRUE(store->note_killed(ended.id).ok());
  EXPECT_FALSE(store->run(ended.id)->is_killed);
}

TEST_P(JobStoreContract, OfEachJobTheNewestRunsAreKept) {
  const StoredJob few = started("few", at(0));
  const StoredJob many = started("many", at(0));
  const auto ended = [this](const StoredJob& job, int count) {
    std::vector<RunEnd> ends;
    for (int i = 0; i < count; ++i, ++last_) {
      ends.push_back({.id = planned(job, at(last_), at(last_ + 1)).id, .state = RunState::Failed, .ended = at(last_)});
    }
    ASSERT_TRUE(store->finish(ends).ok());
  };
  const auto removed = [this] {
    int calls = 1;
    while (store->forget_beyond(20, 7).value()) ++calls;
    return calls;
  };
  ended(few, 20);
  const std::int64_t open = planned(many, at(9'999), at(10'000)).id;
  ended(many, 50);
  EXPECT_GE(removed(), 4) << "30 runs are removed, 7 in a call";
  EXPECT_EQ(store->runs("few", INT64_MAX, 100)->size(), 20U);
  const auto kept = store->runs("many", INT64_MAX, 100).value();
  ASSERT_EQ(kept.size(), 21U);
  EXPECT_EQ(kept.back().id, open) << "a run without an end remains, however old it is";
  EXPECT_EQ(kept[19].scheduled, at(last_ - 20));
  ended(many, 1);
  removed();
  EXPECT_LE(store->runs("many", INT64_MAX, 100)->size(), 23U) << "a tenth more may be there";
  ended(many, 5);
  removed();
  EXPECT_EQ(store->runs("many", INT64_MAX, 100)->size(), 21U);
  ended(few, 1);
  reopen();
  removed();
  EXPECT_EQ(store->runs("few", INT64_MAX, 100)->size(), 20U) << "after a start each job is looked at";
}

TEST_P(JobStoreContract, ARunThatAnotherOneNamesAsParentIsKept) {
  const StoredJob parent = started("parent", at(0));
  const StoredJob child = started("child", at(0));
  std::vector<Plan> plans{{.job_id = parent.id,
                           .next = at(1),
                           .runs = {{.job_id = parent.id, .scheduled = at(0)}, {.job_id = child.id, .scheduled = at(0), .parents = {0}}}}};
  ASSERT_TRUE(store->plan(plans).ok());
  const std::int64_t named = plans[0].runs[0].id;
  std::vector<RunEnd> ends{{.id = named, .state = RunState::Succeeded, .ended = at(1)}};
  for (int i = 1; i < 10; ++i) {
    ends.push_back({.id = planned(parent, at(i), at(i + 1)).id, .state = RunState::Succeeded, .ended = at(i)});
  }
  ASSERT_TRUE(store->finish(ends).ok());
  while (store->forget_beyond(3, 100).value()) {
  }
  EXPECT_TRUE(store->run(named).has_value()) << "after a crash the child would be skipped without it";
  EXPECT_EQ(store->runs("parent", INT64_MAX, 100)->size(), 4U);
  ends = {{.id = plans[0].runs[1].id, .state = RunState::Succeeded, .ended = at(20)}};
  ASSERT_TRUE(store->finish(ends).ok());
  reopen();
  while (store->forget_beyond(3, 100).value()) {
  }
  EXPECT_FALSE(store->run(named).has_value());
}

TEST_P(JobStoreContract, OfTheRunsThatHaveBegunTheLastToEndIsFound) {
  const StoredJob job = started("a", at(0));
  const StoredJob other = started("b", at(0));
  const auto last = [this] { return store->last_ended("a").value().value_or(JobRun{}).id; };
  const auto end = [this](const JobRun& run, RunState state, std::optional<WallTime> begun, WallTime ended) {
    ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = run.id, .state = state, .begun = begun, .ended = ended}}).ok());
  };
  const JobRun first = planned(job, at(1), at(2));
  const JobRun second = planned(job, at(2), at(3));
  const JobRun killed = planned(job, at(3), at(4));
  const JobRun retried = planned(job, at(4), at(5));
  const JobRun tied = planned(job, at(5), at(6));
  EXPECT_EQ(last(), 0);
  end(killed, RunState::Killed, std::nullopt, at(50));
  end(planned(other, at(1), at(2)), RunState::Succeeded, at(1), at(60));
  EXPECT_EQ(last(), 0) << "it did not begin, and the other one is of another job";
  end(second, RunState::Failed, at(10), at(20));
  EXPECT_EQ(last(), second.id);
  end(first, RunState::Succeeded, at(5), at(30));
  EXPECT_EQ(last(), first.id) << "it ended later, though it has the lower id";
  end(retried, RunState::Due, at(35), at(40));
  EXPECT_EQ(last(), first.id) << "a further attempt follows";
  end(tied, RunState::TimedOut, at(10), at(30));
  reopen();
  EXPECT_EQ(store->last_ended("a").value()->state, RunState::TimedOut);
  EXPECT_FALSE(store->last_ended("none").value().has_value());
  EXPECT_EQ(store->last_succeeded("a").value()->id, first.id);
  EXPECT_THAT(ids(store->newest_ends({"a", "b"})), testing::UnorderedElementsAre(tied.id, store->last_ended("b").value()->id, first.id));
  EXPECT_EQ(ids(store->newest_ends({"a"})).back(), first.id) << "behind the last end";
}

TEST_P(JobStoreContract, ATextIsRememberedUnderItsKey) {
  for (const char* const text : {"one", "two"}) ASSERT_TRUE(store->remember("a", text).ok());
  reopen();
  EXPECT_EQ(store->remembered("a").value(), "two");
  EXPECT_EQ(store->remembered("b").value(), "");
}

TEST_P(JobStoreContract, TheRunsOfAllJobsThatFailedAreFoundByTheirEnd) {
  const StoredJob a = started("a", at(0));
  const StoredJob b = started("b", at(0), "executor/b/x");
  const auto end = [this](const JobRun& run, RunState state, WallTime ended) {
    ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = run.id, .state = state, .begun = at(1), .ended = ended}}).ok());
  };
  const JobRun early = planned(a, at(1), at(2));
  const JobRun failed = planned(a, at(2), at(3));
  const JobRun late = planned(b, at(3), at(4));
  const JobRun good = planned(b, at(4), at(5));
  end(early, RunState::Failed, at(10));
  end(failed, RunState::Failed, at(20));
  end(late, RunState::TimedOut, at(30));
  end(good, RunState::Succeeded, at(30));
  reopen();
  EXPECT_EQ(ids(store->failures(at(20), INT64_MAX, 10, {})), (std::vector{late.id, failed.id}));
  EXPECT_EQ(ids(store->failures(at(0), failed.id, 2, {})), std::vector{early.id});
  EXPECT_EQ(store->failures(at(0), INT64_MAX, 1, {})->front().job, "b");
  EXPECT_EQ(ids(store->failures(at(0), INT64_MAX, 10, "executor/b/")), std::vector{late.id});
  EXPECT_EQ(ids(store->failures(at(0), INT64_MAX, 10, "h")), (std::vector{failed.id, early.id}));
  EXPECT_THAT(ids(store->failures(at(0), INT64_MAX, 10, "executor/a/")), testing::IsEmpty());
}

/// By age it was removed, and after a crash the child was skipped without it.
TEST_P(JobStoreContract, AnOldRunThatAnotherOneNamesAsParentIsKept) {
  const StoredJob parent = started("parent", at(0));
  const StoredJob child = started("child", at(0));
  std::vector<Plan> plans{{.job_id = parent.id,
                           .next = at(1),
                           .runs = {{.job_id = parent.id, .scheduled = at(0)}, {.job_id = child.id, .scheduled = at(0), .parents = {0}}}}};
  ASSERT_TRUE(store->plan(plans).ok());
  std::vector<RunEnd> ends{{.id = plans[0].runs[0].id, .state = RunState::Succeeded, .ended = at(1)}};
  for (int i = 1; i < 10; ++i) {
    ends.push_back({.id = planned(parent, at(i), at(i + 1)).id, .state = RunState::Succeeded, .ended = at(i)});
  }
  ASSERT_TRUE(store->finish(ends).ok());
  const auto forget_old = [this] {
    while (store->forget(at(100), 3).value()) {
    }
  };
  forget_old();
  EXPECT_THAT(ids(store->runs("parent", INT64_MAX, 100)), testing::ElementsAre(plans[0].runs[0].id));
  ends = {{.id = plans[0].runs[1].id, .state = RunState::Succeeded, .ended = at(20)}};
  ASSERT_TRUE(store->finish(ends).ok());
  forget_old();
  EXPECT_TRUE(store->runs("parent", INT64_MAX, 100)->empty());
  EXPECT_TRUE(store->runs("child", INT64_MAX, 100)->empty());
}

/// It was removed, and then the fact that the job has succeeded did not hold any more.
TEST_P(JobStoreContract, OfEachJobTheLastRunThatHasBegunIsKept) {
  std::vector<StoredJob> jobs;
  std::vector<std::int64_t> last;
  for (const char* const name : {"a", "b", "c", "d"}) jobs.push_back(started(name, at(0)));
  for (const StoredJob& job : jobs) {
    std::vector<RunEnd> ends;
    for (int i = 0; i < 30; ++i) ends.push_back({.id = planned(job, at(i), at(i + 1)).id, .state = RunState::Killed, .ended = at(i)});
    for (const std::size_t i : {1U, 2U}) {  // The run of the lower id ends later.
      ends[i].state = RunState::Succeeded;
      ends[i].begun = at(1);
      ends[i].ended = at(40 - static_cast<std::int64_t>(i));
    }
    last.push_back(ends[1].id);
    ASSERT_TRUE(store->finish(ends).ok());
  }
  while (store->forget_beyond(10, 7).value()) {
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(store->runs(jobs[i].job.name, INT64_MAX, 100)->size(), 11U);
    EXPECT_EQ(store->last_ended(jobs[i].job.name).value()->id, last[i]);
  }
  while (store->forget(at(100), 3).value()) {
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_THAT(ids(store->runs(jobs[i].job.name, INT64_MAX, 100)), testing::ElementsAre(last[i]));
  }
  const JobRun next = planned(jobs[0], at(50), at(51));
  ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = next.id, .state = RunState::Failed, .begun = at(50), .ended = at(99)}}).ok());
  while (store->forget(at(100), 3).value()) {
  }
  EXPECT_THAT(ids(store->runs("a", INT64_MAX, 100)), testing::ElementsAre(next.id)) << "another run decides now";
}

TEST_P(JobStoreContract, TheInstantsBetweenWhichRunsWereRemovedAreKnown) {
  const StoredJob job = started("a", at(0));
  const auto removed = [&]() -> std::vector<WallTime> {
    const auto found = store->removed_instants(job.id).value();
    if (!found) return {};
    return {found->first, found->last};
  };
  std::vector<RunEnd> ends;
  for (const int second : {5, 3, 8, 20}) {
    ends.push_back({.id = planned(job, at(second), at(99)).id, .state = RunState::Skipped, .ended = at(second)});
  }
  std::vector<JobRun> manual(1, {.job_id = job.id, .job = "a", .scheduled = at(1), .due = at(1), .band = Band::Manual});
  ASSERT_TRUE(store->add_runs(manual).ok());
  ends.push_back({.id = manual[0].id, .state = RunState::Skipped, .ended = at(1)});
  ASSERT_TRUE(store->finish(ends).ok());
  ASSERT_FALSE(store->forget(at(2), 10).value());
  EXPECT_THAT(removed(), testing::IsEmpty()) << "a triggered run has no instant of the schedule";
  ASSERT_FALSE(store->forget(at(10), 10).value());
  EXPECT_THAT(removed(), testing::ElementsAre(at(3), at(8)));
  ends = {{.id = planned(job, at(30), at(99)).id, .state = RunState::Skipped, .ended = at(30)}};
  ASSERT_TRUE(store->finish(ends).ok());
  while (store->forget_beyond(1, 10).value()) {
  }
  reopen();
  EXPECT_THAT(removed(), testing::ElementsAre(at(3), at(20)));
  ASSERT_TRUE(store->remove("a").ok());
  EXPECT_THAT(removed(), testing::IsEmpty());
}

TEST_P(JobStoreContract, RunsComeInPagesNewestFirst) {
  const StoredJob job = started("a", at(0));
  for (int i = 0; i < 5; ++i) planned(job, at(i), at(i + 1));
  const auto page = store->runs("a", INT64_MAX, 2).value();
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].scheduled, at(4));
  EXPECT_EQ(store->runs("a", page[1].id, 10)->front().scheduled, at(2));
  EXPECT_EQ(store->unfinished(page[1].id, 10)->size(), 1U);
}

}  // namespace rondo::jobs
