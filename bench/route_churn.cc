// route_churn: what happens to a table of routes that is in the kernel already. A process in zebra's place sends it over FPM to rondod's
// server, tables and Orchs, with a namespace of the real kernel behind them (needs root). Parts:
//   link    the cable of a port is pulled that each next-hop group uses, and put in again: the time from the kernel's event to the last
//           change of a group, and the number of changes of routes (wanted: none). The kernel itself takes next hops of a port without a
//           carrier out of their groups, and announces nothing
//   updates a recorded stream of BGP updates, 20 times as fast as it was recorded: the time from send() to the kernel's notification of the
//           same state of the prefix, and the comparison of all routes with a model of the stream
// The file of updates has lines "second<TAB>A or W<TAB>peer<TAB>prefix<TAB>origin". Each peer is a next-hop group; of several peers that
// announce a prefix, the one with the lowest number is used, and routes of the table only if no peer announces the prefix. The updates of
// a second are sent evenly over it.
// TABLE is a number of generated routes (500000), or a file with a prefix at the begin of each line.
// Usage: bench_route_churn link [rounds] [TABLE]
//        bench_route_churn updates FILE [TABLE]
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <bitset>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/socket.h"
#include "fpm_side.h"

namespace {

using namespace rondo;
using namespace rondo::bench;

constexpr std::uint32_t kManyGroups = 256;
constexpr netlink::ObjectMarks kOwn{.protocol = 201, .metric = kOwnMetric};
constexpr int kSpeed = 20;
constexpr std::size_t kPeers = 16;

double ms(Duration time) { return static_cast<double>(time.count()) * 1e-6; }

/// The kernel's notifications, in the order in which they came.
class Listener {
 public:
  Listener(const std::string& network_namespace, std::vector<unsigned> groups)
      : socket_(netlink::Socket::open(netlink::NetworkNamespace::open(network_namespace).value(),
                                      {.receive_buffer_bytes = 256 * 1024 * 1024, .groups = std::move(groups)})
                    .value()),
        buffer_(netlink::kDatagramBytes) {}
  /// Hands each message to 'visit' with the time of its arrival; waits at most so long for the first one. Returns whether any came.
  template <class Visit>
  bool receive(Duration wait, const Visit& visit) {
    for (bool any = false;; any = true) {
      const auto datagram = socket_.receive(buffer_, wait);
      if (!datagram) give_up("notifications were lost: " + datagram.error().to_string());
      if (datagram->empty()) return any;
      wait = Duration{0};
      const Instant now = clock_.now();
      netlink::MessageReader messages{*datagram};
      for (netlink::Message message; messages.next(message);) visit(message, now);
    }
  }

 private:
  netlink::Socket socket_;
  std::vector<std::byte> buffer_;
  SystemClock clock_;
};

std::vector<Prefix> read_table(const std::string& table) {
  if (table.find_first_not_of("0123456789") == std::string::npos) return make_prefixes(std::stoul(table));
  std::ifstream file{table};
  if (!file) give_up("cannot read " + table);
  std::set<Prefix> prefixes;
  for (std::string line; std::getline(file, line);) {
    const auto prefix = Prefix::parse(line.substr(0, line.find_first_of("\t ")));
    if (!prefix) give_up("no prefix: " + line);
    prefixes.insert(*prefix);
  }
  return {prefixes.begin(), prefixes.end()};
}

/// Programs the table over the groups from 'first_group' on, and runs 'work' in a process of its own when they are in the kernel.
void with_table(const std::vector<Prefix>& prefixes, std::uint32_t groups, std::uint32_t first_group,
                const std::function<void(const Zebra&, const netlink::Lab&)>& work) {
  const auto lab = make_lab();
  const auto plane = make_plane(*lab);
  std::string stream = nexthop_frames(devices_of(*plane), groups);
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    add_route(stream, prefixes[i], first_group + static_cast<std::uint32_t>(i) % (groups - first_group));
  }
  Daemon daemon{*plane, rows_of(groups)};
  int ready[2];
  if (::pipe(ready) != 0) give_up("pipe failed");
  const pid_t sender = fork_sender([&] {
    const Zebra zebra{daemon.port()};
    zebra.send(stream);
    char byte = 0;
    if (::read(ready[0], &byte, 1) != 1) give_up("the table was not programmed");
    work(zebra, *lab);
    std::fflush(stdout);
  });
  daemon.run_until([&] { return daemon.programmed() == prefixes.size(); });
  if (::write(ready[1], "", 1) != 1) give_up("write failed");
  int status = 0;
  daemon.run_until([&] { return ::waitpid(sender, &status, WNOHANG) != 0; });
  if (status != 0) give_up("the sender failed");
}

// --- link

/// Moves the cable of the first port; returns when the kernel announced it, and how many changes of routes it announced since the last
/// call.
class Cable {
 public:
  explicit Cable(const netlink::Lab& lab) : lab_(lab), listener_(lab.path(), {RTNLGRP_LINK, RTNLGRP_NEXTHOP, RTNLGRP_IPV4_ROUTE}) {}

  Instant move(bool up) {
    if (!lab_.set_carrier(1, up)) give_up("ip link failed");
    Instant event{};
    while (event == Instant{}) {
      const bool any = receive(5s, [&](const netlink::Message& message, Instant now) {
        const auto link = netlink::decode_link(message);
        if (link && link->event.name == port_name(1) && link->event.carrier == up && event == Instant{}) event = now;
      });
      if (!any) give_up("the kernel announced no change of the carrier");
    }
    return event;
  }
  /// Waits until each group has been changed to four members; returns when the last one was.
  Instant wait_for_groups() {
    Instant last{};
    while (whole_.size() < kManyGroups) {
      if (!receive(5s, [&](const netlink::Message&, Instant now) { last = now; })) give_up("not all groups have their members again");
    }
    whole_.clear();
    return last;
  }
  std::size_t route_changes() const noexcept { return routes_; }

 private:
  template <class Visit>
  bool receive(Duration wait, const Visit& visit) {
    return listener_.receive(wait, [&](const netlink::Message& message, Instant now) {
      if (netlink::decode_route_holder(message)) ++routes_;
      const auto group = netlink::decode_nexthop(message, kOwn.protocol);
      if (group && group->members.size() == kPorts) whole_.insert(group->id.value());
      visit(message, now);
    });
  }

  const netlink::Lab& lab_;
  Listener listener_;
  std::set<std::uint32_t> whole_;
  std::size_t routes_ = 0;
};

/// Reads the kernel's groups until none has more than three members; returns when the reading that shows it ended.
Instant wait_for_smaller_groups(DataPlane& plane) {
  const SystemClock clock;
  const Instant start = clock.now();
  while (clock.now() < start + 5s) {
    const std::vector<NexthopEntry> entries = plane.nexthops().value();
    const auto members = [](const NexthopEntry& entry) { return entry.members.size(); };
    const auto groups = std::ranges::count_if(entries, [&](const auto& entry) { return members(entry) != 0; });
    if (groups != kManyGroups) give_up("a group is missing");
    if (std::ranges::none_of(entries, [&](const auto& entry) { return members(entry) == kPorts; })) return clock.now();
  }
  give_up("not all groups lost the member whose cable was pulled");
}

void print_times(const char* what, std::vector<double> times) {
  std::ranges::sort(times);
  std::printf("%s: p50 %.2f ms, max %.2f ms\n", what, times[times.size() / 2], times.back());
}

void link_part(int rounds, const std::vector<Prefix>& table) {
  with_table(table, kManyGroups, 0, [&](const Zebra&, const netlink::Lab& lab) {
    const auto plane = make_plane(lab);
    Cable cable{lab};
    std::vector<double> downs, ups;
    for (int round = 0; round < rounds; ++round) {
      const Instant down = cable.move(false);
      downs.push_back(ms(wait_for_smaller_groups(*plane) - down));
      const Instant up = cable.move(true);
      ups.push_back(ms(cable.wait_for_groups() - up));
    }
    std::printf("%zu routes over %u groups, a cable pulled %d times\n", table.size(), kManyGroups, rounds);
    print_times("from the kernel's event until no group has the member (with the time to read them)", downs);
    print_times("from the event of the cable's return until all groups have it again", ups);
    std::printf("changes of routes: %zu\n", cable.route_changes());
  });
}

// --- updates

struct Update {
  unsigned second = 0;
  bool announced = false;
  unsigned peer = 0;
  Prefix prefix;
};

std::vector<Update> read_updates(const char* path) {
  std::ifstream file{path};
  if (!file) give_up(std::string{"cannot read "} + path);
  std::vector<Update> updates;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    Update update;
    char kind = 0;
    std::string prefix;
    words >> update.second >> kind >> update.peer >> prefix;
    const auto parsed = Prefix::parse(prefix);
    if (!words || (kind != 'A' && kind != 'W') || update.peer >= kPeers || !parsed) give_up("no update: " + line);
    update.announced = kind == 'A';
    update.prefix = *parsed;
    updates.push_back(update);
  }
  if (updates.empty()) give_up(std::string{"no updates in "} + path);
  return updates;
}

/// What the kernel should have: the best peer of each prefix. The table has routes of the group kPeers.
class Model {
 public:
  explicit Model(const std::vector<Prefix>& table) {
    for (const Prefix& prefix : table) peers_[prefix].set(kPeers);
  }
  /// Returns the frame that zebra would send; empty if the best route stays.
  std::string apply(const Update& update) {
    auto& peers = peers_[update.prefix];
    const std::size_t before = best(peers);
    peers.set(update.peer, update.announced);
    const std::size_t after = best(peers);
    std::string frame;
    if (after == before) return frame;
    if (after == kNone) {
      add_withdrawal(frame, update.prefix);
    } else {
      add_route(frame, update.prefix, static_cast<std::uint32_t>(after));
    }
    return frame;
  }
  /// The group of the prefix; kNone: no route.
  std::size_t wanted(const Prefix& prefix) const {
    const auto found = peers_.find(prefix);
    return found == peers_.end() ? kNone : best(found->second);
  }
  std::size_t size() const {
    return static_cast<std::size_t>(std::ranges::count_if(peers_, [](const auto& entry) { return entry.second.any(); }));
  }
  static constexpr std::size_t kNone = kPeers + 1;

 private:
  using Peers = std::bitset<kPeers + 1>;
  static std::size_t best(const Peers& peers) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers.test(i)) return i;
    }
    return kNone;
  }
  std::map<Prefix, Peers> peers_;
};

/// Sends updates, and waits for the kernel's notification of the last state of each prefix.
class Replay {
 public:
  Replay(const Zebra& zebra, const netlink::Lab& lab, const std::vector<Prefix>& table)
      : zebra_(zebra), lab_(lab), before_(table), model_(table), listener_(lab.path(), {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE}) {}

  /// A prefix of each peer, so that the kernel's number of each group is known.
  void learn_groups() {
    for (std::uint32_t peer = 0; peer <= kPeers; ++peer) {
      const Prefix probe = {IpAddress::v4(0xc6120000U + (peer << 8)), 24};  // A prefix in 198.18.0.0/15.
      std::string frame;
      add_route(frame, probe, peer);
      zebra_.send(frame);
      while (!groups_.contains(peer)) {
        const bool any = listener_.receive(5s, [&](const netlink::Message& message, Instant) {
          const auto route = netlink::decode_route(message, kOwn);
          if (route && route->prefix == probe) groups_[peer] = route->nexthop.value();
        });
        if (!any) give_up("a group is not in the kernel");
      }
      frame.clear();
      add_withdrawal(frame, probe);
      zebra_.send(frame);
    }
  }

  void run(const std::vector<Update>& updates) {
    const SystemClock clock;
    const Instant start = clock.now();
    for (std::size_t begin = 0; begin < updates.size();) {
      std::size_t end = begin;
      while (end < updates.size() && updates[end].second == updates[begin].second) ++end;
      for (std::size_t i = begin; i < end; ++i) {
        const auto share = Duration{1s} * static_cast<long>(i - begin) / static_cast<long>(end - begin);
        const Instant due = start + (Duration{1s} * updates[i].second + share) / kSpeed;
        while (clock.now() < due) receive(std::min<Duration>(due - clock.now(), 1ms));
        const std::string frame = model_.apply(updates[i]);
        if (frame.empty()) continue;
        note_change(updates[i].prefix, clock.now());
        zebra_.send(frame);
        receive(Duration{0});
      }
      begin = end;
    }
    seconds_ = ms(clock.now() - start) * 1e-3;
    while (!unseen_.empty() && receive(2s)) {
    }
  }

  void report(std::size_t updates) {
    std::ranges::sort(waits_);
    std::printf(
        "%zu updates in %.1f s, %zu changes of the best route: update to the kernel's notification p50 %.2f ms, p99 %.2f ms, max %.2f ms; "
        "changes back, not measured: %zu\n",
        updates, seconds_, sent_, waits_[waits_.size() / 2], waits_[waits_.size() * 99 / 100], waits_.back(), sent_ - waits_.size());
    std::size_t equal = 0, different = 0;
    must(make_plane(lab_)->routes([&](const RouteEntry& route) {
      const std::size_t wanted = model_.wanted(route.prefix);
      ++(wanted != Model::kNone && groups_[wanted] == route.nexthop.value() ? equal : different);
    }));
    std::printf("routes equal in the kernel: %zu of %zu; others: %zu\n", equal, model_.size(), different);
    if (equal != model_.size() || different != 0) give_up("the kernel's state differs from the stream's");
  }

 private:
  bool receive(Duration wait) {
    return listener_.receive(wait, [this](const netlink::Message& message, Instant now) { see(message, now); });
  }
  /// A change back to the state that the kernel has may end without a notification: it is not measured, and neither are those
  /// before it.
  void note_change(const Prefix& prefix, Instant now) {
    ++sent_;
    const auto shown = shown_.find(prefix);
    const std::size_t last = shown == shown_.end() ? before_.wanted(prefix) : shown->second;
    const bool is_back = unseen_.contains(prefix) && last == model_.wanted(prefix);
    if (is_back) {
      unseen_.erase(prefix);
    } else {
      unseen_[prefix].push_back(now);
    }
  }
  /// A notification of the newest state of a prefix ends the wait of all its changes.
  void see(const netlink::Message& message, Instant now) {
    const auto route = netlink::decode_route_holder(message);
    if (!route || route->protocol != kOwn.protocol) return;
    std::size_t state = Model::kNone;
    if (message.header.nlmsg_type == RTM_NEWROUTE) {
      const auto added = netlink::decode_route(message, kOwn);
      const auto group = std::ranges::find_if(groups_, [&](const auto& entry) { return added && entry.second == added->nexthop.value(); });
      if (group == groups_.end()) give_up("a route of an unknown group");
      state = group->first;
    }
    shown_[route->prefix] = state;
    const auto changes = unseen_.find(route->prefix);
    if (changes == unseen_.end() || model_.wanted(route->prefix) != state) return;
    for (const Instant at : changes->second) waits_.push_back(ms(now - at));
    unseen_.erase(changes);
  }

  const Zebra& zebra_;
  const netlink::Lab& lab_;
  const Model before_;
  Model model_;
  Listener listener_;
  std::map<std::size_t, std::uint32_t> groups_;
  std::map<Prefix, std::size_t> shown_;            // The group of the kernel's last notification; kNone: removed.
  std::map<Prefix, std::vector<Instant>> unseen_;  // Changes that no notification has shown.
  std::vector<double> waits_;
  std::size_t sent_ = 0;
  double seconds_ = 0;
};

void updates_part(const char* path, const std::vector<Prefix>& table) {
  const std::vector<Update> updates = read_updates(path);
  with_table(table, kPeers + 1, kPeers, [&](const Zebra& zebra, const netlink::Lab& lab) {
    Replay replay{zebra, lab, table};
    replay.learn_groups();
    replay.run(updates);
    replay.report(updates.size());
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  const std::string table = argc > 3 ? argv[3] : "500000";
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (part == "link") {
    link_part(argc > 2 ? std::atoi(argv[2]) : 10, read_table(table));
  } else if (part == "updates" && argc > 2) {
    updates_part(argv[2], read_table(table));
  } else {
    std::fprintf(stderr, "Usage: bench_route_churn link [rounds] [TABLE]\n       bench_route_churn updates FILE [TABLE]\n");
    return 2;
  }
  return 0;
}
