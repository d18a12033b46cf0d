// rondod with its tables in a file, and the simulated data plane. After a kill it programs every acknowledged row again, and Deletes stay
// done. It logs a second rondod, an unusable file and a damaged one. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "admin/bulk_writer.h"
#include "rondod/configuration/config.h"
#include "rondod/limits.h"
#include "rondod/tests/rondod_kit.h"
#include "store/durable/testing/file.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

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

TEST(DurableConfig, OneFileIsOneStore) {
  const auto group = [](const char* url, const char* more = "") {
    return "[store]\nurl = \"file:///t/a\"\n[[store.group]]\ntables = [\"A\"]\nurl = \"" + std::string{url} + "\"\n" + more;
  };
  EXPECT_TRUE(parse_config(group("file:///t/a"), "x").has_value()) << "the same store";
  EXPECT_TRUE(parse_config(group("file:///t/b?durability=none"), "x").has_value());
  EXPECT_THAT(message_of(group("file:///t/a?durability=every-batch")), AllOf(HasSubstr("rondod.toml:5"), HasSubstr("names the file /t/a")));
  EXPECT_THAT(message_of(group("file:///t/../t/%61?durability=none")), HasSubstr("names the file /t/a"));
  EXPECT_THAT(message_of(group("file:///t/b", "[[store.group]]\ntables = [\"B\"]\nurl = \"file:///t/b?interval_ms=9\"\n")),
              HasSubstr("names the file /t/b"));
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
  end(SIGKILL);  // Every acknowledged write is in the file.
  start(store());
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16") && has_route("172.16.0.0/12"); })) << log_text();
  EXPECT_THAT(log_text(), HasSubstr("restored tables from the file"));
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

TEST_F(RondodOnFile, RowsInBulkAreOnTheDiskWhenTheyAreAnswered) {
  constexpr int kRows = 60'000;
  start(store());
  {
    BulkWriter writer(client());
    ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
    for (int i = 0; i < kRows; ++i) {
      const BulkField group{"nexthop_group", "none"};
      ASSERT_TRUE(writer.row(BulkOp::Set, "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24", {&group, 1}).ok());
    }
    ASSERT_TRUE(writer.end().ok());
    const Result<BulkTotals> totals = writer.finish();
    ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
    EXPECT_EQ(totals->accepted, kRows) << totals->first_error.to_string();
  }
  end(SIGKILL);
  start(store());
  EXPECT_EQ(call("stats").at("store").at("files").at(0).at("restored").to_number<int>(), kRows);
}

/// A limit of the size of a file in place of a small disk.
class RondodOnFullDisk : public RondodOnFile {
 protected:
  std::string later() const { return "url = \"file://" + file("tables") + "?durability=interval\"\n"; }
  json::object figures() { return call("stats").at("store").at("files").at(0).as_object(); }
  std::string health() { return json::serialize(call("health")); }
};

constexpr rlim_t kFull = 12'000;  // Less than a page of the store's log, more than the log of the program.

TEST_F(RondodOnFullDisk, WhatIsLostAtTheEndIsToldAndTheEndIsNoSuccess) {
  start(later());
  limit_files(kFull);
  write_all();  // Accepted: the write to the disk follows later.
  EXPECT_EQ(end(SIGTERM), 1);
  EXPECT_THAT(log_text(), AllOf(HasSubstr("accepted work is lost"), HasSubstr(file("tables")), HasSubstr("drained=false")));
}

TEST_F(RondodOnFullDisk, HealthTellsThePresent) {
  start(store());
  EXPECT_TRUE(call("health").at("healthy").as_bool());
  limit_files(kFull);
  const json::object row{{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"admin_status", "up"}}}};
  EXPECT_FALSE(client().call("set", row).has_value()) << "the disk is full";
  BulkWriter writer(client());
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  ASSERT_TRUE(writer.row(BulkOp::Set, "10.0.0.0/8", {}).ok());
  ASSERT_TRUE(writer.end().ok());
  const Result<BulkTotals> totals = writer.finish();
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(totals->accepted, 0U);
  EXPECT_EQ(totals->refused, 1U);
  EXPECT_TRUE(becomes([this] { return log_text().find("the store has trouble, continuing") != std::string::npos; })) << log_text();
  EXPECT_THAT(health(), AllOf(HasSubstr("\"healthy\":false"), HasSubstr("nothing could be written"), HasSubstr("records wait")));
  EXPECT_GT(figures().at("waiting").to_number<int>(), 0);
  EXPECT_NE(figures().at("trouble").as_string(), "");
  limit_files(RLIM_INFINITY);
  EXPECT_TRUE(becomes([this] { return call("health").at("healthy").as_bool(); })) << health();
  EXPECT_GT(figures().at("failed_commits").to_number<int>(), 0) << "stats know of the past";
  EXPECT_TRUE(becomes([this] { return figures().at("waiting").to_number<int>() == 0; }));
  EXPECT_TRUE(becomes([this] { return log_text().find("the store works again") != std::string::npos; })) << log_text();
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
}

// SQLite's log has room, but the file that it is moved into has none.
TEST_F(RondodOnFullDisk, AFileThatCannotBeKeptSmallIsTold) {
  start(store());
  limit_files(28'000'000);
  const std::string large(200'000, 'v');
  const auto is_told = [this] { return figures().at("failed_upkeep").to_number<int>() > 0; };
  for (int i = 0; i < 300 && !is_told(); ++i)
    set("ROUTE_TABLE", ("key" + std::to_string(i)).c_str(), {json::array{"nexthop_group", large}});
  EXPECT_THAT(health(), AllOf(HasSubstr("\"healthy\":false"), HasSubstr("could not be kept small"), HasSubstr("the log grows")));
  EXPECT_EQ(figures().at("failed_commits").to_number<int>(), 0);
  limit_files(RLIM_INFINITY);
  EXPECT_TRUE(becomes([this] { return health().find("could not be kept small") == std::string::npos; })) << health();
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
}

TEST_F(RondodOnFullDisk, RowsThatTookEffectAreNotToldAsRefused) {
  constexpr std::uint64_t kRows = 100;
  start(store());
  EXPECT_TRUE(becomes([this] { return figures().at("waiting").to_number<int>() == 0; })) << "the names of the tables are written";
  limit_files(kFull);
  BulkWriter writer(client());
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const std::string none = "none" + std::string(1000, 'x');
    const BulkField group{"nexthop_group", none};
    ASSERT_TRUE(writer.row(BulkOp::Set, "10.0." + std::to_string(i) + ".0/24", {&group, 1}).ok());
  }
  ASSERT_TRUE(writer.end().ok());
  const Result<BulkTotals> totals = writer.finish();
  ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
  EXPECT_GT(totals->unwritten, 0U);
  EXPECT_EQ(totals->unwritten + totals->refused, kRows);
  EXPECT_THAT(totals->first_error.to_string(), AllOf(HasSubstr("row 'ROUTE_TABLE:10.0.0.0/24'"), HasSubstr("accepted and tried again")));
  EXPECT_EQ(call("stats").at("admin").at("bulk_rows_unwritten").to_number<std::uint64_t>(), totals->unwritten);
  limit_files(RLIM_INFINITY);
  EXPECT_TRUE(becomes([this] { return figures().at("waiting").to_number<int>() == 0; }));
  end(SIGKILL);
  start(store());
  EXPECT_EQ(figures().at("restored").to_number<std::uint64_t>(), totals->unwritten) << "what was refused had no effect";
}

TEST_F(RondodOnFile, AFileThatSomebodyRemovedIsTold) {
  start(store());
  set("PORT_TABLE", "swp1");
  ASSERT_TRUE(std::filesystem::remove(file("tables")));
  const json::object row{{"table", "PORT_TABLE"}, {"key", "swp2"}, {"fields", json::array{}}};
  EXPECT_FALSE(client().call("set", row).has_value()) << "no restart would bring it back";
  EXPECT_THAT(json::serialize(call("health")), AllOf(HasSubstr("\"healthy\":false"), HasSubstr(file("tables")), HasSubstr("was removed")));
  EXPECT_EQ(end(SIGTERM), 1);
  EXPECT_THAT(log_text(), AllOf(HasSubstr("accepted work is lost"), HasSubstr("was removed"), HasSubstr("drained=false")));
}

TEST_F(RondodOnFile, AFileThatGoesWhileNothingIsWrittenIsToldUntilItIsBack) {
  start(store());
  set("PORT_TABLE", "swp1");
  std::filesystem::rename(file("tables"), file("away"));
  EXPECT_TRUE(becomes([this] { return !call("health").at("healthy").as_bool(); }));
  std::filesystem::rename(file("away"), file("tables"));
  EXPECT_TRUE(becomes([this] { return call("health").at("healthy").as_bool(); })) << json::serialize(call("health"));
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
}

TEST_F(RondodOnFile, AFileThatIsGoneAtTheEndIsToldAlthoughNothingWasWrittenSince) {
  start(store());
  set("PORT_TABLE", "swp1");
  ASSERT_TRUE(std::filesystem::remove(file("tables")));
  EXPECT_EQ(end(SIGTERM), 1);
  EXPECT_THAT(log_text(), AllOf(HasSubstr("accepted work is lost"), HasSubstr("was removed"), HasSubstr("drained=false")));
}

TEST_F(RondodOnFile, ASecondOneIsRefusedAndAnUnusableFileIsNamed) {
  start(store());
  const std::string first = log_text();
  EXPECT_NE(fail_to_start("url = \"file:///not/there/tables\"\n", "socket2"), 0);
  EXPECT_THAT(log_text(), HasSubstr("/not/there/tables"));
  EXPECT_NE(fail_to_start(store(), "socket2"), 0);
  EXPECT_THAT(log_text(), HasSubstr("another process has it open"));
  EXPECT_TRUE(call("version").contains("name")) << "the first one serves on";
}

// Also without the unit, and for files of an earlier run: a user who may open a file for reading may lock it, and then rondod does not
// start.
TEST_F(RondodOnFile, NobodyElseReadsOrLocksItsFiles) {
  const std::string more = store() + "[journal]\nfile = \"" + file("day") + "\"\n";
  const mode_t mask = ::umask(0);
  start(more);
  ::umask(mask);
  set("PORT_TABLE", "swp1");
  ASSERT_TRUE(becomes([this] { return std::filesystem::file_size(file("day")) > 0; }));
  const auto modes = [this] {
    std::string all;
    for (const char* const name : {"tables", "tables-lock", "tables-wal", "day"}) {
      struct stat found {};
      if (::stat(file(name).c_str(), &found) != 0) continue;
      char text[8];
      std::snprintf(text, sizeof text, "%o ", found.st_mode & 0777U);
      all += text;
    }
    return all;
  };
  EXPECT_EQ(modes(), "600 600 600 600 ");
  end(SIGKILL);
  for (const char* const name : {"tables", "tables-lock", "tables-wal", "day"}) ASSERT_EQ(::chmod(file(name).c_str(), 0644), 0);
  start(more);
  EXPECT_EQ(modes(), "640 640 640 640 ");
}

TEST_F(RondodOnFile, WhoHasItsFileIsNamed) {
  start(store());
  EXPECT_NE(fail_to_start(store(), "socket2"), 0);
  EXPECT_THAT(log_text(), HasSubstr("another process has it open: process " + std::to_string(pid()) + " (rondod) of user "));
}

TEST_F(RondodOnFile, OneThatIsRefusedForItsSocketLeavesNoFile) {
  start("");
  EXPECT_EQ(fail_to_start(store()), 69) << log_text();
  EXPECT_THAT(log_text(), HasSubstr("another server answers"));
  EXPECT_FALSE(std::filesystem::exists(file("tables")));
}

TEST_F(RondodOnFile, TheFileOfTheTablesIsNoJournal) {
  start(store());
  end(SIGTERM);
  EXPECT_EQ(fail_to_start("[journal]\nfile = \"" + file("tables") + "\"\n"), 78);
  EXPECT_THAT(log_text(), AllOf(HasSubstr(file("tables")), HasSubstr("is no journal")));
  start(store());
  EXPECT_TRUE(call("health").at("healthy").as_bool());
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
  EXPECT_THAT(log_text(), HasSubstr("the store was damaged, what is whole was kept"));
  EXPECT_THAT(store::durable::asides(file("tables")), SizeIs(1));
  const std::string health = json::serialize(call("health"));
  EXPECT_THAT(health, AllOf(HasSubstr("\"healthy\":false"), HasSubstr("was damaged"), HasSubstr("tables.damaged-2")));
  EXPECT_GT(call("stats").at("store").at("files").at(0).at("damage_parts").to_number<int>(), 0);
  write_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
}

TEST_F(RondodOnFile, ADamagedSchemaEndsTheStartAsOtherDamageDoes) {
  start(store());
  write_all();
  end(SIGTERM);
  {
    std::ifstream whole(file("tables"), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>{whole}, {}};
    const std::size_t at = bytes.find("checksum INTEGER");
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 'x';
    std::ofstream(file("tables"), std::ios::binary) << bytes;
  }
  EXPECT_EQ(fail_to_start(store()), 78) << log_text();
  EXPECT_THAT(log_text(), HasSubstr("its schema is damaged"));
}

TEST_F(RondodOnFile, OfManyDamagedPartsSomeAreNamedAndAllAreCounted) {
  start(store());
  set("PORT_TABLE", "whole", {json::array{"remark", "x"}});  // A file of which nothing can be read is refused.
  EXPECT_EQ(end(SIGTERM), 0);
  start(store());
  constexpr int kRows = 4 * limits::kDamageShown;
  const std::string large(140'000, 'x');  // At most two have one entry of the log: those that are written while the disk is busy.
  for (int i = 0; i < kRows; ++i) set("PORT_TABLE", ("swp" + std::to_string(i)).c_str(), {json::array{"remark", large}});
  EXPECT_EQ(end(SIGTERM), 0);
  {
    std::ifstream in(file("tables"), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string run(5000, 'x');  // Pages hold 16 KiB.
    int damaged = 0;
    for (std::size_t at = bytes.find(run); at != std::string::npos; at = bytes.find(run, at + large.size() / 2), ++damaged) bytes[at] = 'y';
    EXPECT_GE(damaged, kRows);
    std::ofstream(file("tables"), std::ios::binary) << bytes;
  }
  start(store());
  const json::object figures = call("stats").at("store").at("files").at(0).as_object();
  EXPECT_EQ(figures.at("damage").as_array().size(), limits::kDamageShown);
  EXPECT_GE(figures.at("damage_parts").to_number<int>(), kRows / 2);
}

}  // namespace
}  // namespace rondo::daemon
