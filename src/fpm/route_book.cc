#include "fpm/route_book.h"

#include <algorithm>
#include <utility>

#include "dataplane/ip_hash.h"

namespace rondo::fpm {

namespace {

constexpr std::uint8_t kKernelProtocol = 2;  // RTPROT_KERNEL: zebra states it for connected and kernel routes.

std::uint64_t hash_of(std::uint16_t vrf, const Prefix& prefix) { return IpHash{}(prefix) ^ std::uint64_t{vrf} * 0x9E37'79B9'7F4A'7C15U; }

}  // namespace

std::string protocol_name(std::uint8_t protocol) {
  switch (protocol) {  // <linux/rtnetlink.h>, with the names of iproute2 where those differ from FRR's.
    case 4: return "static";
    case 11: return "zebra";
    case 42: return "babel";
    case 186: return "bgp";
    case 187: return "isis";
    case 188: return "ospf";
    case 189: return "rip";
    case 192: return "eigrp";
    case 194: return "sharp";
    case 195: return "pbr";
    case 196: return "static";
    case 197: return "openfabric";
    default: return std::to_string(protocol);
  }
}

RouteBook::RouteBook(Store& store, BookOptions options)
    : store_(store),
      options_(std::move(options)),
      vrfs_(options_.table, options_.vrf_name),
      sets_(store, options_.groups, reports_, [this](const Status& why) { note_refusal(why); }),
      members_(options_.members_max),
      lists_(options_.nexthops_max, members_),
      hears_ends_(!store.applies_at_once(options_.routes)),
      ends_(std::make_shared<Ends>(Ends{this})) {}

RouteBook::~RouteBook() { ends_->book = nullptr; }

// --- the session

void RouteBook::begin_session() {
  ++session_;
  stop_sweep();
  stale_ = routes_.live();
  vrfs_.begin_session();
  for (const auto& [id, nexthop] : nexthops_) {
    if (nexthop.set != HopSets::kNone) sets_.let_go(nexthop.set);
    members_.give_back(nexthop.content.members.size());
  }
  nexthops_.clear();
  lists_.clear();
  for (const std::uint32_t place : asked_for_) routes_[place].asked_for = false;
  asked_for_.clear();
  without_room_ = left_out_ = unanswered_ = 0;
  retried_ = UINT32_MAX;
  ++epoch_;
}

void RouteBook::devices_changed() {
  ++epoch_;
  examined_ = 0;
}

void RouteBook::rows_were_lost() {
  ++losses_;
  reports_.note_all_changed();
  sets_.rows_were_lost();
  others_.clear();
  examined_ = 0;
}

std::uint32_t RouteBook::find(std::uint16_t vrf, const Prefix& prefix) const {
  return by_prefix_.find(hash_of(vrf, prefix), [&](std::uint32_t place) {
    const Route& route = routes_[place];
    return route.used && route.vrf == vrf && route.prefix == prefix;
  });
}

std::uint32_t RouteBook::find_or_add(std::uint16_t vrf, const Prefix& prefix) {
  const auto is_it = [&](std::uint32_t place) { return routes_[place].vrf == vrf && routes_[place].prefix == prefix; };
  return by_prefix_.find_or_add(hash_of(vrf, prefix), is_it, [&] {
    const std::uint32_t place = routes_.take();
    Route& route = routes_[place];
    reset(route);
    route.prefix = prefix;
    route.vrf = vrf;
    route.used = true;
    route.session = session_;
    vrfs_.add(vrf, 0);
    return place;
  });
}

std::string RouteBook::source_text(Sources::Number source) const {
  return source == Sources::kNone ? std::string{} : sources_.address(source).to_string();
}

std::string RouteBook::key_of(const Route& route) const {
  const std::string prefix = route.prefix.to_string();
  return route.vrf == VrfSlots::kDefault ? prefix : vrfs_.name(route.vrf) + ":" + prefix;
}

/// For what zebra has sent.
void RouteBook::queue(std::uint32_t place) {
  const Route& route = routes_[place];
  const bool has_row = route.written != HopSets::kNone;
  const auto lane = has_row ? WriteOrder::kChanged : WriteOrder::lane_of(route.protocol, route.prefix.address.is_v6());
  order_.add(place, lane, route.prefix.length, now_);
}

/// The route belongs to this session now.
void RouteBook::touch(Route& route) {
  if (route.session == session_) return;
  route.session = session_;
  route.inline_hops = HopLists::kNone;
  route.lack = Lack::Nothing;
  route.unanswered = false;
  --stale_;
  vrfs_.remove_stale(route.vrf, route.protocol);
}

/// Not of a stale route.
void RouteBook::set_protocol(Route& route, std::uint8_t protocol) {
  if (route.protocol == protocol) return;
  vrfs_.remove(route.vrf, route.protocol);
  vrfs_.add(route.vrf, protocol);
  route.protocol = protocol;
}

void RouteBook::remove_route(std::uint16_t vrf, const Prefix& prefix) {
  const std::uint32_t place = find(vrf, prefix);
  if (place == RowIndex::kNone || (routes_[place].aim == Aim::NoRow && routes_[place].session == session_)) return skip(Skip::Unknown);
  Route& route = routes_[place];
  touch(route);
  drop_hops(route);
  route.aim = Aim::NoRow;
  queue(place);
}

void RouteBook::set_lack(Route& route, Lack lack) {
  without_room_ -= route.lack == Lack::Room ? 1 : 0;
  without_room_ += lack == Lack::Room ? 1 : 0;
  route.lack = lack;
}

void RouteBook::reset(Route& route) {
  const bool asked_for = route.asked_for;
  const bool refused = route.refused;
  route = Route{};
  route.asked_for = asked_for;
  route.refused = refused;
}

/// Ends the route's use of a list of its own. Only of a route of this session.
void RouteBook::drop_hops(Route& route) {
  set_lack(route, Lack::Nothing);
  set_unanswered(route, false);
  const std::uint32_t list = std::exchange(route.inline_hops, HopLists::kNone);
  if (list == HopLists::kNone || !lists_.release(list) || without_room_ == 0) return;
  if (retried_ < routes_.limit()) {
    retries_again_ = true;
  } else {
    retried_ = 0;
  }
}

/// Called after drop_hops(), so that a change fits at the limit.
void RouteBook::take_hops(Route& route, const RouteChange& change) {
  if (change.too_many) {
    skip(Skip::Members);
    return set_lack(route, Lack::TooMany);
  }
  route.inline_hops = lists_.refer(change.hops);
  if (route.inline_hops == HopLists::kNone) {
    leave_out();
  } else if (lists_.is_admitted(route.inline_hops)) {
    return;
  } else {
    skip(Skip::Full);
  }
  set_lack(route, Lack::Room);
}

void RouteBook::set_source(Route& route, const IpAddress& source) {
  if (sources_.address(route.source) == source) return;
  sources_.release(route.source);
  route.source = source == IpAddress{} ? Sources::kNone : sources_.refer(source);
  if (sources_.address(route.source) != source) leave_out();
}

void RouteBook::set_written_source(Route& route, Sources::Number source) {
  sources_.refer(source);
  sources_.release(route.written_source);
  route.written_source = source;
}

void RouteBook::leave_out() {
  skip(Skip::Full);
  ++left_out_;
}

bool RouteBook::wants_resend() const noexcept {
  const auto has_room = [](std::size_t used, std::size_t max) { return max - std::min(used, max) > max / 16; };
  return left_out_ > 0 && has_room(routes_.live(), options_.routes_max) && has_room(nexthops_.size(), options_.nexthops_max) &&
         has_room(lists_.size(), options_.nexthops_max) && has_room(members_.used(), members_.max()) &&
         has_room(sources_.used(), limits::kFpmSources);
}

void RouteBook::apply(const RouteChange& change) {
  const std::uint16_t vrf = vrfs_.of_table(change.table);
  if (vrf == VrfSlots::kNone) return skip(Skip::Table);
  if (change.gone) return remove_route(vrf, change.prefix);
  if (change.protocol == kKernelProtocol) {
    skip(Skip::Kernel);
    if (find(vrf, change.prefix) != RowIndex::kNone) remove_route(vrf, change.prefix);  // It replaces the route of another protocol.
    return;
  }
  if (routes_.live() >= options_.routes_max && find(vrf, change.prefix) == RowIndex::kNone) return leave_out();
  const std::uint32_t place = find_or_add(vrf, change.prefix);
  Route& route = routes_[place];
  touch(route);
  route.aim = Aim::Row;
  route.way = change.way;
  set_protocol(route, change.protocol);
  vrfs_.hear(vrf, change.protocol);
  route.nexthop = change.way == Way::Unicast ? change.nexthop : 0;
  drop_hops(route);
  set_source(route, change.way == Way::Unicast ? change.source : IpAddress{});
  if (change.has_metrics) skip(Skip::Metrics);
  set_unanswered(route, options_.answers);
  if (change.way == Way::Unicast && change.nexthop == 0) take_hops(route, change);
  if (change.way == Way::Unreachable || change.way == Way::Prohibit) ++figures_.rejects_as_blackholes;
  queue(place);
}

void RouteBook::apply(const NexthopChange& change) {
  const auto known = nexthops_.find(change.id);
  if (change.gone) return known == nexthops_.end() ? skip(Skip::Unknown) : forget_nexthop(change.id);
  if (change.too_many) skip(Skip::Members);
  if (known == nexthops_.end()) {
    if (nexthops_.size() >= options_.nexthops_max || !members_.take(change.members.size())) return leave_out();
    nexthops_[change.id].content = change;
    if (std::exchange(has_forgotten_, false)) ++epoch_;  // Groups may be resolved with an earlier next hop of this number.
    // Nothing can have named it yet, except groups, which are resolved when a route names them.
    if (waiting_ == 0) return;
    return devices_changed();
  }
  if (known->second.content == change) return;
  members_.give_back(known->second.content.members.size());
  known->second.content.members.clear();
  if (members_.take(change.members.size())) {
    known->second.content = change;
  } else {
    forget_nexthop(change.id);  // Its routes wait, and do not look done.
    leave_out();
  }
  devices_changed();
}

void RouteBook::forget_nexthop(std::uint32_t id) {
  const auto known = nexthops_.find(id);
  if (known->second.set != HopSets::kNone) sets_.let_go(known->second.set);
  members_.give_back(known->second.content.members.size());
  nexthops_.erase(known);
  has_forgotten_ = true;
}

// --- next hops

/// Appends the hops of next hop 'id'. False if one of them is not known.
bool RouteBook::collect(std::uint32_t id, std::uint16_t weight, bool within_group, std::vector<Hop>& hops) const {
  const auto known = nexthops_.find(id);
  if (known == nexthops_.end()) return false;
  const NexthopChange& content = known->second.content;
  if (content.members.empty()) {
    hops.push_back(content.hop);
    hops.back().weight = weight;
    return true;
  }
  if (within_group) return false;  // The kernel knows no groups of groups.
  for (const NexthopMember& member : content.members) {
    if (!collect(member.id, member.weight, true, hops)) return false;
  }
  return true;
}

RouteBook::Target RouteBook::target_of_hops(const std::vector<Hop>& hops) {
  std::vector<NamedHop> named;
  Skip unusable = Skip::NoGateway;
  for (const Hop& hop : hops) {
    if (hop.encapsulated || (!hop.has_gateway && hop.device == 0)) {
      if (hop.encapsulated) unusable = Skip::Encapsulated;
      continue;
    }
    std::string device = options_.device_name ? options_.device_name(hop.device) : std::string{};
    if (device.empty()) return waits_for_device(hop.device);
    named.push_back({hop.gateway, std::move(device), hop.weight, hop.onlink});
  }
  if (named.empty()) return {.kind = Target::Kind::Unusable, .set = HopSets::kNone, .why = unusable};
  if (named.size() < hops.size()) skip(unusable);
  return {.kind = Target::Kind::Set, .set = sets_.find_or_add(std::move(named))};
}

RouteBook::Target RouteBook::blackhole(Way way) {
  const std::string_view name = way == Way::Unreachable ? "fpm:unreachable" : way == Way::Prohibit ? "fpm:prohibit" : "fpm:blackhole";
  return {.kind = Target::Kind::Set, .set = sets_.find_or_add_name(name)};
}

/// A group without a row: the route's row waits for it, and `why` names it.
RouteBook::Target RouteBook::waits_for(std::string_view name) { return {.kind = Target::Kind::Waits, .set = sets_.find_or_add_name(name)}; }
RouteBook::Target RouteBook::waits_for(std::uint32_t id) { return waits_for("fpm:nexthop-" + std::to_string(id)); }
RouteBook::Target RouteBook::waits_for_device(std::uint32_t device) { return waits_for("fpm:unknown-device-" + std::to_string(device)); }

RouteBook::Target RouteBook::target_of_nexthop(std::uint32_t id) {
  const auto known = nexthops_.find(id);
  if (known == nexthops_.end()) return waits_for(id);
  Nexthop& nexthop = known->second;
  if (nexthop.content.blackhole) return blackhole(Way::Blackhole);
  if (nexthop.content.too_many) return waits_for("fpm:too-many-members");
  if (nexthop.epoch == epoch_ && nexthop.set != HopSets::kNone) return {.kind = Target::Kind::Set, .set = nexthop.set};
  std::vector<Hop> hops;
  if (!collect(id, 1, false, hops)) return waits_for(id);
  Target target = target_of_hops(hops);
  if (target.kind != Target::Kind::Set) return target;
  sets_.hold(target.set);
  if (nexthop.set != HopSets::kNone) sets_.let_go(nexthop.set);
  nexthop.set = target.set;
  nexthop.epoch = epoch_;
  return target;
}

RouteBook::Target RouteBook::target_of(const Route& route) {
  if (route.way != Way::Unicast) return blackhole(route.way);
  if (route.nexthop != 0) return target_of_nexthop(route.nexthop);
  if (route.lack != Lack::Nothing) return waits_for(route.lack == Lack::Room ? "fpm:limit" : "fpm:too-many-members");
  return target_of_hops(lists_.hops(route.inline_hops));
}

// --- writing

void RouteBook::note_waiting(Route& route, bool waits) {
  if (std::exchange(route.waiting, waits) == waits) return;
  waits ? ++waiting_ : --waiting_;
}

Status RouteBook::set_row(std::uint32_t place, const Target& target) {
  Route& route = routes_[place];
  const std::string key = key_of(route);
  if (route.written == HopSets::kNone && others_.contains(key)) {
    conflicts_.insert(place);
    return {};
  }
  if (Status status = sets_.write(target.set); !status.ok()) return status;
  const std::string_view group = sets_.name(target.set);
  const std::string protocol = protocol_name(route.protocol);
  const bool black = route.way != Way::Unicast || group == "fpm:blackhole";
  std::array<Field, 4> fields{Field{"nexthop_group", group}, Field{"protocol", protocol}, {}, {}};
  // Most rows never have the other fields; a row that had one needs its other value.
  std::size_t count = 2;
  if (black || (route.black && !route.differs)) fields[count++] = {"blackhole", black ? "true" : "false"};
  const std::string source = source_text(route.source);
  if (route.source != Sources::kNone || (route.written_source != Sources::kNone && !route.differs)) fields[count++] = {"prefsrc", source};
  if (route.differs) {
    if (Status status = store_.write(options_.routes, Change::remove(key), set_ended(place)); !status.ok()) return status;
    reports_.note_delete(key, now_);
  }
  const Change change = Change::set(key, std::span<const Field>{fields}.first(count));
  if (Status status = store_.write(options_.routes, change, set_ended(place)); !status.ok()) return status;
  ++figures_.written;
  sets_.refer(target.set);
  if (route.written != HopSets::kNone) sets_.release(route.written);
  route.written = target.set;
  route.written_protocol = route.protocol;
  route.loss = losses_;
  route.black = black;
  set_written_source(route, route.source);
  route.differs = false;
  route.reading = reading_;
  if (!conflicts_.empty()) conflicts_.erase(place);
  return {};
}

Status RouteBook::delete_row(std::uint32_t place) {
  Route& route = routes_[place];
  if (!conflicts_.empty()) conflicts_.erase(place);
  if (route.written == HopSets::kNone) return {};
  const std::string key = key_of(route);
  if (Status status = store_.write(options_.routes, Change::remove(key), delete_ended(key)); !status.ok()) return status;
  reports_.note_delete(key, now_);
  ++figures_.deleted;
  sets_.release(route.written);
  route.written = HopSets::kNone;
  route.black = route.differs = false;
  set_written_source(route, Sources::kNone);
  return {};
}

void RouteBook::forget(std::uint32_t place) {
  Route& route = routes_[place];
  note_waiting(route, false);
  set_source(route, {});
  if (route.session != session_) {
    --stale_;
    vrfs_.remove_stale(route.vrf, route.protocol);
  }
  vrfs_.remove(route.vrf, route.protocol);
  by_prefix_.erase(hash_of(route.vrf, route.prefix), place);
  reset(route);
  routes_.give_back(place);
}

/// Writes what the route asks for now, if that is not written yet.
Status RouteBook::write_route(std::uint32_t place) {
  Route& route = routes_[place];
  if (route.aim == Aim::NoRow) {
    if (Status status = delete_row(place); !status.ok()) return status;
    forget(place);
    return {};
  }
  if (route.session != session_) return {};  // Its next hops belong to a session that has ended, so its row stays.
  const Target target = target_of(route);
  if (target.kind == Target::Kind::Unusable) {
    skip(target.why);
    note_waiting(route, false);
    return delete_row(place);
  }
  note_waiting(route, target.kind == Target::Kind::Waits);
  if (route.written == target.set && route.written_protocol == route.protocol && route.written_source == route.source &&
      route.loss == losses_ && !route.differs) {
    ++figures_.unchanged;
  } else if (Status status = set_row(place, target); !status.ok()) {
    return status;
  }
  if (route.unanswered && target.kind == Target::Kind::Set && route.written != HopSets::kNone) ask_for(place);
  return {};
}

// --- answers to zebra

void RouteBook::set_unanswered(Route& route, bool unanswered) {
  if (std::exchange(route.unanswered, unanswered) == unanswered) return;
  unanswered ? ++unanswered_ : --unanswered_;
}

void RouteBook::ask_for(std::uint32_t place) {
  if (!std::exchange(routes_[place].asked_for, true)) asked_for_.push_back(place);
}

void RouteBook::take_programmed(std::size_t most, const IsProgrammed& is_programmed, std::vector<Programmed>& programmed) {
  for (std::size_t left = std::min(most, asked_for_.size()); left > 0; --left) {
    const std::uint32_t place = asked_for_.front();
    asked_for_.pop_front();
    Route& route = routes_[place];
    route.asked_for = false;
    if (!route.unanswered) continue;
    if (!is_there(place, is_programmed)) {
      ask_for(place);
      continue;
    }
    set_unanswered(route, false);
    programmed.push_back({route.prefix, route.protocol, route.black, vrfs_.name(route.vrf)});
  }
}

/// True if the data plane has the route as its row asks for it, and the row is as zebra's route asks for it.
bool RouteBook::is_there(std::uint32_t place, const IsProgrammed& is_programmed) const {
  const Route& route = routes_[place];
  return route.written != HopSets::kNone && !order_.contains(place) &&
         is_programmed(vrfs_.name(route.vrf), route.prefix, sets_.name(route.written), route.black, sources_.address(route.written_source));
}

bool RouteBook::count_absent(std::size_t most, const IsProgrammed& is_programmed, Absent& absent) const {
  for (std::size_t i = 0; i < most && absent.next < routes_.limit(); ++i, ++absent.next) {
    const Route& route = routes_[absent.next];
    if (!route.used || route.aim != Aim::Row || route.session != session_ || is_there(absent.next, is_programmed)) continue;
    if (absent.routes++ == 0) absent.first = key_of(route);
  }
  return absent.next < routes_.limit();
}

RouteBook::Written RouteBook::write(std::size_t most) {
  settle_removed(nullptr);
  judge(most);
  retry_refused(most);
  examine(most);
  sweep_some(most);
  if (std::exchange(was_refused_, false)) accepts_since_ = now_;
  Written result;
  while (result.rows < most && !order_.empty()) {
    ++result.rows;
    result.refused = write_route(order_.front());
    if (!result.refused.ok()) {
      ++figures_.refused;
      was_refused_ = true;
      return result;
    }
    note_wait();
    order_.pop();
  }
  result.refused = sets_.repair();
  if (result.refused.ok()) result.refused = sets_.delete_unused();
  return result;
}

void RouteBook::note_wait() {
  const Duration waited = now_ - std::max(order_.front_since(), accepts_since_);
  figures_.longest_wait = std::max(figures_.longest_wait, waited);
}

/// Queues routes of this session, because next hops have changed.
void RouteBook::examine(std::size_t most) {
  for (std::size_t i = 0; i < most && examined_ < routes_.limit(); ++i, ++examined_) {
    const Route& route = routes_[examined_];
    if (route.used && route.aim == Aim::Row && route.session == session_) queue_in_bulk(examined_);
  }
}

/// Queues routes whose lists are admitted now.
void RouteBook::retry_refused(std::size_t most) {
  for (std::size_t i = 0; i < most && retried_ < routes_.limit(); ++i, ++retried_) {
    Route& route = routes_[retried_];
    if (!route.used || route.session != session_ || route.lack != Lack::Room) continue;
    if (route.inline_hops == HopLists::kNone || !lists_.admit(route.inline_hops)) continue;
    set_lack(route, Lack::Nothing);
    queue_in_bulk(retried_);
  }
  if (retried_ >= routes_.limit() && std::exchange(retries_again_, false)) retried_ = 0;
}

void RouteBook::sweep_some(std::size_t most) {
  for (std::size_t i = 0; i < most && is_sweeping(); ++i, ++swept_) {
    Route& route = routes_[swept_];
    if (!route.used || route.session == session_ || (!sweeps_all_ && !vrfs_.is_heard(route.vrf, route.protocol))) continue;
    touch(route);
    route.aim = Aim::NoRow;
    queue_in_bulk(swept_);
  }
}

BookFigures RouteBook::figures() const {
  BookFigures figures = figures_;
  figures.routes = routes_.live();
  figures.stale = stale_;
  figures.silent = vrfs_.silent();
  figures.unwritten = order_.size();
  figures.waiting = waiting_;
  figures.nexthops = nexthops_.size();
  figures.hop_lists = lists_.size();
  figures.members = members_.used();
  figures.without_room = without_room_;
  figures.left_out = left_out_;
  figures.unanswered = unanswered_;
  figures.groups = sets_.rows();
  figures.vrfs = vrfs_.used();
  figures.to_repeat = refused_.size() + sets_.refused() + (refused_deletes_ ? 1 : 0);
  figures.other_rows = others_.size();
  figures.other_rows_unknown = others_unknown_;
  figures.conflicts = conflicts_.size();
  if (!conflicts_.empty()) figures.conflict = key_of(routes_[*conflicts_.begin()]);
  figures.repaired += sets_.repaired();
  figures.unknown_tables = vrfs_.unknown_tables();
  return figures;
}

}  // namespace rondo::fpm
