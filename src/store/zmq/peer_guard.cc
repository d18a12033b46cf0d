#include "store/zmq/peer_guard.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace rondo::store {

namespace {

/// If more bytes than this arrived between two looks, partial frames may reach the limit before the look after the next.
constexpr std::uint64_t kFastBytes = 1024 * 1024;

constexpr std::uint32_t kNetwork = static_cast<std::uint32_t>(SKF_NET_OFF);

/// The peer's address and its text; nothing if the socket has no address.
std::optional<std::pair<std::array<std::uint8_t, 16>, std::string>> address_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  std::array<std::uint8_t, 16> address{};
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    const auto& peer = reinterpret_cast<const sockaddr_in&>(storage);
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + 12, &peer.sin_addr, 4);
    ::inet_ntop(AF_INET, &peer.sin_addr, text, sizeof text);
  } else if (storage.ss_family == AF_INET6) {
    const auto& peer = reinterpret_cast<const sockaddr_in6&>(storage);
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr) != 0;
    // One machine may have a whole /64 of addresses.
    std::memcpy(address.data(), &peer.sin6_addr, is_mapped ? 16 : 8);
    ::inet_ntop(AF_INET6, &peer.sin6_addr, text, sizeof text);
  } else {
    return std::nullopt;
  }
  return std::pair{address, std::string{text}};
}

std::uint32_t word_at(const std::array<std::uint8_t, 16>& address, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, address.data() + at, sizeof word);
  return ntohl(word);
}

bool is_ipv4(const std::array<std::uint8_t, 16>& address) { return address[10] == 0xff && address[11] == 0xff; }

void add(std::vector<sock_filter>& program, std::uint16_t code, std::uint32_t k, std::uint8_t yes = 0, std::uint8_t no = 0) {
  program.push_back({code, yes, no, k});
}

/// Drops the first packet of a connection from an address in 'blocked', or, with 'all', from any address. For a listening socket the packet
/// data begins at the TCP header. Other packets pass, because accepted sockets inherit the filter.
std::vector<sock_filter> program_for(const std::vector<std::array<std::uint8_t, 16>>& blocked, bool all) {
  constexpr std::uint32_t kPass = UINT32_MAX;
  constexpr std::uint32_t kSynAndAck = 0x12;
  constexpr std::uint32_t kSyn = 0x02;
  std::vector<sock_filter> program;
  add(program, BPF_LD | BPF_B | BPF_ABS, 13);
  add(program, BPF_ALU | BPF_AND | BPF_K, kSynAndAck);
  add(program, BPF_JMP | BPF_JEQ | BPF_K, kSyn, 1, 0);
  add(program, BPF_RET | BPF_K, kPass);
  if (all) {
    add(program, BPF_RET | BPF_K, 0);
    return program;
  }
  for (const auto& address : blocked) {
    const bool four = is_ipv4(address);
    add(program, BPF_LD | BPF_B | BPF_ABS, kNetwork);
    add(program, BPF_ALU | BPF_AND | BPF_K, 0xf0);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, four ? 0x40 : 0x60, 0, four ? 3 : 5);
    add(program, BPF_LD | BPF_W | BPF_ABS, kNetwork + (four ? 12 : 8));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, word_at(address, four ? 12 : 0), 0, four ? 1 : 3);
    if (!four) {
      add(program, BPF_LD | BPF_W | BPF_ABS, kNetwork + 12);
      add(program, BPF_JMP | BPF_JEQ | BPF_K, word_at(address, 4), 0, 1);
    }
    add(program, BPF_RET | BPF_K, 0);
  }
  add(program, BPF_RET | BPF_K, kPass);
  return program;
}

/// Bytes that libzmq has read from the connection since its start; nothing if the kernel does not report them.
std::optional<std::uint64_t> bytes_read(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return std::nullopt;
  int waiting = 0;
  if (::ioctl(fd, FIONREAD, &waiting) != 0 || waiting < 0) waiting = 0;
  const std::uint64_t came = info.tcpi_bytes_received;
  return came - std::min(came, static_cast<std::uint64_t>(waiting));
}

}  // namespace

void PeerGuard::listens(int fd) {
  listener_ = UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  has_addresses_ = listener_ && ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&storage), &size) == 0 &&
                   (storage.ss_family == AF_INET || storage.ss_family == AF_INET6);
}

void PeerGuard::accepted(int fd) {
  closed(fd);  // libzmq never has two connections with one descriptor, so the end of the earlier one was not reported.
  Peer peer;
  peer.fd = UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
  if (!peer.fd) {
    // Without a duplicate descriptor the guard could not bound this connection, so it is shut down.
    const Status why = status_from_errno(errno, "hold a connection");
    ::shutdown(fd, SHUT_RDWR);
    return tell_(Cause::TooMany, why);
  }
  std::size_t of_address = 0;
  if (auto address = address_of(peer.fd.get())) {
    peer.address = address->first;
    peer.name = std::move(address->second);
    of_address = ++counts_[peer.address];
  }
  const Peer& stays = peers_.insert_or_assign(fd, std::move(peer)).first->second;
  if (peers_.size() > limits_.connections) {
    shut(stays, Cause::TooMany, {StatusCode::ResourceExhausted, "all " + std::to_string(limits_.connections) + " connections are in use"});
  } else if (of_address > limits_.per_address) {
    shut(stays, Cause::TooMany,
         {StatusCode::ResourceExhausted, "all " + std::to_string(limits_.per_address) + " connections of its address are in use"});
  }
  set_filter();
}

void PeerGuard::closed(int fd) {
  const auto place = peers_.find(fd);
  if (place == peers_.end()) return;
  if (const auto count = counts_.find(place->second.address); count != counts_.end() && --count->second == 0) counts_.erase(count);
  peers_.erase(place);
  set_filter();
}

void PeerGuard::delivered(int fd, std::size_t bytes) {
  if (const auto place = peers_.find(fd); place != peers_.end()) place->second.delivered += bytes + limits_.framing;
}

bool PeerGuard::poll() {
  std::uint64_t received = 0;
  std::uint64_t held = 0;
  for (auto& [fd, peer] : peers_) {
    const std::uint64_t read = bytes_read(peer.fd.get()).value_or(0);
    received += read;
    // 'read' is smaller than 'delivered' because the longest framing is counted for every frame. Later partial frames are measured from
    // here.
    peer.delivered = std::min(peer.delivered, read);
    peer.held = read - peer.delivered;
    held += peer.held;
  }
  while (held > limits_.frame_bytes) {
    const auto most = std::ranges::max_element(peers_, {}, [](const auto& one) { return one.second.held; });
    if (most == peers_.end() || most->second.held == 0) break;
    shut(most->second, Cause::Memory,
         {StatusCode::ResourceExhausted,
          "parts of frames hold " + std::to_string(held) + " bytes, and this connection the most, " + std::to_string(most->second.held)});
    held -= std::exchange(most->second.held, 0);
  }
  frame_bytes_ = held;
  const std::uint64_t before = std::exchange(received_, received);
  return received > before + kFastBytes;
}

void PeerGuard::shut(const Peer& peer, Cause cause, const Status& why) {
  ::shutdown(peer.fd.get(), SHUT_RDWR);
  tell_(cause, peer.name.empty() ? why : Status{why.code(), "peer " + peer.name + ": " + std::string{why.message()}});
}

void PeerGuard::set_filter() {
  if (!has_addresses_) return;
  std::vector<Address> blocked;
  const bool all = peers_.size() >= limits_.connections;
  for (const auto& [address, count] : counts_) {
    if (count >= limits_.per_address && !all) blocked.push_back(address);
  }
  if (all == blocks_all_ && blocked == blocked_) return;
  if (all && !blocks_all_) {
    tell_(Cause::TooMany,
          {StatusCode::ResourceExhausted, "all " + std::to_string(limits_.connections) + " connections are in use, others wait"});
  }
  for (const Address& address : blocked) {
    if (std::ranges::find(blocked_, address) != blocked_.end()) continue;
    const auto peer = std::ranges::find(peers_, address, [](const auto& one) { return one.second.address; });
    tell_(Cause::TooMany, {StatusCode::ResourceExhausted, "all " + std::to_string(limits_.per_address) + " connections of the address " +
                                                              peer->second.name + " are in use, others wait"});
  }
  blocks_all_ = all;
  blocked_ = std::move(blocked);
  if (!blocks_all_ && blocked_.empty()) {
    const int unused = 0;
    if (std::exchange(has_filter_, false)) ::setsockopt(listener_.get(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
    return;
  }
  std::vector<sock_filter> program = program_for(blocked_, blocks_all_);
  const sock_fprog code{static_cast<unsigned short>(program.size()), program.data()};
  // If the kernel refuses the filter, connections above the limits are shut down one by one. So are those accepted before the filter was
  // set.
  has_filter_ = ::setsockopt(listener_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &code, sizeof code) == 0;
}

}  // namespace rondo::store
