#include "rondo-demo/frr/bgp_tap.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "dataplane/netlink/network_namespace.h"

namespace rondo::demo {

namespace {

constexpr std::size_t kMarker = 16;
constexpr std::size_t kHeader = 19;  // Marker, length, type.
constexpr std::uint8_t kUpdate = 2;
constexpr std::uint16_t kBgpPort = 179;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kTcpHeader = 20;

std::size_t number16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return at + 2 <= bytes.size() ? static_cast<std::size_t>(bytes[at]) << 8U | bytes[at + 1] : 0;
}

/// 'body' is an UPDATE without its header.
void add_prefixes(std::span<const std::uint8_t> body, std::vector<Prefix>& prefixes) {
  std::size_t at = 2 + number16(body, 0);  // After the withdrawn routes.
  at += 2 + number16(body, at);            // After the attributes.
  while (at < body.size()) {
    const std::uint8_t length = body[at++];
    const std::size_t bytes = (length + 7U) / 8U;
    if (length > 32 || at + bytes > body.size()) return;
    std::uint32_t address = 0;
    for (std::size_t i = 0; i < 4; ++i) address = address << 8U | (i < bytes ? body[at + i] : 0U);
    prefixes.push_back(Prefix{IpAddress::v4(address), length}.network());
    at += bytes;
  }
}

}  // namespace

std::vector<Prefix> take_announcements(std::vector<std::uint8_t>& stream) {
  std::vector<Prefix> prefixes;
  std::size_t begin = 0;
  while (begin + kHeader <= stream.size()) {
    const std::span<const std::uint8_t> rest = std::span{stream}.subspan(begin);
    const std::size_t length = number16(rest, kMarker);
    const bool is_message = length >= kHeader && std::ranges::all_of(rest.first(kMarker), [](std::uint8_t byte) { return byte == 255; });
    if (!is_message) {
      ++begin;
      continue;
    }
    if (length > rest.size()) break;
    if (rest[kMarker + 2] == kUpdate) add_prefixes(rest.subspan(kHeader, length - kHeader), prefixes);
    begin += length;
  }
  stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(begin));
  return prefixes;
}

Result<std::unique_ptr<BgpTap>> BgpTap::start(const std::string& network_namespace) {
  auto where = netlink::NetworkNamespace::open(network_namespace);
  if (!where) return failure(where.error());
  UniqueFd socket;
  const Status opened = where->inside([&socket] {
    socket = UniqueFd{::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETHERTYPE_IP))};
    return socket ? Status{} : status_from_errno(errno, "opening a packet socket");
  });
  if (!opened.ok()) return failure(opened);
  const int bytes = 64 << 20;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  std::unique_ptr<BgpTap> tap{new BgpTap(std::move(socket))};
  tap->thread_ = std::jthread([self = tap.get()](const std::stop_token& stop) { self->run(stop); });
  return tap;
}

void BgpTap::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void BgpTap::run(const std::stop_token& stop) {
  std::vector<std::uint8_t> buffer(1U << 17U);  // A segment that was not cut yet has up to 64 KiB.
  while (!stop.stop_requested()) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 50) <= 0) continue;
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    const ssize_t size = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (size <= 0 || from.sll_pkttype == PACKET_OUTGOING) continue;
    take_packet(std::span<const std::uint8_t>{buffer}.first(static_cast<std::size_t>(size)), clock_.now());
  }
}

/// The cables lose nothing and keep the order, so a stream is its segments one after the other.
void BgpTap::take_packet(std::span<const std::uint8_t> packet, Instant now) {
  if (packet.size() < kIpv4Header || packet[9] != IPPROTO_TCP) return;
  const std::size_t ip = (packet[0] & 15U) * std::size_t{4};
  const std::size_t total = std::min(number16(packet, 2), packet.size());
  if (total < ip + kTcpHeader) return;
  const auto source = static_cast<std::uint16_t>(number16(packet, ip));
  const auto destination = static_cast<std::uint16_t>(number16(packet, ip + 2));
  if (source != kBgpPort && destination != kBgpPort) return;
  const std::size_t payload = ip + (packet[ip + 12] >> 4U) * std::size_t{4};
  if (payload >= total) return;
  const auto address = static_cast<std::uint32_t>(number16(packet, 12) << 16U | number16(packet, 14));
  std::vector<std::uint8_t>& stream = streams_[{address, source}];
  stream.insert(stream.end(), packet.begin() + static_cast<std::ptrdiff_t>(payload), packet.begin() + static_cast<std::ptrdiff_t>(total));
  for (const Prefix& prefix : take_announcements(stream)) arrived_.emplace(prefix, now);
}

}  // namespace rondo::demo
