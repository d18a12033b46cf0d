// The real program: the test starts rondod with a configuration, calls it over its admin socket, kills it, restarts it, rotates its
// journal and ends it. On the real kernel if a namespace can be created, otherwise (with a message) on the simulated data plane. RONDOD
// names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>

#include <boost/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "rondod_on_linux.h"

#include "admin/bulk_writer.h"
namespace rondo {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class RondodOnLinux : public SystemRondod {
 protected:
  void write_rows() {
    set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
    set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
    set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {{"scope", "global"}});
    set("INTF_TABLE", "swp1", {{"mtu", "1500"}});
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  }
  bool route_is_done() {
    const auto answer = client->call("why", {{"table", "ROUTE_TABLE"}, {"key", "192.168.0.0/16"}});
    return answer && json::serialize(*answer).find("\"done\"") != std::string::npos && kernel_routes() == (lab ? 1U : 0U);
  }
};

TEST_F(RondodOnLinux, ServesAndEndsWithZeroWhenAsked) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  EXPECT_TRUE(notify->hears("STOPPING=1"));
  const int status = wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log_text();
  EXPECT_EQ(kernel_routes(), lab ? 1U : 0U) << "forwarding goes on while the daemon is away";
}

TEST_F(RondodOnLinux, FinishesWhatItAcceptedBeforeItEnds) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  constexpr unsigned kBacklog = 20'000;
  BulkWriter writer(*client);
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  const BulkField group{"nexthop_group", "1"};
  for (unsigned i = 0; i < kBacklog; ++i) {
    const std::string key = "20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
    ASSERT_TRUE(writer.row(BulkOp::Set, key, {&group, 1}).ok());
  }
  ASSERT_TRUE(writer.end().ok());
  const auto totals = writer.finish();
  ASSERT_TRUE(totals.has_value() && totals->accepted == kBacklog);
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  const int status = wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log_text();
  EXPECT_THAT(log_text(), ::testing::HasSubstr("drained=true"));
  EXPECT_EQ(kernel_routes(), lab ? kBacklog + 1 : 0U);
}

TEST_F(RondodOnLinux, AfterAKillItStartsAnewOverWhatWasLeft) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(wait()));
  EXPECT_EQ(kernel_routes(), lab ? 1U : 0U) << "the kernel forwards on";
  start();
  EXPECT_TRUE(becomes([&] { return kernel_routes() == 0; })) << "nobody asked for it\n" << log_text();
  write_rows();
  EXPECT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
}

TEST_F(RondodOnLinux, BadRowsAreRefusedByNameAndTheNextGoOn) {
  start();
  const auto refusal = [this](const json::object& arguments) {
    const auto answer = client->call("set", arguments);
    return answer ? "accepted: " + json::serialize(*answer) : answer.error().to_string();
  };
  EXPECT_THAT(refusal({{"table", "NO_SUCH_TABLE"}, {"key", "a"}, {"fields", json::array{}}}), ::testing::HasSubstr("NO_SUCH_TABLE"));
  EXPECT_THAT(refusal({{"key", "a"}, {"fields", json::array{}}}), ::testing::HasSubstr("table"));
  EXPECT_THAT(refusal({{"table", 7}, {"key", "a"}, {"fields", json::array{}}}), ::testing::HasSubstr("table"));
  EXPECT_THAT(refusal({{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", "mtu"}}), ::testing::HasSubstr("fields"));
  EXPECT_THAT(refusal({{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", 1500}}}}),
              ::testing::HasSubstr("fields"));
  // The agent refuses rows that are no valid routes, and names table, key, field and value.
  const std::string table = "ROUTE_TABLE";
  for (const char* key : {"192.0.2.0/33", "not an address", "2001:db8::/129"}) {
    set(table, key, {{"nexthop_group", "1"}});
    EXPECT_TRUE(becomes([&] { return log_text().find(key) != std::string::npos; })) << key;
  }
  set("INTF_TABLE", "swp1", {{"mtu", "many"}});
  EXPECT_TRUE(becomes([&] { return log_text().find("many") != std::string::npos; })) << log_text();
  write_rows();
  EXPECT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
}

TEST_F(RondodOnLinux, ReopensItsJournalOnHangup) {
  start();
  set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  const fs::path record = directory / "day.journal";
  ASSERT_TRUE(becomes([&] { return fs::exists(record) && fs::file_size(record) > 0; }));
  fs::rename(record, directory / "day.journal.1");
  ASSERT_EQ(::kill(pid, SIGHUP), 0);
  ASSERT_TRUE(becomes([&] { return log_text().find("the journal reopens its file") != std::string::npos; }));
  set("INTF_TABLE", "swp1", {{"mtu", "1500"}});
  EXPECT_TRUE(becomes([&] { return fs::exists(record) && fs::file_size(record) > 0; }));
}

TEST_F(RondodOnLinux, RefusesToStartTwiceOnOneSocketAndTouchesNothing) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  const pid_t first = pid;
  const std::string command = program_ + " --config " + (directory / "rondod.toml").string() + " 2>/dev/null";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 69);
  EXPECT_EQ(::kill(first, 0), 0);
  EXPECT_TRUE(client->call("tables", {}).has_value());
  EXPECT_EQ(kernel_routes(), lab ? 1U : 0U) << "the second one took the first one's routes for leftovers";
}

}  // namespace
}  // namespace rondo
