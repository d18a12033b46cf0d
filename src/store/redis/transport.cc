#include "store/redis/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "rondo/store/record.h"

namespace rondo::redis {

namespace {

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Result<SocketAddress> target_of(const RedisAddress& address, const std::string& ip) {
  SocketAddress target;
  if (!address.unix_path.empty()) {
    auto* const name = reinterpret_cast<sockaddr_un*>(&target.address);
    if (address.unix_path.size() >= sizeof name->sun_path) {
      return failure(StatusCode::InvalidArgument, "the socket's path " + quoted(address.unix_path) + " is longer than 107 bytes");
    }
    name->sun_family = AF_UNIX;
    std::memcpy(name->sun_path, address.unix_path.c_str(), address.unix_path.size() + 1);
    target.size = sizeof(sockaddr_un);
    return target;
  }
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&target.address);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&target.address);
  if (::inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    target.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    target.size = sizeof *v6;
  } else {
    return failure(StatusCode::InvalidArgument, "'" + ip + "' is not an IP address");
  }
  return target;
}

/// An absent Unix socket means that the server does not run yet, so the connection retries.
Status no_connection(int error) {
  const Status status = status_from_errno(error, "connect");
  return error == ENOENT ? Status{StatusCode::Unavailable, std::string{status.message()}, error} : status;
}

std::string tls_error() {
  std::array<char, 256> text{};
  const unsigned long code = ::ERR_get_error();
  if (code == 0) return "the peer ended it";
  ::ERR_error_string_n(code, text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

Status apply_files(SSL_CTX* context, const RedisAddress& address) {
  const bool trusted = address.ca_file.empty() ? ::SSL_CTX_set_default_verify_paths(context) == 1
                                               : ::SSL_CTX_load_verify_locations(context, address.ca_file.c_str(), nullptr) == 1;
  if (!trusted) return {StatusCode::InvalidArgument, "TLS: cannot use the certificates of '" + address.ca_file + "': " + tls_error()};
  if (address.cert_file.empty()) return {};
  const std::string& key = address.key_file.empty() ? address.cert_file : address.key_file;
  if (::SSL_CTX_use_certificate_chain_file(context, address.cert_file.c_str()) != 1 ||
      ::SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return {StatusCode::InvalidArgument,
            "TLS: cannot use the certificate '" + address.cert_file + "' with the key '" + key + "': " + tls_error()};
  }
  return {};
}

}  // namespace

namespace {

/// A socket as OpenSSL uses it. OpenSSL's own BIO calls write(), which raises SIGPIPE when the server has closed, and SIGPIPE ends the
/// process.
struct SocketBio {
  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made = make();
    return made;
  }

 private:
  static BIO_METHOD* make() {
    BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    if (made == nullptr) return nullptr;
    ::BIO_meth_set_read(made, receive);
    ::BIO_meth_set_write(made, send);
    ::BIO_meth_set_ctrl(made, control);
    return made;
  }
  static int descriptor(BIO* bio) { return *static_cast<const int*>(::BIO_get_data(bio)); }
  static int receive(BIO* bio, char* room, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(descriptor(bio), room, static_cast<std::size_t>(size), MSG_DONTWAIT);
    if (got < 0 && again(errno)) BIO_set_retry_read(bio);
    return static_cast<int>(got);
  }
  static int send(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent = ::send(descriptor(bio), bytes, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && again(errno)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
  }
  /// OpenSSL calls this to flush and treats any result but 1 as a failure. It uses no other control of a socket.
  static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }
  static bool again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }
};

}  // namespace

struct Transport::Tls {
  ~Tls() {
    if (ssl != nullptr) ::SSL_free(ssl);
    if (context != nullptr) ::SSL_CTX_free(context);
  }
  Status begin(const RedisAddress& address, int socket) {
    fd = socket;
    context = ::SSL_CTX_new(::TLS_client_method());
    if (context == nullptr) return {StatusCode::Internal, "TLS: " + tls_error()};
    ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    if (Status bad = apply_files(context, address); !bad.ok()) return bad;
    ssl = ::SSL_new(context);
    const std::string& name = address.server_name.empty() ? address.host : address.server_name;
    sockaddr_in6 probe{};
    const bool numeric = ::inet_pton(AF_INET, name.c_str(), &probe) == 1 || ::inet_pton(AF_INET6, name.c_str(), &probe) == 1;
    BIO* const bio = ssl != nullptr && SocketBio::method() != nullptr ? ::BIO_new(SocketBio::method()) : nullptr;
    if (bio != nullptr) {
      ::BIO_set_data(bio, &fd);
      ::BIO_set_init(bio, 1);
      ::SSL_set_bio(ssl, bio, bio);  // The SSL object owns the BIO from here on.
    }
    bool named = bio != nullptr;
    if (named && numeric) {
      named = ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), name.c_str()) == 1;
    } else if (named) {
      named = ::SSL_set1_host(ssl, name.c_str()) == 1 && ::SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
    }
    if (!named) return {StatusCode::Internal, "TLS: " + tls_error()};
    ::SSL_set_connect_state(ssl);
    return {};
  }
  /// Interprets the return value of an OpenSSL call; 0 means "not now".
  Result<std::size_t> judge(int result, const char* what) const {
    const int error = ::SSL_get_error(ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return std::size_t{0};
    if (error == SSL_ERROR_ZERO_RETURN) return failure(StatusCode::Unavailable, "the server closed the connection");
    if (error == SSL_ERROR_SYSCALL && errno != 0) return failure(status_from_errno(errno, what));
    return failure(StatusCode::Unavailable, std::string{"TLS: "} + what + ": " + tls_error());
  }
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;
  int fd = -1;  // The Transport owns it.
  bool shaken = false;
};

Transport::Transport() = default;
Transport::~Transport() = default;

Status Transport::open(const RedisAddress& address, const std::string& ip) {
  close();
  const Result<SocketAddress> target = target_of(address, ip);
  if (!target) return target.error();
  fd_ = UniqueFd{::socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd_) return status_from_errno(errno, "socket");
  if (target->address.ss_family != AF_UNIX) {
    const int on = 1;
    static_cast<void>(::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    static_cast<void>(::setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on));
  }
  connecting_ = true;
  if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&target->address), target->size) != 0) {
    // For a Unix socket with a full queue, connect() returns EAGAIN and the descriptor reports nothing later, so the connection retries.
    if (errno != EINPROGRESS) return no_connection(errno == EAGAIN ? ECONNREFUSED : errno);
  }
  if (!address.tls) return {};
  tls_ = std::make_unique<Tls>();
  return tls_->begin(address, fd_.get());
}

Result<bool> Transport::advance() {
  if (connecting_) {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return failure(status_from_errno(error, "connect"));
    sockaddr_storage peer{};
    size = sizeof peer;
    if (::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
      if (errno == ENOTCONN) return false;
      return failure(status_from_errno(errno, "connect"));
    }
    connecting_ = false;
  }
  if (tls_ == nullptr || tls_->shaken) return true;
  ::ERR_clear_error();
  errno = 0;
  const int result = ::SSL_do_handshake(tls_->ssl);
  if (result == 1) {
    tls_->shaken = true;
    return true;
  }
  const Result<std::size_t> waits = tls_->judge(result, "handshake");
  if (!waits) return failure(waits.error());
  return false;
}

Result<std::size_t> Transport::receive(std::span<char> room) {
  if (tls_ != nullptr) {
    ::ERR_clear_error();
    errno = 0;
    const int got = ::SSL_read(tls_->ssl, room.data(), static_cast<int>(std::min<std::size_t>(room.size(), 1U << 20)));
    return got > 0 ? Result<std::size_t>{static_cast<std::size_t>(got)} : tls_->judge(got, "receive");
  }
  for (;;) {
    const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return failure(StatusCode::Unavailable, "the server closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return failure(status_from_errno(errno, "receive"));
  }
}

Result<std::size_t> Transport::send(std::string_view bytes) {
  if (tls_ != nullptr) {
    ::ERR_clear_error();
    errno = 0;
    const int sent = ::SSL_write(tls_->ssl, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 20)));
    return sent > 0 ? Result<std::size_t>{static_cast<std::size_t>(sent)} : tls_->judge(sent, "send");
  }
  for (;;) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return failure(status_from_errno(errno, "send"));
  }
}

void Transport::close() {
  tls_.reset();
  fd_.reset();
  connecting_ = false;
}

}  // namespace rondo::redis
