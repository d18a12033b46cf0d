#include "http/http_thread.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/thrown.h"
#include "rondo/base/assert.h"
#include "rondo/sched/mailbox.h"

namespace rondo::http {

namespace {

constexpr std::size_t kThreadNameBytes = 15;  // Linux keeps this many.
constexpr Priority kToHttp{16};               // Answers go before new requests.

/// What crosses between the threads. A task is moved out of its mailbox before it runs, because it may call stop(), which empties the
/// mailbox of the home thread.
using Task = std::function<void()>;
void run(Task&& given) {
  const Task task = std::move(given);
  task();
}

}  // namespace

struct HttpThread::Impl final : HttpGate {
  Impl(Scheduler& home_scheduler, HttpThreadOptions given, GateHandler given_handler);

  /// Takes the answer to a forwarded request on the home thread.
  struct AtHome final : AnswerSink {
    AtHome(Impl& its_impl, std::uint64_t its_number) : impl(its_impl), number(its_number), slot(std::make_shared<Answer::Slot>()) {
      slot->sink = this;
    }
    ~AtHome() { slot->sink = nullptr; }
    void answered(Response response) noexcept override {
      impl.answer(number, [given = std::move(response)](Answer& answer) mutable { answer.send(std::move(given)); });
    }
    void relayed(Response head, UniqueFd other, Convert convert) noexcept override {
      // A task can be copied, a descriptor cannot.
      impl.answer(number, [given = std::move(head), shared = std::make_shared<UniqueFd>(std::move(other)), to = std::move(convert)](
                              Answer& answer) mutable { answer.relay(std::move(given), std::move(*shared), std::move(to)); });
    }
    void asked(UniqueFd other, Collect collect, Response late, Duration limit) noexcept override {
      impl.answer(number, [shared = std::make_shared<UniqueFd>(std::move(other)), to = std::move(collect), given = std::move(late),
                           limit](Answer& answer) mutable { answer.ask(std::move(*shared), std::move(to), std::move(given), limit); });
    }
    void dropped() noexcept override {
      impl.answer(number, [](Answer&) {});
    }

    Impl& impl;
    const std::uint64_t number;
    const std::shared_ptr<Answer::Slot> slot;
  };

  // Home thread.
  Status open();
  void answer(std::uint64_t number, std::function<void(Answer& answer)> give);
  void handle_forwarded(std::uint64_t number, const std::function<void(Answer)>& at_home);
  void end_call(std::uint64_t number, Result<ClientAnswer> answer);
  // HTTP thread.
  void work();
  void call_now(std::uint64_t number, ClientRequest request);
  void answer_now(std::uint64_t number, const std::function<void(Answer& answer)>& give);
  void begin_stop();
  void check_stopped();
  void forward(Answer answer, std::function<void(Answer)> at_home) override;
  Status post(std::function<void()> at_home) override;
  Server* server() noexcept override { return its_server.get(); }
  Client* client() noexcept override { return its_client.get(); }
  // Both.
  template <class Call>
  void contain(std::string_view whose, Call&& call);
  Status take_place(std::atomic<std::size_t>& posts) const;

  // The home thread makes and destroys all objects, so a post of the home thread never meets a scheduler that ends.
  const HttpThreadOptions options;
  const GateHandler handler;
  const SystemClock clock;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Scheduler> scheduler;
  Mailbox<Task> to_home;
  Mailbox<Task> to_http;
  std::atomic<std::size_t> posts_to_home{0};
  std::atomic<std::size_t> posts_to_http{0};
  std::atomic<std::uint64_t> refused_forwards{0};
  std::atomic<std::uint64_t> thrown{0};
  std::uint16_t port = 0;
  std::string endpoint;

  // Home thread.
  std::thread thread;
  std::unordered_map<std::uint64_t, CallDone> calls;
  std::uint64_t last_call = 0;
  std::unordered_map<std::uint64_t, AtHome> sinks;

  // HTTP thread, while it runs.
  std::unique_ptr<Server> its_server;
  std::unique_ptr<Client> its_client;
  TimerSource drain;
  std::unordered_map<std::uint64_t, Answer> forwarded;
  std::uint64_t last_forward = 0;
  bool is_stopping = false;
  bool server_has_stopped = false;
};

HttpThread::Impl::Impl(Scheduler& home_scheduler, HttpThreadOptions given, GateHandler given_handler)
    : options(std::move(given)),
      handler(std::move(given_handler)),
      to_home(options.name + " to home", options.home_priority, run, options.forwards + options.calls + options.posts),
      to_http(options.name + " from home", kToHttp, run, options.forwards + options.calls + options.posts + 1),
      drain(options.name + " drain", kToHttp, [this] { scheduler->stop(); }) {
  home_scheduler.add(to_home);
}

template <class Call>
void HttpThread::Impl::contain(std::string_view whose, Call&& call) {
  const Status status = contained(whose, [&] {
    call();
    return Status{};
  });
  if (!status.ok()) thrown.fetch_add(1, std::memory_order_relaxed);
}

Status HttpThread::Impl::take_place(std::atomic<std::size_t>& posts) const {
  if (posts.fetch_add(1, std::memory_order_relaxed) < options.posts) return {};
  posts.fetch_sub(1, std::memory_order_relaxed);
  return {StatusCode::ResourceExhausted, "too many functions wait for the other thread"};
}

// --- home thread

HttpThread::HttpThread(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
HttpThread::~HttpThread() { stop(); }
std::uint16_t HttpThread::port() const noexcept { return impl_->port; }
const std::string& HttpThread::endpoint() const noexcept { return impl_->endpoint; }
HttpThreadFigures HttpThread::figures() const noexcept {
  return {.refused_forwards = impl_->refused_forwards.load(std::memory_order_relaxed),
          .thrown = impl_->thrown.load(std::memory_order_relaxed)};
}

Status HttpThread::Impl::open() {
  Result<std::unique_ptr<Reactor>> made = make_epoll_reactor();
  if (!made) return std::move(made.error());
  reactor = std::move(*made);
  scheduler = std::make_unique<Scheduler>(clock, *reactor, std::move(make_policy(BudgetedFrames{}).value()));
  scheduler->add(to_http);
  scheduler->add(drain);
  if (options.client) {
    Result<std::unique_ptr<Client>> opened = Client::open(*scheduler, *options.client);
    if (!opened) return std::move(opened.error());
    its_client = std::move(*opened);
  }
  if (!options.server) return {};
  Result<std::unique_ptr<Server>> opened = Server::open(
      *scheduler, *options.server, [this](Request request, Answer answer) { handler(std::move(request), std::move(answer), *this); });
  if (!opened) return std::move(opened.error());
  its_server = std::move(*opened);
  port = its_server->port();
  endpoint = its_server->endpoint();
  return {};
}

Result<std::unique_ptr<HttpThread>> HttpThread::start(Scheduler& home, HttpThreadOptions options, GateHandler handler) {
  auto impl = std::make_unique<Impl>(home, std::move(options), std::move(handler));
  Impl& p = *impl;
  if (Status status = p.open(); !status.ok()) return failure(status.with_context("the HTTP thread"));
  try {
    p.thread = std::thread([&p] { p.work(); });
  } catch (const std::system_error& error) {
    return failure(StatusCode::ResourceExhausted, std::string{"the HTTP thread: "} + error.what());
  }
  return std::unique_ptr<HttpThread>{new HttpThread(std::move(impl))};
}

Status HttpThread::call(ClientRequest request, CallDone done) {
  Impl& p = *impl_;
  if (!p.thread.joinable() || !p.options.client) return {StatusCode::FailedPrecondition, "there is no HTTP client"};
  if (p.calls.size() >= p.options.calls) return {StatusCode::ResourceExhausted, "too many HTTP requests are open"};
  const std::uint64_t number = ++p.last_call;
  p.calls.emplace(number, std::move(done));
  const Status posted = p.to_http.post([&p, number, given = std::move(request)]() mutable { p.call_now(number, std::move(given)); });
  RONDO_ASSERT(posted.ok());  // A call has its place.
  return {};
}

Status HttpThread::post(std::function<void(HttpGate&)> function) {
  Impl& p = *impl_;
  if (!p.thread.joinable()) return {StatusCode::FailedPrecondition, "the HTTP thread has stopped"};
  Status status = p.take_place(p.posts_to_http);
  if (!status.ok()) return status;
  return p.to_http.post([&p, called = std::move(function)] {
    p.posts_to_http.fetch_sub(1, std::memory_order_relaxed);
    p.contain("a function for the HTTP thread", [&] { called(p); });
  });
}

void HttpThread::Impl::handle_forwarded(std::uint64_t number, const std::function<void(Answer)>& at_home) {
  if (!thread.joinable()) return;  // Stopped: the client got 503.
  const AtHome& sink = sinks.try_emplace(number, *this, number).first->second;
  contain("the handler of a forwarded request", [&] { at_home(Answer{sink.slot}); });
}

void HttpThread::Impl::end_call(std::uint64_t number, Result<ClientAnswer> answer) {
  const auto call = calls.extract(number);
  contain("the receiver of an HTTP answer", [&] { call.mapped()(std::move(answer)); });
}

/// Destroys the sink that calls it.
void HttpThread::Impl::answer(std::uint64_t number, std::function<void(Answer& answer)> give) {
  const Status posted = to_http.post([this, number, given = std::move(give)] { answer_now(number, given); });
  RONDO_ASSERT(posted.ok());  // A forward has its place.
  sinks.erase(number);
}

void HttpThread::stop() {
  Impl& p = *impl_;
  if (!p.thread.joinable()) return;
  RONDO_EXPECT(p.thread.get_id() != std::this_thread::get_id(),
               "HttpThread::stop was called on the HTTP thread; call it on the home thread");
  const Status posted = p.to_http.post([&p] { p.begin_stop(); });
  RONDO_ASSERT(posted.ok());
  p.thread.join();
  p.scheduler->move_here();
  p.sinks.clear();  // Answers are ignored from now on.
  p.forwarded.clear();
  p.its_client.reset();  // Its open calls get Cancelled.
  p.its_server.reset();
  while (p.to_home.has_backlog()) p.to_home.run(Budget{.items = UINT32_MAX, .time = Duration::max()});
  // The HTTP thread ended before it took these.
  for (auto& [number, done] : std::exchange(p.calls, {})) {
    p.contain("the receiver of an HTTP answer", [&] { done(failure(StatusCode::Cancelled, "the HTTP thread has stopped")); });
  }
}

// --- HTTP thread

void HttpThread::Impl::work() {
  ::pthread_setname_np(::pthread_self(), options.name.substr(0, kThreadNameBytes).c_str());
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);  // OpenSSL writes to connections that may have ended.
  scheduler->run();
}

void HttpThread::Impl::call_now(std::uint64_t number, ClientRequest request) {
  const auto answer_home = [this, number](Result<ClientAnswer> answer) {
    const Status posted = to_home.post([this, number, given = std::move(answer)]() mutable { end_call(number, std::move(given)); });
    RONDO_ASSERT(posted.ok());  // A call has its place.
    check_stopped();
  };
  Status status = contained("the HTTP client", [&] { return its_client->post(std::move(request), answer_home); });
  if (!status.ok()) answer_home(failure(std::move(status)));
}

void HttpThread::Impl::answer_now(std::uint64_t number, const std::function<void(Answer& answer)>& give) {
  auto taken = forwarded.extract(number);  // Empty after begin_stop().
  if (taken) give(taken.mapped());
}

void HttpThread::Impl::forward(Answer answer, std::function<void(Answer)> at_home) {
  if (is_stopping || forwarded.size() >= options.forwards) {
    refused_forwards.fetch_add(1, std::memory_order_relaxed);
    return answer.send(text_response(503, is_stopping ? "the server stops" : "too many requests are under way"));
  }
  const std::uint64_t number = ++last_forward;
  forwarded.emplace(number, std::move(answer));
  const Status posted = to_home.post([this, number, given = std::move(at_home)] { handle_forwarded(number, given); });
  RONDO_ASSERT(posted.ok());  // A forward has its place.
}

Status HttpThread::Impl::post(std::function<void()> at_home) {
  Status status = take_place(posts_to_home);
  if (!status.ok()) return status;
  return to_home.post([this, called = std::move(at_home)] {
    posts_to_home.fetch_sub(1, std::memory_order_relaxed);
    contain("a function for the home thread", called);
  });
}

/// The home thread waits in stop(), so it cannot answer the forwarded requests any more.
void HttpThread::Impl::begin_stop() {
  is_stopping = true;
  drain.arm_at(scheduler->now() + options.drain);
  for (auto& [number, answer] : std::exchange(forwarded, {})) answer.send(text_response(503, "the server stops"));
  server_has_stopped = its_server == nullptr;
  if (its_server) {
    its_server->on_stopped([this] {
      server_has_stopped = true;
      check_stopped();
    });
    its_server->stop();
  }
  check_stopped();
}

void HttpThread::Impl::check_stopped() {
  if (is_stopping && server_has_stopped && (!its_client || its_client->is_idle())) scheduler->stop();
}

}  // namespace rondo::http
