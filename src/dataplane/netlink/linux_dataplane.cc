// linux_dataplane.cc: the DataPlane over rtnetlink. Orders go through one socket (OrderSender) and dumps through another (DumpChannel);
// each monitor has its own pair. Results of dumps are filtered by our protocol number, always here and also in the kernel where it can.
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "dataplane/learned.h"
#include "dataplane/missing_subnet.h"
#include "dataplane/netlink/connected_routes.h"
#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/dump.h"
#include "dataplane/netlink/fdb_entries.h"
#include "dataplane/netlink/fdb_monitor.h"
#include "dataplane/netlink/link_dump.h"
#include "dataplane/netlink/link_monitor.h"
#include "dataplane/netlink/neighbor_monitor.h"
#include "dataplane/netlink/nexthop_holders.h"
#include "dataplane/netlink/object_monitor.h"
#include "dataplane/netlink/order_sender.h"
#include "dataplane/netlink/plane_lock.h"
#include "dataplane/netlink/route_holders.h"
#include "dataplane/netlink/subnet_routes.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/limits.h"

namespace rondo {

namespace {

using netlink::DumpChannel;
using netlink::Message;
using netlink::MessageWriter;
using netlink::NetworkNamespace;

// Bursts of 1 to 2 KiB a message, ten per device: 8 MiB hold the bursts of 500 devices.
constexpr int kMonitorBufferBytes = 8 * 1024 * 1024;
// The largest number of routes among which those to subnets are read: some milliseconds, in which the kernel does no other work on this
// processor. With a full table it is 200 ms.
constexpr std::size_t kSearchedRoutes = 10'000;
constexpr std::uint16_t kDumpFlags = NLM_F_REQUEST | NLM_F_DUMP;

class LinuxDataPlane final : public DataPlane {
 public:
  LinuxDataPlane(const LinuxDataPlaneOptions& options, NetworkNamespace where, netlink::Socket socket, std::string remark)
      : marks_{.protocol = options.protocol, .metric = options.metric, .detects_duplicates = options.detect_duplicates},
        where_(std::move(where)),
        remark_(std::move(remark)),
        orders_port_(socket.port()),
        sender_(std::move(socket), marks_, options.batch),
        dumps_(where_),
        holder_dumps_(where_),
        holders_(holder_dumps_, marks_) {}

  std::uint8_t protocol() const noexcept override { return marks_.protocol; }

  void apply(std::span<Operation> ops) override {
    std::size_t begin = 0;  // The first order that is not sent yet.
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool is_delete = is_looked_up(ops[i].order);
      if (!is_delete && !std::holds_alternative<FdbSet>(ops[i].order)) continue;
      if (is_delete) {
        // Carry out other orders that precede it: they may change which object it names, and whose that is.
        if (i > begin && !is_looked_up(ops[i - 1].order)) {
          apply_others(ops.subspan(begin, i - begin));
          begin = i;
        }
        if (may_delete(ops[i])) continue;
        apply_others(ops.subspan(begin, i - begin));
      } else {
        apply_others(ops.subspan(begin, i + 1 - begin));
        if (ops[i].status.origin_errno() == EEXIST) entries_.settle(ops[i]);
      }
      begin = i + 1;
    }
    apply_others(ops.subspan(begin));
  }

  Result<std::vector<LinkEvent>> links() override {
    auto states = netlink::dump_links(dumps_, marks_.protocol);
    if (!states) return failure(std::move(states.error()));
    std::vector<LinkEvent> events;
    events.reserve(states->size());
    for (netlink::LinkState& state : *states) events.push_back(std::move(state.event));
    return events;
  }

  Result<std::vector<AddressEntry>> addresses() override {
    auto entries = read_all<AddressEntry>("read the addresses", RTM_GETADDR, ifaddrmsg{},
                                          [this](const Message& m) { return netlink::decode_address(m, marks_.protocol); });
    if (!entries) return entries;
    const bool may_read = routes_.load(std::memory_order_relaxed) <= kSearchedRoutes;
    if (Status noted = subnets_->note(*entries, may_read, [this] { return subnets_with_route(); }); !noted.ok()) {
      return failure(std::move(noted));
    }
    return entries;
  }

  Result<std::vector<NeighborEntry>> neighbors() override {
    return read_all<NeighborEntry>("read the neighbors", RTM_GETNEIGH, ndmsg{},
                                   [this](const Message& m) { return netlink::decode_neighbor(m, marks_.protocol); });
  }

  Result<std::vector<NexthopEntry>> nexthops() override {
    return read_all<NexthopEntry>("read the next hops", RTM_GETNEXTHOP, nhmsg{},
                                  [this](const Message& m) { return netlink::decode_nexthop(m, marks_.protocol); });
  }

  Status routes(const std::function<void(const RouteEntry&)>& visit) override {
    std::size_t count = 0;
    connected_.begin_reading();
    for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
      rtmsg header{};
      header.rtm_family = family;
      std::optional<Ahead> ahead;
      // All routes, because one of another program may be before ours. Gathered before they are returned, because a dump may have to start
      // again.
      auto entries = read_all<RouteEntry>("read the routes", RTM_GETROUTE, header, [&](const Message& m) {
        ++count;
        return connected_.see(m) ? std::nullopt : entry_of(m, ahead);
      });
      if (!entries) return std::move(entries.error());
      for (const RouteEntry& entry : *entries) visit(entry);
    }
    routes_.store(count, std::memory_order_relaxed);
    connected_.end_reading();
    return {};
  }

  Result<std::vector<FdbEntry>> fdb() override {
    const auto links = netlink::dump_links(dumps_, marks_.protocol);
    if (!links) return failure(links.error());
    std::set<IfIndex> bridges;
    for (const netlink::LinkState& link : *links) {
      if (link.event.bridge && link.event.ours) bridges.insert(link.event.port);
    }
    if (bridges.empty()) return std::vector<FdbEntry>{};
    ndmsg header{};
    header.ndm_family = AF_BRIDGE;
    return read_all<FdbEntry>("read the entries of bridges", RTM_GETNEIGH, header, [&bridges](const Message& m) -> std::optional<FdbEntry> {
      const std::optional<netlink::FdbRecord> record = netlink::decode_fdb(m);
      if (!record || record->removed || !record->is_static || record->vlan != 0) return std::nullopt;
      if (!bridges.contains(record->bridge)) return std::nullopt;
      return FdbEntry{record->bridge, record->port, record->mac, record->is_sticky};
    });
  }

  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override {
    auto opened = netlink::LinkMonitor::open(where_, scheduler, priority, std::move(handler), kMonitorBufferBytes, marks_.protocol);
    if (!opened) return failure(std::move(opened.error()));
    return std::unique_ptr<Source>{std::move(*opened)};
  }

  Result<std::unique_ptr<Source>> watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) override {
    if (!orders_port_) return failure(orders_port_.error().with_context("monitor objects"));
    auto opened = netlink::ObjectMonitor::open(where_, scheduler, priority, std::move(handler), *orders_port_, marks_, kMonitorBufferBytes,
                                               subnets_, connected_);
    if (!opened) return failure(std::move(opened.error()));
    return std::unique_ptr<Source>{std::move(*opened)};
  }

  Result<std::unique_ptr<NeighborWatch>> watch_neighbors(Scheduler& scheduler, Priority priority,
                                                         std::function<void(const NeighborEvent&)> handler) override {
    auto opened = netlink::NeighborMonitor::open(where_, scheduler, priority, std::move(handler), kMonitorBufferBytes);
    if (!opened) return failure(std::move(opened.error()));
    return std::unique_ptr<NeighborWatch>{std::move(*opened)};
  }

  Result<std::unique_ptr<FdbWatch>> watch_fdb(Scheduler& scheduler, Priority priority,
                                              std::function<void(const FdbEvent&)> handler) override {
    auto opened = netlink::FdbMonitor::open(where_, scheduler, priority, std::move(handler), kMonitorBufferBytes);
    if (!opened) return failure(std::move(opened.error()));
    return std::unique_ptr<FdbWatch>{std::move(*opened)};
  }

  void copy_subnets_to(std::uint32_t table) override { connected_.keep_in(table); }
  std::vector<MissingSubnet> missing_subnets() const override { return connected_.missing(); }

  std::string describe() const override {
    return "linux rtnetlink, " + (where_.path().empty() ? "own network namespace" : "network namespace " + where_.path()) + remark_;
  }

 private:
  Status reserve() override {
    if (lock_.is_held()) return {};
    auto lock = netlink::PlaneLock::take(where_.path(), marks_.protocol);
    if (!lock) return std::move(lock.error());
    lock_ = std::move(*lock);
    return {};
  }

  /// The orders that are given only after a look at whose their object is: the kernel would delete one of any program.
  static bool is_looked_up(const Order& order) noexcept {
    return std::holds_alternative<FdbDelete>(order) || std::holds_alternative<NexthopDelete>(order);
  }
  bool may_delete(Operation& operation) {
    return std::holds_alternative<FdbDelete>(operation.order) ? entries_.may_delete(operation) : nexthop_holders_.may_delete(operation);
  }
  /// Leaves an FdbSet refused if an entry is present.
  void apply_others(std::span<Operation> ops) {
    if (ops.empty()) return;
    const auto is_route = [](const Operation& op) { return std::holds_alternative<RouteSet>(op.order); };
    routes_.fetch_add(static_cast<std::size_t>(std::ranges::count_if(ops, is_route)), std::memory_order_relaxed);
    sender_.apply(ops);
    if (sender_.take_existing() != 0) settle_existing(ops);
  }
  /// Called when the kernel refused to create objects because some are present: those of other programs stay, and ours are replaced.
  void settle_existing(std::span<Operation> ops) {
    std::vector<std::size_t> ours = holders_.settle(ops);
    // If a later order of the same send concerns the route, do not replace it here: that would change the order. The caller retries.
    std::erase_if(ours, [&](std::size_t i) {
      const auto is_about_it = [&route = std::get<RouteSet>(ops[i].order)](const Operation& later) {
        const auto* const gone = std::get_if<RouteDelete>(&later.order);
        const auto* const set = std::get_if<RouteSet>(&later.order);
        return (gone != nullptr && gone->prefix == route.prefix && gone->table == route.table) ||
               (set != nullptr && set->prefix == route.prefix && set->table == route.table);
      };
      return std::ranges::any_of(ops.subspan(i + 1), is_about_it);
    });
    replace_ours(ops, nexthop_holders_.settle(ops));
    replace_ours(ops, ours);
  }
  void replace_ours(std::span<Operation> ops, const std::vector<std::size_t>& ours) {
    std::vector<Operation> again;
    again.reserve(ours.size());
    for (const std::size_t i : ours) {
      delete_stray(ops[i].order);
      again.push_back({ops[i].order, {}});
      std::visit(
          [](auto& order) {
            if constexpr (requires { order.create; }) order.create = false;
            if constexpr (requires { order.clean; }) order.clean = true;
          },
          again.back().order);
    }
    sender_.apply(again);
    for (std::size_t i = 0; i < ours.size(); ++i) ops[ours[i]].status = std::move(again[i].status);
  }

  Result<std::vector<netlink::SubnetRoutes::Subnet>> subnets_with_route() {
    std::vector<netlink::SubnetRoutes::Subnet> subnets;
    for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
      rtmsg header{};
      header.rtm_family = family;
      header.rtm_protocol = RTPROT_KERNEL;
      auto routes =
          read_all<netlink::SubnetRoutes::Subnet>("read the routes to subnets", RTM_GETROUTE, header, netlink::decode_subnet_route);
      if (!routes) return failure(std::move(routes.error()));
      subnets.insert(subnets.end(), routes->begin(), routes->end());
    }
    return subnets;
  }

  /// The routes of other programs that the kernel lists before one of ours, to the same prefix in the same table.
  struct Ahead {
    RouteDelete place;
    bool outranks = false;  // One of them has our metric.
    std::uint8_t rival = 0;
  };
  /// Decodes a route of ours. The kernel lists the routes of one place together, the preferred one first.
  std::optional<RouteEntry> entry_of(const Message& message, std::optional<Ahead>& ahead) const {
    std::optional<RouteEntry> entry = netlink::decode_route(message, marks_);
    if (entry) {
      if (!ahead || ahead->place != entry->gone()) return entry;
      if (ahead->outranks) entry->is_outranked = true;
      entry->rival = ahead->rival;
      return entry;
    }
    const auto route = netlink::decode_route_holder(message);
    if (!route || route->protocol == marks_.protocol) return std::nullopt;
    const RouteDelete place{route->prefix, route->table};
    if (!ahead || ahead->place != place) ahead = Ahead{place};
    if (route->metric == marks_.metric) ahead->outranks = true;
    if (route->metric < marks_.metric && ahead->rival == 0) ahead->rival = route->protocol;
    return std::nullopt;
  }

  /// Two routes of ours in one place: deletes the route that the kernel prefers, so that the order replaces the other. If more are there,
  /// the next audit finds them.
  void delete_stray(const Order& order) {
    const auto* const route = std::get_if<RouteSet>(&order);
    if (route == nullptr || !holders_.has_strays(*route)) return;
    Operation gone{RouteDelete{route->prefix, route->table}, {}};
    sender_.apply({&gone, 1});
  }

  template <class Entry, class Header, class Decode>
  Result<std::vector<Entry>> read_all(std::string_view what, std::uint16_t type, const Header& header, Decode decode) {
    std::vector<Entry> entries;
    const Status status =
        dumps_.run({.request = [&](MessageWriter& writer, std::uint32_t sequence) { writer.begin(type, kDumpFlags, sequence, header); },
                    .restart = [&] { entries.clear(); },
                    .visit =
                        [&](const Message& message) {
                          if (auto entry = decode(message)) entries.push_back(std::move(*entry));
                        }});
    if (!status.ok()) return failure(status.with_context(what));
    return entries;
  }

  const netlink::ObjectMarks marks_;
  const NetworkNamespace where_;
  const std::string remark_;
  netlink::PlaneLock lock_;
  // Of all programs at the last reading, and the orders for routes since then.
  std::atomic<std::size_t> routes_ = 0;
  const Result<std::uint32_t> orders_port_;  // The port of sender_'s socket.
  netlink::OrderSender sender_;
  DumpChannel dumps_;
  DumpChannel holder_dumps_;  // Used by the programming thread, which must not share a channel with the thread that reads dumps.
  netlink::RouteHolders holders_;
  netlink::FdbEntries entries_{where_};
  netlink::NexthopHolders nexthop_holders_{where_, marks_.protocol};
  netlink::ConnectedRoutes connected_{where_, marks_};
  const std::shared_ptr<netlink::SubnetRoutes> subnets_ = std::make_shared<netlink::SubnetRoutes>();
};

// Deletes a next hop that cannot exist: the answer shows whether we may program here, and whether this kernel has next-hop objects.
Status probe(netlink::Socket& socket, Duration wait) {
  std::byte out[64];
  std::vector<std::byte> in(netlink::kDatagramBytes);
  MessageWriter writer{out};
  writer.begin(RTM_DELNEXTHOP, NLM_F_REQUEST | NLM_F_ACK, 0, nhmsg{});
  writer.attribute(NHA_ID, std::uint32_t{UINT32_MAX});
  writer.end();
  if (Status sent = socket.send(writer.bytes()); !sent.ok()) return sent;
  const auto datagram = socket.receive(in, wait);
  if (!datagram) return datagram.error();
  netlink::MessageReader reader{*datagram};
  Message message;
  const auto answer = reader.next(message) && message.header.nlmsg_type == NLMSG_ERROR ? netlink::decode_answer(message) : std::nullopt;
  if (!answer) return Status{StatusCode::DeadlineExceeded, "the kernel does not answer on netlink"};
  if (answer->error_number == EOPNOTSUPP)
    return Status{StatusCode::Unimplemented, "this kernel has no next-hop objects (Linux 5.3)", EOPNOTSUPP};
  if (answer->error_number == EPERM) return Status{StatusCode::PermissionDenied, "programming the kernel needs CAP_NET_ADMIN", EPERM};
  return {};
}

// Runs inside the namespace. Both settings are improvements that a read-only /proc/sys denies. Everything else works without them, so a
// refusal is only reported.
Status prepare_namespace() {
  // Otherwise the kernel walks and announces all routes of a group when the group changes.
  const Status mode = netlink::write_sysctl("/proc/sys/net/ipv4/nexthop_compat_mode", "0");
  // Otherwise deleting an IPv4 address deletes the others of its subnet.
  const Status promote = netlink::write_sysctl("/proc/sys/net/ipv4/conf/all/promote_secondaries", "1");
  if (!mode.ok()) return mode.with_context("group changes are slow");
  return promote.with_context("deleting an IPv4 address may take others of its subnet along");
}

Status check_options(const LinuxDataPlaneOptions& options) {
  if (options.batch < 1 || options.batch > limits::kNetlinkBatch) {
    return Status{StatusCode::InvalidArgument, "batch " + std::to_string(options.batch) + " is not in 1..256"};
  }
  // 0 is "unspecified"; 1 to 4 are the kernel's own (redirect, kernel, boot, static by hand).
  if (options.protocol <= RTPROT_STATIC) {
    return Status{StatusCode::InvalidArgument, "protocol " + std::to_string(options.protocol) + " belongs to the kernel"};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DataPlane>> make_linux_dataplane(const LinuxDataPlaneOptions& options) {
  if (Status status = check_options(options); !status.ok()) return failure(std::move(status));
  auto where = NetworkNamespace::open(options.network_namespace);
  if (!where) return failure(std::move(where.error()));
  auto socket = netlink::Socket::open(*where, {});
  if (!socket) return failure(std::move(socket.error()));
  if (Status status = probe(*socket, 5s); !status.ok()) return failure(std::move(status));
  const Status prepared = where->inside(prepare_namespace);
  std::string remark = prepared.ok() ? std::string{} : " (" + std::string{prepared.message()} + ")";
  return std::unique_ptr<DataPlane>{new LinuxDataPlane(options, std::move(*where), std::move(*socket), std::move(remark))};
}

}  // namespace rondo
