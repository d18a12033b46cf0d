// A connection to the admin commands of a daemon on another host, over its API (api.h): an HTTP upgrade, then the frames of the admin
// socket. A thread of the connection moves the bytes between libcurl, which does TLS, and a socket that AdminClient uses as it uses the
// admin socket. So connecting never blocks the caller: an error is the answer to its first call.
#pragma once

#include <memory>
#include <string>

#include "api/limits.h"
#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::api {

/// Where a daemon listens, and the caller's token for it.
struct Remote {
  std::string url;      // "https://host:port", or "http://..." of this host.
  std::string token;    // A secret; see tokens.h.
  std::string ca_file;  // The certificates, as PEM, that may sign the daemon's; empty: those of the system.
  Duration patience = limits::kDialTime;
};

/// Reads the token from the first line of 'token_file'. InvalidArgument for a URL with a path, a user or another scheme, for http to
/// another host, which would show the token to everybody between, for a file without a token, and for a 'ca_file' that does not exist.
Result<Remote> read_remote(const std::string& url, const std::string& token_file, const std::string& ca_file);

/// As AdminClient::connect(), but it does not wait: errors are those of the first call. Unavailable (no connection, no TLS, no such server)
/// names the URL; PermissionDenied: the daemon does not know the token. No proxy is used.
Result<std::unique_ptr<AdminClient>> connect(const Remote& remote, Duration patience);

}  // namespace rondo::api
