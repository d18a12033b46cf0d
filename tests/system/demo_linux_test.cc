// The main job as ./run starts it, with a small table: its report, its exit code, and its message if its daemon cannot start. On the real
// kernel if a namespace can be created; otherwise the program reports that it uses the simulated data plane. RONDOD names the daemon; the
// demo is built beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <boost/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace rondo {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class DemoOnLinux : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const daemon = std::getenv("RONDOD");
    if (daemon == nullptr) {
      std::cerr << "SKIPPED: RONDOD does not name the daemon\n";
      GTEST_SKIP() << "RONDOD does not name the daemon";
    }
    program_ = (fs::path(daemon).parent_path().parent_path() / "rondo-demo" / "rondo-demo").string();
    char name[] = "/tmp/rondo-demo-test-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }
  /// Returns its exit code; -1 if it did not end by itself.
  int run(const std::string& arguments) {
    const std::string command = program_ + " --exit --ipv4 3000 --ipv6 500 --flap 10 --json '" + (directory_ / "report.json").string() +
                                "' " + arguments + " >'" + (directory_ / "output").string() + "' 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text_of(const char* file) const {
    std::ifstream in(directory_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Checks the report of a whole run. On a Redis, writes are accepted before the rows arrive, so the number of waiting routes is open.
  void expect_report(bool has_baseline, bool all_wait = true) {
    const json::object report = json::parse(text_of("report.json")).as_object();
    EXPECT_EQ(report.at("routes").to_number<int>(), 3500);
    EXPECT_EQ(report.at("verified_equal").to_number<int>(), 3500);
    EXPECT_TRUE(report.at("all_equal").as_bool());
    if (all_wait) {
      EXPECT_EQ(report.at("parked_peak").to_number<int>(), 3500) << "routes come first, and wait";
    }
    EXPECT_GE(report.at("retried").to_number<int>(), report.at("parked_peak").to_number<int>());
    EXPECT_EQ(report.at("sweep_rescues").to_number<int>(), 0);
    EXPECT_GT(report.at("turns").to_number<int>(), 0);
    EXPECT_EQ(report.at("long_turns").to_number<int>() > 0, report.at("longest_turn_us").to_number<double>() > 5000);
    for (const char* figure : {"routes_per_second", "longest_turn_us", "peak_rss_bytes", "resolve_us"}) {
      EXPECT_GT(report.at(figure).to_number<double>(), 0) << figure;
    }
    for (const char* figure : {"p50", "p99", "max"}) EXPECT_TRUE(report.at("port_event_us").at(figure).is_number()) << figure;
    EXPECT_EQ(report.at("netlink_floor_per_second").is_number(), has_baseline);
  }

  std::string program_;
  fs::path directory_;
};

TEST_F(DemoOnLinux, ProgramsComparesAndReports) {
  ASSERT_EQ(run(""), 0) << text_of("output");
  const bool kernel = text_of("output").find("using the simulated data plane instead") == std::string::npos;
  if (!kernel) std::cerr << "ON THE SIMULATED DATA PLANE: no network namespace may be made here\n";
  expect_report(kernel);
}

/// The report has what the kernel has after the flap.
TEST_F(DemoOnLinux, RoutesThatFlapWhileTheirPortFailsEndAsAskedFor) {
  ASSERT_EQ(run("--flap-routes 2000 --no-baseline"), 0) << text_of("output");
  expect_report(false);
  const json::object flap = json::parse(text_of("report.json")).at("route_flap").as_object();
  EXPECT_EQ(flap.at("rows_written").to_number<int>(), 5 * 2 * 2000);
  EXPECT_EQ(flap.at("rows_done").to_number<int>() + flap.at("rows_superseded").to_number<int>(), 5 * 2 * 2000);
  EXPECT_GT(flap.at("turns").to_number<int>(), 0);
  EXPECT_TRUE(flap.at("port_event_us").at("p99").is_number());
}

TEST_F(DemoOnLinux, ItsRecordedDayReplaysTheSame) {
  // A name that must be escaped in a configuration file.
  const std::string day = "'" + (directory_ / "a \"day\".journal").string() + "'";
  ASSERT_EQ(run("--journal " + day), 0) << text_of("output");
  const std::string rondo = (fs::path(program_).parent_path().parent_path() / "rondo" / "rondo").string();
  const int status = std::system((rondo + " --json replay " + day + " >'" + (directory_ / "replayed").string() + "' 2>&1").c_str());
  ASSERT_EQ(status, 0) << text_of("replayed");
  const json::object told = json::parse(text_of("replayed")).as_object();
  EXPECT_TRUE(told.at("same").as_bool());
  EXPECT_GE(told.at("outcomes").to_number<int>(), 2 * 3500) << "each route waits, and is programmed";
}

TEST_F(DemoOnLinux, RunsOnTheSimulatedDataPlane) {
  ASSERT_EQ(run("--simulated"), 0) << text_of("output");
  expect_report(false);
}

TEST_F(DemoOnLinux, KeepsItsTablesOnARedisOfItsOwn) {
  const int code = run("--simulated --store redis");
  for (const char* missing : {"no redis-server here", "built without Redis"}) {
    if (text_of("output").find(missing) == std::string::npos) continue;
    std::cerr << "SKIPPED: " << text_of("output") << '\n';
    GTEST_SKIP() << missing;
  }
  ASSERT_EQ(code, 0) << text_of("output");
  EXPECT_THAT(text_of("output"), ::testing::HasSubstr("redis-server runs (pid "));
  expect_report(false, false);
}

TEST_F(DemoOnLinux, FailsWithAReasonWhenTheDaemonCannotStart) {
  EXPECT_EQ(run("--simulated --rondod /bin/false"), 1);
  EXPECT_THAT(text_of("output"), ::testing::HasSubstr("rondod ended at once with exit code 1"));
  EXPECT_EQ(run("--simulated --rondod /nonexistent"), 1);
  EXPECT_THAT(text_of("output"), ::testing::HasSubstr("starting /nonexistent"));
}

TEST_F(DemoOnLinux, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run("--flap-port 99"), 2);
  EXPECT_EQ(run("--routes /nonexistent"), 2);
  std::ofstream(directory_ / "bad.tsv") << "this is no route\n";
  EXPECT_EQ(run("--simulated --routes '" + (directory_ / "bad.tsv").string() + "'"), 1);
  EXPECT_THAT(text_of("output"), ::testing::HasSubstr("bad.tsv"));
}

TEST_F(DemoOnLinux, EachDueRunOfAJobExistsExactlyOnceAfterAKill) {
  const std::string path = (directory_ / "jobs.json").string();
  const std::string command =
      program_ + " jobs --exit --jobs 300 --rate 100 --seconds 2 --json '" + path + "' >'" + (directory_ / "output").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  if (text_of("output").find("built without jobs") != std::string::npos) {
    std::cerr << "SKIPPED: " << text_of("output") << '\n';
    GTEST_SKIP() << "built without jobs";
  }
  ASSERT_EQ(status, 0) << text_of("output");
  const json::object report = json::parse(text_of("jobs.json")).as_object();
  EXPECT_EQ(report.at("due").to_number<int>(), 500);
  EXPECT_EQ(report.at("run_rows").to_number<int>(), 500);
  for (const char* const wrong : {"missing", "duplicates", "unfinished"}) EXPECT_EQ(report.at(wrong).to_number<int>(), 0) << wrong;
  EXPECT_GT(report.at("recovered").to_number<int>(), 0) << "the kill came while runs were planned";
  EXPECT_GE(report.at("lateness_us").at("max").to_number<int>(), report.at("lateness_us").at("p50").to_number<int>());
}

/// One executor is killed, one hangs until the end, one is drained for a while, and rondod is killed in the middle.
TEST_F(DemoOnLinux, EachRunAtAnExecutorIsDispatchedOnceAlthoughProcessesFail) {
  const std::string path = (directory_ / "jobs.json").string();
  const std::string command = program_ + " jobs --exit --jobs 300 --rate 100 --seconds 2 --executors 3 --json '" + path + "' >'" +
                              (directory_ / "output").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  if (text_of("output").find("built without") != std::string::npos) {
    std::cerr << "SKIPPED: " << text_of("output") << '\n';
    GTEST_SKIP() << "built without jobs or HTTP";
  }
  ASSERT_EQ(status, 0) << text_of("output");
  const json::object report = json::parse(text_of("jobs.json")).as_object();
  EXPECT_EQ(report.at("run_rows").to_number<int>(), 500);
  for (const char* const wrong : {"missing", "duplicates", "unfinished", "dispatched_twice", "dispatched_while_drained"}) {
    EXPECT_EQ(report.at(wrong).to_number<int>(), 0) << wrong;
  }
  EXPECT_GE(report.at("dispatched").to_number<int>(), 500);
  EXPECT_GT(report.at("callbacks").to_number<int>(), 0);
  for (const char* const one : {"killed_executor", "hanging_executor"}) {
    const json::object& orders = report.at(one).as_object();
    EXPECT_EQ(orders.at("ended_there").to_number<int>() + orders.at("retried").to_number<int>(), orders.at("orders").to_number<int>())
        << one << ": each run has an end";
  }
}

TEST_F(DemoOnLinux, TakesTheRoutesOfFrrAndLosesNoPacketInARestart) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "most of its time is FRR's";
#endif
  const std::string path = (directory_ / "frr.json").string();
  const std::string command =
      program_ + " frr --exit --ipv4 500 --singles 3 --json '" + path + "' >'" + (directory_ / "output").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  for (const char* missing : {"package frr", "need root", "does not let us"}) {
    if (text_of("output").find(missing) == std::string::npos) continue;
    std::cerr << "SKIPPED: " << text_of("output") << '\n';
    GTEST_SKIP() << missing;
  }
  ASSERT_EQ(status, 0) << text_of("output");
  const json::object report = json::parse(text_of("frr.json")).as_object();
  EXPECT_EQ(report.at("routes").to_number<int>(), 513);
  EXPECT_EQ(report.at("verified_equal").to_number<int>(), 513);
  EXPECT_EQ(report.at("needless_changes").to_number<int>(), 0);
  EXPECT_EQ(report.at("packets_lost_at_restart").to_number<int>(), 0);
  EXPECT_GT(report.at("packets_at_restart").to_number<int>(), 0);
  EXPECT_GT(report.at("bgp_to_kernel_us").at("p50").to_number<double>(), 0);
  // 0 if a busy machine showed a route in zebra's table after it was in the kernel.
  EXPECT_GE(report.at("behind_zebra_us").at("p50").to_number<double>(), 0);
  EXPECT_TRUE(report.at("failover_us").is_number());
}

}  // namespace
}  // namespace rondo
