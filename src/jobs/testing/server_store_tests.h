// The tests of a store on a real database server, beyond the contract of stores: who owns the jobs (Fence), a connection that is lost in a
// commit (Commit), and what happens when the server, a connection, a lock or a row is not as it should be (Faults). Time is a clock that
// the test sets, or the state of the database. Tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "jobs/server/database.h"
#include "jobs/testing/database_server.h"

namespace rondo::jobs {

using testing::AllOf;
using testing::HasSubstr;

/// No time passes but what the test adds. The time of day is the system's, as the server's is.
class MovedClock final : public Clock {
 public:
  Instant now() const noexcept override { return Instant::from_nanoseconds(1) + elapsed; }
  WallTime wall_now() const noexcept override { return system_.wall_now() + set; }
  Duration elapsed{0};
  Duration set{0};

 private:
  SystemClock system_;
};

struct TestedServer {
  server_kit::DatabaseServer& (*server)();
  std::string missing = {};  // Why there can be none; empty: there can.
};

/// Each test has a database of its own.
class ServerStoreTest : public ::testing::TestWithParam<TestedServer> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    static int count = 0;
    name = "test_" + std::to_string(++count);
    url = server().made_anew(name);
    options.clock = &clock;
    options.lease = 3'600s;  // It does not end on a slow machine.
  }
  static server_kit::DatabaseServer& server() { return GetParam().server(); }
  std::shared_ptr<JobStore> made() { return server().make_store(url, options).value(); }
  std::string sql(const std::string& statements) { return server().session(name)->execute(statements); }
  static WallTime at(std::int64_t second) { return WallTime::from_nanoseconds(second * 1'000'000'000); }
  static StoredJob started(JobStore& store, const std::string& job) {
    EXPECT_TRUE(store.put({.name = job, .handler = "h"}, std::nullopt).has_value());
    EXPECT_TRUE(store.set_running(job, true, at(1), {}).ok());
    return store.find(job).value();
  }
  /// Plans one run.
  static Status plan(JobStore& store, const StoredJob& job, std::int64_t second, std::int64_t* id = nullptr) {
    std::vector<Plan> plans{
        {.job_id = job.id, .next = at(second + 1), .runs = {{.job_id = job.id, .scheduled = at(second), .due = at(second)}}}};
    Status planned = store.plan(plans);
    if (id != nullptr) *id = plans[0].runs[0].id;
    return planned;
  }
  void wait_until_the_lease_ends() {
    redis_kit::wait_until("the lease ends", [this] { return server().has_lease_ended(name); });
  }

  std::string name;
  std::string url;
  MovedClock clock;
  server::StoreOptions options;
};

class ServerStoreFence : public ServerStoreTest {};
class ServerStoreFaults : public ServerStoreTest {};

TEST_P(ServerStoreFence, OneOfTwoStoresOwnsTheJobsUntilItIsDestroyed) {
  auto first = made();
  const auto second = made();
  ASSERT_TRUE(first->claim().ok());
  ASSERT_TRUE(first->claim().ok());
  const Status refused = second->claim();
  EXPECT_EQ(refused.code(), StatusCode::AlreadyExists);
  EXPECT_THAT(refused.to_string(), AllOf(HasSubstr("process " + std::to_string(::getpid()) + " on "), HasSubstr(", until 2")));
  EXPECT_EQ(sql("SELECT min(epoch) || ' ' || max(epoch) FROM rondo.shards"), "1 1");
  first.reset();
  EXPECT_TRUE(second->claim().ok());
  EXPECT_EQ(sql("SELECT min(epoch) || ' ' || max(epoch) FROM rondo.shards"), "2 2");
  EXPECT_EQ(sql("SELECT count(DISTINCT owner) FROM rondo.shards"), "1");
}

TEST_P(ServerStoreFence, ALeaseThatHasEndedIsTakenAndTheCommitsOfItsOwnerFail) {
  server::StoreOptions short_lease = options;
  short_lease.lease = 30ms;
  const auto stopped = server().make_store(url, short_lease).value();
  const StoredJob job = started(*stopped, "a");
  ASSERT_TRUE(stopped->claim().ok());
  std::int64_t run = 0;
  ASSERT_TRUE(plan(*stopped, job, 1, &run).ok());
  wait_until_the_lease_ends();
  const auto next = made();
  ASSERT_TRUE(next->claim().ok());
  for (const Status& refused :
       {plan(*stopped, job, 2), stopped->note_worker(run, "w"), stopped->note_killed(run), stopped->claim(), stopped->remove("a"),
        stopped->finish(std::vector<RunEnd>{{.id = run, .state = RunState::Succeeded}}), stopped->is_changed_elsewhere().error(),
        stopped->remember("k", "t"), stopped->put({.name = "b", .handler = "h"}, {}).error()}) {
    EXPECT_EQ(refused.code(), StatusCode::FailedPrecondition);
    EXPECT_THAT(refused.to_string(), HasSubstr("another scheduler has taken over the jobs"));
  }
  const auto runs = next->runs("a", INT64_MAX, 10).value();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].state, RunState::Due);
  EXPECT_EQ(runs[0].worker, "");
  EXPECT_TRUE(plan(*next, job, 2).ok());
  EXPECT_EQ(stopped->find("a")->id, job.id) << "it can still read";
}

TEST_P(ServerStoreFence, AStoreThatLostItsLeaseDoesNotGiveUpTheLeaseOfTheNextOwner) {
  server::StoreOptions short_lease = options;
  short_lease.lease = 30ms;
  auto stopped = server().make_store(url, short_lease).value();
  ASSERT_TRUE(stopped->claim().ok());
  wait_until_the_lease_ends();
  const auto next = made();
  ASSERT_TRUE(next->claim().ok());
  stopped.reset();
  EXPECT_EQ(made()->claim().code(), StatusCode::AlreadyExists);
}

TEST_P(ServerStoreFence, SchedulersAreListedWithTheirLease) {
  server::StoreOptions short_lease = options;
  short_lease.lease = 30ms;
  const auto first = server().make_store(url, short_lease).value();
  options.reached_at = "https://db1:8700";
  const auto second = made();
  const auto free = first->schedulers().value();
  ASSERT_EQ(free.size(), 1U);
  EXPECT_TRUE(free[0].shards == 0 && free[0].is_here && !free[0].since && !free[0].until);
  ASSERT_TRUE(first->claim().ok());
  wait_until_the_lease_ends();
  const auto expired = second->schedulers().value();
  ASSERT_EQ(expired.size(), 2U);
  EXPECT_TRUE(expired[0].shards == 64 && expired[0].is_expired && !expired[0].is_here && expired[1].shards == 0 && expired[1].is_here);
  EXPECT_GE(*expired[0].until - *expired[0].since, 30ms);
  ASSERT_TRUE(second->claim().ok());
  const auto taken = second->schedulers().value();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].name,
            "process " + std::to_string(::getpid()) + expired[0].name.substr(expired[0].name.find(" on ")) + ", https://db1:8700");
  EXPECT_TRUE(taken[0].shards == 64 && !taken[0].is_expired && taken[0].is_here && taken[0].since > expired[0].until);
  clock.elapsed += options.lease / 2;
  ASSERT_TRUE(second->is_changed_elsewhere().has_value());
  const auto renewed = second->schedulers().value();
  EXPECT_TRUE(renewed[0].until > taken[0].until && renewed[0].since == taken[0].since);
}

TEST_P(ServerStoreFence, AnExpiredLeaseThatNobodyTookIsRenewed) {
  options.lease = 30ms;
  const auto store = made();
  const StoredJob job = started(*store, "a");
  ASSERT_TRUE(store->claim().ok());
  for (const bool writes : {true, false}) {
    wait_until_the_lease_ends();
    clock.elapsed += 1s;
    EXPECT_TRUE(writes ? plan(*store, job, 1).ok() : store->claim().ok());
  }
}

TEST_P(ServerStoreFence, TheLeaseIsRenewedWhenAThirdHasPassed) {
  options.lease = 6s;
  const auto store = made();
  const StoredJob job = started(*store, "a");
  ASSERT_TRUE(store->claim().ok());
  const auto until = [this] { return sql("SELECT min(until) || ' ' || max(until) FROM rondo.shards"); };
  const std::string first = until();
  EXPECT_FALSE(store->is_changed_elsewhere().value());
  ASSERT_TRUE(plan(*store, job, 1).ok());
  EXPECT_EQ(until(), first) << "a third has not passed";
  clock.elapsed += 2s;
  EXPECT_FALSE(store->is_changed_elsewhere().value());
  const std::string second = until();
  EXPECT_NE(second, first);
  clock.elapsed += 2s;
  EXPECT_FALSE(store
                   ->atomically([&]() -> Status {
                     EXPECT_TRUE(plan(*store, job, 2).ok());
                     return {StatusCode::Cancelled, "undone"};
                   })
                   .ok());
  EXPECT_EQ(until(), second);
  ASSERT_TRUE(plan(*store, job, 2).ok());
  EXPECT_NE(until(), second) << "the renewal that was undone does not count";
}

TEST_P(ServerStoreFence, AnOwnersTransactionHoldsUpTheNextOwner) {
  options.lock_timeout = 50ms;
  options.lease = 30ms;
  const auto store = made();
  const auto other = made();
  const StoredJob job = started(*store, "a");
  ASSERT_TRUE(store->claim().ok());
  const Status stored = store->atomically([&]() -> Status {
    if (Status planned = plan(*store, job, 1); !planned.ok()) return planned;
    wait_until_the_lease_ends();
    EXPECT_EQ(other->claim().code(), StatusCode::Unavailable) << "the rows of the lease are locked";
    return {};
  });
  EXPECT_TRUE(stored.ok());
  EXPECT_TRUE(other->claim().ok());
  EXPECT_EQ(other->unfinished(0, 10)->size(), 1U);
  EXPECT_EQ(plan(*store, job, 2).code(), StatusCode::FailedPrecondition);
}

TEST_P(ServerStoreFence, AClaimOfAnotherStoreDoesNotWaitForTheOwner) {
  const auto store = made();
  const auto other = made();
  const StoredJob job = started(*store, "a");
  ASSERT_TRUE(store->claim().ok());
  const Status stored = store->atomically([&]() -> Status {
    if (Status planned = plan(*store, job, 1); !planned.ok()) return planned;
    EXPECT_EQ(other->claim().code(), StatusCode::AlreadyExists) << "no lock is asked for";
    return {};
  });
  EXPECT_TRUE(stored.ok());
}

TEST_P(ServerStoreFence, AStoreWithoutAClaimWritesAndTheOwnerSeesItOnce) {
  const auto owner = made();
  const auto other = made();
  started(*other, "a");
  EXPECT_EQ(owner->is_changed_elsewhere().value(), false) << "nothing is claimed";
  ASSERT_TRUE(owner->claim().ok());
  EXPECT_EQ(owner->is_changed_elsewhere().value(), false) << "it was before the claim";
  started(*owner, "b");
  EXPECT_EQ(owner->is_changed_elsewhere().value(), false) << "it is its own";
  EXPECT_FALSE(other
                   ->atomically([&]() -> Status {
                     EXPECT_TRUE(other->remove("b").ok());
                     return {StatusCode::Cancelled, "undone"};
                   })
                   .ok());
  EXPECT_EQ(owner->is_changed_elsewhere().value(), false);
  ASSERT_TRUE(other->remove("a").ok());
  EXPECT_EQ(owner->is_changed_elsewhere().value(), true);
  EXPECT_EQ(owner->is_changed_elsewhere().value(), false);
}

TEST_P(ServerStoreFence, ClocksThatDifferByMoreThanHalfALeaseAreRefused) {
  options.lease = 6s;
  clock.set = 1'000s;
  const auto store = made();
  EXPECT_THAT(store->claim().to_string(),
              testing::ContainsRegex(
                  "^failed-precondition: .*the clock of the database is [0-9.]+ s behind that of this machine, and at most 3.0 s"));
  EXPECT_EQ(sql("SELECT max(epoch) FROM rondo.shards"), "0") << "nothing is taken";
  clock.set = -2s;
  ASSERT_TRUE(store->claim().ok());
  EXPECT_TRUE(store->clock_difference() > 1s && store->clock_difference() <= 2s);
  clock.set = -1'000s;
  clock.elapsed += 3s;
  EXPECT_THAT(store->is_changed_elsewhere().error().to_string(),
              testing::ContainsRegex("^failed-precondition: .* s ahead of that of this machine"));
  clock.set = {};
  EXPECT_TRUE(store->is_changed_elsewhere().has_value());
}

TEST_P(ServerStoreFaults, AConnectionThatIsEndedIsAnErrorOfOneCall) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  ASSERT_TRUE(store->claim().ok());
  server().end_connections(name);
  const Status lost = plan(*store, job, 1);
  EXPECT_EQ(lost.code(), StatusCode::Unavailable);
  EXPECT_THAT(lost.to_string(), HasSubstr("the connection was lost"));
  EXPECT_TRUE(plan(*store, job, 1).ok());
  const Status failed = store->atomically([&]() -> Status {
    EXPECT_TRUE(plan(*store, job, 2).ok());
    server().end_connections(name);
    EXPECT_FALSE(store->note_killed(1).ok());
    EXPECT_FALSE(store->find("a").has_value()) << "a call of a lost transaction does not begin another one";
    return {};
  });
  EXPECT_EQ(failed.code(), StatusCode::Unavailable) << "although the work hid the error";
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->size(), 1U);
  EXPECT_TRUE(plan(*store, job, 2).ok());
}

/// Plans a run, and does something while its commit waits.
class ServerStoreCommit : public ServerStoreTest {
 protected:
  void SetUp() override {
    ServerStoreTest::SetUp();
    if (IsSkipped()) return;
    store = made();
    job = started(*store, "a");
    ASSERT_TRUE(store->claim().ok());
  }
  Status plan_during(const std::function<void()>& during) {
    std::thread other([&] {
      redis_kit::wait_until("the commit waits", [&] { return server().does_commit_wait(name); });
      during();
    });
    Status planned = plan(*store, job, 5);
    other.join();
    return planned;
  }
  std::shared_ptr<JobStore> store;
  StoredJob job;
};

TEST_P(ServerStoreCommit, AConnectionThatIsLostBeforeTheCommitUndoesIt) {
  server().block_commits(name, true);
  EXPECT_THAT(plan_during([&] {
                server().end_connections(name);
                server().block_commits(name, false);
              }).to_string(),
              HasSubstr("the connection was lost"));
  EXPECT_TRUE(store->runs("a", INT64_MAX, 10)->empty());
  EXPECT_TRUE(plan(*store, job, 5).ok());
}

TEST_P(ServerStoreCommit, ACommitWithoutAnAnswerIsOkIfTheServerHasStoredIt) {
  server().hold_answers(true);
  EXPECT_TRUE(plan_during([&] { server().end_connections(name); }).ok());
  server().hold_answers(false);
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->size(), 1U);
  EXPECT_TRUE(plan(*store, job, 6).ok()) << "the store goes on";
}

TEST_P(ServerStoreCommit, ACommitThatIsKnownTooLateEndsTheOwner) {
  server().hold_answers(true);
  const Status unknown = plan_during([&] {
    server().refuse_connections(name, true);
    server().end_connections(name);
  });
  EXPECT_EQ(unknown.code(), StatusCode::Unavailable);
  EXPECT_THAT(unknown.to_string(), HasSubstr("it is not known whether the change is stored"));
  server().hold_answers(false);
  EXPECT_EQ(plan(*store, job, 6).code(), StatusCode::Unavailable);
  server().refuse_connections(name, false);
  clock.elapsed += 1s;
  for (const Status& ended : {plan(*store, job, 6), store->claim()}) {
    EXPECT_EQ(ended.code(), StatusCode::FailedPrecondition);
    EXPECT_THAT(ended.to_string(), HasSubstr("start again"));
  }
  store.reset();
  store = made();
  EXPECT_TRUE(store->claim().ok()) << "the former store has given the jobs up";
  EXPECT_EQ(store->unfinished(0, 10)->size(), 1U);
  EXPECT_TRUE(plan(*store, job, 6).ok());
}

TEST_P(ServerStoreCommit, ACrashInTheCommitUndoesAPlanAndTheStoreGoesOn) {
  server().block_commits(name, true);
  EXPECT_THAT(plan_during([] { server().crash(); }).to_string(), HasSubstr("it is not known whether the change is stored"));
  server().start();
  server().block_commits(name, false);
  clock.elapsed += 1s;
  EXPECT_TRUE(plan(*store, job, 1).ok());
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->size(), 1U);
}

TEST_P(ServerStoreFaults, AServerThatCrashesIsUsedAgainWhenItIsBack) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  ASSERT_TRUE(store->claim().ok());
  ASSERT_TRUE(plan(*store, job, 1).ok());
  server().crash();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(plan(*store, job, 2).code(), StatusCode::Unavailable);
  server().start();
  EXPECT_EQ(plan(*store, job, 2).code(), StatusCode::Unavailable) << "it does not try again at each call";
  clock.elapsed += 6s;
  EXPECT_TRUE(plan(*store, job, 2).ok());
  EXPECT_EQ(store->runs("a", INT64_MAX, 10)->size(), 2U);
}

/// A machine that began before its database gave up for good.
TEST_P(ServerStoreFaults, AStoreThatBeginsWithoutItsServerMakesItsTablesWhenThatIsThere) {
  server().crash();
  const auto store = made();
  EXPECT_EQ(store->claim().code(), StatusCode::Unavailable);
  EXPECT_EQ(store->find("a").error().code(), StatusCode::Unavailable);
  server().start();
  clock.elapsed += 6s;
  EXPECT_TRUE(store->claim().ok());
  EXPECT_TRUE(plan(*store, started(*store, "a"), 1).ok());
}

TEST_P(ServerStoreFaults, ALockOfAnotherSessionIsAnErrorAndNoHang) {
  options.lock_timeout = 50ms;
  const auto store = made();
  const StoredJob job = started(*store, "a");
  const auto names_the_limit = testing::ContainsRegex("[Ll]ock (wait )?timeout");
  {
    const auto other = server().session(name);
    other->execute("BEGIN; UPDATE rondo.jobs SET next = 7");
    const Status refused = plan(*store, job, 1);
    EXPECT_EQ(refused.code(), StatusCode::Unavailable);
    EXPECT_THAT(refused.to_string(), names_the_limit);
  }
  {
    const auto other = server().session(name);
    other->execute(server().lock_of_runs());
    EXPECT_THAT(store->unfinished(0, 10).error().to_string(), names_the_limit) << "also of a call that only reads";
  }
  redis_kit::wait_until("the locks are gone", [&] { return plan(*store, job, 1).ok(); });
}

TEST_P(ServerStoreFaults, OldRunsAreRemovedBesideALongSnapshotOfAnotherSession) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  std::vector<RunEnd> ends(20, {.state = RunState::Succeeded, .begun = at(1)});
  for (int i = 0; i < 20; ++i) {
    RunEnd& end = ends[static_cast<std::size_t>(i)];
    ASSERT_TRUE(plan(*store, job, i, &end.id).ok());
    end.ended = at(i);
  }
  ASSERT_TRUE(store->finish(ends).ok());
  const auto reader = server().session(name);
  reader->execute(url.starts_with("postgresql") ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "START TRANSACTION WITH CONSISTENT SNAPSHOT");
  EXPECT_EQ(reader->execute("SELECT count(*) FROM rondo.runs"), "20");
  while (store->forget(at(100), 10).value()) {
  }
  EXPECT_EQ(store->runs("a", INT64_MAX, 100)->size(), 1U) << "the last one to end is kept";
  EXPECT_TRUE(plan(*store, job, 50).ok());
  EXPECT_EQ(reader->execute("SELECT count(*) FROM rondo.runs"), "20");
  reader->execute("COMMIT");
  EXPECT_EQ(reader->execute("SELECT count(*) FROM rondo.runs"), "2");
}

TEST_P(ServerStoreFaults, TextsMayHaveAnyBytes) {
  const auto store = made();
  const std::string bytes{"\xff\0\xc3(\\x'\"{,}\n", 12};
  const StoredJob job = started(*store, "a");
  std::vector<JobRun> runs(2,
                           {.job_id = job.id, .scheduled = at(1), .due = at(1), .band = Band::Manual, .note = bytes, .parameters = bytes});
  runs[1].parameters = "";
  runs[1].address = bytes;
  ASSERT_TRUE(store->add_runs(runs).ok());
  ASSERT_TRUE(store->note_worker(runs[0].id, bytes).ok());
  const JobRun read = store->run(runs[0].id).value();
  EXPECT_EQ(read.note, bytes);
  EXPECT_EQ(read.parameters, bytes);
  EXPECT_EQ(read.worker, bytes);
  EXPECT_EQ(store->run(runs[1].id)->parameters, "");
  EXPECT_EQ(store->run(runs[1].id)->address, bytes);
  ASSERT_TRUE(store->finish(std::vector<RunEnd>{{.id = runs[0].id, .state = RunState::Failed, .note = bytes + bytes}}).ok());
  EXPECT_EQ(store->run(runs[0].id)->note, bytes + bytes);
  ASSERT_TRUE(store->remember(bytes, bytes).ok());
  EXPECT_EQ(store->remembered(bytes).value(), bytes);
  EXPECT_EQ(store->find(bytes).error().code(), StatusCode::NotFound);
  EXPECT_TRUE(store->children(bytes)->empty());
  EXPECT_TRUE(store->failures(at(0), INT64_MAX, 10, bytes)->empty());
}

TEST_P(ServerStoreFaults, AThousandRunsTakeAFewStatements) {
  server().count_statements(name);
  const auto store = made();
  const StoredJob parent = started(*store, "parent");
  const StoredJob child = started(*store, "child");
  ASSERT_TRUE(store->claim().ok());
  std::size_t before = server().statements();
  std::vector<Plan> plans(10, {.job_id = parent.id, .next = at(99'999)});
  for (int i = 0; i < 500; ++i) {
    std::vector<JobRun>& runs = plans[static_cast<std::size_t>(i % 10)].runs;
    runs.push_back({.job_id = parent.id, .scheduled = at(i), .due = at(i)});
    runs.push_back({.job_id = child.id, .scheduled = at(i), .due = at(i), .parents = {static_cast<std::int64_t>(runs.size()) - 1}});
  }
  ASSERT_TRUE(store->plan(plans).ok());
  EXPECT_LE(server().statements() - before, 12U);
  const auto planned = store->unfinished(0, 2'000).value();
  ASSERT_EQ(planned.size(), 1'000U);
  EXPECT_EQ(planned[1].parents, std::vector{planned[0].id}) << "the ids are in the order of the plan";
  EXPECT_EQ(planned[999].parents, std::vector{planned[998].id});
  before = server().statements();
  const auto note_all = [&]() -> Status {
    for (const JobRun& run : planned) EXPECT_TRUE(store->note_worker(run.id, "web-" + std::to_string(run.id)).ok());
    return {};
  };
  ASSERT_TRUE(store->atomically(note_all).ok());
  EXPECT_LE(server().statements() - before, 12U);
  EXPECT_EQ(store->run(planned[999].id)->worker, "web-" + std::to_string(planned[999].id));
  std::vector<RunEnd> ends;
  for (const JobRun& run : planned) ends.push_back({.id = run.id, .state = RunState::Succeeded, .begun = at(1), .ended = at(2)});
  before = server().statements();
  ASSERT_TRUE(store->finish(ends).ok());
  EXPECT_LE(server().statements() - before, 12U);
  EXPECT_TRUE(store->unfinished(0, 10)->empty());
}

TEST_P(ServerStoreFaults, WorkersOfOneTransactionAreStoredInTheirOrder) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  std::vector<std::int64_t> runs(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(plan(*store, job, i, &runs[static_cast<std::size_t>(i)]).ok());
  const auto undone = [&]() -> Status {
    EXPECT_TRUE(store->note_worker(runs[0], "lost").ok());
    EXPECT_TRUE(store->note_worker(runs[1], "lost").ok());
    return {StatusCode::Internal, "undone"};
  };
  EXPECT_FALSE(store->atomically(undone).ok());
  const auto work = [&]() -> Status {
    EXPECT_TRUE(store->note_worker(runs[0], "web-1").ok());
    EXPECT_TRUE(store->note_worker(runs[2], "web-2").ok());
    EXPECT_TRUE(store->note_worker(runs[0], "web-3").ok());
    EXPECT_EQ(store->run(runs[2])->worker, "web-2") << "its own calls see the changes";
    EXPECT_TRUE(store->finish(std::vector<RunEnd>{{.id = runs[2], .state = RunState::Succeeded, .ended = at(9)}}).ok());
    EXPECT_TRUE(store->note_worker(runs[2], "web-4").ok());
    return store->note_worker(runs[3], "web-5");
  };
  ASSERT_TRUE(store->atomically(work).ok());
  const auto other = made();
  std::vector<std::string> workers;
  for (const std::int64_t run : runs) workers.push_back(other->run(run)->worker);
  EXPECT_THAT(workers, testing::ElementsAre("web-3", "", "web-2", "web-5"));
}

/// A query for the children of each job would take longer than all the rest.
TEST_P(ServerStoreFaults, ACycleOfManyJobsTakesAFewStatements) {
  server().count_statements(name);
  const auto store = made();
  for (int i = 0; i < 50; ++i) started(*store, "job-" + std::to_string(i));
  ASSERT_TRUE(store->put({.name = "child", .handler = "h", .parents = {"job-7"}}, {}).has_value());
  ASSERT_TRUE(store->set_running("child", true, {}, {}).ok());
  ASSERT_TRUE(store->claim().ok());
  EXPECT_THAT(store->parents_among({"child", "job-6", "job-7"}).value(), testing::ElementsAre("job-7"));
  EXPECT_TRUE(store->parents_among({}).value().empty());
  Planner planner{PlannerOptions{}};
  const std::size_t before = server().statements();
  const auto cycle = planner.run(*store, at(1));
  EXPECT_LE(server().statements() - before, 30U);
  ASSERT_TRUE(cycle.has_value());
  EXPECT_EQ(cycle->plans.size(), 50U);
  EXPECT_EQ(store->unfinished(0, 100)->size(), 51U);
}

TEST_P(ServerStoreFaults, EndsOfOneListCountInItsOrder) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  std::vector<std::int64_t> runs(3);
  for (std::size_t i = 0; i < runs.size(); ++i) ASSERT_TRUE(plan(*store, job, 10 + static_cast<std::int64_t>(i), &runs[i]).ok());
  ASSERT_TRUE(store
                  ->finish(std::vector<RunEnd>{{.id = runs[0], .state = RunState::Due, .due = at(15), .attempt = 1},
                                               {.id = runs[0], .state = RunState::Failed, .attempt = 2, .ended = at(20), .next = at(40)},
                                               {.id = runs[0], .state = RunState::Succeeded, .attempt = 3, .ended = at(21)},
                                               {.id = runs[1], .state = RunState::Failed, .ended = at(20), .next = at(50)},
                                               {.id = runs[2], .next = at(30), .is_withdrawn = true},
                                               {.id = runs[2], .state = RunState::Failed, .next = at(60)}})
                  .ok());
  EXPECT_EQ(store->run(runs[0])->state, RunState::Failed);
  EXPECT_EQ(store->run(runs[0])->attempt, 2U);
  EXPECT_EQ(store->run(runs[2]).error().code(), StatusCode::NotFound);
  EXPECT_EQ(store->find("a")->next, at(30));
}

TEST_P(ServerStoreFaults, RowsThatCannotBeUsedAreNamedAndDoNotStopTheOthers) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  started(*store, "never");
  std::vector<std::int64_t> runs(5);
  for (std::size_t i = 0; i < runs.size(); ++i) ASSERT_TRUE(plan(*store, job, 10 + static_cast<std::int64_t>(i), &runs[i]).ok());
  EXPECT_EQ(store->unusable_rows().value(), "");
  sql("UPDATE rondo.runs SET parents = 'x' WHERE id = " + std::to_string(runs[1]) +
      "; UPDATE rondo.runs SET due = -1 WHERE id = " + std::to_string(runs[3]) +
      "; UPDATE rondo.jobs SET next = -1 WHERE name = 'never'; UPDATE rondo.jobs SET spec = '{' WHERE name = 'a'");
  const auto usable = store->unfinished(0, 2).value();
  ASSERT_EQ(usable.size(), 2U);
  EXPECT_EQ(usable[1].id, runs[2]) << "another one in the place of the second";
  EXPECT_EQ(store->unfinished(0, 10)->size(), 3U);
  EXPECT_THAT(store->find("a")->job.note, HasSubstr("cannot be read"));
  EXPECT_EQ(store->set_running("a", false, {}, "").code(), StatusCode::DataLoss);
  EXPECT_THAT(store->unusable_rows().value(),
              AllOf(HasSubstr("runs that cannot be used: 2"), HasSubstr("column due: -1"), HasSubstr("job 'never'")));
}

TEST_P(ServerStoreFaults, SeveralProgramsMayCreateTheTables) {
  std::atomic<int> made_stores = 0;
  std::vector<std::thread> programs;
  for (int i = 0; i < 4; ++i) {
    programs.emplace_back([&] {
      const auto store = server().make_store(url, {});
      EXPECT_TRUE(store.has_value()) << store.error().to_string();
      made_stores += store.has_value() ? 1 : 0;
    });
  }
  for (std::thread& program : programs) program.join();
  EXPECT_EQ(made_stores, 4);
  EXPECT_EQ(sql("SELECT count(*) FROM rondo.shards"), "64");
}

}  // namespace rondo::jobs
