// Recorded runs that are replayed (replay/replay.h). Lives of the whole agent are recorded for many seeds (agent_life.h). The production
// scheduler and Orchs replay each, and it must be equal, record by record; a changed run must differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../scenarios/agent_testbed.h"
#include "agent_life.h"
#include "base/testing/sanitized.h"
#include "base/testing/temporary_folder.h"
#include "journal/reader.h"
#include "journal/walk.h"
#include "rondo/journal/journal.h"
#include "rondo/replay/replay.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"

namespace rondo::swarm {
namespace {

namespace fs = std::filesystem;
using switch_agent::AgentTestbed;
using switch_agent::SwitchAgent;
using testing::HasSubstr;

constexpr std::uint64_t kLives = plain_or_sanitized(300, 100);
constexpr std::uint64_t kRestartedLives = plain_or_sanitized(12, 4);

class ReplayOfAgent : public testing::Test {
 protected:
  void SetUp() override { file = (directory / "day.journal").string(); }

  /// The record contains the data plane's answers, including late ones and errors. Each process is a separate run in it.
  void record(std::uint64_t seed, std::uint64_t turns, bool crashes = false, bool others = true) {
    Random random(seed);
    sim::WorldOptions options;
    if (random.chance(0.7)) options.faults = sim::FaultPlan::drawn(random);
    options.faults.crash_every = crashes ? Duration{30ms} : Duration{0};
    if (crashes) options.store = random.chance(0.5) ? sim::StoreKind::Durable : sim::StoreKind::Remote;
    options.make_observer = [this](const Clock& clock) { return std::move(Journal::open({.file = file}, clock).value()); };
    // In every second life other programs change the kernel, and audits repair that. Every fourth one has LAGs.
    AgentLife::Others who = AgentLife::Others::Leave;
    if (others && seed % 2 == 0) who = seed % 4 == 0 ? AgentLife::Others::MeddleWithLags : AgentLife::Others::Meddle;
    AgentLife life(seed, options, who);
    live(life, turns);
    EXPECT_FALSE(life.world().violation()) << life.world().report();
  }
  replay::ReplayReport replay() {
    Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file});
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return replay(**opened);
  }
  static replay::ReplayReport replay(replay::Replay& replay) {
    replay.grant_tables();
    Runtime runtime(replay.runtime_options());
    SwitchAgent agent(runtime, replay.plane(), {.answers = &replay.answers(), .restart = &replay.restart()});
    EXPECT_TRUE(agent.start().ok());
    return replay.run(runtime);
  }

  TemporaryFolder directory;
  std::string file;
};

TEST_F(ReplayOfAgent, ALifeComesOutTheSame) {
  record(1, 1000);
  const replay::ReplayReport report = replay();
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_GT(report.turns, 100U);
  EXPECT_GT(report.outcomes, 100U);
}

TEST_F(ReplayOfAgent, ManyLivesComeOutTheSameStorm) {
  constexpr std::uint64_t kSeeds = kLives;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fs::remove(file);
    record(seed, 1000);
    const replay::ReplayReport report = replay();
    EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(ReplayOfAgent, LivesThatBeginWithWhatAnotherLeftComeOutTheSameStorm) {
  constexpr std::uint64_t kSeeds = kRestartedLives;
  unsigned on_objects = 0;
  unsigned deleted_some = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fs::remove(file);
    record(seed, 1500, true);
    for (unsigned run = 1;; ++run) {
      SCOPED_TRACE("run " + std::to_string(run));
      Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file}, run);
      if (!opened) {
        EXPECT_GT(run, 1U) << opened.error().to_string();
        break;
      }
      if (!(*opened)->restart().nexthops().empty()) ++on_objects;
      const replay::ReplayReport report = replay(**opened);
      EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
      if (testing::Test::HasFailure()) return;
    }
    std::vector<journal::Damage> damage;
    std::stringstream all;
    all << std::ifstream(file, std::ios::binary).rdbuf();
    const std::string bytes = all.str();
    for (const journal::Block& block : journal::find_blocks(bytes, damage)) {
      if (block.head.kind != journal::BlockKind::Records) continue;
      std::string_view payload{bytes};
      payload = payload.substr(static_cast<std::size_t>(block.offset) + journal::kHeadBytes, block.head.payload_bytes);
      while (!payload.empty()) {
        const std::string_view record = journal::first_record(payload);
        payload.remove_prefix(record.size());
        journal::JournalRecord decoded;
        ASSERT_TRUE(journal::decode(record, decoded));
        if (decoded.kind == journal::Kind::Unwanted && !decoded.orders.empty()) ++deleted_some;
      }
    }
  }
  EXPECT_GT(on_objects, kSeeds);
  EXPECT_GT(deleted_some, kSeeds / 3);
}

// --- Days that are not whole, and days that another agent lives

std::string bytes_of(const std::string& file) {
  std::stringstream all;
  all << std::ifstream(file, std::ios::binary).rdbuf();
  return all.str();
}

/// Rewrites the file's blocks of records with 'change'.
template <class Change>
void rewrite(const std::string& file, const Change& change) {
  std::string bytes = bytes_of(file);
  std::vector<journal::Damage> damage;
  for (const journal::Block& block : journal::find_blocks(bytes, damage)) {
    if (block.head.kind != journal::BlockKind::Records) continue;
    const auto begin = static_cast<std::size_t>(block.offset);
    std::string payload = bytes.substr(begin + journal::kHeadBytes, block.head.payload_bytes);
    change(block.head, payload);
    journal::BlockHead head = block.head;
    seal(head, payload);
    bytes.replace(begin, journal::kHeadBytes, reinterpret_cast<const char*>(&head), journal::kHeadBytes);
    bytes.replace(begin + journal::kHeadBytes, payload.size(), payload);
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

/// A record, and the index of a byte that is part of a decision.
struct Decision {
  std::uint64_t record = 0;
  std::size_t byte = 0;
};

/// The decisions of each kind in a run, in order. Turns and their wakes are decisions if the source is an Orch's. Turns of other sources
/// are inputs, and so are all times.
std::map<journal::Kind, std::vector<Decision>> decisions_of(const std::string& file) {
  using journal::Kind;
  std::map<Kind, std::vector<Decision>> all;
  const auto is_own = [](const std::string& source) { return source.ends_with("_TABLE"); };
  const auto reader = std::move(journal::JournalReader::open(file).value());
  for (journal::JournalWalk walk(*reader); walk.next();) {
    const std::string_view bytes = walk.raw().bytes;
    const std::size_t content = (static_cast<unsigned char>(bytes.front()) < journal::kShortBound ? 1 : journal::kLongLength) + 1;
    const Kind kind = walk.record().kind;
    std::size_t byte = bytes.size() - 1;
    switch (kind) {
      case Kind::Woken:
      case Kind::TurnBegins:
        if (!is_own(walk.turn_of())) continue;
        byte = content;  // The number of the source.
        break;
      case Kind::TurnEnds:
        if (!is_own(walk.turn_of())) continue;
        byte = content + 1;  // The number of items.
        break;
      case Kind::SourceAdded:
        if (!is_own(walk.source())) continue;
        break;
      case Kind::Announced:
      case Kind::Withdrawn:
      case Kind::Submitted: break;
      default:
        if (!walk.record().is_outcome()) continue;
    }
    all[kind].push_back({walk.raw().number, byte});
  }
  return all;
}

// Changes one byte of a decision, in the first and in the last record of each kind; the replay must detect it.
TEST_F(ReplayOfAgent, AChangedDecisionIsFoundAtItsRecord) {
  using journal::Kind;
  std::set<Kind> changed;
  for (const std::uint64_t seed : {2U, 3U, 4U}) {
    fs::remove(file);
    record(seed, 2000, false, false);
    const std::string whole = file + ".whole";
    fs::copy_file(file, whole, fs::copy_options::overwrite_existing);
    for (const auto& [kind, decisions] : decisions_of(whole)) {
      changed.insert(kind);
      for (const Decision& decision : {decisions.front(), decisions.back()}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string{to_string(kind)} + ", record " + std::to_string(decision.record));
        fs::copy_file(whole, file, fs::copy_options::overwrite_existing);
        rewrite(file, [&](const journal::BlockHead& head, std::string& payload) {
          std::size_t at = 0;
          for (std::uint64_t number = head.first_record; at < payload.size(); ++number) {
            if (number == decision.record) payload[at + decision.byte] = static_cast<char>(payload[at + decision.byte] ^ 1);
            at += journal::first_record(std::string_view{payload}.substr(at)).size();
          }
        });
        const replay::ReplayReport report = replay();
        EXPECT_FALSE(report.same);
        // Another source may have been woken, or the source may be an outside one: it is a difference if ours are not.
        if (kind == Kind::Woken || kind == Kind::SourceAdded) {
          EXPECT_GE(report.record, decision.record);
        } else {
          EXPECT_EQ(report.record, decision.record);
        }
        EXPECT_NE(report.expected, "");
        EXPECT_NE(report.came, "");
      }
    }
  }
  for (const Kind kind :
       {Kind::SourceAdded, Kind::Woken, Kind::TurnBegins, Kind::TurnEnds, Kind::Done, Kind::Staged, Kind::Parked, Kind::Delayed,
        Kind::StillParked, Kind::Retried, Kind::Unparked, Kind::Announced, Kind::Withdrawn, Kind::Submitted}) {
    EXPECT_TRUE(changed.contains(kind)) << to_string(kind);
  }
}

/// A store in which a change of ROUTE_TABLE waits that its subscription has not fetched, as on a Redis.
class SlowStore final : public test::PassingStore {
 public:
  SlowStore(Scheduler& scheduler, std::function<bool()> waits) : PassingStore(make_memory_store(scheduler)), waits_(std::move(waits)) {}
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options) override {
    auto subscription = store().subscribe(table, options);
    if (!subscription || table != "ROUTE_TABLE") return subscription;
    return std::make_unique<End>(std::move(*subscription), waits_);
  }

 private:
  class End final : public Subscription {
   public:
    End(std::unique_ptr<Subscription> end, std::function<bool()> waits) : end_(std::move(end)), waits_(std::move(waits)) {}
    void on_ready(std::function<void()> wake) override { end_->on_ready(std::move(wake)); }
    std::size_t take(std::size_t max, std::vector<Change>& out) override { return end_->take(max, out); }
    bool empty() const override { return end_->empty(); }
    std::size_t depth() const override { return end_->depth() + (waits_() ? 1 : 0); }
    bool take_gap() override { return end_->take_gap(); }
    void ack(const Change& change) override { end_->ack(change); }
    void requeue(std::string_view key) override { end_->requeue(key); }
    bool caught_up() const override { return end_->caught_up(); }

   private:
    const std::unique_ptr<Subscription> end_;
    const std::function<bool()> waits_;
  };
  const std::function<bool()> waits_;
};

TEST_F(ReplayOfAgent, ARestartThatWaitedForTheStoreComesOutTheSame) {
  {
    sim::World world(1);
    const Instant until = world.clock().now() + 2s;
    SimDataPlane plane;
    ASSERT_TRUE(plane.meddle(RouteSet{.prefix = Prefix::parse("20.0.0.0/8").value(), .type = RouteType::Blackhole}).ok());
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    options.observer = std::move(Journal::open({.file = file}, world.clock()).value());
    options.store = [&](Scheduler& scheduler) {
      return std::make_unique<SlowStore>(scheduler, [&world, until] { return world.clock().now() < until; });
    };
    Runtime runtime(std::move(options));
    SwitchAgent agent(runtime, plane, {.in_line = true});
    ASSERT_TRUE(agent.start().ok());
    world.run_for(runtime.scheduler(), 1500ms);
    EXPECT_EQ(plane.route_count(), 1U) << "a change waits";
    world.run_for(runtime.scheduler(), 2s);
    EXPECT_EQ(plane.route_count(), 0U);
    EXPECT_TRUE(agent.has_restarted());
  }
  const replay::ReplayReport report = replay();
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
}

/// Changes up to three random bytes of records of the run, with matching checksums, as no writer does.
void forge(const std::string& file, Random& random) {
  rewrite(file, [&](const journal::BlockHead& head, std::string& payload) {
    if (head.kind != journal::BlockKind::Records) return;
    const std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const auto place = static_cast<std::size_t>(random.below(payload.size()));
      const std::uint64_t how = random.below(3);
      payload[place] = static_cast<char>(how == 0   ? random.below(256)
                                         : how == 1 ? 0xFF
                                                    : static_cast<unsigned char>(payload[place]) ^ (1U << random.below(8)));
    }
  });
}

TEST_F(ReplayOfAgent, AForgedDayEndsInAReport) {
  constexpr std::uint64_t kDays = 20;
  std::vector<std::string> days;  // Each is recorded once, and forged in twenty ways.
  for (std::uint64_t seed = 0; seed < kDays; ++seed) {
    fs::remove(file);
    record(seed, 150, seed % 2 == 0);
    days.push_back(bytes_of(file));
  }
  unsigned different = 0;
  for (std::uint64_t seed = 1; seed <= 20 * kDays; ++seed) {
    std::ofstream(file, std::ios::binary) << days[seed % kDays];
    Random random(seed);
    forge(file, random);
    Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file});
    if (opened.has_value() && !replay(**opened).same) ++different;
  }
  EXPECT_GT(different, 100U);
}

/// Returns 'head' and its records, which 'payload' contains in encoded form, as they are in a file.
std::string block_of(journal::BlockHead head, std::uint64_t first_record, std::uint64_t records, const std::string& payload) {
  head.first_record = first_record;
  head.records = static_cast<std::uint32_t>(records);
  head.payload_bytes = static_cast<std::uint32_t>(payload.size());
  seal(head, payload);
  return std::string(reinterpret_cast<const char*>(&head), journal::kHeadBytes) + payload;
}

/// Truncates the file in the middle of a block that begins with 'record', wherever the writer ended its blocks, because that depends on
/// time.
void tear_at(const std::string& file, std::uint64_t record) {
  const std::string bytes = bytes_of(file);
  std::vector<journal::Damage> damage;
  for (const journal::Block& block : journal::find_blocks(bytes, damage)) {
    const journal::BlockHead& head = block.head;
    if (head.kind != journal::BlockKind::Records || head.first_record + head.records <= record) continue;
    const auto begin = static_cast<std::size_t>(block.offset);
    const std::string payload = bytes.substr(begin + journal::kHeadBytes, head.payload_bytes);
    std::size_t at = 0;
    for (std::uint64_t number = head.first_record; number < record; ++number) {
      at += journal::first_record(std::string_view{payload}.substr(at)).size();
    }
    std::string torn = bytes.substr(0, begin);
    if (at > 0) torn += block_of(head, head.first_record, record - head.first_record, payload.substr(0, at));
    torn += block_of(head, record, head.first_record + head.records - record, payload.substr(at));
    torn.resize(torn.size() - 3);
    std::ofstream(file, std::ios::binary) << torn;
    return;
  }
  FAIL() << "there is no record " << record;
}

/// The records of a day, and the blocks of its names.
struct Day {
  explicit Day(const std::string& file) {
    const std::string bytes = bytes_of(file);
    std::vector<journal::Damage> damage;
    for (const journal::Block& block : journal::find_blocks(bytes, damage)) {
      const auto begin = static_cast<std::size_t>(block.offset);
      const std::string_view payload = std::string_view{bytes}.substr(begin + journal::kHeadBytes, block.head.payload_bytes);
      if (block.head.kind != journal::BlockKind::Records) {
        names += bytes.substr(begin, journal::kHeadBytes + payload.size());
        continue;
      }
      head = block.head;
      for (std::size_t at = 0; at < payload.size(); at += records.back().size())
        records.emplace_back(journal::first_record(payload.substr(at)));
    }
  }
  static journal::Kind kind(const std::string& record) {
    journal::JournalRecord decoded;
    return journal::decode(record, decoded) ? decoded.kind : journal::Kind::Lost;
  }
  /// The first record of the kind at or behind 'from'; the number of records if there is none.
  std::size_t find(journal::Kind of, std::size_t from = 0) const {
    while (from < records.size() && kind(records[from]) != of) ++from;
    return from;
  }
  void write(const std::string& file, const std::vector<std::string>& forged) const {
    std::string payload;
    for (const std::string& record : forged) payload += record;
    std::ofstream(file, std::ios::binary) << names << block_of(head, 1, forged.size(), payload);
  }

  std::string names;
  std::vector<std::string> records;
  journal::BlockHead head;
};

// What happens between turns only, timers and answers of the data plane, stands within a turn: behind an end of the turn that was moved to
// its beginning, or between the clocks and the beginning of the turn, which are written together. The scheduler must not poll there.
TEST_F(ReplayOfAgent, TimersAndAnswersWithinATurnOfAForgedDayEndInAReport) {
  using journal::Kind;
  record(2, 300);
  const Day day(file);
  unsigned forgeries = 0;
  const auto expect_difference = [&](std::vector<std::string> forged, std::size_t from) {
    ++forgeries;
    day.write(file, forged);
    const replay::ReplayReport report = replay();
    EXPECT_FALSE(report.same) << "record " << from;
    EXPECT_LE(from, report.record);
  };
  for (const Kind kind : {Kind::Timers, Kind::Answered}) {
    SCOPED_TRACE(to_string(kind));
    const std::size_t given = day.find(kind);
    ASSERT_LT(given, day.records.size());
    std::size_t begins = given;
    for (int turns = 0; turns < 40 && !HasFailure(); ++turns) {
      begins = day.find(Kind::TurnBegins, begins + 1);
      const std::size_t ends = day.find(Kind::TurnEnds, begins);
      if (ends >= day.records.size()) break;
      std::vector<std::string> forged = day.records;
      forged.insert(forged.begin() + static_cast<std::ptrdiff_t>(begins) + 1, {day.records[ends], day.records[given]});
      expect_difference(std::move(forged), begins);
    }
    std::size_t clocks = given;
    for (int turns = 0; turns < 40 && !HasFailure(); ++turns) {
      clocks = day.find(Kind::Clocks, clocks + 1);
      if (clocks >= day.records.size()) break;
      std::vector<std::string> forged = day.records;
      forged.insert(forged.begin() + static_cast<std::ptrdiff_t>(clocks) + 1, day.records[given]);
      expect_difference(std::move(forged), clocks);
    }
  }
  EXPECT_GT(forgeries, 100U);
}

TEST_F(ReplayOfAgent, ADayThatEndsInTheMiddleIsTheSameAsFarAsItGoes) {
  record(3, 3000);
  const std::uint64_t records = replay().records;
  const std::uint64_t whole = records / 2;
  tear_at(file, whole + 1);
  const replay::ReplayReport report = replay();
  EXPECT_TRUE(report.same) << report.record << report.expected << report.came;
  EXPECT_LE(report.records, whole);
  EXPECT_GT(report.records, whole / 2);  // Not all: work that needs a missing record is not begun.
}

TEST_F(ReplayOfAgent, AnotherSettingIsADifference) {
  record(4, 1000);
  Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file});
  replay::Replay& replay = **opened;
  EXPECT_EQ(replay.note("agent.retry_quota"), "0");
  EXPECT_EQ(replay.restart().found(), 0U);
  Runtime runtime(replay.runtime_options());
  SwitchAgent agent(runtime, replay.plane(), {.retry_quota = 1, .answers = &replay.answers()});
  EXPECT_TRUE(agent.start().ok());
  const replay::ReplayReport report = replay.run(runtime);
  EXPECT_FALSE(report.same);
  EXPECT_THAT(report.expected, HasSubstr("agent.retry_quota 0"));
  EXPECT_THAT(report.came, HasSubstr("agent.retry_quota 1"));
}

TEST_F(ReplayOfAgent, AMissingOrchIsADifference) {
  record(5, 500);
  Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file});
  Runtime runtime((*opened)->runtime_options());
  const replay::ReplayReport report = (*opened)->run(runtime);
  EXPECT_FALSE(report.same);
}

TEST_F(ReplayOfAgent, TheFilesOfARotatedDayAreReplayedTogetherAndNotAlone) {
  {
    AgentTestbed testbed(1, {}, {.file = file, .file_bytes = 20'000, .files = 100});
    testbed.plane.add_port("Eth0");
    testbed.start();
    testbed.set("PORT_TABLE", "Eth0", {{"admin_status", "up"}});
    for (int i = 0; i < 2000; ++i) {
      testbed.set("ROUTE_TABLE", "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24", {{"blackhole", "true"}});
      if (i % 100 == 0) testbed.run_for(10ms);
      const bool told = i % 500 != 0 || Journal::of(testbed.runtime)->flush().ok();
      EXPECT_TRUE(told);
    }
    testbed.run_for(1s);
  }
  std::vector<std::string> files;
  for (unsigned number = 100; number > 0; --number) {
    if (fs::exists(file + "." + std::to_string(number))) files.push_back(file + "." + std::to_string(number));
  }
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(replay::Replay::open({file}).error().code(), StatusCode::DataLoss);
  files.push_back(file);
  Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open(files);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  Runtime runtime((*opened)->runtime_options());
  SwitchAgent agent(runtime, (*opened)->plane(), {.answers = &(*opened)->answers()});
  EXPECT_TRUE(agent.start().ok());
  const replay::ReplayReport report = (*opened)->run(runtime);
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_GE(report.outcomes, 4000U);
}

}  // namespace
}  // namespace rondo::swarm
