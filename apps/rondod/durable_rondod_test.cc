// rondod with its tables in a file, and the simulated data plane: what was acknowledged is programmed again after a kill, Deletes stay
// done, and a second rondod, a file of no use and a damaged one are told in the log. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "rondod/config.h"
#include "rondod/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::HasSubstr;

std::string message_of(const std::string& text) {
  const auto config = parse_config(text, "rondod.toml");
  EXPECT_FALSE(config.has_value()) << text;
  return config ? std::string{} : std::string{config.error().message()};
}

TEST(DurableConfig, AnAddressIsChecked) {
  EXPECT_TRUE(parse_config("[store]\nurl = \"file:///var/lib/rondo/tables?durability=every-batch\"\n", "x").has_value());
  EXPECT_THAT(message_of("[store]\nurl = \"file://tables\"\n"), HasSubstr("whole path"));
  EXPECT_THAT(message_of("[store]\nurl = \"file:///t?durability=always\"\n"), HasSubstr("every-batch"));
  EXPECT_THAT(message_of("[store]\nurl = \"file:///t\"\nreplicas = 1\n"), HasSubstr("has no replicas"));
}

class RondodOnFile : public RondodProcess {
 protected:
  std::string store() const { return "url = \"file://" + file("tables") + "?durability=every-batch\"\n"; }
  void set(const char* table, const char* key, json::array fields = {}) {
    call("set", {{"table", table}, {"key", key}, {"fields", std::move(fields)}});
  }
  void write_all() {
    set("ROUTE_TABLE", "192.168.0.0/16", {json::array{"nexthop", "10.0.0.2"}, json::array{"ifname", "swp1"}});
    set("ROUTE_TABLE", "172.16.0.0/12", {json::array{"nexthop", "10.0.0.2"}, json::array{"ifname", "swp1"}});
    set("NEIGH_TABLE", "swp1:10.0.0.2", {json::array{"neigh", "02:00:00:00:00:02"}});
    set("INTF_TABLE", "swp1:10.0.0.1/24");
    set("INTF_TABLE", "swp1");
    set("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}});
  }
};

TEST_F(RondodOnFile, WhatWasAcknowledgedIsThereAfterAKill) {
  start(store());
  write_all();
  end(SIGKILL);  // Whatever was told to be written is.
  start(store());
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16") && has_route("172.16.0.0/12"); })) << log_text();
  EXPECT_THAT(log_text(), HasSubstr("tables came back"));
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "172.16.0.0/12"}});
  end(SIGKILL);
  start(store());
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  EXPECT_TRUE(becomes([this] { return call("stats").at("agent").at("restarted").as_bool(); }));
  EXPECT_FALSE(has_route("172.16.0.0/12")) << "it was deleted";
  end(SIGTERM);
  start(store());
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
}

TEST_F(RondodOnFile, ASecondOneIsRefusedAndAnUnusableFileIsNamed) {
  start(store());
  const std::string first = log_text();
  EXPECT_NE(fail_to_start("url = \"file:///not/there/tables\"\n"), 0);
  EXPECT_THAT(log_text(), HasSubstr("/not/there/tables"));
  EXPECT_NE(fail_to_start(store()), 0);
  EXPECT_THAT(log_text(), HasSubstr("another process has it open"));
  EXPECT_TRUE(call("version").contains("name")) << "the first one serves on";
}

TEST_F(RondodOnFile, ADamagedFileIsToldAndWhatIsWholeIsKept) {
  start(store());
  write_all();
  end(SIGTERM);
  {
    std::fstream damaged(file("tables"), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file("tables"))) - 40);
    damaged << "not what was written here";
  }
  start(store());
  EXPECT_THAT(log_text(), HasSubstr("the file was damaged"));
  EXPECT_TRUE(std::filesystem::exists(file("tables.damaged-1")));
  write_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
}

}  // namespace
}  // namespace rondo::daemon
