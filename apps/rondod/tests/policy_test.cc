// SIGHUP during a run: rondod changes its policy while rows arrive, and loses none. The reported bound is that of the policy in force. The
// journal records the change, and an audit and a replay of the run accept it. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admin/bulk.h"
#include "admin/bulk_writer.h"
#include "journal/audit.h"
#include "journal/walk.h"
#include "rondod/tests/replay_kit.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kRoutesOfChunk = 3000;

/// The content of [scheduler], and whether it promises a bound to routes.
struct Choice {
  const char* scheduler;
  const char* told;  // The text in the log.
  bool has_bound;
};
constexpr std::array<Choice, 6> kChoices{{
    {"policy = \"strict\"\n", "strict priority", false},
    {"policy = \"frames\"\nlowest_budget_us = 100\nhighest_budget_us = 2000\n", "budgeted frames, 100 us", true},
    {"policy = \"strictly-ordered\"\nbatch = 16\n", "strictly ordered", false},
    {"policy = \"quoted-round-robin\"\nquota = 100\nquota_unit = \"microseconds\"\n", "quoted round robin, 100 us", true},
    {"policy = \"frames\"\ntie = \"consumed-time\"\n", "budgeted frames, 500 us", true},
    {"policy = \"strict\"\ntie = \"arrival\"\n", "in order of arrival", false},
}};

class RondodPolicy : public RondodProcess {
 protected:
  std::string sections(const std::string& scheduler) const {
    return "[journal]\nfile = \"" + file("day") + "\"\n[scheduler]\n" + scheduler;
  }
  void set(const char* table, const std::string& key, json::array fields = {}) {
    call("set", {{"table", table}, {"key", key}, {"fields", std::move(fields)}});
  }
  static std::string prefix(int chunk, int route) {
    return std::to_string(20 + chunk) + "." + std::to_string(route / 256) + "." + std::to_string(route % 256) + ".0/24";
  }
  /// Feeds a chunk of routes, and sends SIGHUP in the middle of it. Returns when all are accepted and the signal was handled; routes are
  /// handled and programmed some time later.
  void feed_and_change_to(int chunk, const Choice& choice) {
    configure(sections(choice.scheduler));
    const std::string before = log_text();
    BulkWriter writer(client());
    ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
    const BulkField group{"nexthop_group", "7"};
    for (int i = 0; i < kRoutesOfChunk; ++i) {
      if (i == kRoutesOfChunk / 4) signal(SIGHUP);
      ASSERT_TRUE(writer.row(BulkOp::Set, prefix(chunk, i), {&group, 1}).ok());
    }
    ASSERT_TRUE(writer.end().ok());
    ASSERT_TRUE(writer.finish().has_value());
    ASSERT_TRUE(becomes([&] { return log_text().find("policy changed", before.size()) != std::string::npos; })) << log_text();
    EXPECT_THAT(log_text().substr(before.size()), HasSubstr(choice.told));
  }
  /// The bound of the routes' source in `rondo sources`, in microseconds.
  std::optional<double> bound() {
    const json::object sources = call("sources");
    for (const json::value& row : sources.at("rows").as_array()) {
      if (row.at("name").as_string() != "ROUTE_TABLE") continue;
      return row.at("wait_bound_us").is_null() ? std::nullopt : std::optional{row.at("wait_bound_us").to_number<double>()};
    }
    ADD_FAILURE() << "no source of that name";
    return std::nullopt;
  }
  void program_what_routes_need() {
    set("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}});
    set("INTF_TABLE", "swp1");
    set("INTF_TABLE", "swp1:10.0.0.1/24");
    set("NEIGH_TABLE", "swp1:10.0.0.2", {json::array{"neigh", "02:00:00:00:00:02"}});
    set("NEXTHOP_GROUP_TABLE", "7", {json::array{"nexthop", "10.0.0.2"}, json::array{"ifname", "swp1"}});
  }
};

// A warning about a chosen policy is a note, because no operator needs to act.
TEST_F(RondodPolicy, AWarningOfThePolicyIsANoteAndNoTrouble) {
  start("[scheduler]\npolicy = \"strict\"\n");
  EXPECT_THAT(log_text(), HasSubstr("warn policy"));
  const json::object health = call("health");
  EXPECT_TRUE(health.at("healthy").as_bool()) << json::serialize(health);
  EXPECT_THAT(json::serialize(health.at("notes")), HasSubstr("policy: "));
}

// A row that cannot be applied is a trouble only while it exists.
TEST_F(RondodPolicy, RowsThatStandRejectedAreATroubleUntilTheyAreMended) {
  start("");
  call("set", {{"table", "ROUTE_TABLE"}, {"key", "no prefix"}, {"fields", json::array{json::array{"nexthop_group", "1"}}}});
  const auto troubles = [this] { return json::serialize(call("health").at("troubles")); };
  EXPECT_TRUE(becomes([&] { return troubles().find("rows of ROUTE_TABLE that stand rejected: 1") != std::string::npos; })) << troubles();
  EXPECT_THAT(troubles(), HasSubstr("no prefix"));
  EXPECT_FALSE(call("health").at("healthy").as_bool());
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "no prefix"}});
  EXPECT_TRUE(becomes([&] { return call("health").at("healthy").as_bool(); })) << troubles();
}

// The kernel accepts none of its own addresses as a gateway. When the row is deleted, the count is a note, and no trouble is left.
TEST_F(RondodPolicy, HealthIsGreenWhenARefusalHasPassed) {
  start("");
  const auto set = [this](const char* table, const char* key, json::array fields) {
    return call("set", {{"table", table}, {"key", key}, {"fields", std::move(fields)}, {"wait_ms", 20'000}}).at("state");
  };
  EXPECT_EQ(set("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}}), "done");
  EXPECT_EQ(set("INTF_TABLE", "swp1", {}), "done");
  EXPECT_EQ(set("INTF_TABLE", "swp1:2001:db8::1/64", {}), "done");
  EXPECT_EQ(set("NEIGH_TABLE", "swp1:2001:db8::1", {json::array{"neigh", "02:00:00:00:00:02"}}), "done");
  const json::array group{json::array{"nexthop", "2001:db8::1"}, json::array{"ifname", "swp1"}};
  EXPECT_EQ(set("NEXTHOP_GROUP_TABLE", "1", group), "rejected");
  EXPECT_FALSE(call("health").at("healthy").as_bool());
  call("del", {{"table", "NEXTHOP_GROUP_TABLE"}, {"key", "1"}, {"wait_ms", 20'000}});
  const json::object health = call("health");
  EXPECT_TRUE(health.at("healthy").as_bool()) << json::serialize(health);
  EXPECT_THAT(json::serialize(health.at("notes")), HasSubstr("orders that the data plane refused: 1 since the start"));
}

// The message quotes the key escaped, and the answer does not escape it again.
TEST_F(RondodPolicy, HealthEscapesAKeyOnce) {
  start("");
  call("set", {{"table", "ROUTE_TABLE"}, {"key", "no\\x1bprefix"}, {"fields", json::array{json::array{"nexthop_group", "1"}}}});
  const auto troubles = [this] {
    std::string all;
    const json::object health = call("health");
    for (const json::value& trouble : health.at("troubles").as_array()) all.append(trouble.as_string()).append("\n");
    return all;
  };
  EXPECT_TRUE(becomes([&] { return troubles().find("'no\\x1bprefix'") != std::string::npos; })) << troubles();
  EXPECT_EQ(troubles().find("\\x5c"), std::string::npos) << troubles();
}

TEST_F(RondodPolicy, ADeleteOfARowThatCannotBeIsToldAndNothingStandsRejected) {
  start("");
  const std::vector<std::pair<std::string, std::string>> keys{
      {"ROUTE_TABLE", "nosuch"}, {"NEIGH_TABLE", "nosuch"}, {"INTF_TABLE", "swp1:nosuch"}};
  for (const auto& [table, key] : keys) {
    call("del", {{"table", table}, {"key", key}});
    EXPECT_TRUE(becomes([&] { return log_text().find(table + " '" + key + "'") != std::string::npos; })) << table << log_text();
  }
  EXPECT_THAT(json::serialize(call("health").at("troubles")), Not(HasSubstr("stand rejected")));
}

TEST_F(RondodPolicy, ChangesOnSighupInTheMiddleOfTrafficLoseNothing) {
  start(sections("policy = \"frames\"\n"));
  std::vector<std::optional<double>> bounds{bound()};
  // Routes wait for the rows that they need, which arrive between the third chunk and the fourth. So both parked rows and new ones exist
  // during policy changes.
  for (std::size_t i = 0; i < kChoices.size(); ++i) {
    if (i == 3) program_what_routes_need();
    feed_and_change_to(static_cast<int>(i), kChoices[i]);
    bounds.push_back(bound());
    EXPECT_EQ(bounds.back().has_value(), kChoices[i].has_bound) << kChoices[i].scheduler;
  }
  EXPECT_TRUE(bounds.front().has_value()) << "the default has one";
  EXPECT_NE(bounds[2], bounds[5]) << "one policy with other budgets";
  constexpr auto kRoutes = kRoutesOfChunk * static_cast<int>(kChoices.size());
  ASSERT_TRUE(becomes([&] { return call("stats").at("agent").at("programmed").to_number<int>() == kRoutes; })) << log_text();
  std::set<std::string> programmed;
  const json::object routes = call("sim-routes");
  for (const json::value& row : routes.at("rows").as_array()) programmed.emplace(row.at("prefix").as_string());
  for (int chunk = 0; chunk < static_cast<int>(kChoices.size()); ++chunk) {
    for (int i = 0; i < kRoutesOfChunk; ++i) ASSERT_TRUE(programmed.contains(prefix(chunk, i))) << prefix(chunk, i);
  }
  EXPECT_EQ(end(SIGTERM), 0);

  const Result<journal::AuditReport> audited = journal::audit({file("day")});
  ASSERT_TRUE(audited.has_value()) << audited.error().to_string();
  EXPECT_EQ(audited->parts, 1 + kChoices.size());
  EXPECT_EQ(audited->missing, 0U);
  EXPECT_EQ(audited->violations, 0U) << audited->first->source << " waited " << audited->first->waited / 1us;
  EXPECT_GT(audited->waits, 0U);
  std::vector<std::string> policies;
  std::vector<std::uint64_t> taken(1 + kChoices.size());  // Routes taken under each policy.
  const auto reader = journal::JournalReader::open(file("day"));
  ASSERT_TRUE(reader.has_value());
  for (journal::JournalWalk walk(**reader); walk.next();) {
    if (walk.record().kind == journal::Kind::Policy) policies.push_back(describe(*walk.record().policy));
    if (walk.record().kind == journal::Kind::Took && walk.table() == "ROUTE_TABLE") taken.at(policies.size()) += walk.record().count;
  }
  ASSERT_EQ(policies.size(), kChoices.size());
  for (std::size_t i = 0; i < kChoices.size(); ++i) EXPECT_THAT(policies[i], HasSubstr(kChoices[i].told));
  EXPECT_GE(std::ranges::count_if(taken, [](std::uint64_t count) { return count > 0; }), 3) << "the day had not much traffic left";
  const replay::ReplayReport report = replay_day(file("day"));
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_GE(report.outcomes, static_cast<std::uint64_t>(kRoutes));
}

TEST_F(RondodPolicy, AConfigurationThatCannotBeReadLeavesThePolicyAsItIs) {
  start(sections("policy = \"strict\"\n"));
  const auto hear = [&](const std::string& words) {
    signal(SIGHUP);
    EXPECT_TRUE(becomes([&] { return log_text().find(words) != std::string::npos; })) << words << "\n" << log_text();
  };
  configure(sections("policy = \"fair\"\n"));
  hear("cannot read the configuration, keeping the current one");
  configure(sections("policy = \"one_per_prio\"\n"));
  hear("cannot be 'one_per_prio'");
  EXPECT_FALSE(bound().has_value()) << "strict priority is in force";
  configure(sections("policy = \"frames\"\n"));
  hear("policy changed");
  EXPECT_TRUE(bound().has_value());
  EXPECT_EQ(end(SIGTERM), 0);
}

/// The text of --check-config on standard error.
class CheckConfig : public RondodPolicy {
 protected:
  int check(const std::string& more = "") {
    const std::string command = std::string{std::getenv("RONDOD")} + " --config " + file("toml") + " --check-config" + more + " > " +
                                file("out") + " 2> " + file("log");
    return WEXITSTATUS(std::system(command.c_str()));
  }
  std::string warnings(const std::string& scheduler) {
    configure(sections(scheduler));
    EXPECT_EQ(check(), 0) << "a warning is no error";
    return log_text();
  }
};

TEST_F(CheckConfig, NamesFoldersThatAreNotThere) {
  configure("url = \"file://" + file("no/tables") + "\"\n[journal]\nfile = \"" + file("none/journal") + "\"\n");
  EXPECT_EQ(check(), 69) << "as the start";
  EXPECT_THAT(log_text(), AllOf(HasSubstr("error: journal.file: there is no folder '" + file("none") + "'"),
                                HasSubstr("error: store.url: there is no folder '" + file("no") + "'")));
  configure("url = \"file://" + file("tables") + "\"\n[journal]\nfile = \"" + file("journal") + "\"\n");
  EXPECT_EQ(check(), 0);
  EXPECT_EQ(log_text(), "");
}

/// The start failed with "another process has it open", and that process was rondod itself.
TEST_F(CheckConfig, TheJournalTheTablesAndTheJobsAreThreeFiles) {
  ASSERT_EQ(::symlink(file("one").c_str(), file("link").c_str()), 0);
  const auto with = [this](const std::string& store, const std::string& journal, const std::string& jobs) {
    configure("url = \"file://" + file(store) + "\"\n[journal]\nfile = \"" + file(journal) + "\"\n[jobs]\nenabled = true\nstore = \"" +
              file(jobs) + "\"\n");
    return check();
  };
  const auto of = [this](const std::string& setting, const std::string& other) {
    return HasSubstr("error: " + setting + ": is the file of " + other + ", '" + file("one") +
                     "', too: each of them needs a file of its own");
  };
  EXPECT_EQ(with("one", "two", "three"), 0) << log_text();
  EXPECT_EQ(with("one", "one", "three"), 78);
  EXPECT_THAT(log_text(), of("store.url", "journal.file"));
  EXPECT_EQ(with("one", "two", "one"), 78);
  EXPECT_THAT(log_text(), of("jobs.store", "store.url"));
  EXPECT_EQ(with("two", "one", "../" + std::filesystem::path{file("one")}.parent_path().filename().string() + "/one"), 78);
  EXPECT_THAT(log_text(), of("jobs.store", "journal.file"));
  EXPECT_EQ(with("two", "one", "one.4"), 78) << "the oldest file of the journal";
  EXPECT_THAT(log_text(), HasSubstr("error: jobs.store: is the file of journal.file, '" + file("one.4") + "', too"));
  EXPECT_EQ(with("two", "one", "two-wal"), 78) << "SQLite's log";
  EXPECT_THAT(log_text(), HasSubstr("error: jobs.store: is the file of store.url, '" + file("two-wal") + "', too"));
  EXPECT_EQ(with("link", "one", "three"), 78) << "a link to it";
  EXPECT_THAT(log_text(), of("store.url", "journal.file"));
}

TEST_F(CheckConfig, NamesWhatWouldKeepItFromStartingAndChangesNothing) {
  std::ofstream(file("plain")) << "x";
  ASSERT_EQ(::mkdir(file("folder").c_str(), 0700), 0);
  configure("url = \"file://" + file("plain/tables") + "\"\n[[store.group]]\ntables = [\"ROUTE_TABEL\"]\n" + "[journal]\nfile = \"" +
            file("folder") + "\"\n[scheduler]\ncpus = [0, 1000]\n");
  EXPECT_EQ(check(), 78);
  EXPECT_THAT(log_text(), AllOf(HasSubstr("rondod: error: store.url: '" + file("plain") + "' is no folder"),
                                HasSubstr("error: store.group.tables: no table 'ROUTE_TABEL'; did you mean 'ROUTE_TABLE'?"),
                                HasSubstr("error: journal.file: '" + file("folder") + "' is there and is not a regular file"),
                                HasSubstr("error: scheduler.cpus: there is no CPU 1000")));
  EXPECT_FALSE(std::filesystem::exists(file("socket")));
  configure("url = \"file://" + file("tables") + "\"\n[journal]\nfile = \"" + file("journal") + "\"\n", "plain");
  EXPECT_EQ(check(), 78);
  EXPECT_THAT(log_text(), HasSubstr("admin.socket: '" + file("plain") + "' is there and is not a socket"));
  EXPECT_FALSE(std::filesystem::exists(file("tables")));
  EXPECT_FALSE(std::filesystem::exists(file("journal")));
}

/// `--check-config` found a file that is no journal, a file that is no store and a missing folder to be right, and for others it had
/// another exit code than the start.
TEST_F(CheckConfig, FindsWhatTheStartFindsWithTheSameExitCode) {
  std::ofstream(file("plain")) << "this is neither a journal nor a store, and longer than the header of either of them: "
                               << std::string(200, 'x');
  const auto plain_size = std::filesystem::file_size(file("plain"));
  std::ofstream(file("empty"));
  ASSERT_EQ(::mkdir(file("folder").c_str(), 0700), 0);
  struct Wrong {
    std::string setting;
    std::string value;
    std::string words;
    int code;
    std::string more = {};
  };
  const std::vector<Wrong> table{
      {"admin.socket", file("plain"), "is not a socket", 78},
      {"admin.socket", file("none/socket"), "there is no folder '" + file("none") + "'", 69},
      {"admin.socket", file("plain/socket"), "is no folder", 78},
      {"journal.file", file("plain"), "is no journal", 78},
      {"journal.file", file("folder"), "not a regular file", 78},
      {"journal.file", file("none/journal"), "there is no folder '" + file("none") + "'", 69},
      {"store.url", "file://" + file("plain"), "not a database", 78},
      {"store.url", "file://" + file("folder"), "not a regular file", 78},
      {"store.url", "file://" + file("none/tables"), "there is no folder '" + file("none") + "'", 69},
      {"jobs.store", file("plain"), "not a database", 78},
      {"jobs.store", file("folder"), "not a regular file", 78},
      {"jobs.store", file("none/jobs"), "there is no folder '" + file("none") + "'", 69},
      {"dataplane.network_namespace", file("none"), "No such file", 69},
      {"dataplane.network_namespace", file("empty"), "enter network namespace", 78},
      {"scheduler.cpus", "[1000]", "there is no CPU 1000", 78},
      {"dataplane.cpus", "[1000]", "there is no CPU 1000", 78},
      {"store.group.tables", "[\"ROUTES_TABLE\"]", "did you mean 'ROUTE_TABLE'", 78},
  };
  for (const Wrong& wrong : table) {
    const std::size_t dot = wrong.setting.rfind('.');
    const std::string section = wrong.setting.substr(0, dot);
    const std::string value = wrong.value.starts_with('[') ? wrong.value : "\"" + wrong.value + "\"";
    const std::string header = section == "store.group" ? "[[store.group]]" : "[" + section + "]";
    const std::string socket = section == "admin" ? "" : "[admin]\nsocket = \"" + file("socket") + "\"\n";
    std::ofstream(file("toml")) << socket << header << "\n"
                                << wrong.setting.substr(dot + 1) << " = " << value << "\n"
                                << (section == "jobs" ? "enabled = true\n" : "");
    const std::string context = wrong.setting + " = " + value;
    EXPECT_EQ(check(), wrong.code) << context << "\n" << log_text();
    EXPECT_THAT(log_text(), AllOf(HasSubstr("rondod: error: " + wrong.setting + ": "), HasSubstr(wrong.words))) << context;
    // The time only ends a start that would succeed.
    const std::string start = "timeout 20 " + std::string{std::getenv("RONDOD")} + " --config " + file("toml") + " 2> " + file("log");
    EXPECT_EQ(WEXITSTATUS(std::system(start.c_str())), wrong.code) << context << "\n" << log_text();
    EXPECT_THAT(log_text(), HasSubstr(wrong.words)) << context;
    EXPECT_EQ(std::filesystem::file_size(file("plain")), plain_size) << "foreign data is kept: " << context;
  }
}

TEST_F(CheckConfig, WarnsOfAFolderThatTheServiceManagerMakes) {
  if (std::filesystem::exists("/var/lib/rondo")) GTEST_SKIP() << "SKIPPED: this machine has /var/lib/rondo";
  configure("url = \"file:///var/lib/rondo/tables\"\n");
  EXPECT_EQ(check(), 0);
  EXPECT_THAT(log_text(), HasSubstr("warning: store.url: there is no folder '/var/lib/rondo'"));
}

// The running daemon has its socket, its lock and its file of tables.
TEST_F(CheckConfig, IsFineWhileTheDaemonServes) {
  const std::string store = "url = \"file://" + file("tables") + "\"\n[journal]\nfile = \"" + file("journal") + "\"\n";
  start(store);
  EXPECT_EQ(std::system((std::string{std::getenv("RONDOD")} + " --config " + file("toml") + " --check-config > " + file("out") + " 2> " +
                         file("errors"))
                            .c_str()),
            0);
  EXPECT_EQ(std::filesystem::file_size(file("errors")), 0U);
}

TEST_F(CheckConfig, RefusesASocketOfTheCommandLineThatCannotBe) {
  configure("");
  EXPECT_EQ(check(" --socket /" + std::string(107, 's')), 78);
  EXPECT_THAT(log_text(), HasSubstr("longer than 107 bytes"));
}

TEST_F(CheckConfig, WarnsOfWhatLeavesWaitsWithoutABound) {
  EXPECT_EQ(warnings(""), "");
  EXPECT_EQ(warnings("policy = \"quoted-round-robin\"\n"), "");
  EXPECT_THAT(warnings("[scheduler.budgets_us]\n5 = 0\n6 = 0\n"),
              AllOf(HasSubstr("rondod: warning: scheduler.policy: priorities 5 to 6 have no budget"), HasSubstr("no wait")));
  EXPECT_THAT(warnings("[scheduler.budgets_us]\n55 = 0\n"), HasSubstr("priority 55 has no budget: while it has work, no wait"));
  EXPECT_THAT(warnings("policy = \"strict\"\n"), HasSubstr("priorities 0 to 63 have no budget"));
  EXPECT_THAT(warnings("highest_budget_us = 64000\n"), HasSubstr("a priority may wait for longer than a second"));
}

}  // namespace
}  // namespace rondo::daemon
