// Recorded days that are run again (sim/replay.h). Lives of the whole agent are recorded over many seeds (agent_swarm.h), each is replayed
// by the production scheduler and Orchs, and must come out the same, record by record; and a day that was changed must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agent_swarm.h"
#include "rondo/sim/replay.h"

namespace rondo::agent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReplayOfAgent : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "rondo-replay-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    file = (directory / "day.journal").string();
  }
  void TearDown() override { fs::remove_all(directory); }

  void record(std::uint64_t seed, int operations) {
    Swarm swarm(seed, {}, file);
    swarm.run(operations);
  }
  sim::ReplayReport replay() {
    Result<std::unique_ptr<sim::Replay>> opened = sim::Replay::open({file});
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    sim::Replay& replay = **opened;
    Runtime runtime(replay.runtime_options());
    Agent agent(runtime, replay.plane(), {.answers = &replay.answers()});
    EXPECT_TRUE(agent.start().ok());
    return replay.run(runtime);
  }

  fs::path directory;
  std::string file;
};

TEST_F(ReplayOfAgent, ALifeComesOutTheSame) {
  record(1, 200);
  const sim::ReplayReport report = replay();
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_GT(report.turns, 100U);
  EXPECT_GT(report.outcomes, 100U);
}

TEST_F(ReplayOfAgent, ManyLivesComeOutTheSameStorm) {
  const std::uint64_t seeds = number_from("RONDO_SEEDS", 300);
  for (std::uint64_t seed = number_from("RONDO_SEED", 1); seed <= seeds; ++seed) {
    SCOPED_TRACE("repeat with RONDO_SEED=" + std::to_string(seed));
    fs::remove(file);
    record(seed, 200);
    const sim::ReplayReport report = replay();
    EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace rondo::agent
