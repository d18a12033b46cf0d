// fpm_capture: a whole table as a real zebra sends it over FPM after it has connected again, recorded to a file and played back.
//   record  starts two FRR routers in namespaces of their own (needs root and Debian's package frr). The peer announces TABLE over BGP on
//           two cables. The box's zebra sends its routes to an FPM server that only reads. It loses that session, connects again and sends
//           everything once more: this resend is stored in FILE, byte for byte. TABLE has a prefix at the start of each line
//   replay  sends the file from a process of its own, in one session, through rondod's FPM server, tables and Orchs into the kernel, in a
//           namespace with the same ports (needs root). Then it compares the prefixes in the kernel with those of the file. Beside it a
//           bare netlink loop programs the same prefixes, all with one group, into tables that no rule reads: in zebra's order, and with
//           the shortest prefixes first, which is nearly rondod's order (fpm/write_order.h). Only system calls count for the loop.
// "A second of CPU" counts the CPU time of all threads, without the sender's. Pin the program to a processor (taskset), and "median" is
// what one core does for both.
// Usage: bench_fpm_capture record FILE TABLE [routes] | replay FILE [rounds]

#include <arpa/inet.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "dataplane/netlink/baseline.h"
#include "fpm/decode.h"
#include "fpm/frame_reader.h"
#include "fpm_side.h"

namespace {

using namespace rondo;
using namespace rondo::bench;

constexpr std::uint8_t kBgp = 186;  // RTPROT_BGP: the routes of the peer.
constexpr std::uint16_t kFpmPort = 2620;
constexpr Duration kResendEnd = 5s;   // zebra pauses for 1 s while its buffer is full.
constexpr Duration kPatience = 120s;  // For the next byte of zebra, while routes are missing.

double ms(Duration time) { return static_cast<double>(time.count()) * 1e-6; }

/// Routes of the peer in what zebra sends.
class Routes {
 public:
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::span<std::byte> room = frames_.room();
      const std::size_t length = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), length);
      frames_.add(length);
      bytes.remove_prefix(length);
      read();
    }
  }
  /// In the order in which zebra named them first.
  const std::vector<Prefix>& in_order() const noexcept { return order_; }
  bool is_whole() const noexcept { return frames_.partial() == 0; }

 private:
  void read() {
    fpm::Frame frame;
    for (;;) {
      const auto next = frames_.next(frame);
      if (!next) give_up(next.error().to_string());
      if (!*next) return;
      netlink::MessageReader messages{frame.content};
      for (netlink::Message message; messages.next(message);) take(message);
    }
  }
  void take(const netlink::Message& message) {
    fpm::decode(message, fpm::HopWeights::MinusOne, decoded_);
    if (decoded_.kind != fpm::Decoded::Kind::Route || decoded_.route.protocol != kBgp) return;
    if (decoded_.route.gone) give_up("a route was withdrawn: " + decoded_.route.prefix.to_string());
    if (known_.insert(decoded_.route.prefix).second) order_.push_back(decoded_.route.prefix);
  }

  fpm::FrameReader frames_;
  fpm::Decoded decoded_;
  std::set<Prefix> known_;
  std::vector<Prefix> order_;
};

// --- record

std::vector<std::string> read_prefixes(const std::string& table, std::size_t most) {
  std::ifstream file{table};
  if (!file) give_up("cannot read " + table);
  std::set<std::string> prefixes;
  for (std::string line; prefixes.size() < most && std::getline(file, line);) {
    const auto prefix = Prefix::parse(line.substr(0, line.find_first_of("\t ")));
    if (!prefix) give_up("no prefix: " + line);
    prefixes.insert(prefix->to_string());
  }
  return {prefixes.begin(), prefixes.end()};
}

/// An FPM server that only reads, in the box's namespace.
class Recorder {
 public:
  explicit Recorder(const netlink::Lab& box) {
    must(netlink::NetworkNamespace::open(box.path()).value().inside([this] { return listen(); }));
  }
  /// One session, until 'routes' have arrived and zebra is silent; then closes it.
  std::string record_session(std::size_t routes) {
    wait(listener_.get(), kPatience, "zebra does not connect");
    const UniqueFd session{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!session) give_up("accept failed");
    std::string bytes;
    Routes seen;
    std::string buffer(1024 * 1024, '\0');
    for (;;) {
      const bool all = seen.in_order().size() >= routes;
      pollfd ready{session.get(), POLLIN, 0};
      const int events = ::poll(&ready, 1, static_cast<int>(ms(all ? kResendEnd : kPatience)));
      if (events == 0 && all) return bytes;
      if (events == 0) give_up("zebra sent only " + std::to_string(seen.in_order().size()) + " routes");
      const ssize_t length = ::recv(session.get(), buffer.data(), buffer.size(), 0);
      if (length <= 0) give_up("zebra ended the session");
      const std::string_view part{buffer.data(), static_cast<std::size_t>(length)};
      seen.add(part);
      bytes += part;
    }
  }

 private:
  Status listen() {
    listener_ = UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kFpmPort);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_.get(), 1) != 0)
      return {StatusCode::Unavailable, "cannot listen on the FPM port"};
    return {};
  }
  static void wait(int descriptor, Duration most, const char* otherwise) {
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(ms(most))) != 1) give_up(otherwise);
  }

  UniqueFd listener_;
};

/// Gives the box's ports the addresses that rondod would give them.
void add_addresses(const netlink::Lab& box) {
  for (const frr::Row& row : frr::Network::rows()) {
    const std::size_t colon = row.key.find(':');
    if (row.table != "INTF_TABLE" || colon == std::string::npos) continue;
    if (!box.ip("addr add " + row.key.substr(colon + 1) + " dev " + row.key.substr(0, colon))) give_up("ip addr failed: " + row.key);
  }
}

int record(const std::string& file, const std::string& table, std::size_t most) {
  const std::vector<std::string> prefixes = read_prefixes(table, most);
  const auto box = netlink::Lab::make();
  if (!box) give_up(box.error().to_string());
  auto network = frr::Network::make(**box);
  if (!network) give_up(network.error().to_string());
  add_addresses(**box);
  Recorder recorder{**box};
  must((*network)->start_peer(prefixes));
  must((*network)->start_box());
  std::printf("the peer announces %zu routes\n", prefixes.size());
  recorder.record_session(prefixes.size());
  std::printf("zebra has sent them all; its session ends, and it connects again\n");
  const std::string bytes = recorder.record_session(prefixes.size());
  std::ofstream out{file, std::ios::binary};
  out << bytes << std::flush;
  if (!out) give_up("cannot write " + file);
  std::printf("%zu bytes of its resend are in %s\n", bytes.size(), file.c_str());
  return 0;
}

// --- replay

/// Every route of the file is in the kernel, and no other one.
void compare(DataPlane& plane, const std::vector<Prefix>& prefixes) {
  std::set<Prefix> missing{prefixes.begin(), prefixes.end()};
  std::size_t others = 0;
  must(plane.routes([&](const RouteEntry& route) { others += missing.erase(route.prefix) == 0 ? 1U : 0U; }));
  if (!missing.empty() || others != 0)
    give_up(std::to_string(missing.size()) + " routes are not in the kernel, and " + std::to_string(others) + " more are there");
}

Sample replay_once(DataPlane& plane, const std::string& stream, const std::vector<Prefix>& prefixes) {
  Daemon daemon{plane, frr::Network::rows()};
  const SystemClock clock;
  const double cpu = cpu_seconds();
  const Instant start = clock.now();
  const pid_t sender = fork_sender([&] {
    const Zebra zebra{daemon.port()};
    zebra.send(stream);
    ::poll(nullptr, 0, 60'000);  // The session stays; the parent ends the process.
  });
  daemon.run_until([&] { return daemon.programmed() >= prefixes.size(); });
  const Sample sample{static_cast<double>((clock.now() - start).count()) * 1e-9, cpu_seconds() - cpu};
  compare(plane, prefixes);
  ::kill(sender, SIGKILL);
  ::waitpid(sender, nullptr, 0);
  return sample;
}

/// The same routes by a bare netlink loop, in a table of their own in the same namespace: the most that the kernel allows now.
Sample send_to_kernel(const netlink::Lab& lab, DataPlane& plane, const std::vector<Prefix>& prefixes, std::uint32_t table) {
  const std::vector<NexthopEntry> nexthops = plane.nexthops().value();
  const auto group = std::ranges::find_if(nexthops, [](const NexthopEntry& entry) { return !entry.members.empty(); });
  if (group == nexthops.end()) give_up("no group in the kernel");
  std::vector<std::pair<Prefix, NexthopId>> routes;
  for (const Prefix& prefix : prefixes) routes.emplace_back(prefix, group->id);
  const auto result = netlink::run_netlink_baseline(routes, {.network_namespace = lab.path(), .table = table});
  if (!result || result->failed != 0) give_up(result ? "the bare loop had failures" : result.error().to_string());
  return {static_cast<double>(result->wall.count()) * 1e-9, static_cast<double>(result->cpu.count()) * 1e-9};
}

int replay(const std::string& file, int rounds) {
  std::ifstream in{file, std::ios::binary};
  if (!in) give_up("cannot read " + file);
  const std::string stream{std::istreambuf_iterator<char>(in), {}};
  Routes routes;
  routes.add(stream);
  if (!routes.is_whole() || routes.in_order().empty()) give_up(file + " has no routes, or ends within a frame");
  std::vector<Prefix> shortest_first = routes.in_order();
  std::ranges::stable_sort(shortest_first, {}, &Prefix::length);
  std::vector<Sample> samples, floor, best;
  for (int round = 0; round < rounds; ++round) {
    const auto box = netlink::Lab::make();
    if (!box) give_up(box.error().to_string());
    const auto network = frr::Network::make(**box);
    if (!network) give_up(network.error().to_string());
    const auto plane = make_plane(**box);
    samples.push_back(replay_once(*plane, stream, routes.in_order()));
    floor.push_back(send_to_kernel(**box, *plane, routes.in_order(), 200));
    best.push_back(send_to_kernel(**box, *plane, shortest_first, 201));
  }
  report("captured resend into the kernel", samples, routes.in_order().size());
  report("bare netlink loop, zebra's order", floor, routes.in_order().size());
  report("bare netlink loop, shortest prefixes first", best, routes.in_order().size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string part = argc > 1 ? argv[1] : "";
  if (part == "record" && argc > 3) return record(argv[2], argv[3], argc > 4 ? std::stoul(argv[4]) : SIZE_MAX);
  if (part == "replay" && argc > 2) return replay(argv[2], argc > 3 ? std::max(1, std::atoi(argv[3])) : 3);
  std::fprintf(stderr, "usage: bench_fpm_capture record FILE TABLE [routes] | replay FILE [rounds]\n");
  return 2;
}
