// HttpThread with real threads: requests and calls cross between the threads, and a stop at any time loses no answer and blocks on nothing.
// Also for the thread sanitizer. Method: the test's thread is the home thread, and clients are sockets of this thread that do not block.
#include "http/http_thread.h"

#include <gmock/gmock.h>

#include <array>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/testing/sanitized.h"
#include "http/http_kit.h"
#include "http/listener.h"

namespace rondo::http {
namespace {

using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

std::string get(std::string_view target) { return "GET " + std::string{target} + " HTTP/1.1\r\nHost: h\r\n\r\n"; }

class HttpThreadTest : public Loop {
 protected:
  HttpThreadTest() {
    options_.server.emplace().linger_time = 1ms;
    options_.drain = 1000s;
    options_.client.emplace().any_network = true;
    handler_ = [this](Request request, Answer answer, HttpGate& gate) {
      if (request.path() == "/here") return answer.send(text_response(200, "here"));
      gate.forward(std::move(answer), [this, request](Answer at_home) { handle_at_home(request, std::move(at_home)); });
    };
  }
  void start() {
    Result<std::unique_ptr<HttpThread>> started = HttpThread::start(scheduler_, options_, handler_);
    ASSERT_TRUE(started.has_value()) << started.error().to_string();
    http_ = std::move(*started);
  }
  void handle_at_home(const Request& request, Answer answer) {
    EXPECT_TRUE(scheduler_.is_here());
    ++forwarded_;
    if (request.path() == "/keep") return kept_.push_back(std::move(answer));
    if (request.path() == "/drop") return;
    if (request.path() == "/throw") throw std::runtime_error("a fault");
    answer.send(text_response(200, "home " + request.body));
  }
  std::string url(std::string_view path) const { return "http://" + http_->endpoint() + std::string{path}; }
  Status call(ClientRequest request) {
    request.timeout = request.connect_timeout = 1000s;
    return http_->call(std::move(request), [this](Result<ClientAnswer> answer) {
      EXPECT_TRUE(scheduler_.is_here());
      answers_.push_back(std::move(answer));
    });
  }

  HttpThreadOptions options_;
  GateHandler handler_;
  std::size_t forwarded_ = 0;
  std::vector<Answer> kept_;
  std::vector<Result<ClientAnswer>> answers_;
  std::unique_ptr<HttpThread> http_;
};

TEST_F(HttpThreadTest, RequestsAreAnsweredOnBothThreads) {
  start();
  Peer peer{http_->port()};
  peer.say(get("/here") + get("/home") + get("/drop") + get("/throw") + get("/here"));
  run_until([&] { return peer.answers(200) == 3 && peer.answers(500) == 2; });
  EXPECT_THAT(peer.heard, HasSubstr("home \n"));
  EXPECT_EQ(http_->figures().thrown, 1U);
}

TEST_F(HttpThreadTest, AnAnswerMayComeInALaterTurnAtHome) {
  start();
  Peer peer{http_->port()};
  peer.say(get("/keep"));
  run_until([&] { return kept_.size() == 1; });
  kept_[0].send(text_response(201, "late"));
  kept_[0].send(text_response(202, "twice"));
  run_until([&] { return peer.hears("late\n"); });
  EXPECT_EQ(peer.answers(202), 0U);
}

TEST_F(HttpThreadTest, ARelayMayBeginAtHome) {
  start();
  Peer peer{http_->port()};
  peer.say(get("/keep") + "early");
  run_until([&] { return kept_.size() == 1; });
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  Peer other{UniqueFd{ends[1]}};
  kept_[0].relay(Response{.status = 101, .fields = {{"Upgrade", "test"}}}, UniqueFd{ends[0]});
  run_until([&] { return other.hears("early"); });
  other.say("to the client");
  run_until([&] { return peer.hears("to the client"); });
  http_->stop();
  run_until([&] { return peer.hears_end() && other.hears_end(); });
}

TEST_F(HttpThreadTest, CallsGoOutAndTheirAnswersComeHome) {
  start();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(call({.url = url("/echo"), .body = std::to_string(i)}).ok());
  ASSERT_TRUE(call({.url = "nonsense"}).ok());
  run_until([&] { return answers_.size() == 101; });
  int well = 0;
  for (const auto& answer : answers_) well += answer && answer->status == 200 ? 1 : 0;
  EXPECT_EQ(well, 100);
}

TEST_F(HttpThreadTest, FunctionsRunOnTheOtherThread) {
  start();
  bool is_back = false;
  ASSERT_TRUE(http_
                  ->post([&](HttpGate& gate) {
                    EXPECT_FALSE(scheduler_.is_here());
                    EXPECT_NE(gate.server(), nullptr);
                    EXPECT_NE(gate.client(), nullptr);
                    EXPECT_TRUE(gate.post([&] { is_back = scheduler_.is_here(); }).ok());
                    throw std::runtime_error("a fault");
                  })
                  .ok());
  run_until([&] { return is_back && http_->figures().thrown == 1; });
}

// --- limits

TEST_F(HttpThreadTest, MoreRequestsThanTheHomeThreadMayHaveGet503) {
  options_.forwards = 2;
  start();
  std::vector<Peer> peers;
  for (std::size_t i = 1; i <= 3; ++i) {
    peers.emplace_back(http_->port());
    peers.back().say(get("/keep"));
    run_until([&] { return kept_.size() == std::min<std::size_t>(i, 2); });
  }
  run_until([&] { return peers[2].answers(503) == 1; });
  EXPECT_EQ(http_->figures().refused_forwards, 1U);
  kept_.clear();
  run_until([&] { return peers[0].answers(500) == 1 && peers[1].answers(500) == 1; });
  peers[2].say(get("/home"));
  run_until([&] { return peers[2].answers(200) == 1; });
}

TEST_F(HttpThreadTest, MoreCallsThanTheLimitAreRefused) {
  options_.calls = 2;
  start();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(call({.url = url("/keep")}).ok());
  EXPECT_EQ(call({.url = url("/keep")}).code(), StatusCode::ResourceExhausted);
  run_until([&] { return kept_.size() == 2; });
  kept_.clear();
  run_until([&] { return answers_.size() == 2; });
  EXPECT_TRUE(call({.url = url("/here")}).ok());
}

TEST_F(HttpThreadTest, MoreFunctionsThanTheLimitAreRefused) {
  options_.posts = 2;
  start();
  std::latch holds{1};
  std::latch held{1};
  std::latch posted{1};
  int back = 0;
  ASSERT_TRUE(http_
                  ->post([&](HttpGate& gate) {
                    held.count_down();
                    holds.wait();
                    for (int i = 0; i < 2; ++i) EXPECT_TRUE(gate.post([&] { ++back; }).ok());
                    EXPECT_EQ(gate.post([&] { ++back; }).code(), StatusCode::ResourceExhausted);
                    posted.count_down();
                  })
                  .ok());
  held.wait();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(http_->post([](HttpGate&) {}).ok());
  EXPECT_EQ(http_->post([](HttpGate&) {}).code(), StatusCode::ResourceExhausted);
  holds.count_down();
  posted.wait();  // Until then the home thread takes none.
  run_until([&] { return back == 2; });
}

// --- begin and end

TEST_F(HttpThreadTest, AServerThatCannotListenIsAnErrorOfTheStart) {
  options_.server->address = "nowhere";
  const Result<std::unique_ptr<HttpThread>> started = HttpThread::start(scheduler_, options_, handler_);
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code(), StatusCode::InvalidArgument);
}

TEST_F(HttpThreadTest, WithoutServerOrClientItRunsFunctions) {
  options_.server.reset();
  options_.client.reset();
  start();
  EXPECT_EQ(call({.url = "http://127.0.0.1/"}).code(), StatusCode::FailedPrecondition);
  bool ran = false;
  ASSERT_TRUE(http_->post([&](HttpGate& gate) { ran = gate.server() == nullptr && gate.client() == nullptr; }).ok());
  http_->stop();
  EXPECT_TRUE(ran);
}

TEST_F(HttpThreadTest, AStopSendsTheAnswersThatWereGivenAnd503ToTheOthers) {
  start();
  Peer answered{http_->port()};
  Peer open{http_->port()};
  answered.say(get("/keep"));
  run_until([&] { return kept_.size() == 1; });
  open.say(get("/keep"));
  run_until([&] { return kept_.size() == 2; });
  kept_[0].send(text_response(200, "in time"));
  http_->stop();
  run_until([&] { return answered.hears_end() && open.hears_end(); });
  EXPECT_THAT(answered.heard, EndsWith("in time\n"));
  EXPECT_EQ(open.answers(503), 1U);
  kept_[1].send({});
  kept_.clear();
  EXPECT_EQ(http_->post([](HttpGate&) {}).code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(call({.url = "http://127.0.0.1/"}).code(), StatusCode::FailedPrecondition);
  http_->stop();
}

TEST_F(HttpThreadTest, AStopAnswersEachCall) {
  options_.drain = 1ms;
  options_.client->calls = 2;
  start();
  const UniqueFd silent = std::move(listen_at("127.0.0.1", 0).value());
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(call({.url = "http://" + endpoint_text(bound) + "/"}).ok());
  UniqueFd accepted;
  run_until([&] {
    accepted = UniqueFd{::accept4(silent.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    return static_cast<bool>(accepted);
  });
  http_->stop();
  ASSERT_THAT(answers_, SizeIs(10));
  for (const auto& answer : answers_) EXPECT_EQ(answer.error().code(), StatusCode::Cancelled);
}

TEST_F(HttpThreadTest, AStopDoesNotWaitForAClientThatDoesNotRead) {
  options_.drain = 20ms;
  handler_ = [](Request, Answer answer, HttpGate&) { answer.send({.body = std::string(30'000'000, 'x')}); };
  start();
  Peer peer{http_->port(), 4096};
  peer.say(get("/"));
  char first = 0;
  run_until([&] { return ::recv(peer.fd(), &first, 1, MSG_DONTWAIT) == 1; });
  http_.reset();
}

TEST_F(HttpThreadTest, AReceiverMayStopTheThread) {
  start();
  bool ended = false;
  ASSERT_TRUE(http_
                  ->call({.url = url("/here")},
                         [&](Result<ClientAnswer>) {
                           http_->stop();
                           ended = true;
                         })
                  .ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(call({.url = url("/here")}).ok());
  run_until([&] { return ended; });
  EXPECT_THAT(answers_, SizeIs(5));
}

/// Clients, calls and functions are under way whenever the stop comes, and each call ends once.
TEST_F(HttpThreadTest, AStopAtAnyTimeLosesNothing) {
  options_.drain = 20ms;
  for (int round = 0; round < plain_or_sanitized(60, 20); ++round) {
    answers_.clear();
    kept_.clear();
    start();
    std::vector<Peer> peers;
    for (int i = 0; i < 4; ++i) peers.emplace_back(http_->port()).say(get("/home") + get("/here") + get("/keep"));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(call({.url = url(i % 3 == 0 ? "/keep" : "/home")}).ok());
    ASSERT_TRUE(http_->post([](HttpGate& gate) { static_cast<void>(gate.post([] {})); }).ok());
    for (int turns = 0; turns < round * 3; ++turns) {
      if (!scheduler_.turn()) scheduler_.wait(clock_.now() + 100us);
    }
    http_.reset();
    EXPECT_THAT(answers_, SizeIs(10));
    run_until([&] { return std::ranges::all_of(peers, [](Peer& peer) { return peer.hears_end(); }); });
  }
}

}  // namespace
}  // namespace rondo::http
