// make_sqlite_job_store(): jobs and runs in two tables. A job is kept as JSON beside the columns by which it is found.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "jobs/job_json.h"
#include "jobs/job_store.h"
#include "jobs/remote_runs.h"
#include "jobs/sqlite/database.h"
#include "jobs/sqlite/doctor.h"
#include "jobs/sqlite/lock.h"
#include "jobs/sqlite/retention.h"
#include "jobs/sqlite/rows.h"
#include "jobs/sqlite/schema.h"
#include "jobs/unusable_runs.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

using sqlite::Database;
using sqlite::Statement;

/// "Rndj".
constexpr std::int64_t kApplicationId = 0x526e646a;

/// The steps from each version to the next one; the version is the number of steps that the database has had.
constexpr std::array kMigrations{
    "CREATE TABLE jobs ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  name TEXT NOT NULL UNIQUE,"
    "  spec TEXT NOT NULL,"
    "  running INTEGER NOT NULL,"
    "  next INTEGER);"
    "CREATE INDEX jobs_due ON jobs (next) WHERE running = 1 AND next IS NOT NULL;"
    "CREATE TABLE runs ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,"
    "  scheduled INTEGER NOT NULL,"
    "  due INTEGER NOT NULL,"
    "  band INTEGER NOT NULL,"
    "  state INTEGER NOT NULL,"
    "  attempt INTEGER NOT NULL,"
    "  missed INTEGER NOT NULL,"
    "  begun INTEGER,"
    "  ended INTEGER,"
    "  note TEXT NOT NULL);"
    "CREATE UNIQUE INDEX runs_scheduled ON runs (job, scheduled) WHERE band <> 3;"  // 3: Band::Manual.
    "CREATE INDEX runs_of_job ON runs (job, id);"
    "CREATE INDEX runs_unfinished ON runs (id) WHERE state = 0;"  // 0: RunState::Due.
    "CREATE INDEX runs_ended ON runs (ended) WHERE ended IS NOT NULL;",
    // The ids of the parents of a run, with blanks between them.
    "ALTER TABLE runs ADD COLUMN parents TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE parents ("
    "  parent TEXT NOT NULL,"
    "  child INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,"
    "  PRIMARY KEY (parent, child)) WITHOUT ROWID;"
    "CREATE INDEX parents_of_child ON parents (child);",
    // Runs may be of Band::Backfill, which a program that knows the step before refuses.
    "SELECT 1;",
    // Definitions may have Job::stop_note; the same.
    "SELECT 1;",
    // The worker that has a run; '*' (kUnknownWorker): it was given to one that was not recorded, if to any.
    "ALTER TABLE runs ADD COLUMN worker TEXT NOT NULL DEFAULT '';"
    "UPDATE runs SET worker = '*' WHERE state = 0;",
    // For last_ended().
    "CREATE INDEX runs_last_ended ON runs (job, ended) WHERE begun IS NOT NULL AND ended IS NOT NULL;",
    // For removed_instants(). What a program of an earlier version has removed is not known.
    "CREATE TABLE removed_instants ("
    "  job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,"
    "  first INTEGER NOT NULL,"
    "  last INTEGER NOT NULL);",
    // For note_killed().
    "ALTER TABLE runs ADD COLUMN killed INTEGER NOT NULL DEFAULT 0;",
    // For failures(). Definitions may have Job::route and Job::overlap_scope, which a program that knows the step before refuses.
    "CREATE INDEX runs_failed ON runs (id) WHERE state IN (2, 3);"
    "CREATE TABLE remembered (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;",
    // What is set for one run. An instant may have reruns beside its run.
    "ALTER TABLE runs ADD COLUMN parameters TEXT;"
    "ALTER TABLE runs ADD COLUMN address TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE runs ADD COLUMN rerun_of INTEGER NOT NULL DEFAULT 0;"
    "DROP INDEX runs_scheduled;"
    "CREATE UNIQUE INDEX runs_scheduled ON runs (job, scheduled) WHERE band <> 3 AND rerun_of = 0;"};
static_assert(static_cast<int>(Band::Manual) == 3 && static_cast<int>(RunState::Due) == 0 && static_cast<int>(RunState::Succeeded) == 1 &&
                  static_cast<int>(RunState::Failed) == 2 && static_cast<int>(RunState::TimedOut) == 3,
              "indexes and statements have these numbers");

class SqliteJobStore final : public JobStore {
 public:
  SqliteJobStore(std::unique_ptr<Database> database, std::string path) : path_(std::move(path)), database_(std::move(database)) {}

  Status claim() override {
    if (Status taken = lock_.take(path_); !taken.ok() || data_version_) return taken;
    return read_data_version();
  }
  Result<bool> is_changed_elsewhere() override {
    if (!data_version_) return false;
    const std::int64_t before = *data_version_;
    if (Status read = read_data_version(); !read.ok()) return failure(std::move(read));
    return *data_version_ != before;
  }

  Status atomically(const std::function<Status()>& work) override { return database_->transaction(work); }

  Result<StoredJob> put(const Job& job, std::optional<WallTime> next) override {
    const Status status = database_->transaction([&] {
      if (Status put = put_.bind(job.name).bind(to_json(job)).bind(next).run(); !put.ok()) return put;
      if (Status cleared = no_parents_.bind(job.name).run(); !cleared.ok()) return cleared;
      for (const std::string& parent : job.parents) {
        if (Status added = add_parent_.bind(parent).bind(job.name).run(); !added.ok()) return added;
      }
      return Status{};
    });
    if (!status.ok()) return failure(status);
    return find(job.name);
  }
  Status remove(std::string_view name) override { return changed_one(remove_.bind(name), name); }
  Status set_running(std::string_view name, bool is_running, std::optional<WallTime> next, std::string_view note) override {
    auto stored = find(name);
    if (!stored) return stored.error();
    if (!is_readable(*stored)) return {StatusCode::DataLoss, stored->job.note};
    stored->job.stop_note = note;
    return changed_one(set_running_.bind(is_running ? 1 : 0).bind(next).bind(to_json(stored->job)).bind(name), name);
  }
  Result<StoredJob> find(std::string_view name) override {
    auto found = jobs_of(find_.bind(name));
    if (!found) return failure(std::move(found.error()));
    if (found->empty()) return failure(no_job(name));
    return std::move(found->front());
  }
  Result<std::vector<StoredJob>> list(std::string_view after, std::size_t max) override {
    return jobs_of(list_.bind(after).bind(static_cast<std::int64_t>(max)));
  }
  Result<std::vector<StoredJob>> due(WallTime until, DuePlace after, std::size_t max) override {
    return jobs_of(due_.bind(until).bind(after.next).bind(after.id).bind(static_cast<std::int64_t>(max)));
  }

  Result<std::vector<StoredJob>> children(std::string_view parent) override {
    return jobs_of(children_.bind(parent).bind(static_cast<std::int64_t>(limits::kJobsOfFamily) + 1));
  }

  Status plan(std::span<Plan> plans) override {
    return database_->transaction([&] {
      for (Plan& plan : plans) {
        if (Status moved = move_.bind(plan.next).bind(plan.job_id).run(); !moved.ok()) return moved;
        if (Status added = add_all(plan.runs); !added.ok()) return added;
      }
      return Status{};
    });
  }
  Status add_runs(std::span<JobRun> runs) override {
    return database_->transaction([&] { return add_all(runs); });
  }
  Status finish(std::span<const RunEnd> ends) override {
    return database_->transaction([&] {
      for (const RunEnd& end : ends) {
        if (Status status = finish_one(end); !status.ok()) return status;
      }
      return Status{};
    });
  }
  Status note_worker(std::int64_t run, std::string_view worker) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return wrong;
    return note_worker_.bind(worker).bind(run).run();
  }
  Status note_killed(std::int64_t run) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return wrong;
    return note_killed_.bind(run).run();
  }
  Status remember(std::string_view key, std::string_view text) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return wrong;
    return remember_.bind(key).bind(text).run();
  }
  Result<std::string> remembered(std::string_view key) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return failure(std::move(wrong));
    const Result<bool> row = remembered_.bind(key).step();
    if (!row) return failure(row.error());
    std::string text = *row ? remembered_.text(0) : std::string{};
    remembered_.reset();
    return text;
  }
  Result<std::vector<JobRun>> unfinished(std::int64_t after, std::size_t max) override { return runs_of(unfinished_.bind(after), max); }
  Result<JobRun> run(std::int64_t id) override {
    auto found = runs_of(run_.bind(id), 1);
    if (!found) return failure(std::move(found.error()));
    if (found->empty()) return failure(StatusCode::NotFound, "no run " + std::to_string(id));
    return std::move(found->front());
  }
  Result<std::vector<JobRun>> runs(std::string_view job, std::int64_t before, std::size_t max) override {
    return runs_of(runs_.bind(job).bind(before), max);
  }
  Result<std::vector<JobRun>> failures(WallTime since, std::int64_t before, std::size_t max, std::string_view handlers) override {
    return runs_of(failures_.bind(before).bind(since).bind(handlers).bind(handlers).bind(handlers), max);
  }
  Result<std::optional<JobRun>> last_ended(std::string_view job) override { return first_of(runs_of(last_ended_.bind(job), 1)); }
  Result<std::optional<JobRun>> last_succeeded(std::string_view job) override { return first_of(runs_of(last_succeeded_.bind(job), 1)); }
  Result<std::string> unusable_rows() override {
    if (Status looked = check_states(); !looked.ok()) return failure(std::move(looked));
    Result<std::string> text = unusable_.text([this](std::int64_t run) { return wrong_with(run); });
    if (!text) return text;
    const Result<std::string> jobs = jobs_that_are_never_due();
    if (!jobs || text->empty() || jobs->empty()) return !jobs || text->empty() ? jobs : text;
    return *text + "; " + *jobs;
  }
  Result<std::vector<WallTime>> instants(std::int64_t job_id, WallTime from, WallTime to, std::size_t max) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return failure(std::move(wrong));
    instants_.bind(job_id).bind(from).bind(to).bind(static_cast<std::int64_t>(max));
    std::vector<WallTime> found;
    for (;;) {
      const Result<bool> row = instants_.step();
      if (!row) return failure(row.error());
      if (!*row) break;
      found.push_back(instants_.time(0));
    }
    instants_.reset();
    return found;
  }
  Result<bool> forget(WallTime before, std::size_t max) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return failure(std::move(wrong));
    return retention_.remove_before(before, max);
  }
  Result<bool> forget_beyond(std::size_t kept, std::size_t max) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return failure(std::move(wrong));
    return retention_.remove_beyond(kept, max);
  }
  Result<std::optional<RemovedInstants>> removed_instants(std::int64_t job_id) override {
    if (Status wrong = database_->check_files(); !wrong.ok()) return failure(std::move(wrong));
    const Result<bool> row = removed_instants_.bind(job_id).step();
    if (!row) return failure(row.error());
    const std::optional found = *row ? std::optional{RemovedInstants{removed_instants_.time(0), removed_instants_.time(1)}} : std::nullopt;
    removed_instants_.reset();
    return found;
  }

 private:
  static Status no_job(std::string_view name) { return {StatusCode::NotFound, "no job '" + std::string{name} + "'"}; }

  /// SQLite counts the transactions of other connections.
  Status read_data_version() {
    const Result<bool> row = data_version_of_.step();
    if (!row) return row.error();
    data_version_ = data_version_of_.integer(0);
    data_version_of_.reset();
    return {};
  }

  Status changed_one(Statement& statement, std::string_view name) {
    if (Status wrong = database_->check_files(); !wrong.ok()) return statement.reset(), wrong;
    if (Status status = statement.run(); !status.ok()) return status;
    return sqlite3_changes(database_->handle()) == 0 ? no_job(name) : Status{};
  }

  Result<std::vector<StoredJob>> jobs_of(Statement& statement) {
    std::vector<StoredJob> jobs;
    if (Status wrong = database_->check_files(); !wrong.ok()) return statement.reset(), failure(std::move(wrong));
    for (;;) {
      const Result<bool> row = statement.step();
      if (!row) return failure(row.error());
      if (!*row) break;
      jobs.push_back(read_job(sqlite::StatementRow{statement}));
    }
    statement.reset();
    return jobs;
  }

  Status add_all(std::span<JobRun> runs) {
    for (JobRun& run : runs) {
      bool is_left_out = false;
      for (std::int64_t& parent : run.parents) {
        parent = runs[static_cast<std::size_t>(parent)].id;
        is_left_out = is_left_out || parent == 0;
      }
      if (is_left_out) {
        run.id = 0;
      } else if (Status added = add(run); !added.ok()) {
        return added;
      }
    }
    return {};
  }

  /// Sets run.id, to 0 if the instant has a row.
  Status add(JobRun& run) {
    add_.bind(run.job_id).bind(run.scheduled).bind(run.due).bind(static_cast<std::int64_t>(run.band));
    add_.bind(static_cast<std::int64_t>(run.state)).bind(static_cast<std::int64_t>(run.missed)).bind(run.ended).bind(cut_note(run.note));
    add_.bind(parents_text(run.parents));
    run.parameters ? add_.bind(*run.parameters) : add_.bind(std::optional<WallTime>{});
    add_.bind(run.address).bind(run.rerun_of);
    if (Status status = add_.run(); !status.ok()) return status;
    run.id = sqlite3_changes(database_->handle()) == 0 ? 0 : sqlite3_last_insert_rowid(database_->handle());
    if (run.id != 0) retention_.note_added(run.job_id);
    return {};
  }

  Status withdraw_one(const RunEnd& end) {
    if (end.next) {
      if (Status given_back = give_back_.bind(*end.next).bind(end.id).bind(*end.next).run(); !given_back.ok()) return given_back;
    }
    return withdraw_.bind(end.id).run();
  }

  Status finish_one(const RunEnd& end) {
    if (end.is_withdrawn) return withdraw_one(end);
    finish_.bind(static_cast<std::int64_t>(end.state)).bind(end.due).bind(std::int64_t{end.attempt}).bind(end.begun);
    finish_.bind(is_final(end.state) ? std::optional{end.ended} : std::nullopt).bind(cut_note(end.note)).bind(end.id);
    if (Status status = finish_.run(); !status.ok()) return status;
    if (!end.next || sqlite3_changes(database_->handle()) == 0) return {};
    return delay_.bind(*end.next).bind(end.id).run();
  }

  static Result<std::optional<JobRun>> first_of(Result<std::vector<JobRun>> found) {
    if (!found) return failure(std::move(found.error()));
    return found->empty() ? std::nullopt : std::optional{std::move(found->front())};
  }
  /// At most 'max' runs that can be used. The others are noted.
  Result<std::vector<JobRun>> runs_of(Statement& statement, std::size_t max) {
    std::vector<JobRun> runs;
    if (Status wrong = database_->check_files(); !wrong.ok()) return statement.reset(), failure(std::move(wrong));
    while (runs.size() < max) {
      const Result<bool> row = statement.step();
      if (!row) return failure(row.error());
      if (!*row) break;
      JobRun run;
      const std::string wrong = read_run(sqlite::StatementRow{statement}, run);
      if (wrong.empty()) {
        runs.push_back(std::move(run));
      } else {
        unusable_.note(run.id);
      }
    }
    statement.reset();
    return runs;
  }

  /// Remembers the runs of an impossible state, or band, among the next rows. A start does not read such a run, nor does anything else
  /// until the runs of its job are listed.
  Status check_states() {
    const Result<bool> last = last_of_check_.bind(checked_until_).bind(static_cast<std::int64_t>(limits::kRunsOfLook)).step();
    const std::int64_t until = last_of_check_.integer(0);  // 0 behind the last row.
    last_of_check_.reset();
    if (!last) return last.error();
    constexpr auto kStates = static_cast<std::int64_t>(RunState::Skipped);
    odd_.bind(checked_until_).bind(until).bind(kStates).bind(static_cast<std::int64_t>(Band::Backfill));
    while (until > 0 && !unusable_.is_full()) {
      const Result<bool> row = odd_.step();
      if (!row) return odd_.reset(), row.error();
      if (!*row) break;
      unusable_.note(odd_.integer(0));
    }
    odd_.reset();
    checked_until_ = until;
    return {};
  }

  /// What is wrong with a run. Empty: it can be used by now, or was removed.
  Result<std::string> wrong_with(std::int64_t id) {
    const Result<bool> row = run_.bind(id).step();
    if (!row) return failure(row.error());
    JobRun run;
    std::string wrong = *row ? read_run(sqlite::StatementRow{run_}, run) : std::string{};
    run_.reset();
    return wrong;
  }

  /// Started jobs whose next time is before or beyond all times, so that they never become due; also those whose next time is a text.
  Result<std::string> jobs_that_are_never_due() {
    const auto found = jobs_of(never_due_.bind(kTimesEnd).bind(static_cast<std::int64_t>(limits::kTroublesNamed)));
    if (!found) return failure(found.error());
    return text_of_never_due(*found, [this]() -> Result<std::int64_t> {
      const Result<bool> row = never_due_count_.bind(kTimesEnd).step();
      if (!row) return failure(row.error());
      const std::int64_t count = never_due_count_.integer(0);
      never_due_count_.reset();
      return count;
    });
  }

  const std::string path_;
  sqlite::DatabaseLock lock_;  // Ends after the database is closed.
  std::unique_ptr<Database> database_;
  sqlite::SqliteRetention ended_runs_{*database_};
  RunRetention retention_{ended_runs_};
  UnusableRuns unusable_;           // Runs that were left out of an answer, or that check_states() found.
  std::int64_t checked_until_ = 0;  // By check_states(), up to this run.
  Statement last_of_check_{*database_, "SELECT max(id) FROM (SELECT id FROM runs WHERE id > ? ORDER BY id LIMIT ?)"};
  Statement odd_{*database_,
                 "SELECT id FROM runs WHERE id > ? AND id <= ? AND (typeof(state) <> 'integer' OR state NOT BETWEEN 0 AND ? "
                 "OR typeof(band) <> 'integer' OR band NOT BETWEEN 0 AND ?) ORDER BY id"};
  std::optional<std::int64_t> data_version_;  // As of the last look; empty before the claim.
  Statement data_version_of_{*database_, "PRAGMA data_version"};
  Statement put_{*database_,
                 "INSERT INTO jobs (name, spec, running, next) VALUES (?, ?, 0, ?) "
                 "ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next = excluded.next"};
  Statement no_parents_{*database_, "DELETE FROM parents WHERE child = (SELECT id FROM jobs WHERE name = ?)"};
  Statement add_parent_{*database_, "INSERT INTO parents (parent, child) SELECT ?, id FROM jobs WHERE name = ?"};
  Statement children_{*database_, (std::string{"SELECT "} + kJobColumns +
                                   "FROM parents JOIN jobs ON jobs.id = parents.child WHERE parents.parent = ? ORDER BY jobs.name LIMIT ?")
                                      .c_str()};
  Statement remove_{*database_, "DELETE FROM jobs WHERE name = ?"};
  Statement set_running_{*database_, "UPDATE jobs SET running = ?, next = ?, spec = ? WHERE name = ?"};
  Statement find_{*database_, (std::string{"SELECT "} + kJobColumns + "FROM jobs WHERE name = ?").c_str()};
  Statement list_{*database_, (std::string{"SELECT "} + kJobColumns + "FROM jobs WHERE name > ? ORDER BY name LIMIT ?").c_str()};
  Statement due_{*database_, (std::string{"SELECT "} + kJobColumns +
                              "FROM jobs WHERE running = 1 AND next IS NOT NULL AND next >= 0 AND next <= ? AND (next, id) > (?, ?) "
                              "ORDER BY next, id LIMIT ?")
                                 .c_str()};
  Statement never_due_{*database_, (std::string{"SELECT "} + kJobColumns +
                                    "FROM jobs WHERE running = 1 AND next IS NOT NULL AND (next < 0 OR next >= ?) LIMIT ?")
                                       .c_str()};
  Statement never_due_count_{*database_, "SELECT count(*) FROM jobs WHERE running = 1 AND next IS NOT NULL AND (next < 0 OR next >= ?)"};
  Statement move_{*database_, "UPDATE jobs SET next = ? WHERE id = ? AND running = 1"};
  Statement add_{
      *database_,
      "INSERT INTO runs (job, scheduled, due, band, state, attempt, missed, ended, note, parents, parameters, address, rerun_of) "
      "VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING"};
  Statement finish_{*database_,
                    "UPDATE runs SET state = ?1, due = ?2, attempt = ?3, begun = ?4, ended = ?5, note = ?6, "
                    "worker = CASE ?1 WHEN 0 THEN '' ELSE worker END WHERE id = ?7 AND state = 0"};
  Statement note_worker_{*database_, "UPDATE runs SET worker = ? WHERE id = ? AND state = 0"};
  Statement note_killed_{*database_, "UPDATE runs SET killed = 1 WHERE id = ? AND state = 0"};
  Statement delay_{*database_, "UPDATE jobs SET next = ? WHERE id = (SELECT job FROM runs WHERE id = ?) AND running = 1"};
  Statement give_back_{*database_,
                       "UPDATE jobs SET next = ? WHERE id = (SELECT job FROM runs WHERE id = ? AND state = 0) AND running = 1 "
                       "AND (next IS NULL OR next > ?)"};
  Statement withdraw_{*database_, "DELETE FROM runs WHERE id = ? AND state = 0"};
  Statement unfinished_{*database_, (sqlite::select_runs() + "WHERE runs.state = 0 AND runs.id > ? ORDER BY runs.id").c_str()};
  Statement run_{*database_, (sqlite::select_runs() + "WHERE runs.id = ?").c_str()};
  Statement runs_{*database_, (sqlite::select_runs() + "WHERE jobs.name = ? AND runs.id < ? ORDER BY runs.id DESC").c_str()};
  Statement remember_{*database_, "INSERT INTO remembered (key, text) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET text = excluded.text"};
  Statement remembered_{*database_, "SELECT text FROM remembered WHERE key = ?"};
  Statement failures_{*database_,
                      (sqlite::select_runs() + "WHERE runs.state IN (2, 3) AND runs.id < ? AND runs.ended >= ? AND (? = '' OR "
                                               "CASE WHEN json_valid(jobs.spec) "
                                               "THEN substr(jobs.spec ->> '$.handler', 1, length(?)) = ? END) ORDER BY runs.id DESC")
                          .c_str()};
  Statement last_ended_{
      *database_, (sqlite::select_runs() + "WHERE jobs.name = ? AND runs.begun IS NOT NULL AND runs.ended IS NOT NULL AND runs.state <> 0 "
                                           "ORDER BY runs.ended DESC, runs.id DESC")
                      .c_str()};
  Statement last_succeeded_{*database_, (sqlite::select_runs() +
                                         "WHERE runs.id = (SELECT id FROM (SELECT id, state, ended FROM runs WHERE job = "
                                         "(SELECT id FROM jobs WHERE name = ?) AND begun IS NOT NULL AND ended IS NOT NULL AND state <> 0 "
                                         "ORDER BY ended DESC, id DESC LIMIT " +
                                         std::to_string(kEndsSearched) +
                                         ") "
                                         "WHERE state = 1 ORDER BY ended DESC, id DESC LIMIT 1)")
                                            .c_str()};
  Statement instants_{*database_,
                      "SELECT scheduled FROM runs WHERE job = ? AND scheduled >= ? AND scheduled < ? AND band <> 3 AND rerun_of = 0 "
                      "ORDER BY scheduled LIMIT ?"};
  Statement removed_instants_{*database_, "SELECT first, last FROM removed_instants WHERE job = ?"};
};

}  // namespace

std::size_t sqlite::newest_version() noexcept { return kMigrations.size(); }

/// The version is the number of steps that the database has had.
Result<std::size_t> sqlite::version_of(Database& database, const std::string& path) {
  const auto application = database.query("PRAGMA application_id");
  if (!application) return failure(application.error());
  const auto version = database.query("PRAGMA user_version");
  if (!version) return failure(version.error());
  const auto tables = database.query("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failure(tables.error());
  if (*tables > 0 && *application != kApplicationId) {
    return failure(StatusCode::FailedPrecondition, "'" + path + "' is a database of another program");
  }
  if (*version < 0 || *version > static_cast<std::int64_t>(kMigrations.size())) {
    return failure(StatusCode::FailedPrecondition, "'" + path + "' has the version " + std::to_string(*version) +
                                                       "; this program knows up to " + std::to_string(kMigrations.size()));
  }
  return static_cast<std::size_t>(*version);
}

namespace {

/// Brings the database to the newest version, each step in a transaction.
Status migrate(Database& database, std::size_t version) {
  for (; version < kMigrations.size(); ++version) {
    const std::string marks =
        "PRAGMA application_id = " + std::to_string(kApplicationId) + "; PRAGMA user_version = " + std::to_string(version + 1);
    const Status moved = database.transaction([&] {
      Status status = database.execute(kMigrations[version]);
      return status.ok() ? database.execute(marks.c_str()) : status;
    });
    if (!moved.ok()) return moved.with_context("migrating the database of jobs");
  }
  return {};
}

/// The program may go to another folder while it uses the database. A path of a database in memory stays, and is refused.
std::string absolute_path(const std::string& path) {
  std::error_code failed;
  if (path.empty() || path == ":memory:") return path;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.string();
}

/// True if a database could be made or written there.
Status check_place(const std::string& path) {
  if (Status wrong = Database::check_path(path); !wrong.ok()) return wrong;
  const std::filesystem::path folder = std::filesystem::path{absolute_path(path)}.parent_path();
  std::error_code failed;
  if (!std::filesystem::is_directory(folder, failed))
    return {StatusCode::NotFound, "creating '" + path + "': there is no folder '" + folder.string() + "'"};
  if (::access(path.c_str(), F_OK) == 0 && ::access(path.c_str(), W_OK) != 0) return status_from_errno(errno, "writing '" + path + "'");
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? Status{} : status_from_errno(errno, "making files in '" + folder.string() + "'");
}

}  // namespace

Result<std::shared_ptr<JobStore>> make_sqlite_job_store(const std::string& given, Durability durability) {
  const std::string path = absolute_path(given);
  auto database = Database::open(path);
  if (!database) return failure(std::move(database.error()));
  const auto version = sqlite::version_of(**database, path);
  if (!version) return failure(version.error());
  const char* const settings = durability == Durability::Full
                                   ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"
                                   : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON";
  if (Status set = (*database)->execute(settings); !set.ok()) return failure(std::move(set));
  if (Status migrated = migrate(**database, *version); !migrated.ok()) return failure(std::move(migrated));
  Database& opened = **database;
  std::shared_ptr<JobStore> store = std::make_unique<SqliteJobStore>(std::move(*database), path);
  if (opened.prepared().ok()) return store;
  return failure(StatusCode::DataLoss, std::string{opened.prepared().message()} + "; it is not as version " +
                                           std::to_string(kMigrations.size()) + " of it is made: restore a copy of the file");
}

std::size_t sqlite_job_store_version() noexcept { return kMigrations.size(); }

pid_t owner_of_sqlite_job_store(const std::string& path) { return sqlite::DatabaseLock::owner(path); }

Status check_sqlite_job_store(const std::string& path) {
  if (Status wrong = check_place(path); !wrong.ok()) return wrong;
  auto database = Database::open_unchanged(path);
  if (!database) return database.error().code() == StatusCode::NotFound ? Status{} : database.error();
  const auto version = sqlite::version_of(**database, path);
  if (!version) return version.error();
  if (*version < kMigrations.size()) return {};  // The start brings it to the newest version.
  Database& opened = **database;
  const SqliteJobStore store{std::move(*database), path};
  return opened.prepared();
}

}  // namespace rondo::jobs
