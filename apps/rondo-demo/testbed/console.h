// Console: the way for a browser of this host to the demo's rondod. A demo makes it before it enters a network namespace, because no
// browser could reach a port inside.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "rondo/admin/client.h"

namespace rondo::demo {

class Console {
 public:
  /// Listens on 127.0.0.1: on port 8700, or on any free one if another program has it. Without HTTP, or if the system allows no port, it
  /// listens nowhere.
  Console();

  /// DaemonOptions::console; -1: nowhere. Valid as long as this.
  int socket() const noexcept { return socket_.get(); }
  /// Makes a token at the rondod that has the socket, and prints the address. No effect without a socket.
  Status open(AdminClient& rondod);
  /// Prints the address of open().
  void print() const;

 private:
  UniqueFd socket_;
  std::string url_;
};

}  // namespace rondo::demo
