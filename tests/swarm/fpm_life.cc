#include "fpm_life.h"
#include "orch/parked.h"
#include "orch/row_tap.h"
#include "sim/world_reactor.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "dataplane/netlink/message.h"
#include "fpm/server.h"
#include "rondo/base/assert.h"
#include "rondo/sched/timer.h"
#include "switch_agent/agent.h"
#include "switch_agent/refusals.h"

namespace rondo::swarm {

using switch_agent::DesiredState;

namespace {

constexpr Duration kQuiet = 400ms;
constexpr Duration kSilence = 3s;
constexpr const char* kRoutes = "ROUTE_TABLE";
constexpr const char* kGroups = "NEXTHOP_GROUP_TABLE";
constexpr std::string_view kHeld = "routes that zebra did not send again";

std::string port_name(std::uint64_t port) { return "Eth" + std::to_string(port); }
std::string gateway_of(std::uint64_t port, std::uint64_t host, bool v6) {
  const std::string number = std::to_string(port + 1);
  return v6 ? "2001:db8:" + number + "::1" + std::to_string(host) : "10." + number + ".0.1" + std::to_string(host);
}

/// The key of zebra's route; empty if its table has no VRF.
std::string row_key(const Zebra::Key& key, bool has_vrf) {
  if (key.first == Zebra::kMain) return key.second;
  return key.first == Zebra::kVrf && has_vrf ? "Vrf1:" + key.second : std::string{};
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

}  // namespace

/// What rondod has besides its tables: the agent and the server, joined as FpmFeed joins them.
struct FpmLife::Process {
  Process(Runtime& of, SimDataPlane& plane, switch_agent::SafetyOptions safety, std::size_t routes, Broken how)
      : runtime(of),
        broken(how),
        routes_max(routes),
        wait_until(of.clock().now() + kSilence),
        agent(of, plane, agent_options(safety)),
        timer("fpm adoption", Priority{8}, [this] { adopt(); }) {}
  ~Process() { agent.on_route_answers({}); }

  switch_agent::SwitchAgentOptions agent_options(switch_agent::SafetyOptions safety) {
    return {.in_line = true,
            .rows_have_come = [this] { return server != nullptr && (server->has_resynced() || runtime.clock().now() >= wait_until); },
            .safety = safety,
            .on_link =
                [this](const LinkEvent& event) {
                  if (server != nullptr && agent.port_ids().name(event.port) != event.name) server->devices_changed();
                }};
  }
  fpm::ServerOptions server_options() {
    fpm::ServerOptions options;
    options.address.clear();
    options.quiet = kQuiet;
    options.silence = kSilence;
    options.compare = broken == Broken::NeverLooksAtRows ? 0s : 1s;
    options.book.routes_max = routes_max;
    options.book.vrf_name = [this](std::uint32_t table) { return agent.vrf_of_table(table); };
    options.book.device_name = [this](std::uint32_t device) {
      const std::string name{agent.port_ids().name(IfIndex{device})};
      return broken == Broken::TakesOneDeviceForAnother && name == port_name(2) ? port_name(1) : name;
    };
    options.may_delete = [this](std::uint64_t stale, std::uint64_t total) {
      return broken != Broken::NeverSweeps && agent.safety().allows(kHeld, stale, total);
    };
    options.under_way = [this] {
      const auto size = runtime.store().size(kRoutes);
      return (size ? size->staged : 0) + agent.programmer().in_flight();
    };
    options.is_programmed = [this](std::string_view vrf, const Prefix& prefix, std::string_view group, bool blackhole,
                                   const IpAddress& source) {
      return broken != Broken::AnswersNothing && agent.routes().is_programmed(vrf, prefix, group, blackhole, source);
    };
    options.vrf_id = [this](std::string_view vrf) { return agent.port_ids().find(vrf).value(); };
    options.none_stale = [this] { agent.safety().forget(kHeld); };
    return options;
  }
  void start() {
    RONDO_ASSERT(agent.start().ok());
    server = std::move(fpm::Server::open(runtime.scheduler(), runtime.store(), server_options()).value());
    agent.on_route_answers([this] { server->routes_answered(); });
    runtime.scheduler().add(timer);
    if (broken != Broken::NeverLooksAtRows) {
      taps.push_back(std::move(runtime.tap_taken(kRoutes, [this](const Change& change) { server->route_taken(change); }).value()));
      taps.push_back(std::move(runtime.tap_taken(kGroups, [this](const Change& change) { server->group_taken(change); }).value()));
    }
    adopt();
  }
  void adopt() {
    server->adopt([this](const Status& status) {
      accepts = status.ok();
      if (!accepts) timer.arm_at(runtime.scheduler().now() + 20ms);
    });
  }

  Runtime& runtime;
  const Broken broken;
  const std::size_t routes_max;
  const Instant wait_until;
  switch_agent::SwitchAgent agent;
  std::unique_ptr<fpm::Server> server;
  std::vector<std::unique_ptr<RowTap>> taps;
  TimerSource timer;
  bool accepts = false;
};

/// The user's rows are never deleted, and name no group of FPM.
class FpmLife::UserRows final : public sim::Checker {
 public:
  explicit UserRows(const DesiredState& user) : user_(user) {}
  std::string_view name() const noexcept override { return "rows of a user"; }
  Status see(const sim::World&, const sim::Event& event) override {
    if (event.kind != sim::Event::Kind::Written || (event.table != kRoutes && event.table != kGroups)) return {};
    const std::string key{event.change->key()};
    if (!(event.table == kRoutes ? user_.routes.contains(key) : user_.groups.contains(key))) return {};
    if (event.change->op() == ChangeOp::Delete) return {StatusCode::Internal, key + " was deleted"};
    if (event.change->fields().find("nexthop_group").value_or("").starts_with("fpm:"))
      return {StatusCode::Internal, key + " was overwritten"};
    return {};
  }

 private:
  const DesiredState& user_;
};

// --- the world

sim::WorldOptions FpmLife::drawn_world(Random& random, std::uint64_t seed) {
  sim::WorldOptions options;
  options.seed = seed;
  options.store = static_cast<sim::StoreKind>(random.below(3));
  if (random.chance(0.7)) options.faults = sim::FaultPlan::drawn(random);
  options.policy = drawn_policy(random);
  options.deletes_before_rewriting = false;
  options.rest = switch_agent::kSlowestRefusedRetry + 1s;
  return options;
}

FpmLife::FpmLife(std::uint64_t seed, Broken broken) : random_(seed * 15'485'863 + 3), broken_(broken) {
  sim::WorldOptions options = drawn_world(random_, seed);
  faults_ = options.faults;
  world_ = std::make_unique<sim::World>(std::move(options));
  begin_box();
  const bool is_careful = random_.chance(0.5);
  Random room(seed * 6'700'417 + 5);
  routes_max_ = room.chance(0.2) ? room.between(4, 30) : limits::kFpmRoutes;
  const switch_agent::SafetyOptions safety{.share = is_careful ? 0.3 : 1.0, .least = 3, .wait = {}};
  world_->add(std::make_unique<UserRows>(user_));
  world_->check_at_rest("fpm", [this] { return check(); });
  world_->start([this, safety](Runtime& runtime) {
    session_.reset();
    runtime.on_reject([this](std::string_view table, const Change& change, const Status& why) {
      rejects_.push_back(std::string{table} + ":" + std::string{change.key()} + ": " + why.to_string());
    });
    auto process = std::make_shared<Process>(runtime, world_->plane(), safety, routes_max_, broken_);
    process->start();
    process_ = process;
    return process;
  });
  set_user_rows();
}

FpmLife::~FpmLife() = default;

void FpmLife::begin_box() {
  std::array<std::uint32_t, Zebra::kPorts> devices{};
  for (std::uint64_t port = 0; port < Zebra::kPorts; ++port) devices[port] = world_->plane().add_port(port_name(port)).value();
  zebra_ = std::make_unique<Zebra>(random_.split(), devices);
}

void FpmLife::set_user_rows() {
  for (std::uint64_t port = 0; port < Zebra::kPorts; ++port) {
    const std::string name = port_name(port);
    world_->set("PORT_TABLE", name, {{"admin_status", "up"}, {"mtu", "9100"}});
    world_->set("INTF_TABLE", name, {{"NULL", "NULL"}});
    for (const bool v6 : {false, true}) {
      const std::string number = std::to_string(port + 1);
      const std::string prefix = v6 ? "2001:db8:" + number + "::1/64" : "10." + number + ".0.1/24";
      world_->set("INTF_TABLE", name + ":" + prefix, {{"scope", "global"}});
      user_.addresses.insert({name, prefix});
      for (std::uint64_t host = 0; host < Zebra::kHosts; ++host) {
        const std::string gateway = gateway_of(port, host, v6);
        world_->set("NEIGH_TABLE", name + ":" + gateway, {{"neigh", "02:00:00:00:00:01"}, {"family", v6 ? "IPv6" : "IPv4"}});
        user_.neighbors[{name, gateway}] = "02:00:00:00:00:01";
      }
    }
  }
  const std::string weight = std::to_string(random_.between(1, 2));
  world_->set(kGroups, "user", {{"nexthop", gateway_of(0, 0, false)}, {"ifname", port_name(0)}, {"weight", weight}});
  user_.groups["user"] = {{port_name(0), gateway_of(0, 0, false), std::stoi(weight)}};
  for (int number = 0; number < 3; ++number) {
    const std::string prefix = "172." + std::to_string(16 + number) + ".0.0/16";
    if (number == 0) {
      world_->set(kRoutes, prefix, {{"blackhole", "true"}});
      user_.routes[prefix] = {};
    } else {
      world_->set(kRoutes, prefix, {{"nexthop_group", "user"}});
      user_.routes[prefix] = {.group = "user", .hops = {}};
    }
  }
}

// --- what happens

void FpmLife::act() {
  if (is_calm_) change_user_row();
  if (is_calm_) world_->set_faults(faults_);
  is_calm_ = is_whole_ = false;
  listen();
  for (std::uint64_t i = 0, count = random_.between(1, 4); i < count; ++i) operate();
}

void FpmLife::operate() {
  if (random_.chance(0.1)) meddle_with_rows();
  switch (random_.below(12)) {
    case 0: operate_box(); break;
    case 1:
    case 2: operate_session(); break;
    default: {
      const std::string frames = zebra_->change();
      if (session_) unsent_ += frames;
    }
  }
  if (random_.chance(0.8)) send(random_.chance(0.7) ? unsent_.size() : random_.below(unsent_.size() + 1));
}

void FpmLife::operate_session() {
  switch (random_.below(8)) {
    case 0: disconnect(); break;
    case 1:
      if (session_) unsent_ += zebra_->lie();
      break;
    case 2:
      if (connect()) unsent_ = zebra_->all(random_.chance(0.5), random_.real01());
      break;
    case 3: connect(); break;  // And says nothing.
    case 4:
      if (session_) unsent_ += zebra_->all(random_.chance(0.5), random_.chance(0.5) ? 1 : random_.real01());
      break;
    case 5: zebra_->renumber(); [[fallthrough]];
    default:
      if (connect()) unsent_ = zebra_->all(random_.chance(0.5), 1);
  }
}

void FpmLife::operate_box() {
  const std::string port = port_name(random_.below(Zebra::kPorts));
  switch (random_.below(7)) {
    case 0:
    case 1: world_->plane().set_carrier(port, random_.chance(0.5)); break;
    case 2: world_->plane().fail_nth(static_cast<OrderKind>(random_.below(6)), 1 + random_.below(4), ENOBUFS); break;
    case 3: world_->plane().fail_by_chance(static_cast<OrderKind>(random_.below(6)), random_.chance(0.5) ? 0.3 : 0.0, ENOBUFS); break;
    case 4:
      if (const auto process = process_.lock()) process->agent.safety().confirm();
      break;
    case 5:
      if (random_.chance(0.3)) world_->crash(std::chrono::milliseconds{random_.below(200)});
      break;
    default:
      if (random_.chance(0.7) || std::exchange(has_vrf_, true)) break;
      world_->set("VRF_TABLE", "Vrf1", {{"NULL", "NULL"}});
      user_.has_vrf = true;
  }
}

/// A user changes or deletes what FPM wrote, by mistake.
void FpmLife::meddle_with_rows() {
  const std::vector<Zebra::Key> keys = zebra_->keys();
  if (keys.empty() || process_.expired()) return;
  Store& store = world_->runtime().store();
  const std::string row = row_key(keys[random_.below(keys.size())], has_vrf_);
  if (row.empty() || has_user_row(row)) return;
  if (random_.chance(0.3)) {
    static_cast<void>(store.write(kGroups, Change::remove("fpm:" + gateway_of(random_.below(Zebra::kPorts), 0, random_.chance(0.5)) + "@" +
                                                          port_name(random_.below(Zebra::kPorts)))));
  } else if (random_.chance(0.5)) {
    static_cast<void>(store.write(kRoutes, Change::remove(row)));
  } else {
    static_cast<void>(store.write(kRoutes, Change::set(row, {{"blackhole", "true"}, {"note", "a user's"}})));
  }
}

/// Called while nothing fails, so that it is known whose row comes first.
void FpmLife::change_user_row() {
  if (!user_row_.empty()) {
    if (random_.chance(0.5)) return;
    user_.routes.erase(user_row_);
    world_->remove(kRoutes, std::exchange(user_row_, {}));
  } else if (random_.chance(0.3)) {
    const std::string row = zebra_->free_prefix();
    if (row.empty() || rows_[0].contains(row)) return;
    user_row_ = row;
    user_.routes[row] = {};
    world_->set(kRoutes, row, {{"blackhole", "true"}});
  }
  world_->run_for(1s);
}

/// A user's change of a row that FPM had deleted made a row of the user.
void FpmLife::remove_left_rows() {
  read_rows();
  for (const auto& [row, fields] : rows_[0]) {
    const bool is_fpm = fields.contains("nexthop_group") && fields.at("nexthop_group").starts_with("fpm:");
    if (!is_fpm && !has_user_row(row)) world_->remove(kRoutes, row);
  }
  world_->run_for(1s);
}

// --- zebra's end

/// A session that is open is replaced. False: the process does not accept sessions yet, or the user has not written the row again that an
/// embedded store has lost: whose row comes first is its owner.
bool FpmLife::connect() {
  const auto process = process_.lock();
  if (process == nullptr || !process->accepts) return false;
  if (!user_row_.empty() && process->server->figures().book.other_rows < user_.routes.size()) return false;
  std::array<int, 2> ends{};
  RONDO_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  process->server->connected(UniqueFd{ends[1]}, "zebra");
  session_ = UniqueFd{ends[0]};
  server_end_ = ends[1];
  unsent_.clear();
  reader_.clear();
  told_.clear();
  world_->note("zebra connects");
  return true;
}

/// Somewhere within what it was about to send.
void FpmLife::disconnect() {
  if (!session_) return;
  send(random_.below(unsent_.size() + 1));
  session_.reset();
  sim::reactor_of(*world_).make_ready(server_end_);
  world_->note("zebra breaks off");
}

void FpmLife::send(std::size_t most) {
  if (!session_ || most == 0 || unsent_.empty()) return;
  const ssize_t sent = ::send(session_.get(), unsent_.data(), std::min(most, unsent_.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
  if (sent > 0) sim::reactor_of(*world_).make_ready(server_end_);
}

/// Reads what the server tells of its routes, and whether it has ended the session.
void FpmLife::listen() {
  while (session_) {
    const std::span<std::byte> room = reader_.room();
    const ssize_t length = ::recv(session_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) return session_.reset();
    reader_.add(static_cast<std::size_t>(length));
    for (fpm::Frame frame; reader_.next(frame).value();) {
      netlink::MessageReader messages{frame.content};
      netlink::Message message;
      RONDO_ASSERT(messages.next(message));
      fpm::Decoded decoded;
      fpm::decode(message, fpm::HopWeights::MinusOne, decoded);
      RONDO_ASSERT(decoded.kind == fpm::Decoded::Kind::Route);
      told_.insert({decoded.route.prefix.to_string(), decoded.route.table != 0});
    }
  }
}

// --- the clean session

void FpmLife::calm_down() {
  for (std::uint64_t port = 0; port < Zebra::kPorts; ++port) world_->plane().set_carrier(port_name(port), random_.chance(0.8));
  is_calm_ = true;
  world_->set_faults({});
  for (int kind = 0; kind < 7; ++kind) world_->plane().fail_by_chance(static_cast<OrderKind>(kind), 0.0, 0);
  world_->run_for(1s + switch_agent::kSlowestRefusedRetry);
  remove_left_rows();
  zebra_->repair(routes_max_ / 2);
  settle();
}

void FpmLife::end() {
  for (std::uint64_t port = 0; port < Zebra::kPorts; ++port) world_->plane().set_carrier(port_name(port), true);
  is_whole_ = true;
  world_->set_faults({});
  world_->run_for(30s);
  listen();
  world_->come_to_rest();
}

bool FpmLife::is_settled() const { return unsettled().empty(); }

std::string FpmLife::unsettled() const {
  const auto process = process_.lock();
  if (!session_) return "the server ends the session again and again: " + process->server->figures().last_end;
  if (!unsent_.empty()) return "the server does not read";
  const fpm::ServerFigures figures = process->server->figures();
  if (figures.resync != fpm::Resync::Done) return "the resync is " + std::string{to_string(figures.resync)};
  const fpm::BookFigures& book = figures.book;
  if (figures.refuses || book.to_repeat > 0) return "the store refuses writes";
  if (broken_ != Broken::NeverLooksAtRows && figures.comparisons < comparisons_ + 2) return "the rows were not compared";
  if (book.stale + book.silent + book.unwritten + book.waiting + book.without_room + book.left_out > 0) return "the book waits";
  return process->agent.has_restarted() ? "" : "the agent keeps what an earlier run left";
}

/// One session that sends everything, and perhaps some changes after it; safety stops are confirmed.
void FpmLife::settle() {
  trouble_.clear();
  session_.reset();
  sim::reactor_of(*world_).make_ready(server_end_);
  if (random_.chance(0.5)) zebra_->renumber();
  has_changed_ = false;
  wait_until_settled();
  if (is_settled() && random_.chance(0.7)) {
    has_changed_ = true;
    for (std::uint64_t change = random_.between(1, 30); change > 0; --change) {
      unsent_ += zebra_->change();
      send(random_.below(unsent_.size() + 1));
      if (random_.chance(0.5)) world_->run_for(std::chrono::milliseconds{random_.below(50)});
    }
    unsent_ += zebra_->repair(routes_max_ / 2);
    wait_until_settled();
  }
  if (!is_settled()) trouble_ = unsettled();
  read_rows();
}

void FpmLife::wait_until_settled() {
  comparisons_ = process_.lock()->server->figures().comparisons;
  int calm = 0;  // Looks at which nothing was to be done.
  for (int look = 0; look < 600 && calm < 8 && !world_->violation(); ++look) {
    listen();
    if (!session_ && connect()) unsent_ = zebra_->all(random_.chance(0.5), 1);
    send(unsent_.size());
    world_->run_for(250ms);
    process_.lock()->agent.safety().confirm();
    calm = is_settled() ? calm + 1 : 0;
  }
}

void FpmLife::read_rows() {
  for (std::size_t table = 0; table < rows_.size(); ++table) {
    rows_[table].clear();
    bool is_read = false;
    world_->runtime().store().scan_written(table == 0 ? kRoutes : kGroups, {}, 10'000, [&](const Result<RowPage>& page) {
      is_read = true;
      if (!page) return;
      for (const Record& row : page->rows) {
        std::map<std::string, std::string>& fields = rows_[table][std::string{row.key()}];
        for (const Field& field : row.fields()) fields[std::string{field.name}] = field.value;
      }
    });
    world_->run_for(1s);
    if (!is_read && trouble_.empty()) trouble_ = "the rows cannot be read";
  }
}

// --- checks

Status FpmLife::check() {
  std::string wrong = !rejects_.empty() ? "rejected: " + rejects_.front() : trouble_;
  if (wrong.empty()) wrong = rows_wrong();
  if (wrong.empty()) wrong = kernel_wrong();
  if (wrong.empty()) wrong = pending_rows();
  if (wrong.empty() && is_whole_) wrong = unanswered();
  return wrong.empty() ? Status{} : Status{StatusCode::Internal, wrong};
}

namespace {

using Rows = std::map<std::string, std::map<std::string, std::string>>;

std::multiset<Zebra::Hop> hops_of(const std::map<std::string, std::string>& group) {
  const auto list = [&](const char* field) { return group.contains(field) ? split(group.at(field)) : std::vector<std::string>{}; };
  const std::vector<std::string> gateways = list("nexthop"), ports = list("ifname"), weights = list("weight");
  std::multiset<Zebra::Hop> hops;
  for (std::size_t i = 0; i < gateways.size() && i < ports.size(); ++i) {
    hops.emplace(gateways[i], ports[i], i < weights.size() ? std::stoi(weights[i]) : 1);
  }
  return hops;
}

}  // namespace

/// A next hop keeps the row of its group, so that a route which comes back finds it: until it is deleted, or the session ends.
std::string FpmLife::rows_wrong() const {
  std::set<std::string> routes, groups;
  for (const Zebra::Key& key : zebra_->keys()) {
    const Zebra::Meaning meant = zebra_->meaning(key);
    const std::string row = row_key(key, has_vrf_);
    if (row.empty() || meant.kind == Zebra::Meaning::Kind::NoRow || has_user_row(row)) continue;
    const auto found = rows_[0].find(row);
    if (found == rows_[0].end()) return "the row of " + row + " is missing";
    routes.insert(row);
    const auto field = [&](const char* name) { return found->second.contains(name) ? found->second.at(name) : std::string{}; };
    const std::string group = field("nexthop_group");
    const bool black = meant.kind == Zebra::Meaning::Kind::Black;
    if (!group.starts_with("fpm:") || (field("blackhole") == "true") != black) return "the row of " + row + " is of another kind: " + group;
    if (black) continue;
    const auto of = rows_[1].find(group);
    if (of == rows_[1].end() || hops_of(of->second) != meant.hops) return "the next hops of " + row + " are wrong: " + group;
    groups.insert(group);
  }
  for (const auto& [key, route] : user_.routes) routes.insert(key);
  for (const auto& [key, hops] : user_.groups) groups.insert(key);
  for (const auto& [key, fields] : rows_[1]) {
    if (has_changed_ && key.starts_with("fpm:")) groups.insert(key);
  }
  for (const auto& [wanted, rows] : {std::pair{&routes, &rows_[0]}, std::pair{&groups, &rows_[1]}}) {
    for (const auto& [key, fields] : *rows) {
      if (!wanted->contains(key)) return "there is a row of " + key;
    }
    if (wanted->size() != rows->size()) return "a row is missing";
  }
  return {};
}

/// While some ports have no carrier, routes may keep their earlier state.
std::string FpmLife::kernel_wrong() const {
  DesiredState wanted = user_;
  for (const Zebra::Key& key : zebra_->keys()) {
    const Zebra::Meaning meant = zebra_->meaning(key);
    const std::string row = row_key(key, has_vrf_);
    if (row.empty() || meant.kind == Zebra::Meaning::Kind::NoRow || has_user_row(row)) continue;
    DesiredState::Route& route = wanted.routes[row];
    if (meant.kind == Zebra::Meaning::Kind::Hops) route.group = rows_[0].at(row).at("nexthop_group");
  }
  for (const auto& [name, fields] : rows_[1]) {
    DesiredState::Hops& hops = wanted.groups[name];
    std::map<std::pair<std::string, std::string>, int> weights;  // A next hop that a group names twice has both weights.
    for (const auto& [gateway, port, weight] : hops_of(fields)) weights[{port, gateway}] += weight;
    for (const auto& [place, weight] : weights) hops.insert({place.first, place.second, weight});
  }
  switch_agent::Lines wrong =
      switch_agent::difference(switch_agent::lines_of(world_->plane()), wanted.expected(world_->plane().links().value()));
  if (!is_whole_) std::erase_if(wrong, [](const std::string& line) { return !line.starts_with("- "); });
  std::string text = wrong.empty() ? "" : "the kernel is not as zebra says:";
  for (const std::string& line : wrong) text += "\n    " + line;
  return wrong.empty() || !is_whole_ ? text : text + pending_rows();
}

std::string FpmLife::pending_rows() const {
  if (!is_whole_) return {};
  const Runtime& runtime = world_->runtime();
  std::string text;
  for (const ConsumerStats& stats : runtime.consumers()) {
    for (const ParkedRow& row : parked_rows(runtime, stats.table, 5)) {
      text += "\n    " + row.table + ":" + row.key;
      for (const Fact& fact : row.facts) text += " waits for " + fact.to_string();
      text += " " + row.why;
    }
  }
  return text;
}

/// The server tells zebra of each route that the kernel has. A route whose next hops have no gateway may wait for an answer.
std::string FpmLife::unanswered() const {
  std::size_t without_row = 0;
  for (const Zebra::Key& key : zebra_->keys()) {
    const std::string row = row_key(key, has_vrf_);
    if (row.empty()) continue;
    const bool has_row = zebra_->meaning(key).kind != Zebra::Meaning::Kind::NoRow && !has_user_row(row);
    without_row += has_row ? 0 : 1;
    if (has_row && !told_.contains({key.second, key.first != Zebra::kMain})) return "zebra was not told of " + row;
  }
  const std::size_t left = process_.lock()->server->figures().book.unanswered;
  return left <= without_row ? std::string{} : std::to_string(left) + " routes are not answered";
}

}  // namespace rondo::swarm
