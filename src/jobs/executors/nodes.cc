// executors_impl.h: which executors there are, and which of them may get a run.
#include <algorithm>

#include "commands/answers.h"
#include "jobs/executors/executors_impl.h"
#include "jobs/named_few.h"

namespace rondo::jobs::executors {

namespace json = boost::json;

namespace {

constexpr Duration kBetweenRefusals = 10s;

std::string_view name_of(Dialect dialect) {
  return dialect == Dialect::Orth ? "orth" : dialect == Dialect::Later ? "xxl-job 3.5" : "xxl-job";
}

}  // namespace

void Executors::Impl::follow_takeover() {
  if (remote.is_standby()) was_standby = true;
  if (!was_standby || !remote.is_recovered()) return;
  was_standby = false;
  for (auto& [name, group] : groups) group.is_restored = false;
}

Status Executors::Impl::check_network(const Address& address) const {
  std::string_view host = address.host;
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto ip = IpAddress::parse(host);
  if (!ip || std::ranges::any_of(settings.networks, [&](const Prefix& network) { return network.contains(*ip); })) return {};
  return {StatusCode::PermissionDenied, "the address " + address.url + " is in none of the networks of executors"};
}

Status Executors::Impl::may_register(const Group& group, const Registration& what) const {
  const auto address = parse_address(what.address);
  if (!address) return address.error();
  if (Status refused = check_network(*address); !refused.ok()) return refused;
  if (!group.nodes.contains(what.address) && group.nodes.size() >= limits::kExecutorNodes)
    return {StatusCode::ResourceExhausted, "the group has " + std::to_string(limits::kExecutorNodes) + " addresses"};
  return {};
}

Result<std::string> Executors::Impl::check_address(const Group& group, const std::string& text) const {
  const auto address = parse_address(text);
  if (!address) return failure(address.error());
  const auto known = group.nodes.find(address->url);
  if (known == group.nodes.end() || known->second.has_left) {
    return failure(StatusCode::NotFound, "group '" + group.settings.name + "' has no executor " + address->url +
                                             " now: `rondo executors` lists its addresses, and a run is sent to no other one");
  }
  if (Status refused = check_network(*address); !refused.ok()) return failure(std::move(refused));
  return address->url;
}

void Executors::Impl::registered(Registered registered, const DoorAnswer& answer) {
  const auto found = groups.find(registered.what.group);
  if (found == groups.end()) return answer(kCodeFailure, "there is no such group");
  // An executor registers at the first scheduler that accepts it.
  if (remote.is_standby()) return answer(kCodeFailure, kAtStandby);
  Group& group = found->second;
  const std::string& address = registered.what.address;
  if (registered.leaves) {
    const auto known = group.nodes.find(address);
    if (known != group.nodes.end() && !known->second.is_manual) known->second.has_left = true;
    remember(group.settings.name);
    return answer(kCodeDone, {});
  }
  if (const Status refused = may_register(group, registered.what); !refused.ok()) {
    call_refused("the registration for group '" + group.settings.name + "' was refused: " + std::string{refused.message()});
    return answer(kCodeFailure, refused.message());
  }
  const auto [at, is_new] = group.nodes.try_emplace(address);
  if (is_new || at->second.has_left) remember(group.settings.name);
  // A call without the marks of a dialect says nothing of it.
  if (is_new || registered.dialect != Dialect::Classic) at->second.dialect = registered.dialect;
  answer(kCodeDone, {});
  is_well(group.settings.name, address);
}

void Executors::Impl::call_refused(const std::string& what) {
  const Instant now = runtime.scheduler().now();
  ++stats.refused_calls;
  last_refusal = what;
  last_refused = now;
  if (!settings.on_refused || (told_refusal && now - *told_refusal < kBetweenRefusals)) return;
  told_refusal = now;
  settings.on_refused(what);
}

Node* Executors::Impl::node(const std::string& group, const std::string& address) {
  const auto found = groups.find(group);
  if (found == groups.end()) return nullptr;
  const auto known = found->second.nodes.find(address);
  return known == found->second.nodes.end() ? nullptr : &known->second;
}

void Executors::Impl::failed(const std::string& group, const std::string& address, const Status& why) {
  if (Node* const known = node(group, address)) known->trouble = why.message();
}

void Executors::Impl::is_well(const std::string& group, const std::string& address) {
  Node* const known = node(group, address);
  if (known == nullptr) return;
  known->heard = runtime.scheduler().now();
  known->has_left = false;
  known->trouble.clear();
  jobs.has_room(handlers_of(group));
}

bool Executors::Impl::is_healthy(const Node& node) const {
  return node.trouble.empty() && !node.has_left && (node.is_manual || runtime.scheduler().now() - node.heard <= settings.beat);
}

std::vector<Candidate> Executors::Impl::candidates(const Group& group, std::int64_t job, Route route, const std::string& only) const {
  const bool is_fixed =
      !only.empty() || route == Route::First || route == Route::Last || route == Route::ConsistentHash || route == Route::ShardingBroadcast;
  std::vector<Candidate> all;
  std::vector<bool> is_avoided;
  bool has_other = false;
  for (const auto& [address, node] : group.nodes) {
    if (node.is_drained || node.has_left || (!only.empty() && address != only)) continue;
    const auto orders = in_flight.find(address);
    const bool is_full = !is_fixed && orders != in_flight.end() && orders->second >= settings.in_flight_of_address;
    const auto stopped_run = is_fixed ? unresolved.end() : unresolved.find({job, address});
    is_avoided.push_back(stopped_run != unresolved.end() && runtime.scheduler().now() < stopped_run->second.until);
    all.push_back({.name = address,
                   .is_healthy = is_healthy(node) && !is_full,
                   .is_idle = route != Route::Busyover || !at_addresses.contains({job, address})});
    has_other = has_other || (!is_avoided.back() && all.back().is_healthy && all.back().is_idle);
  }
  for (std::size_t i = 0; has_other && i < all.size(); ++i) all[i].is_healthy = all[i].is_healthy && !is_avoided[i];
  return all;
}

std::string key_of_nodes(std::string_view group) { return "executors/" + std::string{group}; }

void Executors::Impl::store_nodes() {
  for (const std::string& name : std::exchange(changed_groups, {})) {
    if (groups.find(name)->second.is_restored) {
      store_nodes_of(name);
    } else {
      changed_groups.insert(name);
    }
  }
}

void Executors::Impl::store_nodes_of(const std::string& name, Jobs::Done<bool> done) {
  changed_groups.erase(name);
  json::array nodes;
  for (const auto& [address, node] : groups.find(name)->second.nodes) {
    if ((node.has_left || node.is_manual) && !node.is_drained) continue;
    nodes.push_back(json::object{{"address", address}, {"dialect", static_cast<int>(node.dialect)}, {"drained", node.is_drained}});
  }
  remote.remember(key_of_nodes(name), json::serialize(nodes),
                  [weak = std::weak_ptr<Impl*>(self), name, done = std::move(done)](const Result<bool>& stored) {
                    if (const auto parts = weak.lock(); parts != nullptr && !stored) (*parts)->changed_groups.insert(name);
                    if (done) done(stored);
                  });
}

void Executors::Impl::read_nodes(const std::string& name, std::function<void(const Status& read)> then) {
  remote.remembered(key_of_nodes(name), [weak = std::weak_ptr<Impl*>(self), name, then = std::move(then)](const Result<std::string>& text) {
    const auto parts = weak.lock();
    if (parts == nullptr) return;
    if (text && !std::exchange((*parts)->groups.find(name)->second.is_restored, true)) (*parts)->restore_nodes(name, *text);
    if (then) then(text ? Status{} : text.error());
  });
}

void Executors::Impl::restore_nodes(const std::string& name, std::string_view text) {
  boost::system::error_code error;
  const json::value nodes = json::parse(text, error);
  if (error || !nodes.is_array()) return;  // Nothing was remembered; or a hand has edited it.
  Group& group = groups.find(name)->second;
  for (const json::value& one : nodes.get_array()) {
    const json::object* const node = one.if_object();
    const json::value* const address = node == nullptr ? nullptr : node->if_contains("address");
    const json::value* const dialect = node == nullptr ? nullptr : node->if_contains("dialect");
    const json::value* const drained = node == nullptr ? nullptr : node->if_contains("drained");
    if (address == nullptr || dialect == nullptr || drained == nullptr || !address->is_string() || !drained->is_bool()) continue;
    if (!dialect->is_int64() || dialect->get_int64() < 0 || dialect->get_int64() > static_cast<int>(Dialect::Orth)) continue;
    const Registration what{.group = name, .address = std::string{address->get_string()}};
    if (!may_register(group, what).ok()) continue;
    const auto [at, is_new] = group.nodes.try_emplace(what.address);
    at->second.is_drained = at->second.is_drained || drained->get_bool();
    if (!is_new) continue;
    at->second.dialect = static_cast<Dialect>(dialect->get_int64());
    at->second.heard = runtime.scheduler().now();
  }
  jobs.has_room(handlers_of(name));
}

void Executors::Impl::list(Reply reply) const {
  if (remote.is_standby()) return reply.fail({StatusCode::FailedPrecondition, std::string{kAskOwner}});
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> open;
  for (const auto& [id, run] : runs) {
    for (const Shard& shard : run.shards) open[{run.group, shard.address}] += shard.stage != Shard::Stage::Ended ? 1 : 0;
  }
  const Instant now = runtime.scheduler().now();
  std::vector<json::object> rows;
  const std::string& only = reply.caller().group;
  for (const auto& [name, group] : groups) {
    if (!only.empty() && name != only) continue;
    for (const auto& [address, node] : group.nodes) {
      json::object row{{"group", commands::text(name)},
                       {"address", commands::text(address)},
                       {"protocol", name_of(node.dialect)},
                       {"registers", !node.is_manual},
                       {"usable", is_healthy(node) && !node.is_drained},
                       {"drained", node.is_drained},
                       {"runs", open[{name, address}]},
                       {"accepted", node.accepted},
                       {"refused", node.refused}};
      if (node.heard != Instant{}) row["heard_ms_ago"] = (now - node.heard) / 1ms;
      if (node.has_left) row["trouble"] = "it has taken leave";
      if (!node.trouble.empty()) row["trouble"] = commands::sentence(node.trouble);
      rows.push_back(std::move(row));
    }
  }
  reply.expect_rows();
  commands::answer_each(std::move(reply), std::move(rows), [](const json::object& row) { return json::value(row); });
}

json::object Executors::Impl::counts() const {
  json::object all;
  if (remote.is_standby()) return all;
  for (const auto& [name, group] : groups) {
    std::size_t up = 0;
    std::size_t draining = 0;
    for (const auto& [address, node] : group.nodes) {
      draining += node.is_drained ? 1U : 0U;
      up += is_healthy(node) && !node.is_drained ? 1U : 0U;
    }
    all[commands::text(name)] = json::object{{"up", up}, {"draining", draining}, {"broken", group.nodes.size() - up - draining}};
  }
  return all;
}

void Executors::Impl::drain(const Arguments& arguments, const Reply& reply) {
  const std::string group = arguments.text("group");
  const bool is_drained = arguments.text("resume") != "yes";
  const std::string& only = reply.caller().group;
  if (!only.empty() && group != only)
    return Reply{reply}.fail({StatusCode::PermissionDenied, "the token has the group '" + only + "' alone"});
  if (remote.is_standby()) return Reply{reply}.fail(jobs.health());
  const auto address = parse_address(arguments.text("address"));
  if (!address) return Reply{reply}.fail(address.error());
  const auto found = groups.find(group);
  if (found == groups.end() || found->second.is_restored) return drain(group, address->url, is_drained, reply);
  // What is restored later would undo the switch, or have the executor that is not known yet.
  read_nodes(group, [this, group, url = address->url, is_drained, reply](const Status& read) {
    if (!read.ok())
      return Reply{reply}.fail(read.with_context("nothing is changed, because the database could not be read since the start"));
    drain(group, url, is_drained, reply);
  });
}

void Executors::Impl::drain(const std::string& group, const std::string& address, bool is_drained, const Reply& reply) {
  Node* const known = node(group, address);
  if (known == nullptr)
    return Reply{reply}.fail({StatusCode::NotFound, "group '" + group + "' has no executor " + address + ": `rondo executors` lists them"});
  const auto text_of = [](bool drained) { return drained ? "drained=true" : "drained=false"; };
  Reply{reply}.tell_change(text_of(known->is_drained), text_of(is_drained));
  known->is_drained = is_drained;
  find_room();
  if (!is_drained) jobs.has_room(handlers_of(group));
  store_nodes_of(group, [reply = Reply{reply}, group, address, is_drained](const Result<bool>& stored) mutable {
    if (!stored) {
      const std::string holds = is_drained ? "the executor gets no further run" : "the executor gets runs again";
      return reply.fail(stored.error().with_context(
          holds + ", but the database does not have this yet, so a restart of the daemon would lose it; the daemon tries again"));
    }
    reply.finish(json::object{{"group", commands::text(group)}, {"address", commands::text(address)}, {"drained", is_drained}});
  });
}

std::string Executors::Impl::refusal() const {
  return last_refused && runtime.scheduler().now() - *last_refused < settings.beat ? last_refusal : std::string{};
}

Status Executors::Impl::health() const {
  NamedFew named;
  for (const auto& [name, group] : groups) {
    if (group.starved_since && runtime.scheduler().now() - *group.starved_since >= settings.starved)
      named.add("runs of group '" + name + "' wait: " + why_no_room(group));
    for (const auto& [address, node] : group.nodes) {
      if (!node.trouble.empty() && !node.has_left && !node.is_drained)
        named.add("executor " + address + " of group '" + name + "': " + node.trouble);
    }
  }
  if (named.count() == 0) return {};
  return {StatusCode::Unavailable, named.text("more executor has trouble", "more executors have trouble")};
}

}  // namespace rondo::jobs::executors
