// The safety stop of rondod on the real kernel: a start with an empty store over many routes of an earlier run deletes nothing until an
// operator confirms it or its time is over. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "admin/bulk.h"
#include "admin/bulk_writer.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace json = boost::json;

constexpr std::size_t kRoutes = 400;

class SafetyOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (IsSkipped()) return;
    configure_with("");
    start();
    feed(kRoutes);
    ASSERT_TRUE(becomes([this] { return kernel_routes() == kRoutes; }));
    end();
    ASSERT_EQ(kernel_routes(), kRoutes);
  }
  /// Tables in a file, and further lines of [dataplane].
  void configure_with(const std::string& dataplane) const {
    configure("rondod.toml", "socket",
              "[store]\nurl = \"file://" + file("tables") + "\"\n[journal]\nfile = \"" + file("day.journal") + "\"\n");
    std::ofstream(file("rondod.toml"), std::ios::app) << dataplane;
  }
  void feed(std::size_t routes) {
    BulkWriter writer(*client);
    ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
    const BulkField blackhole{"blackhole", "true"};
    for (std::size_t i = 0; i < routes; ++i) {
      const std::string key = "20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
      ASSERT_TRUE(writer.row(BulkOp::Set, key, {&blackhole, 1}).ok());
    }
    ASSERT_TRUE(writer.end().ok());
    ASSERT_TRUE(writer.finish().has_value());
  }
  void end() {
    client.reset();
    ::kill(pid, SIGTERM);
    const int status = wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << log_text();
  }
  /// Like an operator who moves a disk, or a script that deletes too much.
  void remove_tables() const {
    for (const char* const tail : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(file("tables") + tail);
  }
  std::string health() {
    const auto answer = client->call("health", {});
    return answer ? json::serialize(*answer) : answer.error().to_string();
  }
  bool has_restarted() { return client->call("stats", {}).value().at("agent").at("restarted").as_bool(); }
};

TEST_F(SafetyOnLinux, WithoutItsFileItDeletesNothingUntilConfirm) {
  remove_tables();
  start();
  ASSERT_TRUE(becomes([this] { return health().find("rondo confirm") != std::string::npos; })) << health();
  EXPECT_THAT(health(), HasSubstr("held: 400 of 400 objects of what an earlier run left (400 routes) would be deleted"));
  EXPECT_THAT(log_text(), HasSubstr("error safety stop: the deletion is held"));
  EXPECT_THAT(health(), Not(HasSubstr("not taken over yet"))) << "the stop is the reason";
  EXPECT_FALSE(has_restarted());
  // Rows are programmed meanwhile.
  set("ROUTE_TABLE", "30.0.0.0/8", {{"blackhole", "true"}});
  ASSERT_TRUE(becomes([this] { return kernel_routes() == kRoutes + 1; }));
  std::vector<json::value> rows;
  const auto confirmed = client->call("confirm", {}, [&](const json::value& row) { rows.push_back(row); });
  ASSERT_TRUE(confirmed.has_value()) << confirmed.error().to_string();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(json::serialize(rows[0]), R"({"what":"what an earlier run left","deletes":400,"of":400,"parts":"400 routes"})");
  ASSERT_TRUE(becomes([this] { return kernel_routes() == 1 && has_restarted(); }));
  EXPECT_THAT(health(), Not(HasSubstr("held")));
  EXPECT_THAT(log_text(), AllOf(HasSubstr("warn safety stop: the deletion was confirmed"),
                                HasSubstr(R"(write command=confirm what="" before="held=400" after="held=0" user=)")));
  EXPECT_FALSE(client->call("confirm", {}).has_value()) << "nothing is held any more";
  end();
}

/// What another program changed meanwhile was not repaired, while the rows were "installed".
TEST_F(SafetyOnLinux, AStartThatWaitsSaysForWhatAndRepairsWhatRowsAskFor) {
  configure_with("hold_s = 3600\naudit_s = 0\n");
  start();
  EXPECT_THAT(health(), HasSubstr("is not taken over yet: that waits until each row has come and is handled"));
  const auto has_no_difference = [this] {
    const auto told = client->call("verify", {});
    return told && told->at("differences").to_number<int>() == 0;
  };
  ASSERT_TRUE(becomes(has_no_difference));
  ASSERT_TRUE(lab->ip("route del blackhole 20.0.7.0/24 metric 201"));
  ASSERT_TRUE(becomes([this] { return kernel_routes() == kRoutes; })) << log_text();
  EXPECT_FALSE(has_restarted());
  end();
}

TEST_F(SafetyOnLinux, WithoutItsFileItDeletesAfterTheConfiguredTime) {
  remove_tables();
  configure_with("safety_wait_s = 1\n");
  start();
  ASSERT_TRUE(becomes([this] { return kernel_routes() == 0 && has_restarted(); }));
  EXPECT_THAT(log_text(), AllOf(HasSubstr("error safety stop"), HasSubstr("warn safety stop: its time is over")));
  end();
}

TEST_F(SafetyOnLinux, WithItsFileItSaysNothing) {
  start();
  ASSERT_TRUE(becomes([this] { return has_restarted(); }));
  EXPECT_EQ(kernel_routes(), kRoutes);
  EXPECT_THAT(log_text(), Not(HasSubstr("safety stop")));
  end();
}

}  // namespace
}  // namespace rondo
