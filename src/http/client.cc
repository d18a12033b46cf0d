#include "http/client.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/thrown.h"
#include "http/limits.h"
#include "rondo/base/text.h"

namespace rondo::http {

namespace {

/// How long an unused connection is kept. Shorter than the 90 s after which executors of other projects close it.
constexpr long kKeptSeconds = 60;
/// How long a mail server may take for an answer, and for that to QUIT after a refusal or the end of a message.
constexpr long kMailAnswerSeconds = 12;
constexpr long kMailQuitSeconds = 1;
/// Header fields that libcurl or this client sets.
constexpr std::array kOwnFields{"Content-Length", "Transfer-Encoding", "Expect", "Connection", "Host"};

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) return {};
  std::string copy{text};
  curl_free(text);
  return copy;
}

Status check_headers(const std::vector<Field>& headers) {
  for (const Field& field : headers) {
    if (!is_field(field.name, field.value)) return {StatusCode::InvalidArgument, "the header field '" + field.name + "' is malformed"};
    if (std::ranges::any_of(kOwnFields, [&field](const char* own) { return equals_without_case(field.name, own); })) {
      return {StatusCode::InvalidArgument, "the header field '" + field.name + "' belongs to the client"};
    }
  }
  return {};
}

/// An IPv4 address within IPv6 is the IPv4 address, because the kernel connects to that.
Result<IpAddress> address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) return IpAddress::v4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  if (address.sa_family != AF_INET6) return failure(StatusCode::PermissionDenied, "the address is not one of IP");
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, bytes.size());
  return IpAddress::v6(bytes).unmapped();
}

Status left_alone(const std::string& host) {
  return {StatusCode::Unavailable, host + " has failed several times and is left alone for a while"};
}

long milliseconds(Duration time) {
  return std::max<long>(1, static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

}  // namespace

struct Client::Host {
  Host(std::string its_name, const ClientOptions& options)
      : name(std::move(its_name)), breaker(options.failures, options.first_break, options.break_time) {}

  const std::string name;
  Breaker breaker;
  std::deque<Call*> waiting;
  std::size_t under_way = 0;
  bool is_startable = false;  // In startable_.
};

/// Its timer is armed while it waits. Afterwards libcurl has the deadline.
struct Client::Call final : TimerNode {
  Call(Client& its_client, Host& its_host, ClientRequest its_request, CallDone its_done)
      : client(its_client), host(its_host), request(std::move(its_request)), done(std::move(its_done)) {}
  ~Call() override { client.scheduler_.timers().cancel(*this); }
  void on_due() override {
    client.late_.push_back(this);
    client.wake();
  }

  Client& client;
  Host& host;
  ClientRequest request;
  CallDone done;
  Instant deadline;
  Instant started;
  bool is_probe = false;
  bool was_late = false;                                           // libcurl ended it, because its time was over.
  std::unique_ptr<curl_slist, FreedBy<curl_slist_free_all>> list;  // The headers, or the receivers of a mail.
  std::size_t read = 0;                                            // Bytes of a mail that were sent.
  std::unique_ptr<CURL, FreedBy<curl_easy_cleanup>> easy;          // From the start on.
  std::string body;                                                // The body of the answer.
  std::size_t header_bytes = 0;
  bool is_too_long = false;
  bool is_cut = false;
  bool has_opened = false;     // A socket, to an address that is allowed.
  std::string forbidden = {};  // The last address that is not allowed.
  std::array<char, CURL_ERROR_SIZE> error{};
};

Client::Client(Scheduler& scheduler, ClientOptions options)
    : Source("http client", options.priority), scheduler_(scheduler), options_(std::move(options)), multi_(curl_multi_init()) {}

Client::~Client() {
  is_ending_ = true;
  while (!ended_.empty()) deliver_one();
  while (!calls_.empty()) {
    end(*calls_.begin()->first, failure(StatusCode::Cancelled, "the HTTP client ends"));
    deliver_one();
  }
  multi_.reset();
  scheduler_.timers().cancel(*this);
  scheduler_.reactor().unwatch_all(*this);
}

Result<std::unique_ptr<Client>> Client::open(Scheduler& scheduler, ClientOptions options) {
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (global != CURLE_OK) return failure(StatusCode::Unavailable, std::string{"libcurl: "} + curl_easy_strerror(global));
  std::unique_ptr<Client> client{new Client(scheduler, std::move(options))};
  CURLM* const multi = client->multi_.get();
  if (multi == nullptr) return failure(Status::out_of_memory());
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Client::socket_changed);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client.get());
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Client::timer_changed);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client.get());
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(client->options_.calls));
  scheduler.add(*client);
  return client;
}

ClientFigures Client::figures() const {
  ClientFigures copy = counted_;
  copy.waiting = calls_.size() - counted_.under_way;
  return copy;
}

// --- requests

/// "name:port" of the URL, or what is wrong with it.
Result<std::string> Client::host_of(const ClientRequest& request) const {
  const std::unique_ptr<CURLU, FreedBy<curl_url_cleanup>> url{curl_url()};
  if (!url) return failure(Status::out_of_memory());
  const auto wrong = [&](std::string_view why) {
    return failure(StatusCode::InvalidArgument, "the URL '" + visible_text(request.url.substr(0, 200)) + "': " + std::string{why});
  };
  if (const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, request.url.c_str(), 0); code != CURLUE_OK) {
    return wrong(curl_url_strerror(code));
  }
  if (request.url.find('\0') != std::string::npos) return wrong("it has a NUL");
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  const bool is_known = request.mail ? scheme == "smtp" || scheme == "smtps" : scheme == "http" || scheme == "https";
  if (!is_known) return wrong(request.mail ? "only smtp and smtps are supported for mail" : "only http and https are supported");
  if (!part_of(url.get(), CURLUPART_USER).empty() || !part_of(url.get(), CURLUPART_PASSWORD).empty()) return wrong("it has a user name");
  return part_of(url.get(), CURLUPART_HOST) + ":" + part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

Client::Host& Client::host(const std::string& name) {
  if (const auto found = hosts_.find(name); found != hosts_.end()) return *found->second;
  if (hosts_.size() >= options_.hosts) {
    std::erase_if(hosts_, [](const auto& entry) {
      const Host& one = *entry.second;
      return one.under_way == 0 && one.waiting.empty() && !one.is_startable;
    });
  }
  return *hosts_.emplace(name, std::make_unique<Host>(name, options_)).first->second;
}

Status Client::post(ClientRequest request, CallDone done) {
  if (is_ending_) return {StatusCode::Cancelled, "the HTTP client ends"};
  const Result<std::string> name = host_of(request);
  if (!name) return name.error();
  if (Status status = check_headers(request.headers); !status.ok()) return status;
  if (calls_.size() + ended_.size() >= options_.calls + options_.queue) {
    ++counted_.refused;
    return {StatusCode::ResourceExhausted, "the queue of HTTP requests is full"};
  }
  const Instant now = scheduler_.clock().now();
  Host& to = host(*name);
  const Breaker::Admission admission = to.breaker.admit(now);
  if (admission == Breaker::Admission::No) {
    ++counted_.broken;
    return left_alone(*name);
  }
  auto made = std::make_unique<Call>(*this, to, std::move(request), std::move(done));
  Call& call = *made;
  call.is_probe = admission == Breaker::Admission::Probe;
  call.deadline = now + call.request.timeout;
  scheduler_.timers().insert(call, call.deadline);
  calls_.emplace(&call, std::move(made));
  to.waiting.push_back(&call);
  make_startable(to);
  start_waiting();
  return {};
}

void Client::make_startable(Host& host) {
  if (host.is_startable || host.waiting.empty() || host.under_way >= options_.calls_per_host) return;
  host.is_startable = true;
  startable_.push_back(&host);
}

void Client::start_waiting() {
  while (counted_.under_way < options_.calls && !startable_.empty()) {
    Host& host = *startable_.front();
    startable_.pop_front();
    host.is_startable = false;
    if (host.waiting.empty()) continue;  // They were late.
    Call& call = *host.waiting.front();
    host.waiting.pop_front();
    start(call);
    make_startable(host);
  }
}

void Client::start(Call& call) {
  scheduler_.timers().cancel(call);
  std::erase(late_, &call);
  call.started = scheduler_.clock().now();
  ++counted_.under_way;
  ++call.host.under_way;
  Status status = prepare(call);
  if (status.ok()) {
    if (const CURLMcode code = curl_multi_add_handle(multi_.get(), call.easy.get()); code != CURLM_OK) {
      status = {StatusCode::Internal, std::string{"libcurl: "} + curl_multi_strerror(code)};
    }
  }
  if (!status.ok()) end(call, failure(std::move(status)));
}

namespace {

/// Appends a text to a list of libcurl. False without memory.
template <class List>
bool append(List& list, const std::string& text) {
  curl_slist* const longer = curl_slist_append(list.get(), text.c_str());
  if (longer == nullptr) return false;
  static_cast<void>(list.release());
  list.reset(longer);
  return true;
}

}  // namespace

Status Client::prepare_post(Call& call) {
  CURL* const easy = call.easy.get();
  bool has_memory = true;
  const auto add = [&](const std::string& line) { has_memory = has_memory && append(call.list, line); };
  for (const Field& field : call.request.headers) {
    add(field.value.empty() ? field.name + ";" : field.name + ": " + field.value);  // libcurl's form of a field without value.
  }
  // A name and a colon remove what libcurl would send.
  add("Expect:");
  if (!std::ranges::any_of(call.request.headers, [](const Field& field) { return equals_without_case(field.name, "Content-Type"); })) {
    add("Content-Type:");
  }
  if (!has_memory) return Status::out_of_memory();
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call.list.get());
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call.request.body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.request.body.size()));
  return {};
}

Status Client::prepare_mail(Call& call) {
  CURL* const easy = call.easy.get();
  const Mail& mail = *call.request.mail;
  for (const std::string& receiver : mail.to) {
    if (!append(call.list, "<" + receiver + ">")) return Status::out_of_memory();
  }
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, kMailAnswerSeconds);
  curl_easy_setopt(easy, CURLOPT_USE_SSL, static_cast<long>(mail.needs_tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
  if (!mail.user.empty()) {
    curl_easy_setopt(easy, CURLOPT_USERNAME, mail.user.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, mail.password.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_MAIL_FROM, ("<" + mail.from + ">").c_str());
  curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, call.list.get());
  curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.request.body.size()));
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, &Client::read_body);
  curl_easy_setopt(easy, CURLOPT_READDATA, &call);
  return {};
}

Status Client::prepare(Call& call) {
  call.easy.reset(curl_easy_init());
  CURL* const easy = call.easy.get();
  if (easy == nullptr) return Status::out_of_memory();
  if (Status status = call.request.mail ? prepare_mail(call) : prepare_post(call); !status.ok()) return status;
  const bool is_fresh = call.request.fresh_connection || call.request.networks || call.request.mail;
  curl_easy_setopt(easy, CURLOPT_URL, call.request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (!options_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // Ending a call does not wait for its look-up of a name.
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(call.deadline - call.started));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(call.request.connect_timeout));
  if (!call.request.cuts_answer) curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(call.request.answer_bytes));
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kKeptSeconds);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, is_fresh ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, is_fresh ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call.error.data());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &call);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Client::open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &call);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &Client::close_socket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Client::write_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Client::write_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &call);
  return {};
}

// --- ends of requests

void Client::take_ended() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    void* of_easy = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &of_easy);
    Call& call = *static_cast<Call*>(of_easy);
    end(call, result_of(call, message->data.result));
  }
}

Result<ClientAnswer> Client::result_of(Call& call, CURLcode code) const {
  const auto failed = [&](StatusCode status) {
    return failure(status, call.host.name + ": " + (call.error[0] != '\0' ? call.error.data() : curl_easy_strerror(code)));
  };
  if (call.is_too_long || code == CURLE_FILESIZE_EXCEEDED) {
    return failure(StatusCode::ResourceExhausted,
                   call.host.name + ": the answer is longer than " + std::to_string(call.request.answer_bytes) + " bytes");
  }
  if (code != CURLE_OK && !call.has_opened && !call.forbidden.empty()) {
    return failure(StatusCode::PermissionDenied, call.host.name + ": the address " + call.forbidden + " is in no allowed network");
  }
  call.was_late = code == CURLE_OPERATION_TIMEDOUT;
  long sent = 0;
  curl_easy_getinfo(call.easy.get(), CURLINFO_REQUEST_SIZE, &sent);
  switch (call.is_cut ? CURLE_OK : code) {
    case CURLE_OK: break;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return failed(StatusCode::InvalidArgument);
    case CURLE_OUT_OF_MEMORY: return failed(StatusCode::ResourceExhausted);
    default: return failed(sent == 0 ? StatusCode::Unavailable : StatusCode::DeadlineExceeded);
  }
  long status = 0;
  curl_easy_getinfo(call.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return ClientAnswer{.status = static_cast<unsigned>(status), .body = std::move(call.body), .is_cut = call.is_cut};
}

/// Removes 'call', and leaves its answer for a later turn.
void Client::end(Call& call, Result<ClientAnswer> answer) {
  Host& host = call.host;
  const bool was_started = call.started != Instant{};
  if (was_started) {
    if (call.easy) curl_multi_remove_handle(multi_.get(), call.easy.get());
    --counted_.under_way;
    --host.under_way;
  } else {
    std::erase(host.waiting, &call);
    std::erase(late_, &call);
  }
  ++(answer ? counted_.answered : counted_.failed);
  if (!answer && answer.error().code() == StatusCode::PermissionDenied) ++counted_.forbidden;
  judge(call, answer);
  ended_.push_back({std::move(call.done), std::move(answer)});
  calls_.erase(&call);
  make_startable(host);
  if (!is_ending_) wake();
}

/// What the end of 'call' says about its host.
void Client::judge(Call& call, const Result<ClientAnswer>& answer) {
  Breaker& breaker = call.host.breaker;
  const Instant now = scheduler_.clock().now();
  const bool was_started = call.started != Instant{};
  const StatusCode code = answer ? StatusCode::Ok : answer.error().code();
  if (code == StatusCode::Ok || (code == StatusCode::ResourceExhausted && was_started)) return breaker.succeeded();
  const bool has_failed = was_started && (code == StatusCode::DeadlineExceeded || code == StatusCode::Unavailable);
  // A request that spent most of its time in the queue says nothing.
  const bool had_time = !call.was_late || now - call.started >= std::min(call.request.timeout, call.request.connect_timeout) / 2;
  if (!has_failed || !had_time) {
    if (call.is_probe) breaker.abandoned();
    return;
  }
  breaker.failed(now, call.is_probe);
  if (breaker.is_open()) fail_waiting(call.host);
}

void Client::fail_waiting(Host& host) {
  for (Call* const call : std::exchange(host.waiting, {})) {
    ++counted_.broken;
    end(*call, failure(left_alone(host.name)));
  }
}

void Client::deliver_one() {
  Ended ended = std::move(ended_.front());
  ended_.pop_front();
  const Status status = contained("the receiver of an HTTP answer", [&] {
    ended.done(std::move(ended.answer));
    return Status{};
  });
  if (!status.ok()) ++counted_.thrown;
}

// --- turns

Result<Backlog> Client::collect() {
  may_serve_ = true;
  return Backlog::More;
}

void Client::on_due() {
  is_due_ = true;
  wake();
}

Turn Client::run(const Budget& budget) {
  int running = 0;
  if (std::exchange(is_due_, false)) curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  // The reactor reports a change of a socket once, so libcurl is called until no socket is ready.
  while (may_serve_ && !time_is_up(budget)) may_serve_ = serve_sockets();
  take_ended();
  while (!late_.empty()) {
    end(*late_.front(), failure(StatusCode::Unavailable, late_.front()->host.name + ": the time was over before the request began"));
  }
  start_waiting();
  std::uint32_t delivered = 0;
  for (; delivered < budget.items && !ended_.empty(); ++delivered) deliver_one();
  const bool has_more = may_serve_ || is_due_ || !late_.empty() || !ended_.empty();
  return {.items = std::max(delivered, 1U), .backlog = has_more ? Backlog::More : Backlog::Empty};
}

/// Gives libcurl each socket that is ready. False if none was. O(sockets).
bool Client::serve_sockets() {
  std::vector<pollfd> ready = sockets_;
  if (ready.empty() || ::poll(ready.data(), ready.size(), 0) <= 0) return false;
  for (const pollfd& socket : ready) {
    int events = 0;
    if ((socket.revents & POLLIN) != 0) events |= CURL_CSELECT_IN;
    if ((socket.revents & POLLOUT) != 0) events |= CURL_CSELECT_OUT;
    if ((socket.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) events |= CURL_CSELECT_ERR;
    int running = 0;
    if (events != 0) curl_multi_socket_action(multi_.get(), socket.fd, events, &running);
  }
  return true;
}

// --- libcurl's callbacks

int Client::socket_changed(CURL*, curl_socket_t socket, int what, void* client, void*) {
  Client& self = *static_cast<Client*>(client);
  Reactor& reactor = self.scheduler_.reactor();
  std::vector<pollfd>& sockets = self.sockets_;
  const auto found = std::ranges::find(sockets, socket, &pollfd::fd);
  if (what != CURL_POLL_IN && what != CURL_POLL_OUT && what != CURL_POLL_INOUT) {
    reactor.unwatch(socket);
    if (found != sockets.end()) sockets.erase(found);
    return 0;
  }
  const Interest interest = what == CURL_POLL_IN ? Interest::Read : what == CURL_POLL_OUT ? Interest::Write : Interest::ReadWrite;
  const auto events = static_cast<short>((what != CURL_POLL_OUT ? POLLIN : 0) | (what != CURL_POLL_IN ? POLLOUT : 0));
  // If the reactor refuses the socket, the request ends at its deadline.
  if (found != sockets.end()) {
    found->events = events;
    static_cast<void>(reactor.rewatch(socket, interest));
  } else {
    sockets.push_back({.fd = socket, .events = events, .revents = 0});
    static_cast<void>(reactor.watch(socket, interest, self));
  }
  return 0;
}

int Client::timer_changed(CURLM*, long wait_ms, void* client) {
  Client& self = *static_cast<Client*>(client);
  self.scheduler_.timers().cancel(self);
  if (wait_ms == 0) self.on_due();
  if (wait_ms > 0) self.scheduler_.timers().insert(self, self.scheduler_.clock().now() + std::chrono::milliseconds{wait_ms});
  return 0;
}

curl_socket_t Client::open_socket(void* of_call, curlsocktype, curl_sockaddr* address) {
  Call& call = *static_cast<Call*>(of_call);
  const ClientOptions& options = call.client.options_;
  const bool is_anywhere = options.any_network && !call.request.networks;
  const std::vector<Prefix>& networks = call.request.networks ? *call.request.networks : options.networks;
  const Result<IpAddress> to = address_of(address->addr);
  if (!to || (!is_anywhere && std::ranges::none_of(networks, [&](const Prefix& one) { return one.contains(*to); }))) {
    call.forbidden = to ? to->to_string() : "of another family";
    return CURL_SOCKET_BAD;
  }
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
  call.has_opened = call.has_opened || fd >= 0;
  return fd;
}

int Client::close_socket(void* client, curl_socket_t socket) {
  socket_changed(nullptr, socket, CURL_POLL_REMOVE, client, nullptr);
  return ::close(socket);
}

std::size_t Client::read_body(char* bytes, std::size_t size, std::size_t count, void* of_call) {
  Call& call = *static_cast<Call*>(of_call);
  const std::size_t length = std::min(size * count, call.request.body.size() - call.read);
  call.request.body.copy(bytes, length, call.read);
  call.read += length;
  return length;
}

std::size_t Client::write_body(char* bytes, std::size_t size, std::size_t count, void* of_call) {
  Call& call = *static_cast<Call*>(of_call);
  const std::size_t length = size * count;
  const std::size_t room = call.request.answer_bytes - std::min(call.request.answer_bytes, call.body.size());
  call.is_too_long = length > room && !call.request.cuts_answer;
  if (call.is_too_long) return 0;  // Ends the transfer.
  try {
    call.body.append(bytes, std::min(length, room));
  } catch (const std::bad_alloc&) {
    return 0;
  }
  call.is_cut = length > room;
  return call.is_cut ? 0 : length;
}

std::size_t Client::write_header(char* bytes, std::size_t size, std::size_t count, void* of_call) {
  Call& call = *static_cast<Call*>(of_call);
  // This is the last answer, or a refusal. libcurl waits for the answer to QUIT next, and the timeout does not end that.
  const bool is_last = call.read == call.request.body.size() || (size * count > 0 && *bytes >= '4');
  if (call.request.mail && is_last) curl_easy_setopt(call.easy.get(), CURLOPT_SERVER_RESPONSE_TIMEOUT, kMailQuitSeconds);
  call.header_bytes += size * count;
  call.is_too_long = call.header_bytes > limits::kHttpHeaderBytes;
  return call.is_too_long ? 0 : size * count;
}

}  // namespace rondo::http
