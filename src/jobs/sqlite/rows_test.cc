// Rows that another program wrote and that cannot be used: they are named, with the table, the id, the column and the value, and neither
// the other rows nor the start suffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/family.h"
#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "jobs/remote_runs.h"
#include "jobs/sqlite/doctor.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// It had no file, and the process ended at the check of the file.
TEST(SqliteStore, APathOfADatabaseInMemoryIsRefused) {
  for (const char* const path : {"", ":memory:"}) {
    const auto made = make_sqlite_job_store(path);
    ASSERT_FALSE(made.has_value());
    EXPECT_THAT(made.error().to_string(), HasSubstr("is no path of a database of jobs"));
  }
}

class SqliteRows : public ::testing::Test {
 protected:
  SqliteRows() {
    path = (folder / "jobs.db").string();
    store = std::move(*make_sqlite_job_store(path));
  }
  /// Leaves out the checks of the schema, as a program could that writes the file itself.
  void execute(const std::string& text) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  void add_job(const std::string& name, const std::string& when = "every 10s") const {
    ASSERT_TRUE(store->put({.name = name, .handler = "h", .schedule = {.when = when}}, now).has_value());
    ASSERT_TRUE(store->set_running(name, true, now, "").ok());
  }
  /// Adds runs of the job 'a' without an end; their ids are 1 and so on.
  void add_runs(int count) const {
    std::vector<Plan> plans{{.job_id = store->find("a")->id, .next = now}};
    for (int i = 0; i < count; ++i) plans[0].runs.push_back({.job_id = plans[0].job_id, .scheduled = now + 1s * i, .due = now + 1s * i});
    ASSERT_TRUE(store->plan(plans).ok());
  }
  std::vector<std::int64_t> unfinished(std::int64_t after = 0, std::size_t max = 100) const {
    std::vector<std::int64_t> ids;
    const auto runs = store->unfinished(after, max);
    EXPECT_TRUE(runs.has_value()) << runs.error().to_string();
    for (const JobRun& run : runs.value_or(std::vector<JobRun>{})) ids.push_back(run.id);
    return ids;
  }
  std::string trouble() {
    const auto cycle = planner.run(*store, now);
    EXPECT_TRUE(cycle.has_value()) << cycle.error().to_string();
    return cycle ? cycle->trouble : std::string{};
  }
  std::string findings_of(const std::string& setting) const {
    const auto found = examine_sqlite_job_store(path, now);
    std::string text;
    for (const JobDatabaseFinding& one : found.value_or(std::vector<JobDatabaseFinding>{})) {
      if (one.setting == setting) text += one.value + ": " + one.meaning + "\n";
    }
    return text;
  }

  TemporaryFolder folder;
  std::string path;
  std::shared_ptr<JobStore> store;
  Planner planner{PlannerOptions{}};
  const WallTime now = WallTime::from_nanoseconds(1'800'000'000'000'000'000);
};

struct BadColumn {
  const char* column;
  const char* value;  // In SQL.
  const char* shown;
};

class ColumnsOfRuns : public SqliteRows, public ::testing::WithParamInterface<BadColumn> {};

/// 256 was cut to 8 bits, which is the state 0, and one such row ended each list and the start.
TEST_P(ColumnsOfRuns, ARunThatCannotBeUsedIsLeftOutAndNamed) {
  add_job("a");
  add_runs(3);
  execute(std::string{"UPDATE runs SET "} + GetParam().column + " = " + GetParam().value + " WHERE id = 2");
  EXPECT_THAT(unfinished(), testing::ElementsAre(1, 3));
  EXPECT_EQ(store->runs("a", INT64_MAX, 2)->size(), 2U) << "a page is full without it";
  EXPECT_EQ(store->run(2).error().code(), StatusCode::NotFound);
  const auto what =
      AllOf(HasSubstr("table runs, run 2 of the job 'a', column "), HasSubstr(GetParam().column), HasSubstr(GetParam().shown));
  EXPECT_THAT(store->unusable_rows().value(), AllOf(HasSubstr("cannot be used: 1, the oldest is: "), what));
  EXPECT_THAT(trouble(), what);
  EXPECT_THAT(findings_of("rows of runs"), AllOf(HasSubstr("1, the oldest is: "), what));
  execute("DELETE FROM runs WHERE id = 2");
  EXPECT_THAT(store->unusable_rows().value(), IsEmpty());
  EXPECT_THAT(findings_of("rows of runs"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, ColumnsOfRuns,
                         ::testing::Values(BadColumn{"state", "256", "256 is none of 0 to 6"}, BadColumn{"state", "7", "7 is none"},
                                           BadColumn{"state", "'due'", "'due' is no whole number"}, BadColumn{"band", "256", "256 is none"},
                                           BadColumn{"band", "-1", "-1 is none of 0 to 4"},
                                           BadColumn{"attempt", "4294967296", "4294967296 is none of 0 to 4294967295"},
                                           BadColumn{"missed", "-1", "-1 is none"},
                                           BadColumn{"due", "-9223372036854775807 - 1", "-9223372036"},
                                           BadColumn{"due", "9223372036854775807", "9223372036854775807 is not a time"},
                                           BadColumn{"scheduled", "x'00ff'", "is no time"}, BadColumn{"begun", "-1", "-1 is not a time"},
                                           BadColumn{"parents", "'1 x'", "'x' is no number of a run"}),
                         [](const auto& made) { return made.param.column + std::to_string(made.index); });

TEST_F(SqliteRows, AThousandBadRunsAreCounted) {
  add_job("a");
  const int bad = static_cast<int>(limits::kUnusableRuns) + 10;
  add_runs(bad + 2);
  execute("UPDATE runs SET band = 300 WHERE id <= " + std::to_string(bad));
  EXPECT_THAT(unfinished(0, 2), testing::ElementsAre(bad + 1, bad + 2)) << "a page of them does not look like the end";
  EXPECT_THAT(store->unusable_rows().value(), HasSubstr("cannot be used: 1000, the oldest are: table runs, run 1 of"));
}

/// Only the list of the runs of its job told of it.
TEST_F(SqliteRows, ARunOfAnImpossibleStateIsFoundThatNobodyLists) {
  add_job("a");
  const int last = static_cast<int>(limits::kRunsOfLook) + 2;
  add_runs(last);
  execute("UPDATE runs SET state = 77 WHERE id IN (1, " + std::to_string(last) + ")");
  EXPECT_THAT(store->unusable_rows().value(),
              AllOf(HasSubstr("cannot be used: 1, the oldest is: table runs, run 1 of"), HasSubstr("77 is none")));
  EXPECT_THAT(store->unusable_rows().value(), HasSubstr("cannot be used: 2, the oldest are: "));
  execute("UPDATE runs SET state = 5 WHERE id <> 3");
  EXPECT_THAT(store->unusable_rows().value(), IsEmpty());
  execute("UPDATE runs SET state = 'due' WHERE id = 2");
  EXPECT_THAT(store->unusable_rows().value(), HasSubstr("run 2 of the job 'a', column state: 'due' is no whole number"));
}

TEST_F(SqliteRows, SomeBadRowsAreNamedAndAllAreCounted) {
  add_job("a");
  add_runs(8);
  execute("UPDATE runs SET band = 300 WHERE id <= 7");
  static_cast<void>(unfinished());
  const auto five = AllOf(HasSubstr(": 7, the oldest are: table runs, run 1 of"), HasSubstr("; table runs, run 5 of"));
  EXPECT_THAT(store->unusable_rows().value(), AllOf(five, testing::Not(HasSubstr("run 6 of"))));
  EXPECT_THAT(findings_of("rows of runs"), AllOf(HasSubstr("7, the oldest are: "), HasSubstr("; table runs, run 5 of")));
  for (const char* const name : {"b", "c", "d", "e", "f", "g"}) add_job(name);
  execute("UPDATE jobs SET next = 'soon' WHERE name <> 'a'");
  const auto jobs = AllOf(HasSubstr("job 'b': "), HasSubstr("job 'f': "), HasSubstr("; and 1 more job never becomes due"));
  EXPECT_THAT(store->unusable_rows().value(), AllOf(HasSubstr("run 5 of"), jobs));
  EXPECT_THAT(findings_of("row of a job"), AllOf(HasSubstr("f: "), HasSubstr("and 1 more job:")));
  execute("UPDATE jobs SET spec = '{}', next = 1 WHERE name <> 'a'");
  EXPECT_THAT(trouble(), AllOf(HasSubstr("job 'b': "), HasSubstr("job 'f': "), HasSubstr("; and 1 more job is not planned")));
  EXPECT_THAT(findings_of("definition"), AllOf(HasSubstr("f: "), HasSubstr("and 1 more job:")));
}

/// Each cycle read a thousand definitions to name five, and the jobs beyond them were not counted.
TEST_F(SqliteRows, AllJobsThatNeverBecomeDueAreCounted) {
  execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) INSERT INTO jobs (name, spec, running, next) "
      "SELECT 'j' || i, json_object('name', 'j' || i, 'handler', 'h'), 1, 'soon' FROM n");
  EXPECT_THAT(store->unusable_rows().value(), AllOf(HasSubstr("job 'j"), HasSubstr("; and 1095 more jobs never become due")));
  execute("DELETE FROM jobs WHERE id NOT IN (SELECT id FROM jobs LIMIT 5)");
  EXPECT_THAT(store->unusable_rows().value(), AllOf(HasSubstr("job 'j"), testing::Not(HasSubstr("more job"))));
}

/// One such row ended each list of jobs.
TEST_F(SqliteRows, AnOversizedRowIsDamagedAndTheOthersAreListed) {
  for (const char* const name : {"a", "b", "c"}) add_job(name);
  execute("UPDATE jobs SET spec = json_set(spec, '$.parameters', printf('%.*c', 5000000, 'x')) WHERE name = 'b'");
  const auto all = store->list("", 10).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(is_readable(all[1]));
  EXPECT_THAT(all[1].job.note, AllOf(HasSubstr("column spec: it has 5000"), HasSubstr("bytes, and at most 408000 are possible")));
  EXPECT_EQ(all[2].job.name, "c");
  EXPECT_THAT(trouble(), HasSubstr("job 'b': the row of this job cannot be read"));
  EXPECT_THAT(findings_of("definition"), HasSubstr("b: the row of this job cannot be read"));
  execute(R"(UPDATE jobs SET spec = '{"' || printf('%.*c', 100000, 'y') || '":1}' WHERE name = 'b')");
  EXPECT_LT(store->find("b")->job.note.size(), 2 * limits::kJobText) << "nor is the reason oversized";
  const std::vector<std::int64_t> ids = unfinished();  // trouble() has planned them.
  ASSERT_GE(ids.size(), 2U);
  execute("UPDATE runs SET note = printf('%.*c', 5000000, 'x'); UPDATE runs SET parents = note WHERE id = " + std::to_string(ids[0]));
  EXPECT_THAT(unfinished(), testing::ElementsAreArray(ids.begin() + 1, ids.end()));
  EXPECT_EQ(store->run(ids[1])->note.size(), limits::kRunNote);
  EXPECT_THAT(store->unusable_rows().value(), HasSubstr("column parents: it has 5000000 bytes"));
}

TEST_F(SqliteRows, ADefinitionOfTheLargestSizeIsReadAfterAStop) {
  Job job{.name = "a", .handler = "h", .parameters = std::string(limits::kJobParameters, '\x01')};
  ASSERT_TRUE(check(job).ok());
  for (int i = 0; i < 10; ++i) job.tags.push_back(std::to_string(i) + std::string(900, '\x01'));
  EXPECT_THAT(check(job).to_string(), HasSubstr("definition: as it is stored it would have more than 400000 bytes"));
  while (!check(job).ok()) job.tags.pop_back();
  ASSERT_TRUE(store->put(job, std::nullopt).has_value());
  ASSERT_TRUE(store->set_running("a", false, std::nullopt, std::string(limits::kJobText, '\x01')).ok());
  EXPECT_TRUE(is_readable(store->find("a").value()));
  EXPECT_THAT(findings_of("definition"), IsEmpty()) << "nor is it a problem";
}

/// A child whose row was damaged did not run any more, and nothing said so.
TEST_F(SqliteRows, AChildThatCannotRunIsNamedUntilItIsRepaired) {
  add_job("root");
  for (const char* const name : {"bad", "good"}) {
    ASSERT_TRUE(store->put({.name = name, .handler = "h", .parents = {"root"}}, std::nullopt).has_value());
    ASSERT_TRUE(store->set_running(name, true, std::nullopt, {}).ok());
  }
  EXPECT_THAT(trouble(), IsEmpty());
  execute("UPDATE jobs SET spec = 'x' WHERE name = 'bad'; UPDATE jobs SET next = " + std::to_string(now.nanoseconds()) +
          " WHERE name = 'root'");
  EXPECT_THAT(trouble(), AllOf(HasSubstr("job 'bad': the row of this job cannot be read"), testing::Not(HasSubstr("good"))));
  EXPECT_THAT(trouble(), HasSubstr("job 'bad'")) << "also while the root is not due";
  EXPECT_TRUE(store->remove("bad").ok());
  EXPECT_THAT(trouble(), IsEmpty());
}

/// Such a family counted as one job, also when it had been repaired or removed, as long as five other jobs were named.
TEST_F(SqliteRows, JobsOfFamiliesThatAreNotNamedAreCountedUntilTheyAreRepaired) {
  constexpr int kFamilies = 12;
  std::string damage = "UPDATE jobs SET spec = 'x' WHERE name IN (''";
  for (int i = 0; i < kFamilies; ++i) {
    const std::string root = "root" + std::to_string(i);
    add_job(root);
    for (const char* const child : {"-one", "-two"}) {
      ASSERT_TRUE(store->put({.name = root + child, .handler = "h", .parents = {root}}, std::nullopt).has_value());
      ASSERT_TRUE(store->set_running(root + child, true, std::nullopt, {}).ok());
      damage += ",'" + root + child + "'";
    }
  }
  for (const char* const name : {"a", "b", "c", "d", "e"}) add_job(name);
  execute(damage + "); UPDATE jobs SET spec = '{}', next = 1 WHERE length(name) = 1");
  EXPECT_THAT(trouble(), AllOf(HasSubstr("job 'a': "), HasSubstr("job 'e': "), HasSubstr("; and 24 more jobs are not planned")));
  for (int i = 1; i < kFamilies; ++i) EXPECT_TRUE(store->remove("root" + std::to_string(i) + "-one").ok());
  EXPECT_TRUE(store->set_running("root11", false, std::nullopt, {}).ok());
  for (int visit = 0; visit < 3; ++visit) static_cast<void>(trouble());  // Five families each.
  EXPECT_THAT(trouble(), HasSubstr("; and 12 more jobs are not planned"));
  for (int i = 0; i < kFamilies; ++i) EXPECT_TRUE(store->remove("root" + std::to_string(i) + "-two").ok());
  for (int visit = 0; visit < 3; ++visit) static_cast<void>(trouble());
  EXPECT_THAT(trouble(), HasSubstr("; and 1 more job is not planned"));
  EXPECT_TRUE(store->remove("root0-one").ok());
  for (int visit = 0; visit < 2; ++visit) static_cast<void>(trouble());
  EXPECT_THAT(trouble(), AllOf(HasSubstr("job 'e': "), testing::Not(HasSubstr("more job"))));
}

TEST_F(SqliteRows, ChildrenThatAreAboveThemselvesAreNamed) {
  add_job("root");
  for (const auto& [name, parents] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"one", {"root", "two"}}, {"two", {"one"}}, {"below", {"two"}}, {"stopped", {"root"}}, {"waits", {"stopped"}}}) {
    ASSERT_TRUE(store->put({.name = name, .handler = "h", .parents = parents}, std::nullopt).has_value());
    ASSERT_TRUE(store->set_running(name, name != "stopped", std::nullopt, {}).ok());
  }
  const std::string text = trouble();
  for (const char* const name : {"one", "two", "below"})
    EXPECT_THAT(text, HasSubstr("job '" + std::string{name} + "': it is above itself"));
  EXPECT_THAT(text, testing::Not(HasSubstr("waits")));
}

TEST_F(SqliteRows, AStartGoesOnBesideABadRun) {
  add_job("a", "every 1s");
  add_runs(2);
  execute("UPDATE runs SET band = 300, due = 0, scheduled = 0 WHERE id = 1; UPDATE runs SET due = 1, scheduled = 1 WHERE id = 2");
  Runtime runtime;
  Jobs jobs(runtime, std::move(store), JobsOptions{.cycle = 10ms});
  jobs.handle_in_turn("h", [](const JobContext&) { return Status{}; });
  jobs.start();
  const Instant deadline = runtime.clock().now() + 30s;
  while ((jobs.stats().succeeded < 1 || jobs.health().ok()) && runtime.clock().now() < deadline) runtime.scheduler().run_for(1ms);
  EXPECT_TRUE(RemoteRuns(jobs).is_recovered());
  EXPECT_EQ(jobs.stats().recovered, 1U);
  EXPECT_THAT(jobs.health().to_string(), AllOf(HasSubstr("run 1 of the job 'a'"), HasSubstr("column band: 300")));
}

TEST_F(SqliteRows, ADefinitionThatCannotBeUsedNamesTheJobAndTheField) {
  for (const auto& [spec, what] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "name: '' is another one"},
           {R"({"name":"a"})", "handler: it names none"},
           {R"({"name":"b","handler":"h"})", "name: 'b' is another one"},
           {R"({"name":"a","handler":"h","misfire":"fire-last","misfire_runs":0})", "misfire_runs: it is 1 to"},
           {R"({"name":"a","handler":"h","concurrency":0})", "concurrency: it is 1 to"},
           {R"({"name":"a","handler":7})", "handler: not a text"},
           {"", "no JSON"}}) {
    add_job("a");
    add_job("good");
    execute("UPDATE jobs SET spec = '" + spec + "' WHERE name = 'a'");
    EXPECT_THAT(trouble(), AllOf(HasSubstr("job 'a': "), HasSubstr("column spec: " + what)));
    EXPECT_THAT(findings_of("definition"), AllOf(HasSubstr("a: "), HasSubstr(what)));
    EXPECT_GT(store->find("good")->next, now) << "the others are planned";
    EXPECT_TRUE(store->remove("a").ok());
  }
}

TEST_F(SqliteRows, AJobWhoseNextTimeIsNoTimeIsSetAside) {
  for (const std::string next : {"-9223372036854775807 - 1", "-1", "9223372036854775807", "9214646400000000000", "'soon'", "1.5e300"}) {
    add_job("a", "every 10ms");
    add_job("good");
    execute("UPDATE jobs SET next = " + next + " WHERE name = 'a'");
    EXPECT_THAT(trouble(), AllOf(HasSubstr("job 'a': "), HasSubstr("table jobs, column next: "))) << next;
    EXPECT_THAT(store->runs("a", INT64_MAX, 10).value(), IsEmpty());
    EXPECT_GT(store->find("good")->next, now) << "the others are planned";
    EXPECT_EQ(store->find("a")->job.schedule.when, "every 10ms") << "its definition is there";
    EXPECT_TRUE(planner.replan(*store, "", now).has_value());
    EXPECT_THAT(findings_of("row of a job"), AllOf(HasSubstr("a: "), HasSubstr("column next: ")));
    EXPECT_TRUE(store->set_running("a", true, now, "").ok());
    EXPECT_THAT(trouble(), IsEmpty()) << "a start repairs it";
    EXPECT_TRUE(store->remove("a").ok());
    EXPECT_TRUE(store->remove("good").ok());
  }
}

TEST_F(SqliteRows, AMissingTableOrColumnIsNamedAtTheStart) {
  store.reset();
  execute("ALTER TABLE runs RENAME COLUMN missed TO skipped");
  EXPECT_THAT(make_sqlite_job_store(path).error().to_string(), AllOf(HasSubstr("no column named missed"), HasSubstr(path)));
  execute("DROP TABLE parents");
  EXPECT_THAT(make_sqlite_job_store(path).error().to_string(), HasSubstr("no such table: "));
  EXPECT_EQ(make_sqlite_job_store(path).error().code(), StatusCode::DataLoss);
}

TEST_F(SqliteRows, AnEndlessChainOfParentsIsRefused) {
  const auto named = [](std::size_t i) { return "j" + std::to_string(i); };
  for (std::size_t i = 0; i <= limits::kFamilyDepth + 1; ++i) {
    Job job{.name = named(i), .handler = "h", .parents = {}};
    if (i > 0) job.parents = {named(i - 1)};
    ASSERT_TRUE(store->put(job, {}).has_value());
  }
  const Job low{.name = "new", .handler = "h", .parents = {named(limits::kFamilyDepth + 1)}};
  EXPECT_THAT(check_family(*store, low).to_string(), HasSubstr("parents: more than 1000 jobs are above one another"));
}

TEST_F(SqliteRows, AWideFamilyIsRefused) {
  // A tree upward: each job has 16 parents, so the third level has 4,096 and the fourth one more than the limit.
  std::string text = "BEGIN;";
  std::size_t made = 1;
  for (std::size_t job = 0; made < limits::kFamilyReads + 100; ++job) {
    std::string parents;
    for (int i = 0; i < 16; ++i) parents += (i > 0 ? ",\"w" : "\"w") + std::to_string(made++) + '"';
    const std::string name = "w" + std::to_string(job);
    text += "INSERT INTO jobs (name, spec, running) VALUES ('" + name + R"(', '{"name":")" + name + R"(","handler":"h","parents":[)" +
            parents + "]}', 0);";
  }
  for (std::size_t job = (made - 1) / 16; job < made; ++job) {
    const std::string name = "w" + std::to_string(job);
    text += "INSERT INTO jobs (name, spec, running) VALUES ('" + name + R"(', '{"name":")" + name + R"(","handler":"h"}', 0);)";
  }
  execute(text + "COMMIT");
  EXPECT_THAT(check_family(*store, {.name = "new", .handler = "h", .parents = {"w0"}}).to_string(),
              HasSubstr("more than 5000 jobs are above"));
}

}  // namespace
}  // namespace rondo::jobs
