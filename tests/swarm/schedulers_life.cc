#include "schedulers_life.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "jobs/planner.h"
#include "rondo/base/assert.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/orch/runtime.h"

namespace rondo::swarm {

using std::chrono::milliseconds;

namespace {

/// How far a world may be behind the first one.
constexpr Duration kStep = 4ms;
constexpr std::array<const char*, 5> kNames{"often", "second", "slow", "child", "asked"};

}  // namespace

class SchedulersLife::Witness final : public sim::Checker {
 public:
  explicit Witness(SchedulersLife& life) : life_(life) {}
  std::string_view name() const noexcept override { return "schedulers"; }
  Status after_turn(const sim::World&) override { return life_.failure_; }
  Status at_rest(const sim::World&) override { return life_.failure_.ok() ? life_.check_at_rest() : life_.failure_; }

 private:
  SchedulersLife& life_;
};

/// A process of a scheduler.
struct SchedulersLife::Process {
  Process(Runtime& runtime, SchedulersLife& of, std::shared_ptr<SimDatabase::Session> at_server)
      : life(of), session(std::move(at_server)), store(of.database_->make_store(session, of.lease_)), jobs(runtime, store, of.options_) {}
  ~Process() {
    away.clear();
    if (life.random_.chance(0.7)) session->cut();  // Otherwise it gives the jobs up.
  }

  SchedulersLife& life;
  const std::shared_ptr<SimDatabase::Session> session;
  const std::shared_ptr<jobs::JobStore> store;
  std::set<std::pair<std::int64_t, std::uint32_t>> called;
  jobs::Jobs jobs;
  std::vector<jobs::AsyncRun> away;
};

SchedulersLife::SchedulersLife(std::uint64_t seed, SimDatabase::Broken broken) : random_(seed * 6151 + 5) {
  lease_ = milliseconds{random_.between(1500, 6000)};
  const auto window = std::chrono::seconds{random_.between(1, 8)};
  options_ = {.window = window,
              .grace = window + milliseconds{random_.below(20'000)},
              .cycle = milliseconds{random_.between(100, 400)},
              .kept = std::chrono::hours{24 * 365}};
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    sim::WorldOptions made;
    made.seed = i == 0 ? seed : seed * 31 + i;
    schedulers_[i].faults = made.faults = drawn_faults(i);
    made.policy = drawn_policy(random_);
    schedulers_[i].world = std::make_unique<sim::World>(std::move(made));
  }
  database_ = std::make_unique<SimDatabase>(world().clock(), broken);
  operators_store_ = database_->make_store(database_->session(operators_line_, world().clock()), lease_);
  define_jobs();
  set_running(true);
  for (std::size_t i = 0; i < schedulers_.size(); ++i) make_scheduler(i);
  world().after(kStep, [this] { follow(); });
  world().add(std::make_unique<Witness>(*this));
}

SchedulersLife::~SchedulersLife() {
  for (Scheduler& scheduler : schedulers_) scheduler.world.reset();
  operators_store_.reset();
}

sim::FaultPlan SchedulersLife::drawn_faults(std::size_t number) {
  sim::FaultPlan faults;
  if (random_.chance(0.9)) faults = sim::FaultPlan::drawn(random_);
  faults.operation_failures = {{StatusCode::Unavailable, "the database is locked"}};
  faults.wall_set_every = {};  // The gaps after it are not told from others.
  // A world that leaps would work ahead of the others. stop() has the same effect on the worlds that follow the first one.
  faults.suspended_every = {};
  if (number == 0) faults.down_for = {};
  return faults;
}

void SchedulersLife::make_scheduler(std::size_t number) {
  Scheduler& of = schedulers_[number];
  // Within half a lease, or for a scheduler that may not run any jobs beyond that.
  const Duration most = random_.chance(0.1) ? lease_ : lease_ / 2 - 20ms;
  of.wall_off = Duration{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(2 * most.count())))} - most;
  if (number == 0) of.wall_off = {};
  of.world->clock().set_wall(of.world->clock().wall_now() + of.wall_off);
  of.line.on_stop = [this, number](Duration time) { stop(number, time); };
  of.world->start([this, number](Runtime& runtime) -> std::shared_ptr<void> {
    Scheduler& scheduler = schedulers_[number];
    auto process = std::make_shared<Process>(runtime, *this, database_->session(scheduler.line, scheduler.world->clock()));
    process->jobs.handle_in_turn(
        "turn", [this, &of = *process](const jobs::JobContext& context) { return called(of, context.run, context.attempt); });
    process->jobs.handle_async("away", {.begin = [this, &scheduler, weak = std::weak_ptr{process}](const jobs::AsyncRun& run) {
                                 const auto held = weak.lock();
                                 const Status ended = called(*held, run.run(), run.attempt());
                                 held->away.push_back(run);
                                 scheduler.world->after(milliseconds{random_.below(2000)}, [weak, ended, run = run.run()] {
                                   const auto present = weak.lock();
                                   if (present == nullptr) return;
                                   const auto is_run = [run](const jobs::AsyncRun& one) { return one.run() == run; };
                                   const auto found = std::ranges::find_if(present->away, is_run);
                                   if (found == present->away.end()) return;
                                   const jobs::AsyncRun over = *found;
                                   present->away.erase(found);
                                   over.end(ended);
                                 });
                               }});
    process->jobs.start();
    scheduler.process = process;
    return process;
  });
}

void SchedulersLife::define_jobs() {
  const auto put = [this](const jobs::Job& job) { RONDO_ASSERT(operators_store_->put(job, std::nullopt).has_value()); };
  const auto all = jobs::Misfire::FireAll;
  put({.name = "often",
       .handler = "turn",
       .schedule = {.when = "every " + std::to_string(random_.between(100, 900)) + "ms"},
       .misfire = all});
  put({.name = "second", .handler = "turn", .schedule = {.when = "cron * * * * * *"}, .misfire = all, .retries = 2, .backoff = 200ms});
  put({.name = "slow",
       .handler = "away",
       .schedule = {.when = "every 3s"},
       .misfire = all,
       .overlap = jobs::Overlap::Serial,
       .retries = 1});
  put({.name = "child", .handler = "turn", .schedule = {}, .parents = {"slow"}});
  put({.name = "asked", .handler = "turn", .schedule = {.when = "manual"}});
}

void SchedulersLife::set_running(bool is_running) {
  const WallTime now = database_->wall(world().now());
  jobs::Planner planner({});
  for (const char* const name : kNames) {
    const auto stored = operators_store_->find(name);
    RONDO_ASSERT(stored.has_value());
    std::optional<WallTime> next;
    if (is_running && stored->job.parents.empty()) next = planner.first_after(stored->job, stored->id, now).value();
    const Status set = operators_store_->set_running(name, is_running, next, is_running ? "" : "the life is calm");
    RONDO_EXPECT(set.ok(), set.to_string().c_str());
  }
  if (is_running) starts_.push_back(now);
}

void SchedulersLife::follow() {
  const Instant now = world().now();
  for (std::size_t i = 1; i < schedulers_.size(); ++i) {
    Scheduler& of = schedulers_[i];
    if (now < of.stopped_until) continue;
    if (std::exchange(of.stopped_until, Instant{}) != Instant{} && of.world->now() < now) of.world->suspend_for(now - of.world->now());
    if (of.world->now() < now) of.world->run_for(now - of.world->now());
    end_if_lost(i);
    if (of.world->violation()) fail("in the world of scheduler " + std::to_string(i) + ": " + *of.world->violation());
  }
  if (!database_->trouble().ok()) fail(std::string{database_->trouble().message()});
  world().after(kStep, [this] { follow(); });
}

void SchedulersLife::end_if_lost(std::size_t number) {
  Scheduler& of = schedulers_[number];
  if (auto process = of.process.lock(); process == nullptr || !process->store->is_taken_over()) return;
  ++lost_;
  of.world->crash(milliseconds{number == 0 ? 0 : random_.below(3000)});
}

void SchedulersLife::stop(std::size_t number, Duration time) {
  world().note("a scheduler stops");
  Scheduler& of = schedulers_[number];
  of.stopped_until = std::max(of.stopped_until, world().now() + time);
}

Status SchedulersLife::called(Process& process, std::int64_t run, std::uint32_t attempt) {
  const bool succeeds = is_calm_ || random_.chance(0.8);
  const std::string id = std::to_string(run);
  const auto at = std::ranges::find_if(schedulers_, [&](const Scheduler& one) { return one.process.lock().get() == &process; });
  const Instant now = at->world->now();
  if (!database_->is_owner(*process.session, now)) fail("the run " + id + " is begun by a scheduler that does not own the jobs");
  const std::string row = database_->text("SELECT state, attempt FROM runs WHERE id = " + id);
  if (row != "0 " + std::to_string(attempt)) {
    fail("the attempt " + std::to_string(attempt) + " of the run " + id + " is begun, and its row has the state and the attempt " + row);
  }
  if (!process.called.emplace(run, attempt).second) fail("an attempt of the run " + id + " is begun twice in one process");
  if (!called_.emplace(run, attempt).second) ++calls_again_;
  if (succeeds) succeeded_.insert(run);
  return succeeds ? Status{} : Status{StatusCode::Internal, "failed"};
}

void SchedulersLife::act() {
  if (std::exchange(is_calm_, false)) {
    for (Scheduler& one : schedulers_) one.world->set_faults(one.faults);
    set_running(true);
  }
  end_if_lost(0);
  const std::size_t number = random_.below(schedulers_.size());
  Scheduler& of = schedulers_[number];
  const Instant now = world().now();
  switch (random_.below(10)) {
    case 0:
      world().note("a connection is cut");
      of.line.down_until = now + milliseconds{random_.below(random_.chance(0.5) ? 300 : 8000)};
      break;
    case 1:
      world().note("a commit is stored without an answer");
      of.line.next_commit = SimDatabase::Commit::StoredWithoutAnswer;
      if (random_.chance(0.5)) of.line.down_until = now + milliseconds{random_.below(3000)};
      break;
    case 2:
      world().note("a commit is lost");
      of.line.next_commit = SimDatabase::Commit::Lost;
      break;
    case 3:
      if (number != 0) of.line.stops_in_transaction = milliseconds{random_.between(1, 12'000)};
      break;
    case 4:
      if (number != 0) stop(number, milliseconds{random_.between(1, 12'000)});
      break;
    case 5:
      world().note("the server is down");
      for (Scheduler& one : schedulers_) one.line.down_until = now + milliseconds{random_.below(4000)};
      break;
    default:
      if (const auto process = of.process.lock()) {
        process->jobs.trigger("asked", [this](const Result<jobs::JobRun>& run) {
          if (run) triggered_.insert(run->id);
        });
      }
  }
  world().run_for(milliseconds{random_.below(random_.chance(0.2) ? 5000 : 500)});
}

void SchedulersLife::calm_down() {
  is_calm_ = true;
  for (Scheduler& one : schedulers_) {
    one.world->set_faults({});
    one.line.down_until = {};
    one.stopped_until = std::min(one.stopped_until, world().now());
    one.line.next_commit = SimDatabase::Commit::Answered;
    one.line.stops_in_transaction = Duration{0};
    one.world->clock().set_wall(database_->wall(one.world->now()));
  }
  for (int i = 0; i < 3; ++i) {  // Then a scheduler owns the jobs, and no row is locked.
    end_if_lost(0);
    world().run_for(8s);
  }
  set_running(false);
  world().run_for(40s);  // Longer than the runs that wait, and all retries.
}

Status SchedulersLife::check_at_rest() {
  const auto wrong = [](std::string what) { return Status{StatusCode::Internal, std::move(what)}; };
  if (const std::string open = database_->text("SELECT id FROM runs WHERE state = 0"); !open.empty())
    return wrong("without an end: " + open);
  std::istringstream successes(database_->text("SELECT id FROM runs WHERE state = 1"));
  for (std::string id; successes >> id;) {
    if (!succeeded_.contains(std::stoll(id))) return wrong("the run " + id + " has succeeded, and no handler returned ok");
  }
  for (const std::int64_t id : triggered_) {
    if (database_->number("SELECT count(*) FROM runs WHERE id = " + std::to_string(id)) == 0) return wrong("an accepted run has no row");
  }
  const std::string alone = database_->text(
      "SELECT root.id FROM runs AS root JOIN jobs ON jobs.id = root.job AND jobs.name = 'slow' WHERE NOT EXISTS "
      "(SELECT 1 FROM runs AS child WHERE child.parents = '' || root.id)");
  if (!alone.empty()) return wrong("runs without those of the job below: " + alone);
  for (const char* const job : {"often", "second", "slow"}) {
    if (Status gap = check_instants(job); !gap.ok()) return gap;
  }
  return {};
}

/// Each instant from a start to the last run before the next one has a run, or is counted by the run behind it.
Status SchedulersLife::check_instants(const std::string& job) {
  const auto stored = operators_store_->find(job);
  if (!stored) return stored.error();
  jobs::Planner planner({});
  const auto compiled = planner.compiled(stored->job, stored->id);
  std::istringstream rows(
      database_->text("SELECT scheduled, missed FROM runs WHERE job = " + std::to_string(stored->id) + " ORDER BY scheduled"));
  auto start = starts_.begin();
  WallTime expected = next_after(**compiled, *start)->scheduled;
  std::int64_t at = 0;
  for (std::int64_t counted = 0; rows >> at >> counted;) {
    const WallTime scheduled = WallTime::from_nanoseconds(at);
    while (std::next(start) != starts_.end() && *std::next(start) < scheduled) expected = next_after(**compiled, *++start)->scheduled;
    if (scheduled <= *start) continue;  // By a clock that is behind that of the server.
    std::int64_t passed = 0;
    for (; expected < scheduled; ++passed) expected = next_after(**compiled, expected)->scheduled;
    if (passed != counted || expected != scheduled) {
      return {StatusCode::Internal, "the job " + job + " has " + std::to_string(passed) + " instants without a run before that of " +
                                        calendar::format_rfc3339(scheduled) + ", of which " + std::to_string(counted) + " are counted"};
    }
    expected = next_after(**compiled, expected)->scheduled;
  }
  return at > 0 ? Status{} : Status{StatusCode::Internal, "the job " + job + " has no run"};
}

void SchedulersLife::fail(std::string what) {
  if (failure_.ok()) failure_ = {StatusCode::Internal, std::move(what)};
}

}  // namespace rondo::swarm
