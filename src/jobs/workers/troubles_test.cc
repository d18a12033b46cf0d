// What health() and the text of a waiting run say of workers that are silent, in trouble, or do not stop a run.
#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Workers that are silent soon, and are not disconnected within a test.
class TroublesOfWorkers : public WorkersTest {
 protected:
  TroublesOfWorkers() {
    close();
    options = {.silent = 1s, .away = 1h, .stopping = 1s};
    open();
  }
  std::string health() const { return workers->health().to_string(); }
  /// True once a worker that goes on reporting is in no trouble.
  bool is_well_again(PlayedWorker& host) {
    return becomes([&] {
      report(host, {});
      return health() == "ok";
    });
  }
};

TEST_F(TroublesOfWorkers, AConnectedWorkerThatIsSilentIsNamedAndTheRunsThatWaitForItSayWhy) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  EXPECT_TRUE(is_well_again(host));
  ASSERT_TRUE(becomes([this] { return !workers->health().ok(); }));
  EXPECT_THAT(health(), HasSubstr("worker 'host1' is connected, and has not reported since 20"));
  const std::int64_t run = trigger("nightly");
  EXPECT_TRUE(says(run, StartsWith("waits for room at the handler command/backup: worker 'host1' is connected, and has not reported")));
  EXPECT_THAT(runtime->why("JOB_RUN_8", "nightly#" + std::to_string(run)).chain.at(0).note, HasSubstr("'host1' is connected, and has not"));
  EXPECT_TRUE(is_well_again(host));
  EXPECT_TRUE(becomes([&] {
    report(host, {});  // A run is given to no silent worker.
    return host.starts.size() == 1;
  }));
}

TEST_F(TroublesOfWorkers, ARunThatWaitsForAWorkerWithTroubleSaysWhichTrouble) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  ASSERT_TRUE(call(*host.reports, "worker-report", {{"session", host.session}, {"events", json::array{}}, {"trouble", "no space left"}})
                  .has_value());
  EXPECT_TRUE(says(trigger("nightly"), "waits for room at the handler command/backup: worker 'host1': no space left"));
}

/// It held a serial job without a word.
TEST_F(TroublesOfWorkers, ARunThatDoesNotStopIsNamedWithItsWorkerUntilItEnds) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  ASSERT_TRUE(jobs->kill(run).ok());
  ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; }));
  const std::string named = "run " + std::to_string(run) + " of the job 'nightly' was ordered to stop at 20";
  ASSERT_TRUE(becomes([&] {
    report(host, {});  // It is not silent.
    return health().find(named) != std::string::npos;
  }));
  EXPECT_THAT(health(), AllOf(HasSubstr(", and worker 'host1' has not reported its end"), Not(HasSubstr("connected"))));
  report(host, {event("end", run, {field("code", "cancelled"), field("message", "signal 9")})});
  EXPECT_TRUE(is_well_again(host));
}

TEST_F(TroublesOfWorkers, AWorkerThatIsAwayWithARunIsNamed) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  host.orders.reset();
  EXPECT_TRUE(becomes([&] { return health().find("worker 'host1' has been away since 20") != std::string::npos; })) << health();
}

}  // namespace
}  // namespace rondo::jobs
