// Keys of the direct tables: CURVE (ZeroMQ's encryption and authentication, RFC 25 and 26 of ZeroMQ) beside the compatible mode, which has
// neither. Keys are text of 40 characters (Z85). A server knows the public keys of the clients it lets in; a client knows its server's.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo {

struct DirectKeyPair {
  std::string public_key;
  std::string secret_key;
};

/// A fresh pair. Unimplemented when libzmq was built without CURVE. Any thread.
Result<DirectKeyPair> make_direct_key_pair();

/// What a server needs for CURVE. A client whose public key is not in the list is refused and counted.
struct DirectServerCurve {
  std::string secret_key;
  std::vector<std::string> allowed_clients;  // Public keys; at least one.
};

/// What a client needs for CURVE.
struct DirectClientCurve {
  std::string server_key;  // The server's public key.
  DirectKeyPair own;
};

}  // namespace rondo
