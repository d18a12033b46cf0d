#include "api/dial.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

#include "admin/reply_state.h"
#include "api/answers.h"
#include "api/limits.h"
#include "base/bounded_file.h"
#include "base/json.h"
#include "base/unique_fd.h"
#include "rondo/base/text.h"

namespace rondo::api {

namespace {

constexpr std::size_t kTokenFileBytes = 4096;
/// Held for an owner that does not read: then the server waits.
constexpr std::size_t kHeldBytes = std::size_t{64} * 1024;
constexpr std::size_t kHeadBytes = std::size_t{16} * 1024;
/// A server that is gone without a word is noticed after about a minute.
constexpr long kKeepAliveIdle = 30;
constexpr long kKeepAlivePeriod = 10;
constexpr unsigned kUnacknowledgedMs = 60'000;

struct FreeEasy {
  void operator()(CURL* handle) const noexcept { ::curl_easy_cleanup(handle); }
};
struct FreeMulti {
  void operator()(CURLM* handle) const noexcept { ::curl_multi_cleanup(handle); }
};
struct FreeUrl {
  void operator()(CURLU* handle) const noexcept { ::curl_url_cleanup(handle); }
};

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (::curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy{text};
  ::curl_free(text);
  return copy;
}

bool is_this_host(std::string_view host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

Status check_url(const std::string& text) {
  const auto wrong = [&text](std::string_view why) {
    return Status{StatusCode::InvalidArgument, "the URL '" + visible_text(text) + "' " + std::string{why}};
  };
  const std::unique_ptr<CURLU, FreeUrl> url{::curl_url()};
  if (::curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return wrong("is none: https://HOST:PORT is one");
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return wrong("must begin with https://");
  const std::string path = part_of(url.get(), CURLUPART_PATH);
  if ((!path.empty() && path != "/") || !part_of(url.get(), CURLUPART_USER).empty() || !part_of(url.get(), CURLUPART_QUERY).empty() ||
      !part_of(url.get(), CURLUPART_FRAGMENT).empty())
    return wrong("must name a host and a port alone");
  if (scheme == "http" && !is_this_host(part_of(url.get(), CURLUPART_HOST)))
    return wrong("would show the token to everybody between: use https");
  return {};
}

/// The reason in the body of a refusal, or its status line.
Status refusal_of(std::string_view head, std::string_view body) {
  json::error_code failed;
  const json::value value = json::parse(json::string_view{body.data(), body.size()}, failed);
  std::optional<Status> error = failed || !value.is_object() ? std::nullopt : error_in(value.get_object());
  if (error) return *std::move(error);
  return {StatusCode::Unavailable, "no rondod with an API answers there: " + visible_text(head.substr(0, head.find('\r')))};
}

}  // namespace

Result<Remote> read_remote(const std::string& url, const std::string& token_file, const std::string& ca_file) {
  if (Status checked = check_url(url); !checked.ok()) return failure(std::move(checked));
  const Result<std::string> text = read_bounded_file(token_file, "the token", kTokenFileBytes, Pipes::Read);
  if (!text) return failure(text.error());
  std::string token = text->substr(0, text->find_first_of("\r\n"));
  if (token.empty() || token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != std::string::npos)
    return failure(StatusCode::InvalidArgument, "the first line of '" + token_file + "' is no token");
  if (!ca_file.empty() && ::access(ca_file.c_str(), R_OK) != 0)
    return failure(status_from_errno(errno, "cannot read the certificates '" + ca_file + "'"));
  return Remote{.url = url, .token = std::move(token), .ca_file = ca_file};
}

namespace {

/// One connection with its thread. The thread ends when the owner of the other end of 'fd' closes it, or the server ends the connection.
class Dial {
 public:
  Dial(Remote remote, UniqueFd fd) : remote_(std::move(remote)), fd_(std::move(fd)), thread_([this] { work(); }) {}
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  /// The other end of 'fd' is closed.
  ~Dial() { thread_.join(); }

 private:
  void work();
  Status open();
  Status await_connection();
  Status upgrade();
  void relay();
  bool owner_left() const;
  void wait(bool reads_server, bool writes_server, bool reads_owner, bool writes_owner) const;
  bool receive();
  bool send();
  bool read_owner();
  bool write_owner();

  const Remote remote_;
  UniqueFd fd_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::array<char, CURL_ERROR_SIZE> why_{};  // The reason of an error, if libcurl has one.
  int socket_ = -1;                          // libcurl's.
  std::string to_owner_;
  std::string to_server_;
  bool server_ended_ = false;
  bool owner_ended_ = false;
  std::thread thread_;
};

void Dial::work() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);  // OpenSSL writes with write(2).
  Status failed = open();
  if (failed.ok()) failed = await_connection();
  if (failed.ok()) failed = upgrade();
  if (failed.ok()) {
    relay();
  } else {
    const std::string frame = error_frame(0, failed.with_context(remote_.url));
    static_cast<void>(::send(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL));  // Best effort: the owner sees the end.
  }
  if (multi_ && easy_) ::curl_multi_remove_handle(multi_.get(), easy_.get());
  easy_.reset();
  multi_.reset();
  ::shutdown(fd_.get(), SHUT_RDWR);
}

Status Dial::open() {
  multi_.reset(::curl_multi_init());
  easy_.reset(::curl_easy_init());
  if (!multi_ || !easy_) return {StatusCode::Unavailable, "libcurl cannot begin"};
  CURL* const easy = easy_.get();
  bool is_set = ::curl_easy_setopt(easy, CURLOPT_URL, remote_.url.c_str()) == CURLE_OK;
  is_set = ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why_.data()) == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK && is_set;  // An end does not wait for the look-up of a name.
  is_set = ::curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdle) == CURLE_OK && is_set;
  is_set = ::curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAlivePeriod) == CURLE_OK && is_set;
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(remote_.patience).count();
  is_set = ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(most)) == CURLE_OK && is_set;
  if (!remote_.ca_file.empty()) is_set = ::curl_easy_setopt(easy, CURLOPT_CAINFO, remote_.ca_file.c_str()) == CURLE_OK && is_set;
  if (!is_set || ::curl_multi_add_handle(multi_.get(), easy) != CURLM_OK)
    return {StatusCode::Unavailable, "libcurl does not take the options of the connection"};
  return {};
}

bool Dial::owner_left() const {
  pollfd asked{.fd = fd_.get(), .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

/// Until the name is known, the server has accepted, and TLS is agreed.
Status Dial::await_connection() {
  for (;;) {
    int running = 0;
    if (::curl_multi_perform(multi_.get(), &running) != CURLM_OK) return {StatusCode::Unavailable, "libcurl failed"};
    int left = 0;
    const CURLMsg* const message = ::curl_multi_info_read(multi_.get(), &left);
    if (message != nullptr && message->msg == CURLMSG_DONE) {
      const CURLcode result = message->data.result;
      if (result != CURLE_OK) return {StatusCode::Unavailable, why_[0] != '\0' ? std::string{why_.data()} : ::curl_easy_strerror(result)};
      break;
    }
    if (owner_left()) return {StatusCode::Cancelled, "the caller has left"};
    curl_waitfd owner{.fd = fd_.get(), .events = 0, .revents = 0};  // Its end is reported without a request.
    if (::curl_multi_poll(multi_.get(), &owner, 1, 1000, nullptr) != CURLM_OK) return {StatusCode::Unavailable, "libcurl failed"};
  }
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (::curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK || socket == CURL_SOCKET_BAD)
    return {StatusCode::Unavailable, "the server closed the connection"};
  socket_ = socket;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs, sizeof kUnacknowledgedMs);
  return {};
}

Status Dial::upgrade() {
  std::string_view host{remote_.url};
  host.remove_prefix(host.find("://") + 3);
  if (host.ends_with('/')) host.remove_suffix(1);
  to_server_ = "GET /api/v1/connect HTTP/1.1\r\nHost: " + std::string{host} +
               "\r\nConnection: Upgrade\r\nUpgrade: rondo-admin\r\nAuthorization: Bearer " + remote_.token + "\r\n\r\n";
  const auto deadline = std::chrono::steady_clock::now() + remote_.patience;
  std::size_t end = std::string::npos;
  while ((end = to_owner_.find("\r\n\r\n")) == std::string::npos) {
    if (std::chrono::steady_clock::now() >= deadline) return {StatusCode::Unavailable, "the server does not answer"};
    if (owner_left()) return {StatusCode::Cancelled, "the caller has left"};
    if (to_owner_.size() > kHeadBytes) return {StatusCode::Unavailable, "the server's answer is no answer of rondod"};
    const bool has_moved = (!to_server_.empty() && send()) || receive();
    if (server_ended_) return {StatusCode::Unavailable, "the server closed the connection"};
    if (!has_moved) wait(true, !to_server_.empty(), false, false);
  }
  const std::string head = to_owner_.substr(0, end);
  to_owner_.erase(0, end + 4);
  if (head.starts_with("HTTP/1.1 101 ")) return {};
  while (!server_ended_ && to_owner_.size() < kHeadBytes && !owner_left() && std::chrono::steady_clock::now() < deadline) {
    if (to_owner_.ends_with('}')) break;
    if (!receive()) wait(true, false, false, false);
  }
  return refusal_of(head, to_owner_);
}

void Dial::relay() {
  for (;;) {
    bool has_moved = !server_ended_ && to_owner_.size() < kHeldBytes && receive();
    has_moved = (!to_owner_.empty() && write_owner()) || has_moved;
    has_moved = (!owner_ended_ && to_server_.empty() && read_owner()) || has_moved;
    has_moved = (!to_server_.empty() && send()) || has_moved;
    if (owner_left() || (server_ended_ && to_owner_.empty()) || (owner_ended_ && to_server_.empty())) return;
    if (!has_moved) {
      wait(!server_ended_ && to_owner_.size() < kHeldBytes, !to_server_.empty(), !owner_ended_ && to_server_.empty(), !to_owner_.empty());
    }
  }
}

void Dial::wait(bool reads_server, bool writes_server, bool reads_owner, bool writes_owner) const {
  const auto events = [](bool reads, bool writes) { return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)); };
  // A socket at its end is always ready.
  pollfd watched[] = {{.fd = reads_server || writes_server ? socket_ : -1, .events = events(reads_server, writes_server), .revents = 0},
                      {.fd = fd_.get(), .events = events(reads_owner, writes_owner), .revents = 0}};
  ::poll(watched, 2, 1000);
}

/// Each returns true if bytes moved.
bool Dial::receive() {
  char buffer[16384];
  std::size_t got = 0;
  const CURLcode code = ::curl_easy_recv(easy_.get(), buffer, sizeof buffer, &got);
  if (code == CURLE_AGAIN) return false;
  if (code != CURLE_OK || got == 0) server_ended_ = true;
  to_owner_.append(buffer, code == CURLE_OK ? got : 0);
  return code == CURLE_OK && got > 0;
}

bool Dial::send() {
  std::size_t sent = 0;
  const CURLcode code = ::curl_easy_send(easy_.get(), to_server_.data(), to_server_.size(), &sent);
  if (code == CURLE_AGAIN) return false;
  if (code != CURLE_OK) {
    to_server_.clear();
    server_ended_ = owner_ended_ = true;
    return false;
  }
  to_server_.erase(0, sent);
  return sent > 0;
}

bool Dial::read_owner() {
  char buffer[16384];
  const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) owner_ended_ = true;
  if (got > 0) to_server_.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

bool Dial::write_owner() {
  const ssize_t sent = ::send(fd_.get(), to_owner_.data(), to_owner_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) to_owner_.erase(0, static_cast<std::size_t>(sent));
  if (sent < 0 && errno != EAGAIN && errno != EINTR) owner_ended_ = true;
  return sent > 0;
}

}  // namespace

Result<std::unique_ptr<AdminClient>> connect(const Remote& remote, Duration patience) {
  int fds[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return failure(status_from_errno(errno, "connect to " + remote.url));
  return AdminClient::over(fds[0], patience, std::make_shared<Dial>(remote, UniqueFd{fds[1]}));
}

}  // namespace rondo::api
