#include "http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace rondo::http {

namespace {

Status openssl_status(const std::string& what) {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(error)) return status_from_errno(ERR_GET_REASON(error), what);
  const char* const reason = ERR_reason_error_string(error);
  return {StatusCode::InvalidArgument, what + ": " + (reason != nullptr ? reason : "OpenSSL refuses it")};
}

Status check_file(const std::string& what, const std::string& file, unsigned forbidden_mode) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return status_from_errno(errno, what);
  if (!S_ISREG(found.st_mode)) return {StatusCode::InvalidArgument, what + " is not a regular file"};
  if ((found.st_mode & forbidden_mode) == 0) return {};
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(found.st_mode) & 07777U);
  return {StatusCode::PermissionDenied, what + " has the mode " + mode.data() + ", so all users may use it; 0600 or 0640 is right"};
}

/// A client that offers protocols must offer this one (RFC 7301).
int select_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes, const unsigned char* offered, unsigned offered_bytes,
                    void*) {
  static constexpr std::array<unsigned char, 9> kOurs{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_bytes, kOurs.data(), kOurs.size(), offered, offered_bytes);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Without it OpenSSL reads the pass phrase of a key at the terminal.
int no_pass_phrase(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

// --- a socket as OpenSSL's BIO. Its own one calls write(), which causes SIGPIPE.

int fd_of(BIO* bio) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

/// The answer to OpenSSL for a call that returned 'bytes'. 'retry' is the flag of the direction.
int answer_of(BIO* bio, ssize_t bytes, int retry) noexcept {
  BIO_clear_retry_flags(bio);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  if (bytes == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(bytes);
}

int read_socket(BIO* bio, char* bytes, int size) {
  ssize_t got = 0;
  do {
    got = ::recv(fd_of(bio), bytes, static_cast<std::size_t>(size), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return answer_of(bio, got, BIO_FLAGS_READ);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  ssize_t sent = 0;
  do {
    sent = ::send(fd_of(bio), bytes, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return answer_of(bio, sent, BIO_FLAGS_WRITE);
}

long control_socket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_method() noexcept {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rondo socket");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, read_socket);
  BIO_meth_set_write(method, write_socket);
  BIO_meth_set_ctrl(method, control_socket);
  return method;
}

}  // namespace

Result<TlsContext> open_tls(const std::string& certificate_file, const std::string& key_file) {
  const std::string certificate = "the certificate '" + certificate_file + "'";
  const std::string key = "the key '" + key_file + "'";
  if (Status status = check_file(certificate, certificate_file, 0); !status.ok()) return failure(std::move(status));
  if (Status status = check_file(key, key_file, S_IRWXO); !status.ok()) return failure(std::move(status));
  ERR_clear_error();
  TlsContext context{SSL_CTX_new(TLS_server_method())};
  if (!context) return failure(openssl_status("TLS"));
  SSL_CTX* const it = context.get();
  bool is_encrypted = false;
  SSL_CTX_set_default_passwd_cb(it, no_pass_phrase);
  SSL_CTX_set_default_passwd_cb_userdata(it, &is_encrypted);
  if (SSL_CTX_use_certificate_chain_file(it, certificate_file.c_str()) != 1) return failure(openssl_status(certificate));
  if (SSL_CTX_use_PrivateKey_file(it, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    if (is_encrypted) return failure(StatusCode::InvalidArgument, key + " is encrypted; write it without a pass phrase");
    return failure(openssl_status(key));
  }
  if (SSL_CTX_check_private_key(it) != 1) return failure(openssl_status(key + " with " + certificate));
  SSL_CTX_set_min_proto_version(it, TLS1_2_VERSION);
  SSL_CTX_set_options(it, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(it, 0);
  SSL_CTX_set_session_cache_mode(it, SSL_SESS_CACHE_OFF);
  // A repeated write may have its bytes at another address. An idle connection holds no buffers.
  SSL_CTX_set_mode(it, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(it, select_protocol, nullptr);
  return context;
}

Status check_tls(const std::string& certificate_file, const std::string& key_file) {
  const Result<TlsContext> opened = open_tls(certificate_file, key_file);
  return opened ? Status{} : opened.error();
}

TlsStream accept_tls(SSL_CTX& context, int fd) noexcept {
  static const BIO_METHOD* const method = make_method();
  BIO* const bio = method == nullptr ? nullptr : BIO_new(method);
  TlsStream stream{SSL_new(&context)};
  if (bio == nullptr || !stream) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(stream.get(), bio, bio);
  SSL_set_accept_state(stream.get());
  return stream;
}

}  // namespace rondo::http
