// Config: accepted input, and the messages for wrong input. The commented example must equal the defaults, option by option.
#include "rondod/configuration/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/temporary_folder.h"
#include "rondod/limits.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string message_of(std::string_view text) {
  const auto config = parse_config(text, "rondod.toml");
  EXPECT_FALSE(config.has_value()) << text;
  return config ? std::string{} : std::string{config.error().message()};
}

TEST(Config, AStoreOfJobsIsAFileOrTheUrlOfAServer) {
  for (const auto& [store, is_at_server] :
       {std::pair{"/var/lib/jobs.db", false}, {"postgresql://me@h/jobs", true}, {"mariadb://me@h/jobs", true}}) {
    const auto config = parse_config("[jobs]\nenabled = true\nstore = \"" + std::string{store} + "\"\n", "x");
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->jobs.is_at_server(), is_at_server) << store;
  }
}

TEST(Config, AnEmptyFileMeansTheDefaults) {
  const auto config = parse_config("", "x");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(to_toml(*config), to_toml(Config{}));
}

TEST(Config, TheCommentedExampleListsEveryOptionWithItsDefault) {
  std::string text = read("packaging/rondod.toml");
  ASSERT_FALSE(text.empty());
  std::string uncommented;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool option = line.size() > 1 && line[0] == '#' && line[1] != ' ';
    uncommented += (option ? line.substr(1) : line) + "\n";
  }
  const auto config = parse_config(uncommented, "packaging/rondod.toml");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(to_toml(*config), to_toml(Config{}));
  // Each key of the printed configuration must also be in the example.
  std::istringstream whole(to_toml(Config{}));
  for (std::string line; std::getline(whole, line);) {
    const std::size_t equals = line.find(" = ");
    if (equals != std::string::npos) {
      EXPECT_THAT(text, HasSubstr("\n#" + line.substr(0, equals) + " = "));
    }
  }
}

TEST(Config, WhatIsPrintedReadsBackTheSame) {
  Config config;
  config.policy = {.name = PolicySettings::Name::QuotedRoundRobin, .tie = Tie::Arrival, .batch = 1, .turn_us = 2000};
  config.policy.budgets_us = {{3, 0}, {5, 700}};
  config.policy.quota_unit = QuotaUnit::Microseconds;
  config.policy.quotas = {{7, 50}};
  config.socket = "/tmp/a \"quoted\" name.sock";
  config.plane = PlaneKind::Simulated;
  config.simulated_ports = {"Ethernet0", "Ethernet4"};
  config.table = 0xFFFFFFFF;
  config.nice = 19;
  config.scheduler_cpus = {3};
  config.reserve_mib = 300;
  config.dataplane_cpus = {0, 1, 2};
  const auto again = parse_config(to_toml(config), "x");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(to_toml(*again), to_toml(config));
}

TEST(Config, TablesMayBeInSeveralStores) {
  const auto config = parse_config(
      "[store]\nseparator = \"|\"\n[[store.group]]\ntables = [\"PORT_TABLE\", \"INTF_TABLE\"]\n"
      "[[store.group]]\ntables = [\"ROUTE_TABLE\"]\nseparator = \"|\"\n",
      "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->store.separator, "|");
  EXPECT_THAT(config->store_groups, testing::ElementsAre(StoreGroup{.tables = {"PORT_TABLE", "INTF_TABLE"}},
                                                         StoreGroup{.tables = {"ROUTE_TABLE"}, .place = {.separator = "|"}}));
  const auto again = parse_config(to_toml(*config), "x");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->store_groups, config->store_groups);
  for (const char* const url : {"files:///t", "http://t", "tables"}) {
    EXPECT_THAT(message_of("[store]\nurl = \"" + std::string{url} + "\"\n"),
                AllOf(HasSubstr("store.url cannot be used"), HasSubstr("file:///")));
  }
  EXPECT_THAT(message_of("[store]\n[[store.group]]\nurl = \"\"\n"), AllOf(HasSubstr("store.group.tables"), HasSubstr("must name")));
  EXPECT_THAT(message_of("[[store.group]]\ntables = [\"A\"]\n[[store.group]]\ntables = [\"B\", \"A\"]\n"),
              AllOf(HasSubstr("rondod.toml:4"), HasSubstr("'A'")));
  EXPECT_THAT(message_of("[store]\ngroup = 1\n"), HasSubstr("[[store.group]]"));
  EXPECT_THAT(message_of("[store]\nseparator = \";\"\n"), HasSubstr("':', '|'"));
  EXPECT_THAT(message_of("[[store.group]]\ntables = [\"A\"]\nulr = \"\"\n"), HasSubstr("did you mean 'url'"));
}

TEST(Config, ReplicasAreForTablesOnARedis) {
  EXPECT_THAT(message_of("[store]\nreplicas = 1\n"), AllOf(HasSubstr("rondod.toml:2: store.replicas"), HasSubstr("embedded store")));
  EXPECT_THAT(message_of("[store]\nreplicas_timeout_ms = 5\n"), AllOf(HasSubstr("store.replicas_timeout_ms"), HasSubstr("embedded store")));
  EXPECT_THAT(message_of("[[store.group]]\ntables = [\"A\"]\nreplicas = 2\n"),
              AllOf(HasSubstr("rondod.toml:3: store.group.replicas"), HasSubstr("embedded store")));
  EXPECT_THAT(message_of("[store]\nreplicas = 101\n"), AllOf(HasSubstr("store.replicas"), HasSubstr("from 0 to 100")));
  EXPECT_THAT(message_of("[store]\nreplicas = -1\n"), HasSubstr("from 0 to 100"));
  EXPECT_THAT(message_of("[store]\nreplicas = true\n"), HasSubstr("must be an integer"));
  for (const char* const value : {"0", "60001", "-5"}) {  // WAIT interprets 0 as no timeout.
    EXPECT_THAT(message_of("[store]\nreplicas_timeout_ms = " + std::string{value} + "\n"),
                AllOf(HasSubstr("store.replicas_timeout_ms"), HasSubstr("from 1 to 60000")));
  }
}

TEST(Config, AnUnknownKeyIsNamedWithFileLineAndTheNearestOne) {
  EXPECT_THAT(message_of("[admin]\nsockte = \"x\"\n"),
              AllOf(HasSubstr("rondod.toml:2"), HasSubstr("admin.sockte"), HasSubstr("did you mean 'socket'")));
  EXPECT_THAT(message_of("\n[dataplan]\n"), AllOf(HasSubstr("rondod.toml:2"), HasSubstr("did you mean 'dataplane'")));
}

TEST(Config, AWrongValueSaysWhatIsAllowed) {
  EXPECT_THAT(message_of("[scheduler]\nbatch = 0\n"), AllOf(HasSubstr(":2"), HasSubstr("scheduler.batch"), HasSubstr("from 1 to 128")));
  EXPECT_THAT(message_of("[scheduler]\nbatch = \"many\"\n"), HasSubstr("must be an integer"));
  EXPECT_THAT(message_of("[scheduler]\ntie = \"random\"\n"), AllOf(HasSubstr("'arrival'"), HasSubstr("'least-recently-served'")));
  EXPECT_THAT(message_of("[dataplane]\nkind = 7\n"), HasSubstr("'simulated'"));
  EXPECT_THAT(message_of("[dataplane]\nprotocol = 256\n"), HasSubstr("from 5 to 255"));
  EXPECT_THAT(message_of("[dataplane]\nprotocol = 11\n"), HasSubstr("dataplane.protocol cannot be 11, the number of zebra"));
  EXPECT_THAT(message_of("[dataplane]\nprotocol = 186\n"), HasSubstr("cannot be 186, the number of BGP in FRR"));
  EXPECT_TRUE(parse_config("[dataplane]\nprotocol = 202\n", "x").has_value());
  EXPECT_THAT(message_of("[dataplane]\ntable = 255\n"), HasSubstr("dataplane.table cannot be 255"));
  for (const char* const share : {"1.5", "-0.1", "\"0.2\"", "nan", "true"}) {
    EXPECT_THAT(message_of("[dataplane]\nsafety_share = " + std::string{share} + "\n"), HasSubstr("must be a number from 0 to 1"));
  }
  EXPECT_EQ(parse_config("[dataplane]\nsafety_share = 1\n", "x")->safety_share, 1.0);
  EXPECT_THAT(message_of("[dataplane]\nsimulated_ports = [1]\n"), HasSubstr("list of texts"));
  EXPECT_THAT(message_of("[dataplane]\nsimulated_ports = [\"a\", \"b\", \"a\"]\n"), HasSubstr("names 'a' twice"));
  for (const char* const port : {"", "a/b", "lo", "Ethernet123456789"}) {
    EXPECT_THAT(message_of("[dataplane]\nsimulated_ports = [\"" + std::string{port} + "\"]\n"), HasSubstr("a port that cannot be")) << port;
  }
  EXPECT_THAT(message_of("[scheduler]\nnice = -21\n"), AllOf(HasSubstr("scheduler.nice"), HasSubstr("from -20 to 19")));
  EXPECT_THAT(message_of("[scheduler]\ncpus = 1\n"), AllOf(HasSubstr("scheduler.cpus"), HasSubstr("list of CPU numbers")));
  EXPECT_THAT(message_of("[dataplane]\ncpus = [0, -1]\n"), HasSubstr("list of CPU numbers"));
  EXPECT_THAT(message_of("[[store.group]]\ntables = [\"A\"]\n[store.group.direct]\nopen_to_network = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(message_of("[journal]\nfile_mib = -1\n"), HasSubstr("journal.file_mib"));
  EXPECT_THAT(message_of("log = 3\n"), HasSubstr("must be a section"));
}

TEST(Config, MetricsNeedTheServerAndTokensNeedTheApi) {
  EXPECT_THAT(message_of("[http]\nmetrics = \"open\"\n"), HasSubstr("needs enabled = true"));
  EXPECT_THAT(message_of("[http]\nenabled = true\nmetrics = \"token\"\n"), HasSubstr("needs api = true"));
  EXPECT_THAT(message_of("[http]\nenabled = true\nmetrics = \"on\"\n"), HasSubstr("must be one of 'off', 'token', 'open'"));
}

TEST(Config, ThePolicyIsChosenByNameWithBudgetsAndQuotasByPriority) {
  const auto frames = parse_config("[scheduler]\nlowest_budget_us = 100\n[scheduler.budgets_us]\n5 = 0\n55 = 2000\n", "x");
  ASSERT_TRUE(frames.has_value()) << frames.error().to_string();
  const auto settings = resolve_policy(frames->policy.options());
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->name, PolicySettings::Name::Frames);
  EXPECT_EQ(settings->budgets[0], 100'000);
  EXPECT_EQ(settings->budgets[5], PolicySettings::kInfinite);
  EXPECT_EQ(settings->budgets[55], 2'000'000);
  const auto quoted = parse_config("[scheduler]\npolicy = \"quoted-round-robin\"\nquota = 4\n[scheduler.quotas]\n7 = 50\n", "x");
  ASSERT_TRUE(quoted.has_value()) << quoted.error().to_string();
  EXPECT_EQ(resolve_policy(quoted->policy.options())->budgets[7], 50);
  EXPECT_EQ(resolve_policy(quoted->policy.options())->budgets[6], 4);
}

TEST(Config, AWrongPolicySaysWhatIsAllowed) {
  EXPECT_THAT(message_of("[scheduler]\npolicy = \"fair\"\n"), AllOf(HasSubstr("scheduler.policy"), HasSubstr("'quoted-round-robin'")));
  for (const char* const name : {"one_per_prio", "one-per-priority"}) {
    EXPECT_THAT(message_of("[scheduler]\npolicy = \"" + std::string{name} + "\"\n"),
                AllOf(HasSubstr("rondod.toml:2"), HasSubstr(name), HasSubstr("one thread"), HasSubstr("rondo/orch/priority_workers.h")));
  }
  EXPECT_THAT(message_of("[scheduler]\nquota = 0\n"), AllOf(HasSubstr("scheduler.quota"), HasSubstr("from 1")));
  EXPECT_THAT(message_of("[scheduler.quotas]\n7 = 0\n"),
              AllOf(HasSubstr("scheduler.quotas"), HasSubstr("priority 7"), HasSubstr("from 1")));
  EXPECT_THAT(message_of("[scheduler.budgets_us]\n64 = 5\n"),
              AllOf(HasSubstr("rondod.toml:2: "), HasSubstr("'64'"), HasSubstr("no priority")));
  EXPECT_THAT(message_of("[scheduler.budgets_us]\n5 = 1000\n6 = -1\n"), AllOf(HasSubstr("rondod.toml:3: "), HasSubstr("priority 6")));
  EXPECT_THAT(message_of("[scheduler]\nlowest_budget_us = 900\nhighest_budget_us = 600\n"), HasSubstr("highest not below"));
  EXPECT_THAT(message_of("[scheduler]\npolicy = \"strictly-ordered\"\ntie = \"consumed-time\"\n"), HasSubstr("goes by arrival"));
}

TEST(Config, ASocketPathIsOneThatTheKernelTakes) {
  const auto socket = [](std::size_t bytes) { return "[admin]\nsocket = \"" + std::string(bytes, '/') + "\"\n"; };
  EXPECT_TRUE(parse_config(socket(107), "x").has_value());
  EXPECT_THAT(message_of(socket(108)), AllOf(HasSubstr("rondod.toml:2: admin.socket"), HasSubstr("longer than 107 bytes")));
  EXPECT_THAT(message_of(socket(0)), HasSubstr("admin.socket"));
}

TEST(Config, BrokenTomlNamesTheLine) { EXPECT_THAT(message_of("[admin]\nsocket = \n"), HasSubstr("rondod.toml:")); }

// The parser recurses for each level: 100,000 of them overflowed the stack.
TEST(Config, KeysAndListsThatNestTooDeepAreRefusedWithTheirLine) {
  std::string parts;
  std::string lists;
  for (int i = 0; i < 100'000; ++i) {
    parts += "a.";
    lists += "[";
  }
  for (const std::string& text :
       {"\n" + parts + "a = 1", "\n[" + parts + "a]", "\n[scheduler]\ncpus = " + lists, "\nx = {" + parts + "y = 1}"}) {
    EXPECT_THAT(message_of(text), HasSubstr("rondod.toml:")) << text.substr(0, 20);
    EXPECT_THAT(message_of(text), HasSubstr("dots in a line, or brackets")) << text.substr(0, 20);
  }
  const std::string address = "\"tcp://" + std::string(200, '.') + "\"";
  EXPECT_THAT(message_of("# " + std::string(200, '.') + "[[[[\n[admin]\nsocket = " + address), Not(HasSubstr("dots in a line")));
}

/// `rondod -c /dev/zero` read until the machine had no memory.
TEST(Config, AFileWithoutEndAndADeviceAreRefused) {
  const auto refusal = [](const std::string& path) {
    const auto config = read_config(path);
    return config ? std::string{"accepted"} : config.error().to_string();
  };
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("the configuration '/dev/zero' is no regular file, and no pipe"));
  EXPECT_EQ(refusal("/dev/null"), "accepted") << "all defaults";
  const TemporaryFolder folder;
  const std::string file = folder.file("rondod.toml");
  std::ofstream(file) << "";
  std::filesystem::resize_file(file, limits::kConfigBytes + 1);
  EXPECT_THAT(refusal(file), HasSubstr("has more than " + std::to_string(limits::kConfigBytes) + " bytes"));
  std::filesystem::remove(file);
  // A pipe, as of a shell's <(...).
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "[jobs]\n", 7), 7);
  ::close(ends[1]);
  EXPECT_EQ(refusal("/dev/fd/" + std::to_string(ends[0])), "accepted");
  ::close(ends[0]);
}

TEST(Config, ADirectoryIsNoConfiguration) {
  const auto config = read_config(".");
  ASSERT_FALSE(config.has_value()) << "all settings as if there were none";
  EXPECT_THAT(std::string{config.error().message()}, AllOf(HasSubstr("'.'"), HasSubstr("directory")));
}

TEST(Config, AMissingFileIsNamed) {
  const auto config = read_config("no/such/file.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{config.error().message()}, HasSubstr("no/such/file.toml"));
}

}  // namespace
}  // namespace rondo::daemon
