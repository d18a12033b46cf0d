// RedisAddress: where a Redis is and how to come in: one instance over a Unix socket, TCP or TLS, or the master that Sentinels name. A
// plain value; nothing here connects. parse_redis_address() reads the one text form that configuration files and command lines take.
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
  /// The Unix socket. When it is not empty, it is the way in, and host and port are only known (from a database_config.json) or default.
  std::string unix_path{};
  /// A name or an IP address; an IPv6 address without brackets.
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  /// What SELECT gets. How many there are is the server's business ('databases', 16 by default; SONiC has 100).
  unsigned database = 0;
  /// Of an ACL user; empty for the server's default user.
  std::string user{};
  /// Empty: no AUTH is sent.
  std::string password{};
  /// TLS over TCP. Empty files mean the system's store of certificates, and no certificate of our own.
  bool tls = false;
  std::string ca_file{};
  std::string cert_file{};
  std::string key_file{};
  /// The name that the server's certificate must have; empty: 'host'.
  std::string server_name{};
  /// When there are any, they are asked where the master 'sentinel_master' is, and host and port are not used.
  std::vector<std::pair<std::string, std::uint16_t>> sentinels{};
  std::string sentinel_master{};
  /// Of the Sentinels; user and password above are the master's. TLS, its files and the name are for both.
  std::string sentinel_user{};
  std::string sentinel_password{};

  /// The way to the Sentinel of that index.
  RedisAddress sentinel(std::size_t index) const;
  /// The way to the master that a Sentinel named.
  RedisAddress master(std::string_view named_host, std::uint16_t named_port) const;
  /// For people, in the form of parse_redis_address(); never a password. O(length).
  std::string to_string() const;
  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// Reads one of
///   redis://[[user]:password@][host][:port][/database]                            TCP; 127.0.0.1, 6379 and 0 are the defaults
///   rediss://...                                                                  TLS; ?ca=FILE, cert=FILE and key=FILE (both),
///   name=SERVER_NAME unix:///path, redis+unix:///path                                              ?db=N, user=NAME, password=TEXT
///   redis+sentinel://[[user]:password@]host[:port],host[:port].../MASTER[/db]     port 26379 is the default; user and password are the
///                                                                               master's, ?sentinel_user=NAME and
///                                                                               sentinel_password_file=FILE the Sentinels'
///   rediss+sentinel://...                                                         TLS to the Sentinels and to the master, as rediss://
/// Every form takes ?password_file=FILE: the first line of that file (at most limits::kRedisPasswordBytes) is the password, so that it
/// stands in no process list. %XX is decoded in each part, an IPv6 address stands in brackets. InvalidArgument for a malformed address, and
/// for the file's own reason when it cannot be read; Unimplemented for redis+cluster://. The message says which part is wrong and why; it
/// never repeats what may be a password. O(length); reads the password file, so it is for start-up. Rule: the IANA registration of the
/// 'redis' scheme for the first two.
Result<RedisAddress> parse_redis_address(std::string_view url);

}  // namespace rondo
