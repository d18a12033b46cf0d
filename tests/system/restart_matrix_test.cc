// The restart matrix: every object kind x store x journal x end of the daemon, on the real kernel with real processes. A cell is a store,
// the journal on or off, and an end; all object kinds of restart_objects.h are tested together. After the start the kernel equals the
// rows, and it has reported no event of a correct object. The daemon exited with 0, another restart changes nothing, and the journal can
// be replayed. Skipped, with a message, where a namespace is not permitted, on a Redis without redis-tools, and on a store that rondod was
// built without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernel_events.h"
#include "restart_expected.h"
#include "restart_objects.h"
#include "restart_stores.h"
#include "rondo/dataplane/dataplane.h"
#include "rondod_on_linux.h"
#include "switch_agent/tables.h"

namespace rondo::restart {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// What happens to the daemon, and to the rows while it is down.
enum class End {
  Terminated,
  Killed,
  StoreEmptied,
  RowsChanged,
  RowsDeleted,
  PortTakenDown,
  KernelChanged,
  DevicesChanged,
  BondsChanged,
  RestartKilled
};

std::string name_of(StoreKind kind) {
  switch (kind) {
    case StoreKind::Embedded: return "Embedded";
    case StoreKind::File: return "File";
    case StoreKind::Redis: return "Redis";
  }
  return "";
}
std::string name_of(End end) {
  switch (end) {
    case End::Terminated: return "Terminated";
    case End::Killed: return "Killed";
    case End::StoreEmptied: return "StoreEmptied";
    case End::RowsChanged: return "RowsChanged";
    case End::RowsDeleted: return "RowsDeleted";
    case End::PortTakenDown: return "PortTakenDown";
    case End::KernelChanged: return "KernelChanged";
    case End::DevicesChanged: return "DevicesChanged";
    case End::BondsChanged: return "BondsChanged";
    case End::RestartKilled: return "RestartKilled";
  }
  return "";
}
constexpr std::array kStores{StoreKind::Embedded, StoreKind::File, StoreKind::Redis};
constexpr std::array kEnds{End::Terminated,    End::Killed,        End::StoreEmptied,   End::RowsChanged,  End::RowsDeleted,
                           End::PortTakenDown, End::KernelChanged, End::DevicesChanged, End::BondsChanged, End::RestartKilled};

/// The default of [dataplane] metric.
constexpr std::uint32_t kMetric = 201;
/// After a restart of the embedded store, the rows must be written within this time.
constexpr int kHoldSeconds = 1;

/// Where the end does not determine the signal, half of the cells of an end are terminated and half killed.
int signal_of(const std::tuple<StoreKind, bool, End>& cell) {
  const auto& [store, journal, end] = cell;
  if (end == End::Terminated) return SIGTERM;
  return end == End::Killed || (static_cast<int>(store) + static_cast<int>(journal)) % 2 == 0 ? SIGKILL : SIGTERM;
}

/// A port that goes down invalidates everything that a restart has read (reconciler.h), so what takes one down is in ends of its own. A
/// port is down when it enters a bond, and the 802.1Q device of a member that becomes untagged is a port that goes.
bool change_takes_a_port_down(Object object) {
  return object == Object::PortState || object == Object::TaggedMember || object == Object::LagMember;
}

Rows rows_after(End end) {
  if (end == End::StoreEmptied) return {};
  Rows rows = all_rows();
  for (const Kind& kind : kKinds) {
    const bool is_changed =
        change_takes_a_port_down(kind.object) ? end == End::PortTakenDown : end == End::RowsChanged || end == End::RestartKilled;
    if (is_changed) write_rows(kind.change, kind.port, rows);
    if (end == End::RowsDeleted) write_rows(kind.deletions, kind.port, rows);
  }
  return rows;
}

/// One write of a row; no fields: a Delete.
struct RowWrite {
  std::pair<std::string, std::string> name;
  RowFields fields;
  bool is_delete = false;
};
std::vector<RowWrite> writes_between(const Rows& before, const Rows& after) {
  std::vector<RowWrite> writes;
  for (const auto& [name, fields] : before) {
    if (!after.contains(name)) writes.push_back({name, {}, true});
  }
  for (const auto& [name, fields] : after) {
    const auto old = before.find(name);
    if (old == before.end() || old->second != fields) writes.push_back({name, fields, false});
  }
  return writes;
}

class RestartMatrixOnLinux : public SystemRondod, public ::testing::WithParamInterface<std::tuple<StoreKind, bool, End>> {
 protected:
  RestartMatrixOnLinux() : SystemRondod(0) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!lab) skip("this is about the real kernel");
    if (std::get<StoreKind>(GetParam()) == StoreKind::Redis && redis_kit::server_program().empty())
      skip("no redis-server; install redis-tools");
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(find_what_is_missing());
    if (std::get<End>(GetParam()) == End::BondsChanged && !has(Object::Lag)) skip("this kernel has no bonds");
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(make_ports());
    store_ = std::make_unique<TestStore>(std::get<StoreKind>(GetParam()), directory);
    auto opened = make_linux_dataplane({.network_namespace = lab->path(), .metric = kMetric});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    plane_ = std::move(*opened);
    configure_for_the_kernel();
    const std::string check = program_ + " --config " + file("rondod.toml") + " --check-config 2>&1 | grep -q 'was built without'";
    if (std::system(check.c_str()) == 0) skip("rondod was built without this store");
  }
  static void skip(const char* why) {
    std::cerr << "SKIPPED: " << why << '\n';
    GTEST_SKIP() << why;
  }
  /// Without duplicate address detection, whose end the kernel reports seconds later as an event of the address.
  void make_ports() const {
    const auto where = netlink::NetworkNamespace::open(lab->path());
    ASSERT_TRUE(where.has_value()) << where.error().to_string();
    for (const char* const all : {"all", "default"}) {
      const std::string file = std::string{"/proc/sys/net/ipv6/conf/"} + all + "/accept_dad";
      const Status written = where->inside([&file] { return netlink::write_sysctl(file, "0"); });
      ASSERT_TRUE(written.ok()) << written.to_string();
    }
    for (const int port : ports()) ASSERT_TRUE(lab->add_port(port));
  }
  std::vector<int> ports() const {
    std::vector<int> all(kPorts);
    std::ranges::generate(all, [next = 0]() mutable { return ++next; });
    all.insert(all.end(), kVlanPorts.begin(), kVlanPorts.end());
    if (has(Object::TaggedMember)) all.insert(all.end(), kTaggedPorts.begin(), kTaggedPorts.end());
    if (has(Object::Lag)) all.insert(all.end(), kLagPorts.begin(), kLagPorts.end());
    return all;
  }
  /// Tries to make the devices that not every kernel has. With their rows, an emptied store would leave more objects to delete than
  /// safety_stop.h allows (100), so that end never has them.
  void find_what_is_missing() {
    struct Module {
      const char* device;
      const char* name;
      std::vector<Object> objects;
    };
    const std::array modules{Module{"tried type vrf table 999", "VRF devices (CONFIG_NET_VRF)", {Object::Vrf}},
                             Module{"tried link swp1 type vlan id 7", "802.1Q devices (CONFIG_VLAN_8021Q)", {Object::TaggedMember}},
                             Module{"tried type bond", "bonds (CONFIG_BONDING)", {Object::Lag, Object::LagMember}}};
    ASSERT_TRUE(lab->add_port(1));
    for (const Module& module : modules) {
      const bool is_there = lab->ip(std::string{"link add "} + module.device) && lab->ip("link del tried");
      if (!is_there) std::cerr << "SKIPPED: some rows, because this kernel has no " << module.name << '\n';
      if (!is_there || std::get<End>(GetParam()) == End::StoreEmptied) missing_.insert(module.objects.begin(), module.objects.end());
    }
    ASSERT_TRUE(lab->remove_port(1));
  }
  bool has(Object object) const { return !missing_.contains(object); }
  /// True if the restart orders everything anew.
  static bool reads_in_vain(End end) { return end == End::PortTakenDown || end == End::BondsChanged; }
  std::string sections() const {
    std::string text = "[store]\nurl = \"" + store_->url() + "\"\n";
    if (std::get<bool>(GetParam())) text += "[journal]\nfile = \"" + file("day.journal") + "\"\n";
    return text;
  }
  void configure_for_the_kernel() const {
    configure("rondod.toml", "socket", sections());
    // The end of a detection would be an event of the kernel.
    std::ofstream(file("rondod.toml"), std::ios::app) << "detect_duplicates = false\n";
    if (!store_->keeps()) std::ofstream(file("rondod.toml"), std::ios::app) << "hold_s = " << kHoldSeconds << "\n";
  }
  /// Uses another data plane, so that the kernel is not programmed.
  void configure_for_no_kernel() const {
    std::ofstream config(file("rondod.toml"));
    config << "[admin]\nsocket = \"" << socket() << "\"\n" << sections() << "[dataplane]\nkind = \"simulated\"\nsimulated_ports = [";
    for (const int port : ports()) config << (port == 1 ? "" : ", ") << "\"swp" << port << '"';
    config << "]\n";
  }

  void write(const RowWrite& row) {
    json::object arguments{{"table", row.name.first}, {"key", row.name.second}};
    if (!row.is_delete) {
      json::array fields;
      for (const auto& [name, value] : row.fields) {
        json::array field;
        field.emplace_back(name);
        field.emplace_back(value);
        fields.push_back(std::move(field));
      }
      arguments["fields"] = std::move(fields);
    }
    const auto answer = client->call(row.is_delete ? "del" : "set", arguments);
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string() << log_text();
  }
  /// Writes dependent rows first, which is the worst order.
  void load(const Rows& rows) {
    std::vector<RowWrite> writes = writes_between({}, rows);
    std::ranges::reverse(writes);
    for (const RowWrite& row : writes) write(row);
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
  /// Waits until the daemon has handled everything and the kernel equals 'rows'.
  void expect_the_kernel_equals(const Rows& rows) {
    EXPECT_TRUE(becomes([this] { return has_settled(); })) << json::serialize(stats()) << log_text();
    Lines wrong;
    EXPECT_TRUE(becomes([&] {
      wrong = switch_agent::difference(kernel_lines(*plane_), Expected(rows, plane_->links().value()).lines());
      return wrong.empty() && has_settled();
    })) << testing::PrintToString(wrong)
        << json::serialize(client->call("parked", {}).value_or(json::object{})) << '\n'
        << log_text();
  }

  void end_daemon(int signal) {
    client.reset();
    ASSERT_EQ(::kill(pid, signal), 0);
    const int status = wait();
    if (signal == SIGKILL)
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself\n" << log_text();
    else
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status << '\n' << log_text();
  }
  /// Writes while the daemon is away from this kernel.
  void write_meanwhile(const Rows& before, const Rows& after) {
    const std::vector<RowWrite> writes = writes_between(before, after);
    if (!store_->keeps() || writes.empty()) return;
    if (store_->kind() == StoreKind::Redis) return write_as_another_producer(writes);
    configure_for_no_kernel();
    ASSERT_NO_FATAL_FAILURE(start());
    for (const RowWrite& row : writes) write(row);
    EXPECT_TRUE(becomes([this] { return has_settled(); })) << log_text();
    end_daemon(SIGTERM);
    configure_for_the_kernel();
  }
  void write_as_another_producer(const std::vector<RowWrite>& writes) const {
    json::array entries;
    for (const RowWrite& row : writes) {
      json::object fields;
      for (const auto& [name, value] : row.fields) fields[name] = value;
      entries.push_back(json::object{{row.name.first + ":" + row.name.second, std::move(fields)}, {"OP", row.is_delete ? "DEL" : "SET"}});
    }
    std::ofstream(file("rows.json")) << json::serialize(entries);
    const std::string command = rondo() + " --store " + store_->url() + " load " + file("rows.json") + " > " + file("load") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << std::ifstream(file("load")).rdbuf();
  }

  /// Changes by other programs while the daemon is down. Without a default, so that a new object kind must define its change.
  void change_in_kernel(const Kind& kind) {
    const std::string port = "swp" + std::to_string(kind.port);
    switch (kind.object) {
      case Object::Port: EXPECT_TRUE(lab->ip("link set " + port + " mtu 7000")); return;
      case Object::PortState: EXPECT_TRUE(lab->ip("link set " + port + " down")); return;
      // Too small for IPv6: the kernel drops its addresses.
      case Object::Interface: EXPECT_TRUE(lab->ip("link set " + port + " mtu 1200")); return;
      case Object::Address: return delete_in_kernel("address " + port + " ");
      case Object::Neighbor: return delete_in_kernel("neighbor " + port + " ");
      case Object::Nexthop: return delete_in_kernel("nexthop " + port + " ");
      case Object::Group: return delete_in_kernel("group {" + port + " ");
      case Object::RouteByGroup:
      case Object::RouteByHop:
      case Object::RouteByHops:
      case Object::RouteToNowhere:
        for (const std::string_view text : kind.deletions)
          delete_in_kernel("route " + with_port(text.substr(text.find('|') + 1), kind.port));
        return;
      case Object::Vrf: EXPECT_TRUE(lab->ip("link del Vrf" + std::to_string(kind.port))); return;
      case Object::Vlan: EXPECT_TRUE(lab->ip("link del Vlan" + std::to_string(kind.port))); return;
      case Object::StaticEntry:  // One goes, one moves, and one is new.
        EXPECT_TRUE(lab->bridge(with_port("fdb del 02:00:00:00:00:aa dev swp2# master", kind.port)));
        EXPECT_TRUE(lab->bridge(with_port("fdb replace 02:00:00:00:00:bb dev swp2# master static", kind.port)));
        EXPECT_TRUE(lab->bridge(with_port("fdb add 02:00:00:00:00:cc dev swp3# master static", kind.port)));
        return;
      case Object::TaggedMember:  // The first one has a static entry, which goes when it leaves the bridge.
        EXPECT_TRUE(lab->ip(with_port("link set swp#.# nomaster", kind.port)));
        EXPECT_TRUE(lab->ip(with_port("link del swp1#.#", kind.port)));
        return;
      case Object::Lag: EXPECT_TRUE(lab->ip(with_port("link set PortChannel# mtu 1400", kind.port))); return;
      case Object::LagMember: return;  // See change_bonds().
    }
  }
  /// Deletes all objects whose line begins with 'line'.
  void delete_in_kernel(const std::string& line) {
    std::vector<Operation> orders;
    for (const auto& [text, order] : deletes_by_line(*plane_)) {
      if (text.starts_with(line)) orders.push_back({order_of(order), {}});
    }
    EXPECT_FALSE(orders.empty()) << line;
    plane_->apply(orders);
    for (const Operation& operation : orders) EXPECT_TRUE(operation.status.ok()) << line << ": " << operation.status.to_string();
  }
  /// Removes one device and creates it again, and renames another.
  void change_devices() const {
    EXPECT_TRUE(lab->remove_port(3));
    EXPECT_TRUE(lab->add_port(3));
    EXPECT_TRUE(lab->ip("link set swp6 down"));
    EXPECT_TRUE(lab->ip("link set swp6 name old6"));
  }

  /// A port leaves its bond, whose carrier goes, and another bond is deleted with a port in it.
  void change_bonds() const {
    EXPECT_TRUE(lab->ip(with_port("link set swp1# nomaster", kLagPort)));
    EXPECT_TRUE(lab->ip(with_port("link set PortChannel# type bond min_links 3", kLagPort)));
    EXPECT_TRUE(lab->ip(with_port("link del PortChannel1#", kLagPort)));
  }

  /// The kernel reports up to a second later that a line is up, for the device and for its IPv6 addresses, for a VLAN and for a LAG.
  void expect_lines_are_up() {
    EXPECT_TRUE(becomes(
        [this] { return !lab->ip("-o link show up | grep -E 'swp|Vlan9:|Vlan22:|Vlan12:|PortChannel11:' | grep -qv 'state UP'"); }));
  }
  /// Without the late report of a bridge that has no ports: it never has the state UP, so nothing shows whether its report has come.
  /// 'restart_changed' counts our own orders.
  static Lines told_by(KernelEvents& events) {
    Lines told = events.take();
    std::erase(told, "link Vlan19 up mtu 1500");
    return told;
  }

  void expect_nothing_happens_at_another_restart(const Rows& rows, KernelEvents& events) {
    if (std::get<End>(GetParam()) != End::PortTakenDown) expect_lines_are_up();
    end_daemon(SIGKILL);
    events.take();
    ASSERT_NO_FATAL_FAILURE(start());
    expect_the_kernel_equals(rows);
    if (std::get<End>(GetParam()) == End::PortTakenDown) return;  // The kernel has no IPv6 addresses there.
    EXPECT_THAT(told_by(events), testing::IsEmpty()) << log_text();
    EXPECT_EQ(stats().at("agent").at("restart_changed").to_number<int>(), 0);
  }
  void expect_the_journal_can_be_replayed() const {
    const std::string command = rondo() + " replay " + file("day.journal") + " > " + file("replay") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << std::ifstream(file("replay")).rdbuf();
  }
  std::string rondo() const { return (fs::path(program_).parent_path().parent_path() / "rondo" / "rondo").string(); }

  /// Without the rows of objects that this kernel does not have.
  Rows possible(Rows rows) const {
    for (const Kind& kind : kKinds) {
      if (!has(kind.object)) drop_rows_of(kind, rows);
    }
    return rows;
  }

  std::set<Object> missing_;
  std::unique_ptr<TestStore> store_;
  std::unique_ptr<DataPlane> plane_;
};

TEST_P(RestartMatrixOnLinux, TheKernelEqualsTheRowsAndWhatWasRightIsNotTouched) {
  const End end = std::get<End>(GetParam());
  const Rows rows = possible(all_rows());
  const Rows after = possible(rows_after(end));
  ASSERT_NO_FATAL_FAILURE(start());
  load(rows);
  expect_the_kernel_equals(rows);
  expect_lines_are_up();
  ASSERT_FALSE(HasFailure());

  end_daemon(signal_of(GetParam()));
  if (end == End::StoreEmptied) store_->lose_all();
  for (const Kind& kind : kKinds) {
    if (end == End::KernelChanged && has(kind.object)) change_in_kernel(kind);
  }
  if (end == End::BondsChanged) change_bonds();
  if (end == End::DevicesChanged) change_devices();
  if (end != End::StoreEmptied) write_meanwhile(rows, after);
  ASSERT_FALSE(HasFatalFailure());

  KernelEvents events(lab->path(), *plane_);
  const Lines before = kernel_lines(*plane_);
  for (int kills = end == End::RestartKilled ? 2 : 0; kills > 0; --kills) {
    ASSERT_NO_FATAL_FAILURE(start());
    if (!store_->keeps()) load(after);
    end_daemon(SIGKILL);
  }
  const SystemClock clock;
  const Instant started = clock.now();
  ASSERT_NO_FATAL_FAILURE(start());
  if (!store_->keeps()) load(after);
  // If the machine is too slow for the hold, the events are not checked.
  const bool in_time = store_->keeps() || clock.now() - started < Duration{1s} * kHoldSeconds;
  expect_the_kernel_equals(after);
  const Lines held = kernel_lines(*plane_);
  if (end == End::StoreEmptied) {
    EXPECT_LT(stats().at("agent").at("restart_found").to_number<int>(), 100) << "a restart holds where it would delete so many objects";
  }
  if (in_time && !reads_in_vain(end)) {
    const Lines told = told_by(events);
    EXPECT_THAT(needless(told, before, held), testing::IsEmpty()) << log_text();
    if (end == End::Terminated || end == End::Killed) {
      EXPECT_EQ(stats().at("agent").at("restart_changed").to_number<int>(), 0);
    }
  }
  if (store_->keeps()) expect_nothing_happens_at_another_restart(after, events);
  end_daemon(SIGTERM);
  EXPECT_EQ(kernel_lines(*plane_), held);
  if (std::get<bool>(GetParam())) expect_the_journal_can_be_replayed();
}

INSTANTIATE_TEST_SUITE_P(Every, RestartMatrixOnLinux,
                         ::testing::Combine(::testing::ValuesIn(kStores), ::testing::Bool(), ::testing::ValuesIn(kEnds)),
                         [](const auto& cell) {
                           return name_of(std::get<StoreKind>(cell.param)) + (std::get<bool>(cell.param) ? "Journal" : "NoJournal") +
                                  name_of(std::get<End>(cell.param));
                         });

std::set<std::string> texts_of(const Kind& kind) {
  std::set<std::string> texts;
  for (const RowTexts part : {RowTexts{kChain}, RowTexts{kChainV6}, kind.rows, kind.change, kind.deletions}) {
    texts.insert(part.begin(), part.end());
  }
  return texts;
}

TEST(RestartMatrix, HasARowOfEachDeclaredTableAndField) {
  // vrf_name takes a port down and up, which disturbs the other objects on it. tests/scenarios/vrf_test.cc tests it.
  const std::set<std::string> unused{"vrf_name"};
  for (const switch_agent::TableReference& table : switch_agent::tables()) {
    for (const switch_agent::FieldReference* const field : table.fields) {
      if (unused.contains(std::string{field->name})) continue;
      const bool is_used = std::ranges::any_of(kKinds, [&](const Kind& kind) {
        const auto texts = texts_of(kind);
        return std::ranges::any_of(texts, [&](const std::string& text) {
          return text.starts_with(std::string{table.name} + "|") && text.find(std::string{field->name} + "=") != std::string::npos;
        });
      });
      EXPECT_TRUE(is_used) << table.name << " has the field " << field->name << ", and no object kind of restart_objects.h";
    }
  }
}

TEST(RestartMatrix, ChangesAndDeletesARowOfEachDeclaredTable) {
  for (const switch_agent::TableReference& table : switch_agent::tables()) {
    for (const auto part : {&Kind::change, &Kind::deletions}) {
      EXPECT_TRUE(std::ranges::any_of(kKinds, [&](const Kind& kind) {
        return std::ranges::any_of(kind.*part, [&](std::string_view text) { return text.find(std::string{table.name} + "|") <= 1; });
      })) << table.name;
    }
  }
}

TEST(RestartMatrix, KnowsEachStoreOfTheTree) {
  const fs::path stores = "src/store";
  if (!fs::exists(stores)) GTEST_SKIP() << "SKIPPED: not in the folder of the source";
  for (const auto& entry : fs::directory_iterator(stores)) {
    if (!entry.is_directory()) continue;
    EXPECT_TRUE(std::ranges::any_of(kStoreFolders, [&](const StoreFolder& known) { return entry.path().filename() == known.folder; }))
        << entry.path() << " is a store that restart_stores.h does not have";
  }
  for (const StoreFolder& known : kStoreFolders) {
    EXPECT_NE(known.store.empty(), known.why_not.empty()) << known.folder;
    const bool is_tested = std::ranges::any_of(kStores, [&](StoreKind kind) { return name_of(kind) == known.store; });
    EXPECT_NE(is_tested, known.store.empty()) << known.folder;
  }
}

}  // namespace
}  // namespace rondo::restart
