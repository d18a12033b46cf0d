#include "rondo-demo/frr/pinger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "dataplane/netlink/network_namespace.h"

namespace rondo::demo {

namespace {

constexpr std::size_t kSequences = 65'536;  // Numbers of 16 bits.
constexpr Duration kPatience = 200ms;       // For late answers.

std::uint16_t own_number() { return static_cast<std::uint16_t>(::getpid()); }

/// RFC 1071.
std::uint16_t checksum(const icmphdr& header) {
  std::array<std::uint16_t, sizeof(icmphdr) / 2> words{};
  std::memcpy(words.data(), &header, sizeof header);
  std::uint32_t sum = 0;
  for (const std::uint16_t word : words) sum += word;
  sum = (sum >> 16U) + (sum & 0xFFFFU);
  return static_cast<std::uint16_t>(~(sum + (sum >> 16U)));
}

}  // namespace

Result<std::unique_ptr<Pinger>> Pinger::start(const std::string& network_namespace, std::vector<IpAddress> targets, Duration period) {
  auto where = netlink::NetworkNamespace::open(network_namespace);
  if (!where) return failure(where.error());
  UniqueFd socket;
  const Status opened = where->inside([&socket] {
    socket = UniqueFd{::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP)};
    return socket ? Status{} : status_from_errno(errno, "opening an ICMP socket");
  });
  if (!opened.ok()) return failure(opened);
  const int bytes = 16 << 20;  // A receiver that waits for a processor must not look like a lost packet.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  std::unique_ptr<Pinger> pinger{new Pinger(std::move(socket), std::move(targets), period)};
  pinger->packets_.reserve(kSequences);
  pinger->receiver_ = std::jthread([self = pinger.get()](const std::stop_token& stop) { self->receive(stop); });
  pinger->sender_ = std::jthread([self = pinger.get()](const std::stop_token& stop) { self->send(stop); });
  return pinger;
}

void Pinger::stop() {
  if (!sender_.joinable()) return;
  sender_.request_stop();
  sender_.join();
  std::this_thread::sleep_for(kPatience);
  receiver_.request_stop();
  receiver_.join();
}

void Pinger::send(const std::stop_token& stop) {
  Instant next = clock_.now();
  for (std::size_t i = 0; i < kSequences && !stop.stop_requested(); ++i, next = next + period_) {
    icmphdr header{};
    header.type = ICMP_ECHO;
    header.un.echo.id = own_number();
    header.un.echo.sequence = static_cast<std::uint16_t>(i);
    header.checksum = checksum(header);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    std::memcpy(&to.sin_addr, targets_[i % targets_.size()].bytes().data(), sizeof to.sin_addr);
    {
      const std::scoped_lock lock(mutex_);
      packets_.push_back({.sent = clock_.now(), .target = i % targets_.size()});
    }
    ::sendto(socket_.get(), &header, sizeof header, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (const Duration left = next + period_ - clock_.now(); left > Duration{0}) std::this_thread::sleep_for(left);
  }
}

void Pinger::receive(const std::stop_token& stop) {
  std::array<std::uint8_t, 2048> packet{};
  while (!stop.stop_requested()) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 50) <= 0) continue;
    const ssize_t size = ::recv(socket_.get(), packet.data(), packet.size(), 0);
    const std::size_t ip = (packet[0] & 15U) * std::size_t{4};  // A raw socket receives the IP header, too.
    icmphdr header{};
    if (size < static_cast<ssize_t>(ip + sizeof header)) continue;
    std::memcpy(&header, packet.data() + ip, sizeof header);
    if (header.type != ICMP_ECHOREPLY || header.un.echo.id != own_number()) continue;
    const std::scoped_lock lock(mutex_);
    if (header.un.echo.sequence < packets_.size()) packets_[header.un.echo.sequence].answered = true;
  }
}

std::uint64_t Pinger::lost() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(packets_, [](const Packet& packet) { return !packet.answered; }));
}

Duration Pinger::longest_gap_after(Instant at) const {
  Duration longest{0};
  for (std::size_t target = 0; target < targets_.size(); ++target) {
    const auto first = std::ranges::find_if(
        packets_, [&](const Packet& packet) { return packet.target == target && packet.sent >= at && packet.answered; });
    const Instant end = first == packets_.end() ? packets_.back().sent : first->sent;
    longest = std::max(longest, end - at);
  }
  return longest;
}

}  // namespace rondo::demo
