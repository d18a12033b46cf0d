// The whole system under kill -9: the real rondod with its tables in a file (every-batch) and the real kernel, in a separate namespace.
// Several writers load it over the admin socket and store which writes were acknowledged; it is killed at any moment, and restarted on the
// same file. The file must be whole and have every acknowledged write. The daemon serves those rows, and the kernel comes to match them. A
// restart without changes changes nothing in the kernel, and a second rondod on the file is refused. RONDOD names the program;
// RONDO_SYSTEM_KILLS is the number of kills, 8 by default. Skipped, with a message, where a namespace is not permitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "admin/bulk_writer.h"
#include "rondo/base/random.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

constexpr int kPorts = 3;
constexpr unsigned kWriters = 3;
constexpr unsigned kGroups = 6;
constexpr unsigned kRoutesOfWriter = 300;

struct RowName {
  std::string table;
  std::string key;
  friend auto operator<=>(const RowName&, const RowName&) = default;
};
using RowFields = std::map<std::string, std::string>;
using RowsByName = std::map<RowName, RowFields>;

std::string row_text(const std::optional<RowFields>& fields) {
  if (!fields) return "no row";
  std::string text = "{";
  for (const auto& [name, value] : *fields) text.append(text.size() == 1 ? "" : ", ").append(name).append("=").append(value);
  return text + "}";
}

/// In the form of the command `set`.
json::array pairs_of(const RowFields& fields) {
  json::array pairs;
  for (const auto& [name, value] : fields) {
    json::array pair;
    pair.emplace_back(name);
    pair.emplace_back(value);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

/// The known state of one writer's rows. Its writes of a row take effect, and are acknowledged, in their order.
class Account {
 public:
  void writing(const RowName& name, std::optional<RowFields> fields) { known_[name].under_way.push_back(std::move(fields)); }
  void acknowledged(const RowName& name) {
    Known& known = known_[name];
    known.sure = std::move(known.under_way.front());
    known.under_way.pop_front();
  }
  /// After a kill: of each row 'found' must have the newest acknowledged state, or that of a write under way. That state counts as
  /// acknowledged from now on, and is removed from 'found'. Returns the number of writes under way.
  std::size_t check_and_settle(RowsByName& found) {
    std::size_t under_way = 0;
    for (auto& [name, known] : known_) {
      std::optional<RowFields> there;
      if (const auto row = found.extract(name)) there = row.mapped();
      if (there != known.sure && std::ranges::find(known.under_way, there) == known.under_way.end()) {
        ADD_FAILURE() << name.table << ":" << name.key << " is " << row_text(there) << ", acknowledged was " << row_text(known.sure)
                      << ", with " << known.under_way.size() << " writes under way";
      }
      under_way += known.under_way.size();
      known.sure = std::move(there);
      known.under_way.clear();
    }
    return under_way;
  }

 private:
  struct Known {
    std::optional<RowFields> sure;  // Empty: no row.
    std::deque<std::optional<RowFields>> under_way;
  };
  std::map<RowName, Known> known_;
};

/// The total of acknowledged writes of all writers, and the number of writers that have ended. Any thread.
class Progress {
 public:
  void add(std::uint64_t acknowledged) {
    const std::lock_guard hold{lock_};
    acknowledged_ += acknowledged;
    moved_.notify_all();
  }
  void ended() {
    const std::lock_guard hold{lock_};
    ++ended_;
    moved_.notify_all();
  }
  /// Returns false if a writer ended before, or after a timeout.
  bool reaches(std::uint64_t acknowledged) {
    std::unique_lock hold{lock_};
    return moved_.wait_for(hold, 60s, [&] { return acknowledged_ >= acknowledged || ended_ > 0; }) && ended_ == 0;
  }

 private:
  std::mutex lock_;
  std::condition_variable moved_;
  std::uint64_t acknowledged_ = 0;
  unsigned ended_ = 0;
};

std::string port_name(int port) { return "swp" + std::to_string(port); }
std::string gateway(int port) { return "10." + std::to_string(port) + ".0.2"; }
RowName neighbor(int port) { return {"NEIGH_TABLE", port_name(port) + ":" + gateway(port)}; }
RowFields mac(std::uint64_t number) { return {{"neigh", "02:00:00:00:00:" + std::to_string(10 + number % 90)}}; }
RowName group(std::uint64_t number) { return {"NEXTHOP_GROUP_TABLE", "g" + std::to_string(number)}; }
/// The members over the ports whose bits are set.
RowFields members(std::uint64_t ports) {
  std::string gateways, names;
  for (int port = 1; port <= kPorts; ++port) {
    if (((ports >> static_cast<unsigned>(port - 1)) & 1U) == 0) continue;
    gateways.append(gateways.empty() ? "" : ",").append(gateway(port));
    names.append(names.empty() ? "" : ",").append(port_name(port));
  }
  return {{"nexthop", gateways}, {"ifname", names}};
}

/// Writes its own rows until the daemon disappears: single ones, and many at a time. No other writer writes its routes; the first writer
/// also writes the groups, and the second the neighbours.
class Writer {
 public:
  Writer(unsigned number, std::string socket, Random random, Account& account, Progress& progress)
      : number_(number), socket_(std::move(socket)), random_(random), account_(account), progress_(progress) {}

  void run() {
    auto connected = AdminClient::connect(socket_);
    if (connected) {
      Status end;
      while (end.ok()) end = random_.chance(0.2) ? write_many(**connected) : write_one(**connected);
      EXPECT_EQ(end.code(), StatusCode::Unavailable) << end.to_string();
    } else {
      ADD_FAILURE() << connected.error().to_string();
    }
    progress_.ended();
  }

 private:
  RowName some_route() {
    const std::uint64_t number = random_.below(kRoutesOfWriter);
    return {"ROUTE_TABLE", "20." + std::to_string(10 * number_ + number / 200) + "." + std::to_string(number % 200) + ".0/24"};
  }
  std::optional<RowFields> some_wish() {
    if (random_.chance(0.25)) return {};
    return RowFields{{"nexthop_group", group(random_.below(kGroups)).key}};
  }

  Status write_one(AdminClient& client) {
    RowName name = some_route();
    std::optional<RowFields> wish = some_wish();
    if (number_ == 0 && random_.chance(0.05)) {
      name = group(random_.below(kGroups));
      wish = members(random_.between(1, (1U << kPorts) - 1));
    } else if (number_ == 1 && random_.chance(0.05)) {
      name = neighbor(static_cast<int>(random_.between(1, kPorts)));
      wish = mac(random_.next());
    }
    json::object arguments{{"table", name.table}, {"key", name.key}};
    if (wish) arguments["fields"] = pairs_of(*wish);
    account_.writing(name, wish);
    const auto answer = client.call(wish ? "set" : "del", arguments);
    if (!answer) return answer.error();
    account_.acknowledged(name);
    progress_.add(1);
    return {};
  }

  Status write_many(AdminClient& client) {
    std::vector<RowName> rows;
    std::size_t answered = 0;
    // Small frames, so that at a kill some are answered and others under way.
    BulkWriter writer(client, {.frame_bytes = 512}, [&](const BulkTotals& totals) {
      EXPECT_EQ(totals.refused + totals.unwritten, 0U) << totals.first_error.to_string();
      const std::size_t before = std::exchange(answered, static_cast<std::size_t>(totals.accepted));
      for (std::size_t i = before; i < answered; ++i) account_.acknowledged(rows[i]);
      progress_.add(answered - before);
    });
    if (Status begun = writer.begin("ROUTE_TABLE"); !begun.ok()) return begun;
    for (std::uint64_t left = random_.between(1, 400); left > 0; --left) {
      const std::optional<RowFields> wish = some_wish();
      rows.push_back(some_route());
      account_.writing(rows.back(), wish);
      std::vector<BulkField> fields;
      if (wish) fields.push_back({"nexthop_group", wish->at("nexthop_group")});
      if (Status sent = writer.row(wish ? BulkOp::Set : BulkOp::Delete, rows.back().key, fields); !sent.ok()) return sent;
    }
    if (Status ended = writer.end(); !ended.ok()) return ended;
    const auto totals = writer.finish();
    return totals ? Status{} : totals.error();
  }

  const unsigned number_;
  const std::string socket_;
  Random random_;
  Account& account_;
  Progress& progress_;
};

/// Parses the rows of a store as printed by `rondo export`: [{"TABLE:key": {field: value}, "OP": "SET"}, ...].
RowsByName parse_export(const std::string& text) {
  RowsByName rows;
  const json::value entries = json::parse(text);
  for (const json::value& entry : entries.as_array()) {
    for (const auto& member : entry.as_object()) {
      if (member.key() == "OP") continue;
      const std::string name{member.key()};
      const std::size_t colon = name.find(':');
      RowFields& fields = rows[{name.substr(0, colon), name.substr(colon + 1)}];
      for (const auto& field : member.value().as_object()) fields[std::string{field.key()}] = std::string{field.value().as_string()};
    }
  }
  return rows;
}

class DurableRondodOnLinux : public SystemRondod {
 protected:
  DurableRondodOnLinux() : SystemRondod(kPorts) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!lab) {
      std::cerr << "SKIPPED: this is about the real kernel\n";
      GTEST_SKIP() << "this is about the real kernel";
    }
    rondo_ = (std::filesystem::path(program_).parent_path().parent_path() / "rondo" / "rondo").string();
    const std::string store = "[store]\nurl = \"" + url() + "?durability=every-batch\"\n";
    configure("rondod.toml", "socket", store);
    configure("second.toml", "socket2", store);
    // Otherwise the lock of the data plane would refuse it first.
    std::ofstream(file("second.toml"), std::ios::app) << "protocol = 202\n";
    auto opened = make_linux_dataplane({.network_namespace = lab->path(), .metric = 201});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    plane_ = std::move(*opened);
  }
  std::string url() const { return "file://" + file("tables"); }

  /// Writes ports, interfaces, neighbours and groups; no routes.
  void write_base() {
    const auto put = [this](Account& account, const RowName& name, const RowFields& fields) {
      account.writing(name, fields);
      const auto answer = client->call("set", {{"table", name.table}, {"key", name.key}, {"fields", pairs_of(fields)}});
      ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
      account.acknowledged(name);
    };
    for (std::uint64_t number = 0; number < kGroups; ++number) put(accounts_[0], group(number), members(number + 1));
    for (int port = 1; port <= kPorts; ++port) {
      put(accounts_[1], neighbor(port), mac(0));
      put(accounts_[2], {"INTF_TABLE", port_name(port) + ":10." + std::to_string(port) + ".0.1/24"}, {{"scope", "global"}});
      put(accounts_[2], {"INTF_TABLE", port_name(port)}, {{"mtu", "1500"}});
      put(accounts_[2], {"PORT_TABLE", port_name(port)}, {{"admin_status", "up"}});
    }
  }

  /// Runs the writers, starts a second rondod that must be refused, and kills the daemon a random moment after a random number of
  /// acknowledged writes.
  void load_and_kill(Random& random) {
    Progress progress;
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < kWriters; ++number) {
      threads.emplace_back([writer = Writer(number, socket(), random.split(), accounts_[number], progress)]() mutable { writer.run(); });
    }
    const bool loaded = progress.reaches(1);
    EXPECT_TRUE(loaded) << log_text();
    if (loaded) {
      expect_a_second_is_refused();
      EXPECT_TRUE(progress.reaches(random.between(1, 4000))) << log_text();
      const SystemClock clock;
      // At any point of a commit, or of a batch of orders.
      for (const Instant moment = clock.now() + Duration{std::chrono::microseconds{random.below(3000)}}; clock.now() < moment;) {
      }
    }
    kill_daemon();
    for (std::thread& thread : threads) thread.join();
  }
  void kill_daemon() {
    client.reset();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    const int status = wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself\n" << log_text();
  }
  void expect_a_second_is_refused() {
    const std::string command = program_ + " --config " + file("second.toml") + " 2> " + file("log2");
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    std::ifstream log(file("log2"));
    EXPECT_THAT((std::string{std::istreambuf_iterator<char>(log), {}}), HasSubstr("another process has it open"));
  }

  /// While no process has the file: it must be whole, and have every acknowledged write.
  void check_file() {
    const std::string doctor = rondo_ + " --store " + url() + " doctor > " + file("doctor") + " 2>&1";
    const std::string exported = rondo_ + " --store " + url() + " export > " + file("export");
    EXPECT_EQ(std::system(doctor.c_str()), 0) << std::ifstream(file("doctor")).rdbuf();
    ASSERT_EQ(std::system(exported.c_str()), 0);
    std::ostringstream text;
    text << std::ifstream(file("export")).rdbuf();
    rows_ = parse_export(text.str());
    RowsByName found = rows_;
    for (Account& account : accounts_) under_way_ += account.check_and_settle(found);
    for (const auto& [name, fields] : found) ADD_FAILURE() << "nobody wrote " << name.table << ":" << name.key;
  }

  json::object stats() {
    const auto answer = client->call("stats", {});
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string() << log_text();
    return answer ? *answer : json::object{};
  }
  bool has_settled() {
    const json::object all = stats();
    if (HasFailure()) return true;  // The test has failed already.
    const auto idle = [](const json::value& consumer) {
      return consumer.at("queued").to_number<int>() == 0 && consumer.at("in_flight").to_number<int>() == 0;
    };
    return all.at("agent").at("restarted").as_bool() && all.at("dataplane").at("in_flight").to_number<int>() == 0 &&
           std::ranges::all_of(all.at("consumers").as_array(), idle);
  }

  /// After a restart: the daemon has the rows of the file, and the kernel comes to match them.
  void check_daemon_and_kernel() {
    EXPECT_TRUE(becomes([this] { return has_settled(); })) << json::serialize(stats()) << log_text();
    RowsByName served;
    for (const char* const table : {"PORT_TABLE", "INTF_TABLE", "NEIGH_TABLE", "NEXTHOP_GROUP_TABLE", "ROUTE_TABLE"}) {
      const auto keys = client->call("keys", {{"table", table}});
      ASSERT_TRUE(keys.has_value()) << keys.error().to_string();
      for (const json::value& row : keys->at("rows").as_array()) {
        const auto answer = client->call("get", {{"table", table}, {"key", row.at("key")}});
        ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
        RowFields& fields = served[{table, std::string{row.at("key").as_string()}}];
        for (const json::value& field : answer->at("fields").as_array()) {
          fields[std::string{field.at(0).as_string()}] = std::string{field.at(1).as_string()};
        }
      }
    }
    EXPECT_TRUE(served == rows_) << served.size() << " rows are served, the file had " << rows_.size();
    switch_agent::Lines wrong;
    EXPECT_TRUE(becomes([&] {
      wrong = switch_agent::difference(kernel(), desired().expected(plane_->links().value()));
      return wrong.empty();
    })) << wrong.size()
        << " lines, the first: " << wrong.front() << log_text();
    const json::object all = stats();
    EXPECT_EQ(all.at("store").at("files").at(0).at("damage_parts").to_number<int>(), 0);
    EXPECT_GE(all.at("store").at("files").at(0).at("restored").to_number<std::size_t>(), rows_.size()) << "undone Deletes count, too";
    EXPECT_EQ(all.at("dataplane").at("failed").to_number<int>(), 0) << log_text();
    const auto health = client->call("health", {});
    EXPECT_TRUE(health && health->at("healthy").as_bool()) << (health ? json::serialize(*health) : health.error().to_string());
  }
  switch_agent::Lines kernel() {
    switch_agent::Lines lines = switch_agent::lines_of(*plane_);
    std::erase_if(lines, [](const std::string& line) {
      return line.starts_with("address lo ") || line.starts_with("address line") || line.find(" fe80:") != std::string::npos;
    });
    return lines;
  }
  /// The desired state according to 'rows_'.
  switch_agent::DesiredState desired() const {
    switch_agent::DesiredState desired;
    for (const auto& [name, fields] : rows_) {
      const std::size_t colon = name.key.find(':');
      if (name.table == "INTF_TABLE" && colon != std::string::npos) {
        desired.addresses.insert({name.key.substr(0, colon), name.key.substr(colon + 1)});
      } else if (name.table == "NEIGH_TABLE") {
        desired.neighbors[{name.key.substr(0, colon), name.key.substr(colon + 1)}] = fields.at("neigh");
      } else if (name.table == "NEXTHOP_GROUP_TABLE") {
        std::istringstream ports(fields.at("ifname"));
        std::istringstream gateways(fields.at("nexthop"));
        switch_agent::DesiredState::Hops& hops = desired.groups[name.key];
        for (switch_agent::DesiredState::Hop hop; std::getline(ports, hop.port, ',') && std::getline(gateways, hop.gateway, ',');)
          hops.insert(hop);
      } else if (name.table == "ROUTE_TABLE") {
        desired.routes[name.key] = {fields.at("nexthop_group"), {}};
      }
    }
    return desired;
  }

  std::string rondo_;
  std::unique_ptr<DataPlane> plane_;
  std::array<Account, kWriters> accounts_;
  RowsByName rows_;            // The content of the file when it was last read.
  std::size_t under_way_ = 0;  // Writes under way at a kill, summed over all kills.
};

TEST_F(DurableRondodOnLinux, KilledUnderLoadItLosesNothingAndTheKernelFollows) {
  const char* const wanted = std::getenv("RONDO_SYSTEM_KILLS");
  const int kills = wanted == nullptr ? 8 : std::atoi(wanted);
  Random random{1};
  SCOPED_TRACE(random.describe());
  start();
  write_base();
  for (int kill = 0; kill < kills && !HasFailure(); ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    load_and_kill(random);
    check_file();
    start();
    // Sometimes the next load and its kill begin before the restart has ended.
    if (HasFatalFailure() || (kill + 1 < kills && random.chance(0.5))) continue;
    check_daemon_and_kernel();
  }
  ASSERT_FALSE(HasFailure());
  EXPECT_GT(under_way_, 0U) << "no kill ever met a write: the test does not see what it is for";
  const switch_agent::Lines before = kernel();
  for (int kill = 0; kill < 2; ++kill) {
    SCOPED_TRACE("killed while nothing changes");
    kill_daemon();
    check_file();
    start();
    check_daemon_and_kernel();
    const json::object all = stats();
    const json::object& agent = all.at("agent").as_object();
    EXPECT_EQ(agent.at("restart_changed").to_number<int>(), 0) << "needless orders: " << json::serialize(agent);
    EXPECT_GE(agent.at("restart_kept").to_number<std::size_t>(), agent.at("restart_found").to_number<std::size_t>());
    EXPECT_GT(agent.at("routes").to_number<int>(), 0);
    EXPECT_EQ(kernel(), before);
  }
}

}  // namespace
}  // namespace rondo
