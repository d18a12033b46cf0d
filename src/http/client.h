// Client: HTTP requests and mails to other programs, by libcurl's multi interface, as a source of a scheduler. Nothing blocks: libcurl
// reads and writes sockets that the reactor watches, and looks up names on threads of its own.
//
// What a URL may reach: the address that a connection is really made to is checked against ClientOptions::networks, after the name was
// looked up, so a name cannot lead to an address that is not allowed. Redirects are not followed, and the proxies of the environment are
// not used. A URL with a user name is refused.
//
// Requests wait in a bounded queue while too many are under way; hosts take turns. A host that fails several times in a row is left alone
// for a while (breaker.h).
//
// Threads: the scheduler's. For https it must ignore or block SIGPIPE, as HttpThread does.
#pragma once

#include <curl/curl.h>
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "http/breaker.h"
#include "http/limits.h"
#include "http/message.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::http {

/// A message of mail, in place of a POST. libcurl blocks the thread of the client until the server has answered the end of the message and
/// the end of the connection, at most for the timeout and a second: so a client that sends mails has a thread of its own. Each mail has a
/// connection of its own.
struct Mail {
  std::string from;
  std::vector<std::string> to;
  std::string user = {};  // Empty: no authentication.
  std::string password = {};
  bool needs_tls = false;  // With smtp:// the server must offer STARTTLS. Without this TLS is used if it does.
};

struct ClientRequest {
  std::string url;  // http or https; with 'mail' smtp or smtps.
  std::vector<Field> headers = {};
  std::string body = {};
  Duration timeout = 10s;         // From post() to the end of the answer, with the time in the queue.
  Duration connect_timeout = 3s;  // The part of the timeout for the look-up of the name and the connection.
  std::size_t answer_bytes = limits::kHttpAnswerBytes;
  bool cuts_answer = false;  // A longer body is cut, and is no error.
  /// Makes a connection for this request. A reused one can be closed by the host at the same moment. Then libcurl sends the request once
  /// more, although the host may have taken the first one.
  bool fresh_connection = false;
  /// Where this request may go, in place of ClientOptions::networks. It gets a connection of its own, which no other request uses.
  std::optional<std::vector<Prefix>> networks = {};
  /// 'body' is then the message, with its header, and 'headers' are empty. The answer has the last code of the server, and no body.
  std::optional<Mail> mail = {};
};

struct ClientAnswer {
  unsigned status = 0;
  std::string body;
  bool is_cut = false;  // ClientRequest::cuts_answer: there was more.
};

/// Called once for an accepted request, in a later turn of the client or in its destructor. It must not destroy the client. Errors:
/// Unavailable (nothing was sent: no connection, no time, or the host is left alone), DeadlineExceeded (the time was over or the connection
/// ended before the answer: the host may have taken the request), PermissionDenied (the address is not allowed),
/// ResourceExhausted (the answer is too long), Cancelled (the client was destroyed).
using CallDone = std::function<void(Result<ClientAnswer> answer)>;

struct ClientOptions {
  /// Where connections may go. Empty: nowhere.
  std::vector<Prefix> networks = {};
  bool any_network = false;  // Connections may go anywhere.
  /// PEM file with the certificates of issuers that https trusts. Empty: those of the system.
  std::string ca_file = {};
  Priority priority{8};
  std::size_t calls = limits::kHttpCalls;
  std::size_t calls_per_host = limits::kHttpCallsPerHost;
  std::size_t queue = limits::kHttpQueue;
  std::size_t hosts = limits::kHttpHosts;
  unsigned failures = limits::kHttpFailures;
  Duration first_break = 1s;  // The first pause of a host that fails; break_time is the longest.
  Duration break_time = limits::kHttpBreakTime;
};

struct ClientFigures {
  std::size_t under_way = 0;
  std::size_t waiting = 0;
  std::uint64_t answered = 0;  // With any status.
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;  // By post(), because the queue was full.
  std::uint64_t broken = 0;   // Not sent, because the host is left alone.
  std::uint64_t forbidden = 0;
  std::uint64_t thrown = 0;  // Exceptions of CallDone.
};

class Client final : public Source, private TimerNode {
 public:
  /// 'scheduler' must outlive the client. Unavailable if libcurl cannot begin.
  static Result<std::unique_ptr<Client>> open(Scheduler& scheduler, ClientOptions options);
  /// Calls 'done' of each open request with Cancelled. Not in a turn of the client.
  ~Client() override;

  /// Sends a POST, now or when others have ended. If it returns an error, 'done' is not called: InvalidArgument (the URL or a header),
  /// ResourceExhausted (the queue is full), Unavailable (the host is left alone), Cancelled (in the destructor).
  Status post(ClientRequest request, CallDone done);
  ClientFigures figures() const;
  bool is_idle() const noexcept { return calls_.empty() && ended_.empty(); }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;

 private:
  struct Host;
  struct Call;
  struct Ended {
    CallDone done;
    Result<ClientAnswer> answer;
  };

  Client(Scheduler& scheduler, ClientOptions options);
  Result<std::string> host_of(const ClientRequest& request) const;
  Host& host(const std::string& name);
  void make_startable(Host& host);
  void start_waiting();
  void start(Call& call);
  Status prepare(Call& call);
  static Status prepare_post(Call& call);
  static Status prepare_mail(Call& call);
  void take_ended();
  Result<ClientAnswer> result_of(Call& call, CURLcode code) const;
  void end(Call& call, Result<ClientAnswer> answer);
  void judge(Call& call, const Result<ClientAnswer>& answer);
  void fail_waiting(Host& host);
  void deliver_one();
  bool serve_sockets();
  void on_due() override;

  // libcurl's callbacks.
  static int socket_changed(CURL* easy, curl_socket_t socket, int what, void* client, void*);
  static int timer_changed(CURLM* multi, long wait_ms, void* client);
  static curl_socket_t open_socket(void* call, curlsocktype purpose, curl_sockaddr* address);
  static int close_socket(void* client, curl_socket_t socket);
  static std::size_t read_body(char* bytes, std::size_t size, std::size_t count, void* call);
  static std::size_t write_body(char* bytes, std::size_t size, std::size_t count, void* call);
  static std::size_t write_header(char* bytes, std::size_t size, std::size_t count, void* call);

  template <auto free>
  struct FreedBy {
    template <class T>
    void operator()(T* object) const noexcept {
      static_cast<void>(free(object));
    }
  };

  Scheduler& scheduler_;
  const ClientOptions options_;
  std::unique_ptr<CURLM, FreedBy<curl_multi_cleanup>> multi_;
  std::vector<pollfd> sockets_;  // libcurl waits for them.
  std::map<std::string, std::unique_ptr<Host>, std::less<>> hosts_;
  std::deque<Host*> startable_;  // Each once, if it has waiting calls and room for another one.
  std::unordered_map<Call*, std::unique_ptr<Call>> calls_;
  std::vector<Call*> late_;  // They wait, and their time is over.
  std::deque<Ended> ended_;  // 'done' is to be called.
  bool may_serve_ = false;   // A socket may be ready.
  bool is_due_ = false;      // libcurl's timer has fired.
  bool is_ending_ = false;
  ClientFigures counted_;
};

}  // namespace rondo::http
