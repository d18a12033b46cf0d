// The common parts of the benchmarks of routes over FPM: what a zebra sends, and the parts of rondod that it passes, on ports of a
// namespace.
#pragma once

#include <arpa/inet.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "dataplane/netlink/lab.h"
#include "dataplane/netlink/message.h"
#include "fpm/server.h"
#include "frr/network.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/agent.h"

namespace rondo::bench {

inline constexpr int kPorts = 4;
inline constexpr std::uint32_t kGroups = 32;
inline constexpr std::uint32_t kFirstGroup = 100'000;

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(1);
}
inline void must(const Status& status) {
  if (!status.ok()) give_up(status.to_string());
}

template <class Header, class Fill>
void add_frame(std::string& stream, std::uint16_t type, const Header& header, const Fill& fill) {
  std::array<std::byte, 512> buffer{};
  netlink::MessageWriter writer{buffer};
  writer.begin(type, 0x501, 0, header);
  fill(writer);
  if (!writer.end()) give_up("a message is too long");
  const std::size_t length = writer.bytes().size() + 4;
  stream += {1, 1, static_cast<char>(length >> 8U), static_cast<char>(length & 255U)};
  stream.append(reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size());
}

inline std::string port_name(int port) { return "swp" + std::to_string(port); }
/// A link-local gateway serves routes of both families.
inline std::string gateway(int hop) { return "fe80::" + std::to_string(hop); }

/// Groups with the numbers kFirstGroup and on, each of four next hops on four ports. 'devices' are the ports' numbers.
inline std::string nexthop_frames(const std::vector<std::uint32_t>& devices, std::uint32_t groups = kGroups) {
  std::string stream;
  for (std::uint32_t id = 1; id <= groups * kPorts; ++id) {
    nhmsg header{};
    header.nh_family = AF_INET6;
    add_frame(stream, RTM_NEWNEXTHOP, header, [&](netlink::MessageWriter& writer) {
      const IpAddress via = IpAddress::parse(gateway(static_cast<int>(id))).value();
      writer.attribute(NHA_ID, id);
      writer.attribute(NHA_GATEWAY, via.bytes().data(), via.size());
      writer.attribute(NHA_OIF, devices[(id - 1) % kPorts]);
    });
  }
  for (std::uint32_t group = 0; group < groups; ++group) {
    add_frame(stream, RTM_NEWNEXTHOP, nhmsg{}, [&](netlink::MessageWriter& writer) {
      std::array<nexthop_grp, kPorts> members{};
      for (std::uint32_t i = 0; i < kPorts; ++i) members[i].id = group * kPorts + i + 1;
      writer.attribute(NHA_ID, kFirstGroup + group);
      writer.attribute(NHA_GROUP, members.data(), sizeof members);
    });
  }
  return stream;
}

inline void add_route(std::string& stream, const Prefix& prefix, std::uint32_t group) {
  rtmsg header{};
  header.rtm_family = prefix.address.is_v6() ? AF_INET6 : AF_INET;
  header.rtm_dst_len = prefix.length;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = 186;
  header.rtm_type = RTN_UNICAST;
  add_frame(stream, RTM_NEWROUTE, header, [&](netlink::MessageWriter& writer) {
    writer.attribute(RTA_DST, prefix.address.bytes().data(), prefix.address.size());
    writer.attribute(RTA_PRIORITY, std::uint32_t{20});
    writer.attribute(RTA_NH_ID, kFirstGroup + group);
  });
}

inline void add_withdrawal(std::string& stream, const Prefix& prefix) {
  rtmsg header{};
  header.rtm_family = prefix.address.is_v6() ? AF_INET6 : AF_INET;
  header.rtm_dst_len = prefix.length;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = 186;
  add_frame(stream, RTM_DELROUTE, header, [&](netlink::MessageWriter& writer) {
    writer.attribute(RTA_DST, prefix.address.bytes().data(), prefix.address.size());
    writer.attribute(RTA_PRIORITY, std::uint32_t{20});
  });
}

/// In random order, as zebra's walk of a real table is for the kernel's tree.
inline std::vector<Prefix> make_prefixes(std::size_t count) {
  std::vector<Prefix> prefixes;
  for (std::uint32_t i = 0; i < count; ++i) prefixes.push_back({IpAddress::v4(0x14000000U + (i << 8)), 24});
  std::shuffle(prefixes.begin(), prefixes.end(), std::mt19937{1});
  return prefixes;
}
class Zebra {
 public:
  explicit Zebra(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("cannot connect");
  }
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) give_up("the session ended");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

 private:
  UniqueFd socket_;
};

inline std::vector<std::uint32_t> devices_of(DataPlane& plane) {
  std::vector<std::uint32_t> devices(kPorts);
  const std::vector<LinkEvent> links = plane.links().value();
  for (const LinkEvent& link : links) {
    for (int i = 1; i <= kPorts; ++i) {
      if (link.name == port_name(i)) devices[static_cast<std::size_t>(i) - 1] = link.port.value();
    }
  }
  return devices;
}

/// The ports, and the neighbours of the groups of nexthop_frames().
inline std::vector<frr::Row> rows_of(std::uint32_t groups = kGroups) {
  std::vector<frr::Row> rows;
  for (int port = 1; port <= kPorts; ++port) {
    rows.push_back({"PORT_TABLE", port_name(port), {{"admin_status", "up"}}});
    rows.push_back({"INTF_TABLE", port_name(port)});
  }
  for (int hop = 1; hop <= static_cast<int>(groups) * kPorts; ++hop) {
    rows.push_back({"NEIGH_TABLE", port_name((hop - 1) % kPorts + 1) + ":" + gateway(hop), {{"neigh", "02:00:00:00:00:01"}}});
  }
  return rows;
}

/// The parts of rondod that a route of FPM passes.
class Daemon {
 public:
  explicit Daemon(DataPlane& plane, const std::vector<frr::Row>& rows = rows_of())
      : runtime_(RuntimeOptions{}), agent_(runtime_, plane, {}) {
    runtime_.on_reject([](std::string_view, const Change&, const Status& why) { give_up(why.to_string()); });
    must(agent_.start());
    for (const frr::Row& row : rows) {
      std::vector<Field> fields;
      for (const auto& [name, value] : row.fields) fields.push_back({name, value});
      must(runtime_.table(row.table).set(row.key, fields));
    }
    fpm::ServerOptions options;
    options.port = 0;
    options.book.device_name = [this](std::uint32_t device) { return std::string{agent_.port_ids().name(IfIndex{device})}; };
    options.under_way = [this] { return runtime_.store().size("ROUTE_TABLE")->staged + agent_.programmer().in_flight(); };
    server_ = fpm::Server::open(runtime_.scheduler(), runtime_.store(), std::move(options)).value();
    agent_.on_route_answers([this] { server_->routes_answered(); });
    server_->begin();
  }
  std::uint16_t port() const { return server_->port(); }
  std::uint64_t programmed() const { return agent_.routes().counts().programmed; }
  void run_until(const std::function<bool()>& done) {
    while (!done()) runtime_.scheduler().run_for(5ms);
  }
  Duration longest_wait() const { return server_->figures().book.longest_wait; }

 private:
  Runtime runtime_;
  switch_agent::SwitchAgent agent_;
  std::unique_ptr<fpm::Server> server_;
};

inline pid_t fork_sender(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid < 0) give_up("fork failed");
  if (pid != 0) return pid;
  work();
  std::_Exit(0);
}

/// What one table took.
struct Sample {
  double seconds = 0;
  double cpu = 0;
};

/// CPU time of all threads of this process.
inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline void report(const char* part, std::vector<Sample> samples, std::size_t routes) {
  const auto count = static_cast<double>(routes);
  std::ranges::sort(samples, {}, &Sample::seconds);
  const double rate = count / samples[samples.size() / 2].seconds;
  const double best = count / samples.front().seconds;
  std::ranges::sort(samples, {}, &Sample::cpu);
  const double cpu_us = samples[samples.size() / 2].cpu * 1e6 / count;
  std::printf("%s, %zu routes, %zu rounds: median %.0f, best %.0f routes/s; CPU %.2f us a route: %.0f routes a second of CPU\n", part,
              routes, samples.size(), rate, best, cpu_us, 1e6 / cpu_us);
}

inline std::unique_ptr<netlink::Lab> make_lab() {
  auto lab = netlink::Lab::make();
  if (!lab) give_up(lab.error().to_string());
  for (int port = 1; port <= kPorts; ++port) {
    if (!(*lab)->add_port(port)) give_up("ip link failed");
  }
  return std::move(*lab);
}
inline std::unique_ptr<DataPlane> make_plane(const netlink::Lab& lab) {
  return make_linux_dataplane({.network_namespace = lab.path()}).value();
}

}  // namespace rondo::bench
