// examine_sqlite_job_store(): what a database of jobs is like, for people. It reads, and changes nothing.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "jobs/named_few.h"
#include "jobs/planner.h"
#include "jobs/sqlite/database.h"
#include "jobs/sqlite/doctor.h"
#include "jobs/sqlite/family_check.h"
#include "jobs/sqlite/lock.h"
#include "jobs/sqlite/rows.h"
#include "jobs/sqlite/schema.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

using sqlite::Database;
using sqlite::Statement;
using Finding = JobDatabaseFinding;
using Level = Finding::Level;

/// The planner moves the next time of a job well before it. One that is older is planned by no process.
constexpr Duration kOverdue = 60s;
constexpr Duration kLongDue = 3600s;
/// A table that has fewer numbers left is not one that rondod alone has written.
constexpr std::int64_t kNumbersLeft = 1'000'000'000;
static_assert(Band::Misfire < Band::Manual && is_requested(Band::Manual) && is_requested(Band::Backfill), "see check_runs()");
constexpr std::int64_t kRunsDue = static_cast<std::int64_t>(RunState::Due);

/// How many rows a query found, and the name and the time of its first one.
struct Found {
  std::int64_t count = 0;
  std::string first;
  WallTime since;
  std::string text() const { return std::to_string(count) + ", the oldest is " + first + " of " + calendar::format_rfc3339(since); }
};

/// 'from': FROM and WHERE, with one place, for a time. The rows of jobs and, with 'of_runs', of runs.
Result<Found> find(Database& database, bool of_runs, const std::string& from, WallTime before) {
  const std::string columns = of_runs ? "count(*), jobs.name || '#' || runs.id, min(runs.due)" : "count(*), jobs.name, min(jobs.next)";
  Statement statement(database, ("SELECT " + columns + " " + from).c_str());
  const Result<bool> row = statement.bind(before).step();
  if (!row) return failure(row.error());
  return Found{.count = statement.integer(0), .first = statement.text(1), .since = statement.time(2)};
}

class Examination {
 public:
  Examination(Database& database, WallTime now) : database_(database), now_(now) {}

  Status examine(std::size_t version) {
    const std::size_t newest = sqlite::newest_version();
    const std::string value = "version " + std::to_string(version);
    version == newest ? add(Level::Ok, "schema", value)
                      : add(Level::Advice, "schema", value, "this program makes version " + std::to_string(newest),
                            "none is needed: rondod changes the database at its start");
    for (const auto step :
         {&Examination::check_integrity, &Examination::check_numbers, &Examination::check_jobs, &Examination::check_families,
          &Examination::check_rows_of_runs, &Examination::check_runs, &Examination::check_waits}) {
      if (is_damaged_ || version < newest) break;  // What the others would say is not certain.
      if (Status status = (this->*step)(); !status.ok()) return status;
    }
    return {};
  }
  void add(Level level, std::string setting, std::string value, std::string meaning = {}, std::string remedy = {}) {
    findings.push_back({level, std::move(setting), std::move(value), std::move(meaning), std::move(remedy)});
  }

  std::vector<Finding> findings;

 private:
  Status check_integrity() {
    Statement statement(database_, "PRAGMA integrity_check(1)");
    const Result<bool> row = statement.step();
    const std::string text = row ? statement.text(0) : std::string{row.error().message()};
    if (!row && row.error().code() != StatusCode::DataLoss) return row.error();
    is_damaged_ = text != "ok";
    is_damaged_
        ? add(Level::Problem, "integrity", text, "the database is damaged, and what rondod reads from it may be wrong",
              "end rondod, move FILE-wal and FILE-shm away, and restore a copy of the file, or recover it with `sqlite3 FILE .recover`")
        : add(Level::Ok, "integrity", text);
    return {};
  }

  /// Each new row gets the number behind that of its table in sqlite_sequence. Behind the largest one there is none.
  Status check_numbers() {
    Statement rows(database_, "SELECT name, seq, name IN ('jobs', 'runs') FROM sqlite_sequence WHERE seq >= ? ORDER BY name");
    rows.bind(std::numeric_limits<std::int64_t>::max() - kNumbersLeft);
    for (Result<bool> row = rows.step(); !row || *row; row = rows.step()) {
      if (!row) return row.error();
      if (rows.integer(2) == 0) continue;
      const std::string table = rows.text(0);
      add(Level::Problem, "numbers of rows", table + ", " + std::to_string(rows.integer(1)),
          "another program has written it: the table gets no rows behind the largest number, so no run begins and no job is added",
          "end rondod; remove a row of " + table +
              " that has such a number, and then execute: UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM " + table +
              ") WHERE name = '" + table + "'");
    }
    return {};
  }

  Status check_jobs() {
    const Result<std::int64_t> all = database_.query("SELECT count(*) FROM jobs");
    const Result<std::int64_t> started = database_.query("SELECT count(*) FROM jobs WHERE running = 1");
    if (!all || !started) return all ? started.error() : all.error();
    add(Level::Ok, "jobs", std::to_string(*all) + ", " + std::to_string(*started) + " started");
    if (Status status = check_definitions(); !status.ok()) return status;
    const Result<Found> overdue = find(database_, false, "FROM jobs WHERE running = 1 AND next >= 0 AND next < ?", now_ + -kOverdue);
    if (!overdue) return overdue.error();
    if (overdue->count > 0)
      add(Level::Problem, "jobs not planned", overdue->text(), "no process plans these jobs: their instants have passed",
          "start rondod; if it runs, see `rondo health`");
    return {};
  }

  Status check_definitions() {
    Statement rows(database_, (std::string{"SELECT "} + kJobColumns + "FROM jobs ORDER BY name").c_str());
    Planner planner{PlannerOptions{}};
    std::size_t set_aside = 0;
    std::size_t wrong_ones = 0;
    for (Result<bool> row = rows.step(); !row || *row; row = rows.step()) {
      if (!row) return row.error();
      const StoredJob stored = read_job(sqlite::StatementRow{rows});
      const std::string name = stored.job.name.substr(0, limits::kJobName);
      if (!stored.set_aside.empty() && set_aside++ < limits::kTroublesNamed)
        add(Level::Problem, "row of a job", name, stored.set_aside + ", so the job is not planned", "stop and start the job");
      const Status wrong = wrong_with(planner, stored);
      if (!wrong.ok() && wrong_ones++ < limits::kTroublesNamed)
        add(Level::Problem, "definition", name, std::string{wrong.message()}, "edit or remove the job");
      families_.add(stored);
    }
    add_others("row of a job", set_aside, "their rows have the like, so they are not planned", "stop and start the jobs");
    add_others("definition", wrong_ones, "their definitions are wrong, too", "edit or remove the jobs");
    return {};
  }
  static Status wrong_with(Planner& planner, const StoredJob& stored) {
    if (!is_readable(stored)) return {StatusCode::DataLoss, stored.job.note};
    if (Status wrong = check(stored.job); !wrong.ok()) return wrong;
    const auto compiled = planner.compiled(stored.job, stored.id);  // Reads its time zone.
    return compiled ? Status{} : compiled.error();
  }
  /// Those of 'count' that were not named.
  void add_others(std::string_view setting, std::size_t count, std::string_view meaning, std::string_view remedy) {
    if (count <= limits::kTroublesNamed) return;
    const std::size_t others = count - limits::kTroublesNamed;
    add(Level::Problem, std::string{setting}, "and " + std::to_string(others) + (others == 1 ? " more job" : " more jobs"),
        std::string{meaning}, std::string{remedy});
  }

  /// Jobs that never run because of the jobs above them.
  Status check_families() {
    const auto named = [this](std::string_view setting, const NamedFew& few, std::string_view meaning, std::string_view remedy) {
      if (few.count() > 0) add(Level::Problem, std::string{setting}, few.text("more", "more"), std::string{meaning}, std::string{remedy});
    };
    named("parents that do not exist", families_.without_parent(), "these jobs never run", "edit or remove the jobs");
    named("cycles of parents", families_.cycles(), "these jobs, and those below them, never run",
          "give one job of each cycle other parents, or a schedule");
    Statement rows(database_, "SELECT parents.parent, jobs.name FROM parents LEFT JOIN jobs ON jobs.id = parents.child");
    std::set<std::pair<std::string, std::string>> stored;
    for (Result<bool> row = rows.step(); !row || *row; row = rows.step()) {
      if (!row) return row.error();
      stored.emplace(rows.text(0), rows.text(1));
    }
    named("rows of parents", families_.differences(stored),
          "the table parents is not as the definitions: these jobs do not follow their parents",
          "edit each of the jobs, with the same definition: this writes its rows again");
    return {};
  }
  /// Runs whose rows cannot be used: a start leaves them out.
  Status check_rows_of_runs() {
    Statement rows(database_, (sqlite::select_runs() + "ORDER BY runs.id").c_str());
    NamedFew found;
    JobRun run;
    for (Result<bool> row = rows.step(); !row || *row; row = rows.step()) {
      if (!row) return row.error();
      if (const std::string wrong = read_run(sqlite::StatementRow{rows}, run); !wrong.empty()) found.add(wrong);
    }
    if (found.count() > 0)
      add(Level::Problem, "rows of runs",
          std::to_string(found.count()) + (found.count() == 1 ? ", the oldest is: " : ", the oldest are: ") + found.named(),
          "another program has written them: these runs are not listed and do not run", "end rondod, and remove or correct the rows");
    return {};
  }

  Status check_runs() {
    const Result<std::int64_t> all = database_.query("SELECT count(*) FROM runs");
    const Result<std::int64_t> due = database_.query("SELECT count(*) FROM runs WHERE state = 0");
    if (!all || !due) return all ? due.error() : all.error();
    add(Level::Ok, "runs", std::to_string(*all) + ", " + std::to_string(*due) + " without an end");
    const std::string unfinished = "FROM runs JOIN jobs ON jobs.id = runs.job WHERE runs.state = " + std::to_string(kRunsDue);
    const Result<Found> late = find(database_, true, unfinished + " AND runs.due >= 0 AND runs.due < ?", now_ + -kLongDue);
    if (!late) return late.error();
    if (late->count > 0)
      add(Level::Advice, "runs due for an hour", late->text(),
          "they wait for a fact, a worker, a place or another run, or they run for long",
          "`rondo job runs JOB` shows them, and `rondo why` says what they wait for");
    const Result<Found> stopped = find(database_, true,
                                       unfinished + " AND jobs.running = 0 AND runs.band < " +
                                           std::to_string(static_cast<int>(Band::Manual)) + " AND runs.due >= 0 AND runs.due < ?",
                                       now_);
    if (!stopped) return stopped.error();
    if (stopped->count > 0)
      add(Level::Advice, "runs of stopped jobs", stopped->text(), "rondod ended after the stop, before they ended",
          "none is needed: they are skipped at the next start of rondod");
    return {};
  }

  /// Runs that wait for runs that never succeed.
  Status check_waits() {
    Statement children(database_,
                       "SELECT jobs.name || '#' || runs.id, runs.parents FROM runs JOIN jobs ON jobs.id = runs.job "
                       "WHERE runs.state = 0 AND runs.parents <> '' ORDER BY runs.id");
    Statement parent(database_, "SELECT state FROM runs WHERE id = ?");
    std::int64_t lost = 0;
    std::string first;
    for (Result<bool> row = children.step(); !row || *row; row = children.step()) {
      if (!row) return row.error();
      const Result<bool> waits_in_vain = has_lost_parent(parent, children.text(1));
      if (!waits_in_vain) return waits_in_vain.error();
      if (!*waits_in_vain) continue;
      if (lost++ == 0) first = children.text(0);
    }
    if (lost > 0)
      add(Level::Advice, "runs without a parent", std::to_string(lost) + ", the oldest is " + first,
          "the run of a parent ended without success, or was removed, and rondod ended before it skipped these",
          "none is needed: they are skipped at the next start of rondod");
    return {};
  }
  /// 'ids': with blanks between them.
  static Result<bool> has_lost_parent(Statement& parent, std::string_view ids) {
    while (!ids.empty()) {
      const std::size_t blank = std::min(ids.find(' '), ids.size());
      const Result<bool> row = parent.bind(ids.substr(0, blank)).step();
      if (!row) return row;
      // Compared before it is narrowed: another program may have written any number.
      const std::int64_t state = *row ? parent.integer(0) : static_cast<std::int64_t>(RunState::Failed);
      parent.reset();
      if (state != kRunsDue && state != static_cast<std::int64_t>(RunState::Succeeded)) return true;
      ids.remove_prefix(std::min(blank + 1, ids.size()));
    }
    return false;
  }

  Database& database_;
  const WallTime now_;
  sqlite::FamilyCheck families_;
  bool is_damaged_ = false;
};

}  // namespace

Result<std::vector<JobDatabaseFinding>> examine_sqlite_job_store(const std::string& path, WallTime now) {
  const auto database = Database::open_to_read(path);
  if (!database) return failure(database.error());
  const Result<std::size_t> version = sqlite::version_of(**database, path);
  Examination examination(**database, now);
  if (!version && version.error().code() != StatusCode::DataLoss) return failure(version.error());
  if (!version) {
    examination.add(Level::Problem, "integrity", std::string{version.error().message()}, "the file is no database any more",
                    "end rondod, move FILE-wal and FILE-shm away, and restore a copy of the file");
    return std::move(examination.findings);
  }
  examination.add(Level::Ok, "in use",
                  sqlite::DatabaseLock::is_taken(path) ? "by a process that runs its jobs" : "by no process that runs its jobs");
  if (Status status = examination.examine(*version); !status.ok()) return failure(std::move(status));
  return std::move(examination.findings);
}

}  // namespace rondo::jobs
