// TLS of the HTTP server, by OpenSSL: the certificate and key, and the rules of its connections. TLS 1.2 and newer, the ciphers of the
// system's OpenSSL, no compression, no renegotiation, and no resumption, so the server keeps nothing of former clients.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::http {

template <auto free>
struct TlsFree {
  template <class T>
  void operator()(T* object) const noexcept {
    free(object);
  }
};
using TlsContext = std::unique_ptr<SSL_CTX, TlsFree<SSL_CTX_free>>;
using TlsStream = std::unique_ptr<SSL, TlsFree<SSL_free>>;

/// Both files are PEM. 'certificate_file' may contain the certificates of issuers after the server's. Errors name the file and the reason:
/// PermissionDenied if all users may use 'key_file', InvalidArgument for what OpenSSL does not take, else the error of the system call.
Result<TlsContext> open_tls(const std::string& certificate_file, const std::string& key_file);

/// Ok, or the error of open_tls() at present. For programs that do not link OpenSSL themselves.
Status check_tls(const std::string& certificate_file, const std::string& key_file);

/// The server's end of TLS on 'fd', which it does not own. It never blocks and causes no SIGPIPE. Null without memory.
TlsStream accept_tls(SSL_CTX& context, int fd) noexcept;

}  // namespace rondo::http
