// See peer.h.
#include "admin/peer.h"

#include <sys/socket.h>
#include <unistd.h>

namespace rondo {

Caller caller_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  Caller caller;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return caller;
  caller.user = credentials.uid;
  caller.process = credentials.pid;
  caller.is_privileged = credentials.uid == 0 || credentials.uid == ::geteuid();
  return caller;
}

}  // namespace rondo
