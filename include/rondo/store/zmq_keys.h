// Keys for CURVE on direct tables (ZeroMQ's encryption and authentication, ZeroMQ RFC 25 and 26). The compatible mode has neither. A key is
// a text of 40 characters (Z85). A server has a list of the public keys of its clients; a client has its server's public key.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo {

struct ZmqKeyPair {
  std::string public_key;
  std::string secret_key;
};

/// A new pair. Unimplemented when libzmq was built without CURVE. Any thread.
Result<ZmqKeyPair> make_zmq_key_pair();

/// What a server needs for CURVE. A client whose public key is not in the list is refused and counted.
struct ZmqServerCurve {
  std::string secret_key;
  std::vector<std::string> allowed_clients;  // Public keys; at least one.
};

/// What a client needs for CURVE.
struct ZmqClientCurve {
  std::string server_key;  // The server's public key.
  ZmqKeyPair own;
};

}  // namespace rondo
