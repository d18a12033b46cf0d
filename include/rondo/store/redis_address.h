// RedisAddress: the address and the credentials of a Redis: one instance over a Unix socket, TCP or TLS, or the master that Sentinels name.
// A plain value; nothing here connects. parse_redis_address() parses the text form of configuration files and command lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"

namespace rondo {

struct RedisAddress {
  /// The Unix socket. If it is not empty, the connection uses it; host and port are then informative (from a database_config.json) or
  /// default.
  std::string unix_path{};
  /// A name or an IP address; an IPv6 address without brackets.
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  /// Argument of SELECT. The server sets how many there are ('databases', 16 by default; SONiC has 100).
  unsigned database = 0;
  /// ACL user; empty for the server's default user.
  std::string user{};
  /// Empty: no AUTH is sent.
  std::string password{};
  /// TLS over TCP. Empty file names mean the system's certificate store, and no client certificate.
  bool tls = false;
  std::string ca_file{};
  std::string cert_file{};
  std::string key_file{};
  /// Expected name in the server's certificate; empty: 'host'.
  std::string server_name{};
  /// If not empty, the Sentinels are asked for the address of the master 'sentinel_master'; host and port are then not used.
  std::vector<std::pair<std::string, std::uint16_t>> sentinels{};
  std::string sentinel_master{};
  /// Credentials for the Sentinels; user and password above are for the master. The TLS settings are for both.
  std::string sentinel_user{};
  std::string sentinel_password{};

  /// The address of the Sentinel with that index.
  RedisAddress sentinel(std::size_t index) const;
  /// The address of a master that a Sentinel named.
  RedisAddress master(std::string_view named_host, std::uint16_t named_port) const;
  /// For display, in the form of parse_redis_address(), without passwords. O(length).
  std::string to_string() const;
  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// Parses one of
///   redis://[[user]:password@][host][:port][/database]                            TCP; 127.0.0.1, 6379 and 0 are the defaults
///   rediss://...                                                                  TLS; ?ca=FILE, cert=FILE and key=FILE (both),
///                                                                                 name=SERVER_NAME
///   unix:///path, redis+unix:///path                                              ?db=N, user=NAME, password=TEXT
///   redis+sentinel://[[user]:password@]host[:port],host[:port].../MASTER[/db]     default port 26379; user and password are the master's,
///                                                                                 ?sentinel_user=NAME and sentinel_password_file=FILE
///                                                                                 the Sentinels'
///   rediss+sentinel://...                                                         TLS to the Sentinels and to the master, as rediss://
/// Every form takes ?password_file=FILE: the first line of that file (at most limits::kRedisPasswordBytes) is the password, so that no
/// process list shows it. %XX is decoded in each part; an IPv6 address is in brackets. InvalidArgument for a malformed address, and for a
/// password file that cannot be read; Unimplemented for redis+cluster://. The message names the part and the reason; it never repeats text
/// that may be a password. O(length); reads the password file, so call it at start-up. The first two forms follow the IANA registration of
/// 'redis'.
Result<RedisAddress> parse_redis_address(std::string_view url);

}  // namespace rondo
