// Goal: a replay is equal, whichever way a program writes into tables: by an Orch's Table or Orch::write, by posted functions, or by
// main() before the first turn. A write that a store refused in the run is refused again. Method: a run with a table that is sometimes
// full, replayed by a program that has only the Orchs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/replay/replay.h"
#include "rondo/sim/world.h"

namespace rondo::replay {
namespace {

namespace fs = std::filesystem;

/// Writes each row of IN into OUT, which has room for a few, and decides by the answer.
class Copies final : public Orch {
 public:
  explicit Copies(Runtime& runtime) : Orch(runtime, "copies", Priority::p2), out_(runtime.table("OUT")) {
    consume(
        "IN",
        [this](std::string_view key, const Fields&) {
          const Status written = key.size() % 2 == 0 ? out_.set(key, {{"n", "1"}}) : write("OUT", Change::set(key, {{"n", "1"}}));
          return written.ok() ? Outcome::done() : Outcome::reject(written);
        },
        [this](std::string_view key) {
          static_cast<void>(out_.remove(key));
          return Outcome::done();
        });
  }

 private:
  Table out_;
};

/// Opens a table that has another kind.
class Refused final : public Orch {
 public:
  explicit Refused(Runtime& runtime) : Orch(runtime, "refused", Priority::p2) {
    const auto done = [](std::string_view, const Fields&) { return Outcome::done(); };
    const auto gone = [](std::string_view) { return Outcome::done(); };
    consume("HERE", done, gone);
    consume("NEWS", done, gone);
  }
};

class ReplayOfWrites : public testing::Test {
 protected:
  ReplayOfWrites() { file_ = (directory_ / "day.journal").string(); }

  RuntimeOptions recorded(sim::World& world) const {
    return {.clock = &world.clock(),
            .reactor = &world.reactor(),
            .observer = std::move(Journal::open({.file = file_}, world.clock()).value()),
            .log_rejects = false};
  }
  /// 'orchs' adds the Orchs of the run.
  template <class AddOrchs>
  void expect_the_same(const AddOrchs& orchs, std::uint64_t outcomes) {
    auto replay = std::move(Replay::open({file_}).value());
    Runtime runtime(replay->runtime_options());
    orchs(runtime);
    const ReplayReport report = replay->run(runtime);
    EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
    EXPECT_EQ(report.outcomes, outcomes);
  }

  TemporaryFolder directory_;
  std::string file_;
};

TEST_F(ReplayOfWrites, WritesOfOrchsOfMainAndOfPostedFunctionsComeOutTheSame) {
  const auto orchs = [](Runtime& runtime) { runtime.add<Copies>(); };
  {
    sim::World world(1);
    Runtime runtime(recorded(world));
    ASSERT_TRUE(runtime.store().declare({.name = "OUT", .rows_max = 3}).ok());
    orchs(runtime);
    Table in = runtime.table("IN");
    Table out = runtime.table("OUT");
    for (const char* key : {"a", "bb", "c", "dd"}) ASSERT_TRUE(in.set(key, {{"n", "1"}}).ok());  // Like main() before run().
    world.run_for(runtime.scheduler(), 1s);
    EXPECT_FALSE(out.set("main is refused", {}).ok());
    std::thread([&] {
      ASSERT_TRUE(runtime
                      .post([&] {
                        EXPECT_FALSE(out.set("posted is refused", {}).ok());
                        for (const char* key : {"ee", "f"}) EXPECT_TRUE(in.set(key, {{"n", "2"}}).ok());
                      })
                      .ok());
    }).join();
    world.run_for(runtime.scheduler(), 1s);
    ASSERT_TRUE(in.remove("a").ok());
    world.run_for(runtime.scheduler(), 1s);
    EXPECT_EQ(runtime.consumers().at(0).rejected, 3U);
  }
  expect_the_same(orchs, 7);
}

TEST_F(ReplayOfWrites, AnOrchWhoseTableWasRefusedIsRefusedAgain) {
  std::string answer;
  const auto orchs = [&answer](Runtime& runtime) {
    const auto refused = runtime.try_add<Refused>();
    ASSERT_FALSE(refused.has_value());
    if (answer.empty()) answer = refused.error().to_string();
    EXPECT_EQ(refused.error().to_string(), answer);
    runtime.add<Copies>();
  };
  {
    sim::World world(1);
    Runtime runtime(recorded(world));
    ASSERT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
    orchs(runtime);
    ASSERT_TRUE(runtime.table("IN").set("a", {}).ok());
    world.run_for(runtime.scheduler(), 1s);
  }
  EXPECT_EQ(answer, "failed-precondition: Orch 'refused': table 'NEWS': it is declared as channel, and not as staged");
  expect_the_same(orchs, 1);
}

/// A program that ends where its store refuses a table could not go on; a forged day must not end it.
TEST_F(ReplayOfWrites, ARefusalIsADifferenceWhereTheProgramNeedsItsTables) {
  {
    sim::World world(1);
    Runtime runtime(recorded(world));
    ASSERT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
    ASSERT_FALSE(runtime.try_add<Refused>().has_value());
    world.run_for(runtime.scheduler(), 1s);
  }
  Result<std::unique_ptr<Replay>> replay = Replay::open({file_});
  ASSERT_TRUE(replay.has_value()) << replay.error().to_string();
  (*replay)->grant_tables();
  Runtime runtime((*replay)->runtime_options());
  runtime.add<Refused>();
  EXPECT_FALSE((*replay)->run(runtime).same);
}

}  // namespace
}  // namespace rondo::replay
