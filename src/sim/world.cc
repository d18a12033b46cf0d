// world.cc: the time of a world, for a separate scheduler and for a program. world_process.cc has the parts of a program.
#include "rondo/sim/world.h"

#include <algorithm>
#include <string>
#include <utility>

#include "rondo/base/assert.h"
#include "sched/sim_reactor.h"
#include "sim/world_impl.h"

namespace rondo::sim {

namespace {
/// How often a waiting process is checked for rest.
constexpr Duration kRestLook = 250ms;
}  // namespace

World::World(std::uint64_t seed) : World(WorldOptions{.seed = seed}) {}
World::World(WorldOptions options)
    : random_(options.seed), reactor_(std::make_unique<SimReactor>(clock_)), options_(std::make_unique<WorldOptions>(std::move(options))) {}
World::~World() {
  if (impl_ != nullptr && impl_->runtime != nullptr) impl_->end_process();
}

Reactor& World::reactor() noexcept { return *reactor_; }

void World::after(Duration delay, std::function<void()> what) { reactor_->at(clock_.now() + delay, std::move(what)); }

// --- A scheduler of one's own

/// Runs one turn, or waits once if no source is ready. Returns true if it was a turn.
bool World::step(Scheduler& scheduler, Instant end) {
  if (scheduler.turn()) {
    clock_.advance(turn_cost_);
    return true;
  }
  scheduler.wait(end);
  return false;
}

std::uint64_t World::run_for(Scheduler& scheduler, Duration time) {
  const Instant end = clock_.now() + time;
  std::uint64_t turns = 0;
  while (clock_.now() < end && !scheduler.stopping()) {
    if (step(scheduler, end)) ++turns;
  }
  return turns;
}

bool World::run_until(Scheduler& scheduler, const std::function<bool()>& done, Duration limit) {
  const Instant end = clock_.now() + limit;
  while (!done()) {
    if (clock_.now() >= end || scheduler.stopping()) return false;
    step(scheduler, end);
  }
  return true;
}

// --- A program

World::Impl& World::inside() noexcept {
  if (impl_ == nullptr) impl_ = std::make_unique<Impl>(*this);
  return *impl_;
}

/// Steps the process until 'end', a violation, the stop of its runtime, or 'done'. The argument of 'done' is true after a turn.
template <class Done>
std::uint64_t World::run(Instant end, const Done& done) {
  Impl& in = inside();
  RONDO_EXPECT(in.runtime != nullptr, "a World runs a program before World::start; a scheduler of one's own is given to run_for");
  std::uint64_t turns = 0;
  while (clock_.now() < end && !in.violation) {
    Scheduler& scheduler = in.runtime->scheduler();
    if (scheduler.stopping()) break;
    const bool is_turn = scheduler.turn();
    if (is_turn) {
      clock_.advance(turn_cost_);
      ++turns;
      ++turns_;
      in.after_turn();
    } else {
      if (done(false)) break;  // Before the wait: a periodic timer makes its source ready in every wait.
      scheduler.wait(std::min(end, clock_.now() + kRestLook));
    }
    if (in.crash_due) crash(in.faults.drawn(in.faults.plan().down_for));
    if (done(is_turn)) break;
  }
  return turns;
}

std::uint64_t World::run_for(Duration time) {
  return run(clock_.now() + time, [](bool) { return false; });
}

bool World::come_to_rest(Duration limit) {
  Impl& in = inside();
  const FaultPlan plan = in.faults.plan();
  in.faults.follow({});
  in.crash_due = false;
  in.last_event = clock_.now();
  bool rests = false;
  run(clock_.now() + limit, [&](bool is_turn) {
    rests = !is_turn && clock_.now() - in.last_event >= options_->rest && in.moving().empty();
    return rests;
  });
  if (!in.violation && !rests) {
    std::string why = in.moving();
    if (why.empty())
      why = in.runtime->scheduler().stopping() ? "it stopped its runtime" : "something happens again and again, at last: " + last_event();
    in.fail("rest", {StatusCode::DeadlineExceeded, "the program does not come to rest: " + why});
  }
  if (!in.violation) in.check_at_rest();
  in.faults.follow(plan);
  return !in.violation;
}

void World::suspend_for(Duration time) {
  inside().happened("suspended for " + std::to_string(time.count()) + " ns");
  clock_.advance(time);
}

}  // namespace rondo::sim
