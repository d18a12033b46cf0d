// The component direct: libzmq makes a key pair.
#include <cstdio>

#include "rondo/store/zmq_keys.h"

int main() {
  const auto keys = rondo::make_zmq_key_pair();
  if (!keys ? keys.error().code() != rondo::StatusCode::Unimplemented : keys->public_key.size() != 40) return 1;
  std::puts("direct: a key pair");
  return 0;
}
