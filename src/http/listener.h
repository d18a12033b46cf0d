// Listening sockets for the HTTP server: bound to an address, or handed over by the service manager, so that a restart of the program
// refuses no connection.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::http {

/// Listens at 'address', IPv4 or IPv6 as text, and 'port'; 0: any free port. The socket does not block. InvalidArgument for a text that is
/// no address, else the error of the system call.
Result<UniqueFd> listen_at(const std::string& address, std::uint16_t port);

/// Returns the listening socket that the service manager has passed to this process under 'name' (LISTEN_FDS, LISTEN_FDNAMES); an empty
/// name: the first one. -1 if it has passed none of this name.
/// For ServerOptions::listener, which owns it then.
int passed_socket(std::string_view name);

/// InvalidArgument if 'fd' is not a listening TCP socket. Otherwise makes it non-blocking.
Status prepare_listener(int fd);

/// "127.0.0.1:80" or "[::1]:80".
std::string endpoint_text(const sockaddr_storage& address);
std::uint16_t port_of(const sockaddr_storage& address) noexcept;
/// A number for the network that one client usually controls: the /64 of an IPv6 address, or an IPv4 address, also one that is mapped to
/// IPv6. Addresses of one network have the same number.
std::uint64_t network_of(const sockaddr_storage& address) noexcept;

}  // namespace rondo::http
