// A job is kept as JSON beside the columns by which it is found. What is written in a batch takes a few statements for all of its rows, as
// far as no row depends on another one.
#include "jobs/server/store.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>
#include <utility>

#include "jobs/job_json.h"
#include "jobs/run_retention.h"
#include "jobs/server/ownership.h"
#include "jobs/store_rows.h"
#include "jobs/unusable_runs.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::server {

namespace {

/// The columns of an EndedRun. 3: Band::Manual.
constexpr const char* kSelectEnded =
    "SELECT id, job, ended, CASE WHEN band <> 3 AND rerun_of = 0 THEN scheduled END, CASE WHEN begun IS NOT NULL AND id = "
    "(SELECT last.id FROM rondo.runs AS last WHERE last.job = runs.job AND last.begun IS NOT NULL AND last.ended IS NOT NULL "
    "AND last.state <> 0 ORDER BY last.ended DESC, last.id DESC LIMIT 1) THEN 1 ELSE 0 END FROM rondo.runs WHERE ";

std::string select_jobs() { return std::string{"SELECT "} + kJobColumns + "FROM rondo.jobs "; }
std::string select_runs() { return std::string{"SELECT "} + kRunColumns + "FROM rondo.runs JOIN rondo.jobs ON jobs.id = runs.job "; }

std::int64_t limit_of(std::size_t max) { return static_cast<std::int64_t>(std::min<std::size_t>(max, INT32_MAX)); }
std::optional<std::int64_t> number_of(const std::optional<WallTime>& time) {
  return time ? std::optional{time->nanoseconds()} : std::nullopt;
}
Status no_job(std::string_view name) { return {StatusCode::NotFound, "no job '" + std::string{name} + "'"}; }

/// One value of each item, for a parameter.
template <class Array, class Items, class Value>
Array column(const Items& items, Value value) {
  Array array;
  array.reserve(items.size());
  for (const auto& item : items) array.emplace_back(value(item));
  return array;
}

/// A run to add, in the list that it may name as parents.
struct AddedRun {
  std::span<JobRun> list;
  std::size_t place = 0;
  JobRun& run() const { return list[place]; }
};

/// Groups runs of several lists: a run is in a later group than its parents, and in no earlier one than a run before it for the same
/// instant.
std::vector<std::vector<AddedRun>> generations_of(const std::vector<std::span<JobRun>>& lists) {
  std::vector<std::vector<AddedRun>> generations;
  std::vector<std::size_t> depths;
  std::map<std::pair<std::int64_t, WallTime>, std::size_t> depth_of_instant;
  for (const std::span<JobRun> list : lists) {
    depths.assign(list.size(), 0);
    for (std::size_t place = 0; place < list.size(); ++place) {
      for (const std::int64_t parent : list[place].parents) {
        depths[place] = std::max(depths[place], depths[static_cast<std::size_t>(parent)] + 1);
      }
      std::size_t& deepest = depth_of_instant[{list[place].job_id, list[place].scheduled}];
      deepest = depths[place] = std::max(depths[place], deepest);
      if (generations.size() <= depths[place]) generations.resize(depths[place] + 1);
      generations[depths[place]].push_back({list, place});
    }
  }
  return generations;
}

/// How many ends at the beginning can be written together: of one kind, and each run once.
std::size_t count_together(std::span<const RunEnd> ends) {
  std::unordered_set<std::int64_t> runs;
  const auto differs = [&](const RunEnd& end) { return end.is_withdrawn != ends.front().is_withdrawn || !runs.insert(end.id).second; };
  return static_cast<std::size_t>(std::ranges::find_if(ends, differs) - ends.begin());
}

class ServerJobStore final : public JobStore, private RetentionQueries {
 public:
  ServerJobStore(std::unique_ptr<Database> database, const Statements& statements, const StoreOptions& options)
      : database_(std::move(database)), statements_(statements), ownership_(*database_, statements, options) {}

  Status claim() override { return ownership_.claim(); }
  Result<bool> is_changed_elsewhere() override { return ownership_.is_changed_elsewhere(); }
  bool may_begin(Instant now) const noexcept override { return ownership_.may_begin(now); }
  bool is_taken_over() const noexcept override { return ownership_.is_taken_over(); }
  Duration clock_difference() const noexcept override { return ownership_.clock_difference(); }
  Result<std::vector<SchedulerClaim>> schedulers() override { return ownership_.schedulers(); }
  Status atomically(const std::function<Status()>& work) override { return database_->transaction(work); }

  Result<StoredJob> put(const Job& job, std::optional<WallTime> next) override {
    const Texts parents(job.parents.begin(), job.parents.end());
    const Status status = write([&]() -> Status {
      if (Status put = database_->execute(statements_.put_job, Values{}.add(job.name).add(to_json(job)).add(job.handler).add(next));
          !put.ok())
        return put;
      return database_->execute(statements_.put_parents, Values{}.add(job.name).add(parents));
    });
    if (!status.ok()) return failure(status);
    return find(job.name);
  }
  Status remove(std::string_view name) override {
    return write([&]() -> Status {
      const auto removed = database_->query("DELETE FROM rondo.jobs WHERE name = $1", Values{}.add(name));
      if (!removed) return removed.error();
      return removed->affected == 0 ? no_job(name) : Status{};
    });
  }
  Status set_running(std::string_view name, bool is_running, std::optional<WallTime> next, std::string_view note) override {
    return write([&]() -> Status {
      auto found = jobs_of(select_jobs() + "WHERE name = $1 FOR UPDATE", Values{}.add(name));
      if (!found) return found.error();
      if (found->empty()) return no_job(name);
      Job& job = found->front().job;
      if (!is_readable(found->front())) return {StatusCode::DataLoss, job.note};
      job.stop_note = note;
      return database_->execute("UPDATE rondo.jobs SET running = $1, next = $2, spec = $3 WHERE name = $4",
                                Values{}.add(std::int64_t{is_running}).add(next).add(to_json(job)).add(name));
    });
  }
  Result<StoredJob> find(std::string_view name) override {
    auto found = jobs_of(select_jobs() + "WHERE name = $1", Values{}.add(name));
    if (!found) return failure(std::move(found.error()));
    if (found->empty()) return failure(no_job(name));
    return std::move(found->front());
  }
  Result<std::vector<StoredJob>> list(std::string_view after, std::size_t max) override {
    return jobs_of(select_jobs() + "WHERE name > $1 ORDER BY name LIMIT $2", Values{}.add(after).add(limit_of(max)));
  }
  Result<std::vector<StoredJob>> due(WallTime until, DuePlace after, std::size_t max) override {
    return jobs_of(select_jobs() +
                       "WHERE running = 1 AND next IS NOT NULL AND next >= 0 AND next <= $1 AND next >= $2 AND (next, id) > ($2, $3) "
                       "ORDER BY next, id LIMIT $4",
                   Values{}.add(until).add(after.next).add(after.id).add(limit_of(max)));
  }
  Result<std::vector<StoredJob>> children(std::string_view parent) override {
    return jobs_of(
        std::string{"SELECT "} + kJobColumns +
            "FROM rondo.parents JOIN rondo.jobs ON jobs.id = parents.child WHERE parents.parent = $1 ORDER BY jobs.name LIMIT $2",
        Values{}.add(parent).add(limit_of(limits::kJobsOfFamily + 1)));
  }

  Result<std::set<std::string, std::less<>>> parents_among(const std::vector<std::string>& names) override {
    const auto rows = database_->query(
        "SELECT DISTINCT parents.parent FROM unnest($1) AS list (parent) JOIN rondo.parents ON parents.parent = list.parent",
        Values{}.add(Texts(names.begin(), names.end())));
    if (!rows) return failure(rows.error());
    std::set<std::string, std::less<>> parents;
    for (std::size_t i = 0; i < rows->size(); ++i) parents.insert((*rows)[i].text(0));
    return parents;
  }

  Status plan(std::span<Plan> plans) override {
    std::map<std::int64_t, std::optional<WallTime>> moved;  // The last plan of a job counts.
    std::vector<std::span<JobRun>> lists;
    for (Plan& plan : plans) {
      moved[plan.job_id] = plan.next;
      lists.emplace_back(plan.runs);
    }
    const Numbers jobs = column<Numbers>(moved, [](const auto& one) { return one.first; });
    const Numbers nexts = column<Numbers>(moved, [](const auto& one) { return number_of(one.second); });
    return write([&]() -> Status {
      if (Status done = database_->execute(statements_.move_jobs, Values{}.add(jobs).add(nexts)); !done.ok()) return done;
      return add_all(lists);
    });
  }
  Status add_runs(std::span<JobRun> runs) override {
    return write([&] { return add_all({runs}); });
  }
  Status finish(std::span<const RunEnd> ends) override {
    return write([&]() -> Status {
      for (auto rest = ends; !rest.empty();) {
        const std::size_t count = count_together(rest);
        Status done = rest.front().is_withdrawn ? withdraw(rest.first(count)) : end(rest.first(count));
        if (!done.ok()) return done;
        rest = rest.subspan(count);
      }
      return {};
    });
  }
  Status note_worker(std::int64_t run, std::string_view worker) override {
    // Many runs get their workers in one transaction, each by a call of its own.
    return write([&]() -> Status {
      if (!database_->has_deferred()) {
        workers_.clear();
        database_->defer(statements_.note_workers, [this] {
          return Values{}
              .add(column<Numbers>(workers_, [](const auto& one) { return one.first; }))
              .add(column<Texts>(workers_, [](const auto& one) { return std::string_view{one.second}; }));
        });
      }
      workers_.insert_or_assign(run, worker);
      return {};
    });
  }
  Status note_killed(std::int64_t run) override {
    return write([&] { return database_->execute("UPDATE rondo.runs SET killed = 1 WHERE id = $1 AND state = 0", Values{}.add(run)); });
  }
  Status remember(std::string_view key, std::string_view text) override {
    return write([&] { return database_->execute(statements_.remember, Values{}.add(key).add(text)); });
  }
  Result<std::string> remembered(std::string_view key) override {
    const auto rows = database_->query("SELECT text FROM rondo.remembered WHERE \"key\" = $1", Values{}.add(key));
    if (!rows) return failure(rows.error());
    return rows->size() == 0 ? std::string{} : (*rows)[0].text(0);
  }

  Result<std::vector<JobRun>> unfinished(std::int64_t after, std::size_t max) override {
    return runs_of("WHERE runs.state = 0 AND runs.id > $1 ORDER BY runs.id", Values{}.add(after), max);
  }
  Result<JobRun> run(std::int64_t id) override {
    auto found = runs_of("WHERE runs.id = $1", Values{}.add(id), 1);
    if (!found) return failure(std::move(found.error()));
    if (found->empty()) return failure(StatusCode::NotFound, "no run " + std::to_string(id));
    return std::move(found->front());
  }
  Result<std::vector<JobRun>> runs(std::string_view job, std::int64_t before, std::size_t max) override {
    return runs_of("WHERE runs.job = (SELECT id FROM rondo.jobs WHERE name = $1) AND runs.id < $2 ORDER BY runs.id DESC",
                   Values{}.add(job).add(before), max);
  }
  Result<std::vector<JobRun>> failures(WallTime since, std::int64_t before, std::size_t max, std::string_view handlers) override {
    return runs_of(
        "WHERE runs.state IN (2, 3) AND runs.id < $1 AND runs.ended >= $2 AND substring(jobs.handler FROM 1 FOR length($3)) = $3 "
        "ORDER BY runs.id DESC",
        Values{}.add(before).add(since).add(handlers), max);
  }
  Result<std::optional<JobRun>> last_ended(std::string_view job) override {
    return first_of(
        runs_of("WHERE runs.job = (SELECT id FROM rondo.jobs WHERE name = $1) AND runs.begun IS NOT NULL AND runs.ended IS NOT NULL "
                "AND runs.state <> 0 ORDER BY runs.ended DESC, runs.id DESC",
                Values{}.add(job), 1));
  }
  Result<std::optional<JobRun>> last_succeeded(std::string_view job) override {
    return first_of(
        runs_of("WHERE runs.id = (SELECT recent.id FROM (SELECT id, state, ended FROM rondo.runs "
                "WHERE job = (SELECT id FROM rondo.jobs WHERE name = $1) AND begun IS NOT NULL AND ended IS NOT NULL AND state <> 0 "
                "ORDER BY ended DESC, id DESC LIMIT " +
                    std::to_string(kEndsSearched) +
                    ") recent "
                    "WHERE recent.state = 1 ORDER BY recent.ended DESC, recent.id DESC LIMIT 1)",
                Values{}.add(job), 1));
  }
  Result<std::vector<JobRun>> newest_ends(const std::vector<std::string>& names) override {
    if (names.empty()) return std::vector<JobRun>{};
    return with_successes(
        runs_of("WHERE runs.id IN (SELECT (SELECT ended.id FROM rondo.runs ended WHERE ended.job = listed.id AND ended.begun IS NOT NULL "
                "AND ended.ended IS NOT NULL AND ended.state <> 0 ORDER BY ended.ended DESC, ended.id DESC LIMIT 1) "
                "FROM rondo.jobs listed WHERE listed.name >= $1 AND listed.name <= $2) ORDER BY runs.id",
                Values{}.add(names.front()).add(names.back()), names.size()));
  }
  Result<std::vector<WallTime>> instants(std::int64_t job_id, WallTime from, WallTime to, std::size_t max) override {
    return all_of(
        "SELECT scheduled FROM rondo.runs WHERE job = $1 AND scheduled >= $2 AND scheduled < $3 AND band <> 3 AND rerun_of = 0 "
        "ORDER BY scheduled LIMIT $4",
        Values{}.add(job_id).add(from).add(to).add(limit_of(max)),
        [](const Rows::Row& row) { return WallTime::from_nanoseconds(row.integer(0)); });
  }
  Result<bool> forget(WallTime before, std::size_t max) override { return retention_.remove_before(before, max); }
  Result<bool> forget_beyond(std::size_t kept, std::size_t max) override { return retention_.remove_beyond(kept, max); }
  Result<std::optional<RemovedInstants>> removed_instants(std::int64_t job_id) override {
    const auto rows = database_->query("SELECT first, last FROM rondo.removed_instants WHERE job = $1", Values{}.add(job_id));
    if (!rows) return failure(rows.error());
    if (rows->size() == 0) return std::optional<RemovedInstants>{};
    const Rows::Row row = (*rows)[0];
    return std::optional{RemovedInstants{WallTime::from_nanoseconds(row.integer(0)), WallTime::from_nanoseconds(row.integer(1))}};
  }
  Result<std::string> unusable_rows() override {
    Result<std::string> text = unusable_.text([this](std::int64_t run) { return wrong_with(run); });
    if (!text) return text;
    const Result<std::string> jobs = jobs_that_are_never_due();
    if (!jobs || text->empty() || jobs->empty()) return !jobs || text->empty() ? jobs : text;
    return *text + "; " + *jobs;
  }

 private:
  /// A transaction that writes: only as long as the jobs are its own, if it has claimed them.
  Status write(const std::function<Status()>& work) {
    return database_->transaction([&] {
      Status lost = ownership_.check();
      return lost.ok() ? work() : lost;
    });
  }

  /// What 'read' makes of each row.
  template <class Read>
  auto all_of(const std::string& statement, const Values& values, Read read) -> Result<std::vector<decltype(read(Rows::Row{nullptr}))>> {
    const auto rows = database_->query(statement, values);
    if (!rows) return failure(rows.error());
    std::vector<decltype(read(Rows::Row{nullptr}))> all;
    all.reserve(rows->size());
    for (std::size_t i = 0; i < rows->size(); ++i) all.push_back(read((*rows)[i]));
    return all;
  }
  Result<std::vector<StoredJob>> jobs_of(const std::string& statement, const Values& values) { return all_of(statement, values, read_job); }

  static Result<std::optional<JobRun>> first_of(Result<std::vector<JobRun>> found) {
    if (!found) return failure(std::move(found.error()));
    return found->empty() ? std::nullopt : std::optional{std::move(found->front())};
  }
  /// At most 'max' runs that can be used. The others are noted, and further pages are read in their place.
  Result<std::vector<JobRun>> runs_of(const std::string& conditions, const Values& values, std::size_t max) {
    std::vector<JobRun> runs;
    for (std::int64_t offset = 0; runs.size() < max;) {
      const std::int64_t page = limit_of(max - runs.size());
      const auto rows =
          database_->query(select_runs() + conditions + " LIMIT " + std::to_string(page) + " OFFSET " + std::to_string(offset), values);
      if (!rows) return failure(rows.error());
      for (std::size_t i = 0; i < rows->size(); ++i) {
        JobRun run;
        const bool is_usable = read_run((*rows)[i], run).empty();
        is_usable ? runs.push_back(std::move(run)) : unusable_.note(run.id);
      }
      offset += page;
      if (static_cast<std::int64_t>(rows->size()) < page) break;
    }
    return runs;
  }

  /// Sets the ids of the runs, to 0 for those that are left out. The ids are in the order of the runs.
  Status add_all(const std::vector<std::span<JobRun>>& lists) {
    std::int64_t count = 0;
    for (const auto& list : lists) count += static_cast<std::int64_t>(list.size());
    if (count == 0) return {};
    const auto ids = database_->query(statements_.draw_run_ids, Values{}.add(count));
    if (!ids) return ids.error();
    std::size_t at = 0;
    for (const auto& list : lists) {
      for (JobRun& run : list) run.id = (*ids)[at++].integer(0);
    }
    for (const auto& generation : generations_of(lists)) {
      if (Status added = add_generation(generation); !added.ok()) return added;
    }
    return {};
  }
  /// Adds runs whose parents are stored, or left out.
  Status add_generation(const std::vector<AddedRun>& added) {
    std::vector<std::string> parents;
    std::vector<JobRun*> runs;
    for (const AddedRun& one : added) {
      JobRun& run = one.run();
      for (std::int64_t& parent : run.parents) parent = one.list[static_cast<std::size_t>(parent)].id;
      const bool is_left_out = std::ranges::find(run.parents, 0) != run.parents.end();
      if (is_left_out) {
        run.id = 0;
      } else {
        runs.push_back(&run);
        parents.push_back(parents_text(run.parents));
      }
    }
    if (runs.empty()) return {};
    const auto rows = database_->query(statements_.add_runs, values_of(runs, parents));
    if (!rows) return rows.error();
    std::unordered_set<std::int64_t> stored;
    for (std::size_t i = 0; i < rows->size(); ++i) stored.insert((*rows)[i].integer(0));
    for (JobRun* const run : runs) stored.contains(run->id) ? retention_.note_added(run->job_id) : static_cast<void>(run->id = 0);
    return {};
  }
  static Values values_of(const std::vector<JobRun*>& runs, const std::vector<std::string>& parents) {
    const auto numbers = [&runs](auto value) { return column<Numbers>(runs, value); };
    const auto texts = [&runs](auto value) { return column<Texts>(runs, value); };
    Values values;
    values.add(numbers([](const JobRun* run) { return run->id; }));
    values.add(numbers([](const JobRun* run) { return run->job_id; }));
    values.add(numbers([](const JobRun* run) { return run->scheduled.nanoseconds(); }));
    values.add(numbers([](const JobRun* run) { return run->due.nanoseconds(); }));
    values.add(numbers([](const JobRun* run) { return static_cast<std::int64_t>(run->band); }));
    values.add(numbers([](const JobRun* run) { return static_cast<std::int64_t>(run->state); }));
    values.add(numbers([](const JobRun* run) { return static_cast<std::int64_t>(run->missed); }));
    values.add(numbers([](const JobRun* run) { return number_of(run->ended); }));
    values.add(texts([](const JobRun* run) { return cut_note(run->note); }));
    values.add(Texts(parents.begin(), parents.end()));
    values.add(texts([](const JobRun* run) { return run->parameters ? std::optional<std::string_view>{*run->parameters} : std::nullopt; }));
    values.add(texts([](const JobRun* run) { return std::string_view{run->address}; }));
    values.add(numbers([](const JobRun* run) { return run->rerun_of; }));
    return values;
  }

  Status end(std::span<const RunEnd> ends) {
    const auto numbers = [ends](auto value) { return column<Numbers>(ends, value); };
    Values values;
    values.add(numbers([](const RunEnd& end) { return end.id; }));
    values.add(numbers([](const RunEnd& end) { return static_cast<std::int64_t>(end.state); }));
    values.add(numbers([](const RunEnd& end) { return end.due.nanoseconds(); }));
    values.add(numbers([](const RunEnd& end) { return end.attempt; }));
    values.add(numbers([](const RunEnd& end) { return number_of(end.begun); }));
    values.add(numbers([](const RunEnd& end) { return is_final(end.state) ? number_of(end.ended) : std::nullopt; }));
    values.add(column<Texts>(ends, [](const RunEnd& end) { return cut_note(end.note); }));
    values.add(numbers([](const RunEnd& end) { return number_of(end.next); }));
    return database_->execute(statements_.end_runs, values);
  }
  Status withdraw(std::span<const RunEnd> ends) {
    const Numbers ids = column<Numbers>(ends, [](const RunEnd& end) { return end.id; });
    const Numbers nexts = column<Numbers>(ends, [](const RunEnd& end) { return number_of(end.next); });
    return database_->execute(statements_.withdraw_runs, Values{}.add(ids).add(nexts));
  }

  /// What is wrong with a run. Empty: it can be used by now, or was removed.
  Result<std::string> wrong_with(std::int64_t id) {
    const auto rows = database_->query(select_runs() + "WHERE runs.id = $1", Values{}.add(id));
    if (!rows) return failure(rows.error());
    JobRun run;
    return rows->size() == 0 ? std::string{} : read_run((*rows)[0], run);
  }
  /// Started jobs whose next time is before or beyond all times.
  Result<std::string> jobs_that_are_never_due() {
    const std::string conditions = "WHERE running = 1 AND next IS NOT NULL AND (next < 0 OR next >= $1)";
    const auto found = jobs_of(select_jobs() + conditions + " LIMIT $2", Values{}.add(kTimesEnd).add(limit_of(limits::kTroublesNamed)));
    if (!found) return failure(found.error());
    return text_of_never_due(*found,
                             [&] { return database_->number("SELECT count(*) FROM rondo.jobs " + conditions, Values{}.add(kTimesEnd)); });
  }

  Result<std::vector<EndedRun>> ended_before(EndPlace after, WallTime before, std::size_t max) override {
    return ended("ended >= $1 AND (ended, id) > ($1, $2) AND ended < $3 AND ended IS NOT NULL AND state <> 0 ORDER BY ended, id LIMIT $4",
                 Values{}.add(after.ended).add(after.id).add(before).add(limit_of(max)));
  }
  Result<std::vector<EndedRun>> ended_of(std::int64_t job_id, std::int64_t after, std::int64_t until, std::size_t max) override {
    return ended("job = $1 AND id > $2 AND id < $3 AND ended IS NOT NULL AND state <> 0 ORDER BY id LIMIT $4",
                 Values{}.add(job_id).add(after).add(until).add(limit_of(max)));
  }
  Result<std::vector<EndedRun>> ended(const std::string& conditions, const Values& values) {
    return all_of(kSelectEnded + conditions, values, [](const Rows::Row& row) {
      return EndedRun{.id = row.integer(0),
                      .job_id = row.integer(1),
                      .ended = row.integer(2),
                      .is_last = row.integer(4) != 0,
                      .instant = row.is_null(3) ? std::nullopt : std::optional{row.integer(3)}};
    });
  }
  Result<std::int64_t> newest_run() override { return database_->number("SELECT max(id) FROM rondo.runs"); }
  Status read_parents(const std::function<void(const std::string& parents)>& use) override {
    const auto rows = database_->query("SELECT parents FROM rondo.runs WHERE state = 0 AND parents <> ''");
    if (!rows) return rows.error();
    for (std::size_t i = 0; i < rows->size(); ++i) use((*rows)[i].text(0));
    return {};
  }
  Result<std::int64_t> next_job_with_runs(std::int64_t after) override {
    return database_->number("SELECT min(job) FROM rondo.runs WHERE job > $1", Values{}.add(after));
  }
  Result<Newest> newest_runs(std::int64_t job_id, std::size_t max) override {
    const auto rows =
        database_->query("SELECT count(*), min(id) FROM (SELECT id FROM rondo.runs WHERE job = $1 ORDER BY id DESC LIMIT $2) AS newest",
                         Values{}.add(job_id).add(limit_of(max)));
    if (!rows) return failure(rows.error());
    return Newest{static_cast<std::size_t>((*rows)[0].integer(0)), (*rows)[0].integer(1)};
  }
  Status remove(const Removal& removal) override {
    Values values;
    values.add(Numbers(removal.runs.begin(), removal.runs.end()));
    values.add(column<Numbers>(removal.instants, [](const auto& one) { return one.first; }));
    values.add(column<Numbers>(removal.instants, [](const auto& one) { return one.second.first; }));
    values.add(column<Numbers>(removal.instants, [](const auto& one) { return one.second.second; }));
    return write([&] { return database_->execute(statements_.remove_runs, values); });
  }

  std::unique_ptr<Database> database_;
  const Statements& statements_;
  Ownership ownership_;
  std::map<std::int64_t, std::string> workers_;  // By run, of the deferred statement.
  RunRetention retention_{*this};
  UnusableRuns unusable_;  // Runs that were left out of an answer.
};

}  // namespace

Result<std::shared_ptr<JobStore>> make_server_store(std::unique_ptr<Database> database, const Statements& statements,
                                                    const StoreOptions& options, Status (*migrate)(Database& database)) {
  database->on_first_connection([migrate, &of = *database] { return migrate(of); });
  Status connected = database->connect();
  if (!connected.ok() && connected.code() != StatusCode::Unavailable) return failure(std::move(connected));
  return std::shared_ptr<JobStore>{std::make_shared<ServerJobStore>(std::move(database), statements, options)};
}

}  // namespace rondo::jobs::server
