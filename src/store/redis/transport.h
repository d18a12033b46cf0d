// Transport: the byte stream between this process and a server: a non-blocking TCP or Unix socket, with TLS (OpenSSL) if the address
// requests it. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "rondo/base/result.h"
#include "rondo/store/redis_address.h"

namespace rondo::redis {

class Transport {
 public:
  Transport();
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Begins to connect. 'ip' is the numeric host of a TCP address (see Resolver). An error is final for this attempt.
  Status open(const RedisAddress& address, const std::string& ip);
  /// Continues the connect and the TLS handshake. True when bytes can flow; false when the descriptor must become ready first.
  Result<bool> advance();
  /// Returns the number of bytes read; 0 when there are none now; Unavailable when the peer has closed.
  Result<std::size_t> receive(std::span<char> room);
  /// Returns the number of bytes accepted; 0 when there is no room now.
  Result<std::size_t> send(std::string_view bytes);
  void close();
  int descriptor() const noexcept { return fd_.get(); }

 private:
  struct Tls;
  UniqueFd fd_;
  bool connecting_ = false;
  std::unique_ptr<Tls> tls_;
};

}  // namespace rondo::redis
