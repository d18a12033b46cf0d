// Replay with a user's Orchs: handlers that wait, delay, reject, throw and listen, over a remote store whose connection breaks, and with
// an outside source that settles tickets. Random runs are recorded and replayed. A run whose Orch decides differently is reported as
// different.
#include "rondo/replay/replay.h"
#include "orch/row_tap.h"
#include "sched/sim_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "journal/reader.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/sched/timer.h"
#include "rondo/sim/world.h"
#include "sim/sim_store.h"

namespace rondo::replay {
namespace {

namespace fs = std::filesystem;
using journal::Kind;
using testing::HasSubstr;

constexpr FactKind kGroup{"group"};

/// Groups: a row makes the fact, a Delete ends it. Some announcements are late.
class Groups final : public Orch {
 public:
  explicit Groups(Runtime& runtime) : Orch(runtime, "groups", Priority{20}) {
    provide(kGroup, [this](std::string_view key) { return groups_.contains(key); });
    consume(
        "GROUP",
        [this](std::string_view key, const Fields& fields) {
          if (fields.contains("late") && late_.insert(std::string{key}).second)
            return Outcome::retry_after(20ms, Status{StatusCode::Unavailable, "late"});
          groups_.emplace(key);
          announce({kGroup, std::string{key}});
          return Outcome::done();
        },
        [this](std::string_view key) {
          late_.erase(std::string{key});
          if (const auto found = groups_.find(key); found != groups_.end()) groups_.erase(found);
          withdraw({kGroup, std::string{key}});
          return Outcome::done();
        });
  }

 private:
  std::set<std::string, std::less<>> groups_;
  std::set<std::string, std::less<>> late_;
};

/// Work of an Orch outside of its tables. It sometimes wakes an urgent source, and ends its turn for it if the policy requires it. It has
/// seven times the share of others.
class Chores final : public Source {
 public:
  explicit Chores(Scheduler& scheduler) : Source("chores", Priority{5}), bell_("bell", Priority{45}, [] {}) {
    set_weight(7);
    scheduler.add(*this);
    scheduler.add(bell_);
  }
  void more(std::uint64_t items) {
    left_ += items;
    wake();
  }
  Turn run(const Budget& budget) override {
    Turn turn;
    while (left_ > 0 && turn.items < budget.items) {
      --left_;
      ++turn.items;
      if (left_ % 3 == 0) bell_.wake();
      if (!should_yield()) continue;
      ++yields;
      break;
    }
    turn.backlog = left_ > 0 ? Backlog::More : Backlog::Empty;
    return turn;
  }
  std::uint64_t yields = 0;

 private:
  TimerSource bell_;
  std::uint64_t left_ = 0;
};

/// Routes wait for one or two groups, in batches. The Orch counts events and observations, and its own timer settles staged rows.
class Routes final : public Orch {
 public:
  Routes(Runtime& runtime, bool patient)
      : Orch(runtime, "routes", Priority{5}),
        patient_(patient),
        timer_("answers", Priority{40}, [this] { answer(); }),
        chores_(runtime.scheduler()) {
    runtime.scheduler().add(timer_);
    consume_batches("ROUTE", [this](Batch& batch) { apply(batch); }, {.retry_quota = 3, .batch_max = 4, .needs = {kGroup}});
    listen("NEWS", [this](const Change& event) {
      if (event.key() == "bad") throw std::runtime_error("bad news");
      ++events_;
    });
    observe(kGroup, [this](std::string_view, bool holds) { events_ += holds ? 1 : 2; });
  }
  std::uint64_t yields() const { return chores_.yields; }

 private:
  void apply(Batch& batch) {
    chores_.more(2 * batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].op() == ChangeOp::Delete) {
        batch.done(i);
        continue;
      }
      const Fields fields = batch[i].fields();
      std::vector<Fact> facts;
      for (const char* const name : {"group", "backup"}) {
        if (const auto group = fields.find(name)) facts.push_back({kGroup, std::string{*group}});
      }
      const bool missing = std::ranges::any_of(facts, [this](const Fact& fact) { return !holds(fact); });
      if (facts.empty()) {
        batch.answer(i, Outcome::reject(Status{StatusCode::InvalidArgument, "no group"}));
      } else if (missing) {
        batch.answer(i, patient_ ? Outcome::wait_for(facts) : Outcome::retry_after(5ms, Status{}));
      } else {
        tickets_.push_back({batch.stage(i), std::move(facts)});
        if (!timer_.is_armed()) timer_.arm_at(runtime().scheduler().now() + 3ms);
      }
    }
  }
  void answer() {
    for (auto& [ticket, facts] : std::exchange(tickets_, {})) {
      ++answers_;
      if (answers_ % 7 == 0) {
        settle(ticket, Outcome::retry_after(10ms, Status{StatusCode::Unavailable, "again"}));
      } else {
        settle(ticket, answers_ % 2 == 0 ? Outcome::done_while(std::move(facts)) : Outcome::done());
      }
    }
  }

  const bool patient_;
  TimerSource timer_;
  Chores chores_;
  std::vector<std::pair<Ticket, std::vector<Fact>>> tickets_;  // With the facts that each row depends on.
  std::uint64_t events_ = 0;
  std::uint64_t answers_ = 0;
};

/// Objects of two tables, which wait for any of two groups, depend on one, and are staged for a while.
class Vips final : public Orch {
 public:
  explicit Vips(Runtime& runtime) : Orch(runtime, "vips", Priority{7}), timer_("vip answers", Priority{41}, [this] { answer(); }) {
    runtime.scheduler().add(timer_);
    consume_into(
        {"VIP", "DRAIN"}, [](std::string_view key) { return std::string{key.substr(0, 1)}; },
        [this](std::string_view, std::span<const TableRow> rows) { return reconcile(rows); }, {.batch_max = 3});
  }

 private:
  Outcome reconcile(std::span<const TableRow> rows) {
    const Fact first{kGroup, "g" + std::to_string(rows.size() % 6)};
    const Fact second{kGroup, "g" + std::to_string(reconciled_++ % 6)};
    if (rows.size() % 5 == 4) throw std::runtime_error("four or nine rows");
    if (!holds(first) && !holds(second)) return Outcome::wait_for_any({first, second});
    if (reconciled_ % 3 != 0) return holds(first) && !rows.empty() ? Outcome::done_while(first) : Outcome::done();
    tickets_.push_back(current_ticket());
    if (!timer_.is_armed()) timer_.arm_at(runtime().scheduler().now() + 3ms);
    return Outcome::staged();
  }
  void answer() {
    for (const Ticket& ticket : std::exchange(tickets_, {})) settle(ticket, Outcome::done());
  }
  TimerSource timer_;
  std::vector<Ticket> tickets_;
  std::uint64_t reconciled_ = 0;
};

PolicyOptions any_policy(Random& random) {
  const auto batch = static_cast<std::uint32_t>(1 + random.below(9));
  switch (random.below(6)) {
    case 0: return StrictPriority{.batch = batch};
    case 1: return StrictPriority{.tie = Tie::ConsumedTime, .batch = batch};
    case 2: return StrictlyOrdered{.batch = batch};
    case 3: return QuotedRoundRobin{.quota = 2, .batch = batch};
    case 4: return BudgetedFrames{.lowest = 1us, .highest = 3us, .batch = batch};
    default: return BudgetedFrames{.tie = Tie::ConsumedTime, .batch = batch};
  }
}

class ReplayTest : public testing::Test {
 protected:
  void SetUp() override { file = (directory / "day.journal").string(); }

  /// Options for a remote store, which is returned in 'store'. The run is recorded in 'file'.
  RuntimeOptions recorded(sim::World& world, sim::SimStore*& store, PolicyOptions policy) const {
    RuntimeOptions options;
    options.policy = policy;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    options.store = [&](Scheduler& scheduler) {
      auto made = std::make_unique<sim::SimStore>(scheduler, sim::SimStoreOptions{.seed = world.seed()});
      store = made.get();
      EXPECT_TRUE(made->declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
      return made;
    };
    options.observer = std::move(Journal::open({.file = file}, world.clock()).value());
    return options;
  }
  /// A run with 'operations' writes of another client, on a store whose connection sometimes breaks.
  void live(std::uint64_t seed, int operations) {
    sim::World world(seed);
    sim::SimStore* store = nullptr;
    const StrictPriority policy{.tie = seed % 2 == 0 ? Tie::Arrival : Tie::LeastRecentlyServed,
                                .batch = static_cast<std::uint32_t>(1 + seed % 9)};
    Runtime runtime(recorded(world, store, policy));
    Random& random = world.random();
    EXPECT_TRUE(store->declare({.name = "VIP"}).ok() && store->declare({.name = "DRAIN"}).ok());
    for (std::uint64_t rows = random.below(30); rows > 0; --rows) write_vip(*store, random);
    runtime.add<Groups>();
    const Routes& routes = runtime.add<Routes>(true);
    runtime.add<Vips>();
    // Like an open `rondo trace`: its listener takes some time of the turn, and wakes a source that a replay does not have.
    TimerSource looker("looker", Priority{2}, [] {});
    runtime.scheduler().add(looker);
    const auto tap = runtime.tap("ROUTE", [&](const RowEvent&) {
      world.clock().advance(Duration{static_cast<std::int64_t>(random.below(3000))});
      if (random.chance(0.5)) looker.wake();
    });
    EXPECT_TRUE(tap.has_value());
    for (int i = 0; i < operations; ++i) {
      operate(*store, random);
      if (random.chance(policy_changes)) {
        runtime.scheduler().set_policy(std::move(make_policy(any_policy(random)).value()));
        ++changed;
      }
      const bool told = i % 30 != 0 || Journal::of(runtime)->flush().ok();  // Several blocks.
      EXPECT_TRUE(told);
      if (random.chance(0.5)) world.run_for(runtime.scheduler(), Duration{static_cast<std::int64_t>(random.below(8'000'000))});
    }
    store->reconnect();
    world.run_for(runtime.scheduler(), 1s);
    yields += routes.yields();
  }
  /// Thousands of rows wait for nearly the same time, while other components' timers, which a replay does not have, fire every
  /// millisecond.
  void live_in_bursts(std::uint64_t seed) {
    sim::World world(seed);
    sim::SimStore* store = nullptr;
    Runtime runtime(recorded(world, store, StrictPriority{.batch = 1000}));  // One turn takes all that one poll fires.
    runtime.add<Groups>();
    runtime.add<Routes>(true);
    runtime.add<Vips>();
    Random& random = world.random();
    const auto tap = runtime.tap("GROUP", [&](const RowEvent&) {
      if (random.chance(0.002)) world.clock().advance(Duration{1ms} * random.between(1, 9));
    });
    EXPECT_TRUE(tap.has_value());
    std::deque<TimerSource> others;
    for (std::size_t i = 0; i < 300; ++i) {
      TimerSource& other = others.emplace_back("other", Priority{1}, [] {});
      runtime.scheduler().add(other);
      other.arm_every(Duration{1ms} * random.between(1, 3), world.now() + Duration{1ms} * random.between(1, 40));
    }
    for (int burst = 0; burst < 3; ++burst) {
      const std::string begin = std::to_string(burst) + "-";
      for (std::uint64_t rows = random.between(1000, 4000), row = 0; row < rows; ++row) {
        EXPECT_TRUE(store->server().write("GROUP", Change::set(begin + std::to_string(row), {{"late", "1"}})).ok());
        if (random.chance(0.001)) world.run_for(runtime.scheduler(), Duration{static_cast<std::int64_t>(random.below(8'000'000))});
      }
      world.run_for(runtime.scheduler(), Duration{1ms} * random.between(1, 50));
    }
    world.run_for(runtime.scheduler(), 100ms);
    bursts += runtime.scheduler().stats().timer_bursts;
    for (TimerSource& other : others) runtime.scheduler().remove(other);
  }
  static void write_vip(sim::SimStore& store, Random& random) {
    const std::string key = std::to_string(random.below(4)) + ":" + std::to_string(random.below(6));
    Change change = random.chance(0.4) ? Change::remove(key) : Change::set(key, {{"n", "1"}});
    static_cast<void>(store.server().write(random.chance(0.5) ? "VIP" : "DRAIN", std::move(change)));
  }
  static void operate(sim::SimStore& store, Random& random) {
    const auto write = [&](const char* table, Change change) { static_cast<void>(store.server().write(table, std::move(change))); };
    const std::string group = "g" + std::to_string(random.below(6));
    const std::string route = "r" + std::to_string(random.below(40));
    switch (random.below(11)) {
      case 9:
      case 10: return write_vip(store, random);
      case 0: return write("GROUP", Change::set(group, {{"n", "1"}}));
      case 1: return write("GROUP", Change::set(group, {{"late", "1"}}));
      case 2: return write("GROUP", Change::remove(group));
      case 3:
      case 4: return write("ROUTE", Change::set(route, {{"group", group}}));
      case 5: return write("ROUTE", Change::set(route, {{"group", group}, {"backup", "g" + std::to_string(random.below(6))}}));
      case 6: return write("ROUTE", random.chance(0.5) ? Change::remove(route) : Change::set(route, {}));
      case 7: return write("NEWS", Change::event("v", random.chance(0.2) ? "bad" : "good", {}));
      default: return random.chance(0.5) ? store.disconnect() : store.reconnect();
    }
  }
  /// Writes the same names, and the records as changed by 'change', in one block.
  template <class Change>
  void rewrite(const Change& change) const {
    std::string names;
    std::vector<std::string> records;
    {
      const auto reader = std::move(journal::JournalReader::open(file).value());
      std::ifstream in(file, std::ios::binary);
      for (const journal::Block& block : reader->blocks()) {
        if (block.head.kind == journal::BlockKind::Records) continue;
        std::string bytes(journal::kHeadBytes + block.head.payload_bytes, '\0');
        in.seekg(static_cast<std::streamoff>(block.offset));
        in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        names += bytes;
      }
      for (journal::RawRecord record = reader->next(); !record.bytes.empty(); record = reader->next()) records.emplace_back(record.bytes);
    }
    change(records);
    std::string payload;
    for (const std::string& record : records) payload += record;
    journal::BlockHead head{.payload_bytes = static_cast<std::uint32_t>(payload.size()),
                            .records = static_cast<std::uint32_t>(records.size()),
                            .first_record = 1};
    journal::seal(head, payload);
    std::ofstream(file, std::ios::binary)
            .write(names.data(), static_cast<std::streamsize>(names.size()))
            .write(reinterpret_cast<const char*>(&head), journal::kHeadBytes)
        << payload;
  }
  /// Expects an equal replay of a run, and returns its number of outcomes.
  void expect_the_same(std::uint64_t seed, int operations, std::uint64_t& outcomes) {
    fs::remove(file);
    live(seed, operations);
    const ReplayReport report = replay();
    ASSERT_TRUE(report.same) << "seed " << seed << ", record " << report.record << ": expected " << report.expected << ", came "
                             << report.came;
    outcomes += report.outcomes;
  }
  ReplayReport replay(bool patient = true, const Replay::OnRecords& on_records = {}) {
    Result<std::unique_ptr<Replay>> opened = Replay::open({file});
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    Runtime runtime((*opened)->runtime_options());
    // Declares the table as in the recorded run.
    EXPECT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
    runtime.add<Groups>();
    runtime.add<Routes>(patient);
    runtime.add<Vips>();
    records_told = (*opened)->records();
    return (*opened)->run(runtime, on_records);
  }

  TemporaryFolder directory;
  std::string file;
  double policy_changes = 0;  // Policy changes per operation.
  std::uint64_t changed = 0;
  std::uint64_t yields = 0;
  std::uint64_t bursts = 0;
  std::uint64_t records_told = 0;  // The number of records in the files of the last replay.
};

TEST_F(ReplayTest, LivesOverAStoreFarAwayComeOutTheSameProperty) {
  std::uint64_t outcomes = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) ASSERT_NO_FATAL_FAILURE(expect_the_same(seed, 150, outcomes));
  EXPECT_GT(outcomes, 20'000U);
}

// Long enough that many rows wait for one millisecond.
TEST_F(ReplayTest, LongLivesComeOutTheSameProperty) {
  std::uint64_t outcomes = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) ASSERT_NO_FATAL_FAILURE(expect_the_same(seed, 2000, outcomes));
  EXPECT_GT(outcomes, 20'000U);
}

// More timers than one poll fires: where the poll stops must not depend on other components' timers.
TEST_F(ReplayTest, BurstsOfTimersAmongThoseOfOthersComeOutTheSameProperty) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fs::remove(file);
    live_in_bursts(seed);
    const ReplayReport report = replay();
    ASSERT_TRUE(report.same) << "seed " << seed << ", record " << report.record << ": expected " << report.expected << ", came "
                             << report.came;
  }
  EXPECT_GT(bursts, 20U);
}

// The policy changes repeatedly during the run, and a source with a weight sometimes ends its turns early.
TEST_F(ReplayTest, LivesUnderChangingPoliciesComeOutTheSameProperty) {
  policy_changes = 0.1;
  std::uint64_t outcomes = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) ASSERT_NO_FATAL_FAILURE(expect_the_same(seed, 150, outcomes));
  EXPECT_GT(changed, 2000U);
  EXPECT_GT(yields, 100U);
  // The record of the last run contains all of these.
  std::map<journal::Kind, int> kinds;
  const auto reader = journal::JournalReader::open(file);
  ASSERT_TRUE(reader.has_value());
  for (journal::RawRecord record = (*reader)->next(); !record.bytes.empty(); record = (*reader)->next()) ++kinds[record.kind()];
  EXPECT_GT(kinds[journal::Kind::Policy], 5);
  EXPECT_GT(kinds[journal::Kind::Yields], 0);
  EXPECT_EQ(kinds[journal::Kind::Weight], 1);
}

TEST_F(ReplayTest, WhoListensHearsHowFarItIs) {
  live(32, 3000);
  std::uint64_t recorded = 0;
  const auto reader = std::move(journal::JournalReader::open(file).value());
  while (!reader->next().bytes.empty()) ++recorded;
  std::vector<std::uint64_t> heard;
  const ReplayReport report = replay(true, [&heard](std::uint64_t done) { heard.push_back(done); });
  EXPECT_EQ(records_told, recorded);
  ASSERT_GT(heard.size(), 1U);
  EXPECT_GE(heard.front(), Replay::kReportEach);
  for (std::size_t i = 1; i < heard.size(); ++i) EXPECT_GE(heard[i], heard[i - 1] + Replay::kReportEach);
  EXPECT_LE(heard.back(), report.records);
}

TEST_F(ReplayTest, AnOrchThatChangedItsMindIsNamedByItsFirstDecision) {
  live(1, 150);
  const ReplayReport report = replay(false);
  EXPECT_FALSE(report.same);
  EXPECT_THAT(report.expected, HasSubstr("parked ROUTE r"));
  EXPECT_THAT(report.came, HasSubstr("delayed ROUTE r"));
  EXPECT_GT(report.record, 10U);
}

TEST_F(ReplayTest, OneOfSeveralRunsInAFileIsChosen) {
  live(3, 20);
  live(4, 60);
  const auto records = [this](unsigned run) {
    Result<std::unique_ptr<Replay>> opened = Replay::open({file}, run);
    EXPECT_TRUE(opened.has_value());
    Runtime runtime((*opened)->runtime_options());
    EXPECT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
    runtime.add<Groups>();
    runtime.add<Routes>(true);
    runtime.add<Vips>();
    const ReplayReport report = (*opened)->run(runtime);
    EXPECT_TRUE(report.same) << "run " << run << ", record " << report.record << ": expected " << report.expected << ", came "
                             << report.came;
    return report.records;
  };
  EXPECT_LT(records(1), records(2));
  EXPECT_EQ(records(0), records(2));
  EXPECT_EQ(Replay::open({file}, 3).error().code(), StatusCode::NotFound);
}

// The removal of a production source ends the run if it is at the run's end.
TEST_F(ReplayTest, WhatFollowsTheRemovalOfAnOwnSourceMakesItNotTheSame) {
  live(5, 150);
  std::uint64_t removed = 0;
  rewrite([&removed](std::vector<std::string>& records) {
    // The removal of a table's source, which is at the end of the run, is moved into its middle.
    std::uint32_t routes = 0;
    std::string removal;
    for (const std::string& record : records) {
      journal::JournalRecord decoded;
      ASSERT_TRUE(journal::decode(record, decoded));
      if (decoded.kind == Kind::SourceAdded && decoded.name == "ROUTE") routes = decoded.source;
      if (decoded.kind == Kind::SourceRemoved && decoded.source == routes) removal = record;
    }
    ASSERT_NE(removal, "");
    const auto is_turn_end = [](const std::string& record) { return journal::RawRecord{record}.kind() == Kind::TurnEnds; };
    const auto middle = std::find_if(records.begin() + static_cast<std::ptrdiff_t>(records.size() / 2), records.end(), is_turn_end);
    ASSERT_NE(middle, records.end());
    removed = static_cast<std::uint64_t>(middle - records.begin()) + 2;
    records.insert(middle + 1, removal);
  });
  const ReplayReport report = replay();
  EXPECT_FALSE(report.same);
  EXPECT_GT(report.record, removed);
  EXPECT_LE(report.record, removed + 2) << "what follows it, except a reading of the clock, which may be of the end";
  EXPECT_THAT(report.came, HasSubstr("not compared"));
}

/// Takes five turns of 1 ms each in a recorded run.
class OwnWork final : public Source {
 public:
  OwnWork(Scheduler& scheduler, SimClock* clock) : Source("own", Priority{56}), clock_(clock) { scheduler.add(*this); }
  Turn run(const Budget&) override {
    if (clock_ != nullptr) clock_->advance(1ms);
    return {.items = 1, .backlog = ++turns_ < 5 ? Backlog::More : Backlog::Empty};
  }

 private:
  SimClock* const clock_;
  int turns_ = 0;
};

// The first turn is charged from the wake on, not from the start of the program, or a priority would be in debt in the replay only.
TEST_F(ReplayTest, AWakeLongAfterTheStartAndACallerBeforeTheFirstTurnComeOutTheSame) {
  {
    SimClock clock;
    SimReactor reactor(clock);
    RuntimeOptions options{.clock = &clock, .reactor = &reactor};
    options.observer = std::move(Journal::open({.file = file}, clock).value());
    Runtime runtime(std::move(options));
    OwnWork own(runtime.scheduler(), &clock);
    clock.advance(500ms);
    own.wake();
    TimerSource caller("caller", Priority{10}, [] {});
    runtime.scheduler().add(caller);
    caller.wake();
    runtime.run_until_idle();
  }
  Result<std::unique_ptr<Replay>> opened = Replay::open({file});
  ASSERT_TRUE(opened) << opened.error().to_string();
  Runtime runtime((*opened)->runtime_options());
  OwnWork own(runtime.scheduler(), nullptr);
  own.wake();
  const ReplayReport report = (*opened)->run(runtime);
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_GE(report.turns, 6U);
}

/// Needs the groups, and counts those that it missed.
class Needy final : public Orch {
 public:
  explicit Needy(Runtime& runtime) : Orch(runtime, "needy", Priority{60}) {
    consume(
        "NEEDY",
        [this](std::string_view, const Fields& fields) {
          const Fact group{kGroup, fields.text_or("group", "")};
          if (holds(group)) return Outcome::done_while(group);
          ++missed_;
          return Outcome::wait_for(group);
        },
        [](std::string_view) { return Outcome::done(); }, {.needs = {kGroup}});
  }
  int missed() const { return missed_; }

 private:
  int missed_ = 0;
};

// The store of a replay does not tell when the standing rows have ended.
TEST_F(ReplayTest, AStartWithStandingRowsThatOthersNeedComesOutTheSame) {
  {
    SimClock clock;
    SimReactor reactor(clock);
    RuntimeOptions options{.clock = &clock, .reactor = &reactor};
    options.observer = std::move(Journal::open({.file = file}, clock).value());
    Runtime runtime(std::move(options));
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(runtime.table("GROUP").set(std::to_string(i), {{"late", "1"}}).ok());
      ASSERT_TRUE(runtime.table("NEEDY").set(std::to_string(i), {{"group", std::to_string(i)}}).ok());
    }
    runtime.add<Groups>();
    const Needy& needy = runtime.add<Needy>();
    runtime.run_until_idle();
    EXPECT_EQ(needy.missed(), 1000) << "each group was tried again later, after which no row of it stands";
    ASSERT_TRUE(runtime.table("NEEDY").set("more", {{"group", "7"}}).ok());
    clock.advance(1s);
    runtime.run_until_idle();
  }
  Result<std::unique_ptr<Replay>> opened = Replay::open({file});
  ASSERT_TRUE(opened) << opened.error().to_string();
  Runtime runtime((*opened)->runtime_options());
  runtime.add<Groups>();
  runtime.add<Needy>();
  const ReplayReport report = (*opened)->run(runtime);
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_GT(report.outcomes, 2000U);
}

// Outcomes that a run of the agent does not have (tests/swarm/replay_test.cc).
TEST_F(ReplayTest, ARejectionAndARowThatIsQueuedAgainAreCompared) {
  for (const Kind kind : {Kind::Rejected, Kind::Again}) {
    SCOPED_TRACE(to_string(kind));
    for (const bool last : {false, true}) {
      std::uint64_t forged = 0;
      for (std::uint64_t seed = 1; seed <= 50 && forged == 0; ++seed) {
        fs::remove(file);
        live(seed, 150);
        rewrite([&](std::vector<std::string>& records) {
          for (std::size_t i = 0; i < records.size(); ++i) {
            if (journal::RawRecord{records[i]}.kind() == kind && (last || forged == 0)) forged = i + 1;
          }
          if (forged != 0) records[forged - 1].back() ^= 1;
        });
      }
      ASSERT_NE(forged, 0U);
      const ReplayReport report = replay();
      EXPECT_FALSE(report.same);
      EXPECT_EQ(report.record, forged);
    }
  }
}

// Texts show the delay in microseconds.
TEST_F(ReplayTest, WhatTheWordsOfARecordLeaveOutIsToldWhereTheyAreTheSame) {
  std::uint64_t forged = 0;
  for (std::uint64_t seed = 1; seed <= 50 && forged == 0; ++seed) {
    fs::remove(file);
    live(seed, 150);
    rewrite([&forged](std::vector<std::string>& records) {
      for (std::size_t i = 0; i < records.size() && forged == 0; ++i) {
        journal::JournalRecord before;
        if (!journal::decode(records[i], before) || before.kind != Kind::Delayed) continue;
        for (std::size_t byte = 2; byte < records[i].size() && forged == 0; ++byte) {
          std::string other = records[i];
          other[byte] ^= 1;
          journal::JournalRecord after;
          if (!journal::decode(other, after) || after.span != before.span + 1ns || after.text != before.text) continue;
          records[i] = other;
          forged = i + 1;
        }
      }
    });
  }
  ASSERT_NE(forged, 0U);
  const ReplayReport report = replay();
  EXPECT_FALSE(report.same);
  EXPECT_EQ(report.record, forged);
  EXPECT_NE(report.expected, report.came);
  EXPECT_THAT(report.came, HasSubstr(", bytes "));
}

TEST_F(ReplayTest, AChangeThatCannotBeReadMakesItNotTheSame) {
  live(5, 150);
  std::uint64_t broken = 0;
  rewrite([&broken](std::vector<std::string>& records) {
    for (std::size_t i = records.size() / 2; i < records.size() && broken == 0; ++i) {
      journal::JournalRecord decoded;
      if (!journal::decode(records[i], decoded) || decoded.kind != Kind::Changed || decoded.op != ChangeOp::Set) continue;
      const std::size_t key = records[i].find(decoded.text);
      records[i][key - 2] = '\x07';  // The operation, before the length of its key.
      broken = i + 1;
    }
  });
  ASSERT_NE(broken, 0U);
  const ReplayReport report = replay();
  EXPECT_FALSE(report.same);
  EXPECT_EQ(report.record, broken);
  EXPECT_EQ(report.expected, "a record that is none");
}

TEST_F(ReplayTest, RecordsThatAreMissingEndItAndAreNamed) {
  live(5, 150);
  const std::uintmax_t size = fs::file_size(file);
  FILE* const stream = std::fopen(file.c_str(), "r+b");
  ASSERT_NE(stream, nullptr);
  std::fseek(stream, static_cast<long>(size / 2), SEEK_SET);
  const int byte = std::fgetc(stream);
  std::fseek(stream, static_cast<long>(size / 2), SEEK_SET);
  std::fputc(byte ^ 1, stream);
  ASSERT_EQ(std::fclose(stream), 0);
  Result<std::unique_ptr<Replay>> opened = Replay::open({file});
  ASSERT_TRUE(opened.has_value());
  const ReplayReport report = [&] {
    Runtime runtime((*opened)->runtime_options());
    EXPECT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
    runtime.add<Groups>();
    runtime.add<Routes>(true);
    runtime.add<Vips>();
    return (*opened)->run(runtime);
  }();
  EXPECT_FALSE(report.same);
  EXPECT_THAT(report.expected, HasSubstr("missing"));
}

}  // namespace
}  // namespace rondo::replay
