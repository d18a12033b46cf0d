// A damaged file under the real rondod and the real kernel: routes whose rows were lost keep forwarding until producers have had time to
// write the rows again, or an operator restarts the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <boost/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

class DamagedFileOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!lab) {
      std::cerr << "SKIPPED: this is about the real kernel\n";
      GTEST_SKIP() << "this is about the real kernel";
    }
    configure("rondod.toml", "socket", "[store]\nurl = \"file://" + file("tables") + "?durability=every-batch\"\n");
  }
  void end() {
    client.reset();
    ::kill(pid, SIGTERM);
    EXPECT_TRUE(notify->hears("STOPPING=1"));
    wait();
  }
  json::object ask(std::string_view command) {
    const auto answer = client->call(command, {});
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string() << log_text();
    return answer ? *answer : json::object{};
  }
  bool has_restarted() { return ask("stats").at("agent").at("restarted").as_bool(); }
  /// How often the daemon checked for the end of the restart.
  std::int64_t looks() {
    const json::object sources = ask("sources");
    for (const json::value& row : sources.at("rows").as_array()) {
      if (row.at("name") == "restart") return row.at("turns").to_number<std::int64_t>();
    }
    return 0;
  }
};

TEST_F(DamagedFileOnLinux, RoutesWhoseRowsWereLostStayForAWhile) {
  constexpr std::size_t kRoutes = 20;
  ASSERT_NO_FATAL_FAILURE(start());
  set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  set("INTF_TABLE", "swp1", {{"mtu", "1500"}});
  set("INTF_TABLE", "swp1:10.1.0.1/24", {{"scope", "global"}});
  set("NEIGH_TABLE", "swp1:10.1.0.2", {{"neigh", "02:00:00:00:00:02"}});
  for (std::size_t i = 0; i < kRoutes; ++i) {
    set("ROUTE_TABLE", "20.0." + std::to_string(i) + ".0/24", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  }
  ASSERT_TRUE(becomes([this] { return kernel_routes() == kRoutes; })) << log_text();
  end();
  {
    std::fstream damaged(file("tables"), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file("tables"))) - 40);
    damaged << "not what was written here";
  }
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(becomes([this] { return looks() > 20; })) << "it still looks long after all rows were handled\n" << log_text();
  EXPECT_FALSE(has_restarted());
  EXPECT_EQ(kernel_routes(), kRoutes);
  EXPECT_THAT(log_text(), HasSubstr("rows were lost: what an earlier run left"));
  EXPECT_THAT(json::serialize(ask("health")), AllOf(HasSubstr("was damaged"), HasSubstr("an earlier run programmed stays")));
  end();
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(becomes([this] { return has_restarted(); })) << log_text();
  EXPECT_TRUE(becomes([this] { return kernel_routes() < kRoutes; })) << "no row was lost: the test does not see what it is for";
}

}  // namespace
}  // namespace rondo
