// Client: what a caller gets, from a server of ours and from raw sockets on loopback. Method: client and server have their turns on one
// scheduler, which the test gives. No test waits for a name server: the only names are numbers and localhost.
#include "http/client.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#include "http/breaker.h"
#include "http/http_kit.h"
#include "http/listener.h"
#include "http/server.h"

namespace rondo::http {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

const std::vector<Prefix> kLoopback{Prefix::parse("127.0.0.0/8").value(), Prefix::parse("::1").value()};

class HttpClient : public Loop {
 protected:
  HttpClient() {
    options_.networks = kLoopback;
    ServerOptions options;
    options.body_limit = [](const Request&) { return std::size_t{8} << 20; };
    server_ = std::move(Server::open(scheduler_, options, [this](Request request, Answer answer) {
                          seen_.push_back(request);
                          if (request.path() == "/keep") return kept_.push_back(std::move(answer));
                          if (request.path() == "/redirect") return answer.send({.status = 302, .fields = {{"Location", url("/other")}}});
                          if (request.path() == "/bytes") return answer.send({.body = std::string(100'000, 'x')});
                          answer.send({.body = request.body});
                        }).value());
  }
  void TearDown() override {
    EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
    EXPECT_EQ(scheduler_.stats().quarantined, 0U);
  }

  Client& client() {
    if (!client_) client_ = std::move(Client::open(scheduler_, options_).value());
    return *client_;
  }
  std::string url(std::string_view path, std::string_view host = "127.0.0.1") const {
    return "http://" + std::string{host} + ":" + std::to_string(server_->port()) + std::string{path};
  }
  /// Posts, without a time limit unless the request has one, and notes the answer in answers_.
  Status post(ClientRequest request) {
    if (request.timeout == ClientRequest{}.timeout) request.timeout = 1000s;
    request.connect_timeout = 1000s;
    return client().post(std::move(request), [this](Result<ClientAnswer> answer) { answers_.push_back(std::move(answer)); });
  }
  Result<ClientAnswer> call(ClientRequest request) {
    answers_.clear();
    if (Status status = post(std::move(request)); !status.ok()) return failure(std::move(status));
    run_until([&] { return !answers_.empty(); });
    return answers_.empty() ? Result<ClientAnswer>{failure(StatusCode::Internal, "none")} : std::move(answers_[0]);
  }
  StatusCode code_of(ClientRequest request) {
    const Result<ClientAnswer> answer = call(std::move(request));
    return answer ? StatusCode::Ok : answer.error().code();
  }

  ClientOptions options_;
  std::vector<Request> seen_;
  std::vector<Answer> kept_;
  std::vector<Result<ClientAnswer>> answers_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

/// A host whose every byte the test sends.
class RawHost {
 public:
  std::string url() const {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
    return "http://" + endpoint_text(bound) + "/";
  }
  bool accepts() {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) peers.emplace_back(UniqueFd{fd});
    return fd >= 0;
  }
  void close() { listener_.reset(); }

  std::vector<Peer> peers;

 private:
  UniqueFd listener_ = std::move(listen_at("127.0.0.1", 0).value());
};

TEST_F(HttpClient, ARequestIsSentAndItsAnswerArrives) {
  const Result<ClientAnswer> answer = call({.url = url("/a?b"), .headers = {{"X-A", "b"}, {"X-Empty", ""}}, .body = "hello"});
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 200U);
  EXPECT_EQ(answer->body, "hello");
  ASSERT_THAT(seen_, SizeIs(1));
  EXPECT_EQ(seen_[0].method, "POST");
  EXPECT_EQ(seen_[0].target, "/a?b");
  ASSERT_NE(seen_[0].field("X-A"), nullptr);
  EXPECT_EQ(*seen_[0].field("X-A"), "b");
  EXPECT_NE(seen_[0].field("X-Empty"), nullptr);
  EXPECT_EQ(seen_[0].field("Content-Type"), nullptr) << "only if the caller gives one";
}

TEST_F(HttpClient, ALargeBodyIsSentWithoutAnExpectation) {
  const Result<ClientAnswer> answer = call({.url = url("/a"), .body = std::string(3 << 20, 'x'), .timeout = 100s, .answer_bytes = 4 << 20});
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->body.size(), std::size_t{3} << 20);
  EXPECT_EQ(seen_[0].field("Expect"), nullptr);
}

TEST_F(HttpClient, AConnectionIsReused) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(call({.url = url("/a"), .body = "x"}).has_value());
  EXPECT_EQ(server_->figures().accepted, 1U);
  ASSERT_TRUE(call({.url = url("/a"), .fresh_connection = true}).has_value());
  EXPECT_EQ(server_->figures().accepted, 2U);
}

TEST_F(HttpClient, AnAnswerOfAnyStatusIsAnAnswer) {
  RawHost host;
  ASSERT_TRUE(post({.url = host.url(), .timeout = 100s}).ok());
  run_until([&] { return host.accepts(); });
  run_until([&] { return host.peers[0].hears("\r\n\r\n"); });
  host.peers[0].say("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno");
  run_until([&] { return answers_.size() == 1; });
  ASSERT_TRUE(answers_[0].has_value());
  EXPECT_EQ(answers_[0]->status, 503U);
  EXPECT_EQ(answers_[0]->body, "no");
}

TEST_F(HttpClient, RedirectsAreNotFollowed) {
  const Result<ClientAnswer> answer = call({.url = url("/redirect")});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 302U);
  run_now();
  EXPECT_THAT(seen_, SizeIs(1));
}

TEST_F(HttpClient, TheProxiesOfTheEnvironmentAreIgnored) {
  for (const char* const name : {"http_proxy", "all_proxy", "ALL_PROXY", "https_proxy"}) ::setenv(name, "http://127.0.0.1:1", 1);
  const Result<ClientAnswer> answer = call({.url = url("/a"), .body = "direct"});
  for (const char* const name : {"http_proxy", "all_proxy", "ALL_PROXY", "https_proxy"}) ::unsetenv(name);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "direct");
}

TEST_F(HttpClient, ANetworkThatIsNotAllowedIsNotReached) {
  options_.networks = {Prefix::parse("10.0.0.0/8").value(), Prefix::parse("fd00::/8").value()};
  for (const char* const host :
       {"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "2130706433", "0x7f.1", "127.1"}) {
    const Result<ClientAnswer> answer = call({.url = url("/a", host)});
    ASSERT_FALSE(answer.has_value()) << host;
    EXPECT_EQ(answer.error().code(), StatusCode::PermissionDenied) << host << ": " << answer.error().to_string();
    EXPECT_THAT(answer.error().message(), HasSubstr("is in no allowed network"));
  }
  run_now();
  EXPECT_EQ(server_->figures().accepted, 0U);
  EXPECT_EQ(client_->figures().forbidden, 9U);
}

TEST_F(HttpClient, WithoutNetworksNothingIsReached) {
  options_.networks = {};
  EXPECT_EQ(code_of({.url = url("/a")}), StatusCode::PermissionDenied);
  client_.reset();
  options_.any_network = true;
  EXPECT_EQ(code_of({.url = url("/a")}), StatusCode::Ok);
}

TEST_F(HttpClient, AnIPv4NetworkAllowsItsAddressesWithinIPv6) {
  options_.networks = {Prefix::parse("127.0.0.0/8").value()};
  const StatusCode code = code_of({.url = url("/a", "[::ffff:127.0.0.1]")});
  EXPECT_THAT(code, AnyOf(StatusCode::Ok, StatusCode::Unavailable)) << "Unavailable: no IPv6 here";
}

TEST_F(HttpClient, ANameIsLookedUp) {
  const Result<ClientAnswer> answer = call({.url = url("/a", "localhost"), .body = "x", .timeout = 100s, .connect_timeout = 100s});
  EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
}

TEST_F(HttpClient, RequestsThatCannotBeSentAreRefusedImmediately) {
  for (const char* const bad :
       {"", "nonsense", "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "http://", "http://a@127.0.0.1/",
        "http://a:b@127.0.0.1/", "http://127.0.0.1:99999/", "http://127.0.0.1/a b", "http://127.0.0.1/a\r\nb"}) {
    EXPECT_EQ(post({.url = bad}).code(), StatusCode::InvalidArgument) << bad;
  }
  EXPECT_EQ(post({.url = url("/a") + std::string{"\0b", 2}}).code(), StatusCode::InvalidArgument);
  for (const Field& field :
       {Field{"A", "b\r\nC: d"}, Field{"A\n", "b"}, Field{"", "b"}, Field{"Content-Length", "3"}, Field{"host", "h"}}) {
    EXPECT_EQ(post({.url = url("/a"), .headers = {field}}).code(), StatusCode::InvalidArgument) << field.name;
  }
  run_now();
  EXPECT_TRUE(seen_.empty() && answers_.empty());
}

TEST_F(HttpClient, AHostThatDoesNotAnswerEndsInTime) {
  const Result<ClientAnswer> answer = call({.url = url("/keep"), .timeout = 30ms});
  ASSERT_FALSE(answer.has_value());
  const StatusCode expected = seen_.empty() ? StatusCode::Unavailable : StatusCode::DeadlineExceeded;  // It may not have been sent in time.
  EXPECT_EQ(answer.error().code(), expected) << answer.error().to_string();
}

TEST_F(HttpClient, AHostThatAnswersByteByByteEndsInTime) {
  RawHost host;
  ASSERT_TRUE(post({.url = host.url(), .timeout = 50ms, .answer_bytes = 2'000'000'000}).ok());
  run_until([&] { return host.accepts(); });
  host.peers[0].say("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
  run_until([&] {
    host.peers[0].say("x");
    return answers_.size() == 1;
  });
  EXPECT_THAT(answers_[0].error().code(), AnyOf(StatusCode::DeadlineExceeded, StatusCode::Unavailable)) << "Unavailable: not sent in time";
}

TEST_F(HttpClient, AHostThatTookTheRequestAndWentMayHaveCarriedItOut) {
  RawHost host;
  ASSERT_TRUE(post({.url = host.url(), .body = "order", .timeout = 100s, .fresh_connection = true}).ok());
  run_until([&] { return host.accepts(); });
  run_until([&] { return host.peers[0].hears("order"); });
  host.peers.clear();
  run_until([&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_[0].error().code(), StatusCode::DeadlineExceeded) << answers_[0].error().to_string();
}

TEST_F(HttpClient, AHostThatIsNotThereIsUnavailable) {
  RawHost host;
  const std::string url = host.url();
  host.close();
  EXPECT_EQ(code_of({.url = url}), StatusCode::Unavailable);
}

TEST_F(HttpClient, AnAnswerMayBeCutInPlaceOfAnError) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{70'000}, std::size_t{99'999}, std::size_t{100'000}}) {
    const Result<ClientAnswer> answer = call({.url = url("/bytes"), .timeout = 100s, .answer_bytes = bytes, .cuts_answer = true});
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->body.size(), bytes);
    EXPECT_EQ(answer->is_cut, bytes < 100'000) << bytes;
  }
}

TEST_F(HttpClient, AnAnswerAboveTheLimitIsRefused) {
  EXPECT_EQ(code_of({.url = url("/bytes"), .answer_bytes = 99'999}), StatusCode::ResourceExhausted);
  EXPECT_EQ(code_of({.url = url("/bytes"), .answer_bytes = 100'000}), StatusCode::Ok);
  RawHost host;
  for (const std::string& begin : {std::string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
                                   std::string{"HTTP/1.1 200 OK\r\n\r\n"}, std::string{"HTTP/1.1 200 OK\r\n"}}) {
    answers_.clear();
    ASSERT_TRUE(post({.url = host.url(), .timeout = 100s, .answer_bytes = 1000}).ok());
    run_until([&] { return host.accepts(); });
    host.peers.back().say(begin);
    run_until([&] {
      host.peers.back().say(begin.find("\r\n\r\n") == std::string::npos ? "A: bbbbbbbbbbbbbbbbb\r\n" : "a\r\nxxxxxxxxxx\r\n");
      return answers_.size() == 1;
    });
    EXPECT_EQ(answers_[0].error().code(), StatusCode::ResourceExhausted) << answers_[0].error().to_string();
  }
}

TEST_F(HttpClient, ARequestOnAReusedConnectionMayBeSentTwiceAndAFreshOneIsNot) {
  RawHost host;
  for (const bool fresh : {false, true}) {
    host.peers.clear();
    answers_.clear();
    ASSERT_TRUE(post({.url = host.url(), .timeout = 100s}).ok());
    run_until([&] { return host.accepts() && host.peers.size() == 1; });
    run_until([&] { return host.peers[0].hears("\r\n\r\n"); });
    host.peers[0].say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    run_until([&] { return answers_.size() == 1; });
    ASSERT_TRUE(post({.url = host.url(), .timeout = 100s, .fresh_connection = fresh}).ok());
    if (fresh) run_until([&] { return host.accepts(); });
    Peer& second = host.peers.back();
    second.heard.clear();
    run_until([&] { return second.hears("\r\n\r\n"); });
    second.close();
    if (!fresh) {
      run_until([&] { return host.accepts(); });
      run_until([&] { return host.peers.back().hears("POST"); });
      host.peers.back().say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    run_until([&] { return answers_.size() == 2; });
    EXPECT_EQ(answers_[1].has_value(), !fresh);
  }
}

// --- limits

TEST_F(HttpClient, NoMoreRequestsThanTheLimitAreUnderWay) {
  options_.calls = 3;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  run_until([&] { return kept_.size() == 3; });
  run_now();
  EXPECT_THAT(kept_, SizeIs(3));
  EXPECT_EQ(client_->figures().under_way, 3U);
  EXPECT_EQ(client_->figures().waiting, 2U);
  kept_[1].send({});
  run_until([&] { return kept_.size() == 4; });
  for (std::size_t i = 0; i < 5; ++i) {
    run_until([&] { return kept_.size() > i; });
    kept_[i].send({});
  }
  run_until([&] { return answers_.size() == 5; });
  EXPECT_THAT(answers_, Each(testing::Truly([](const auto& answer) { return answer.has_value(); })));
}

TEST_F(HttpClient, NoMoreRequestsThanTheLimitAreUnderWayToOneHost) {
  options_.calls_per_host = 2;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  ASSERT_TRUE(post({.url = url("/other", "localhost"), .timeout = 100s}).ok());
  run_until([&] { return answers_.size() == 1; });
  EXPECT_TRUE(answers_[0].has_value()) << "another host does not wait";
  EXPECT_THAT(kept_, SizeIs(2));
  EXPECT_EQ(client_->figures().waiting, 2U);
  kept_.clear();
  run_until([&] { return kept_.size() == 2; });
}

TEST_F(HttpClient, HostsTakeTurns) {
  options_.calls = 1;
  for (const char* const host : {"127.0.0.1", "127.0.0.1", "127.0.0.1", "localhost"}) {
    ASSERT_TRUE(post({.url = url("/", host), .body = host, .timeout = 100s}).ok());
  }
  run_until([&] { return answers_.size() == 4; });
  EXPECT_EQ(seen_[2].body, "localhost");
}

TEST_F(HttpClient, AFullQueueRefusesFurtherRequests) {
  options_.calls = 1;
  options_.queue = 2;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  EXPECT_EQ(post({.url = url("/keep")}).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(client_->figures().refused, 1U);
}

TEST_F(HttpClient, ARequestThatWaitsTooLongEndsInTime) {
  options_.calls = 1;
  ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(post({.url = url("/late"), .timeout = 20ms}).ok());
  run_until([&] { return answers_.size() == 3; });
  for (const auto& answer : answers_) EXPECT_EQ(answer.error().code(), StatusCode::Unavailable);
  kept_.clear();
  run_until([&] { return answers_.size() == 4; });
  EXPECT_THAT(seen_, SizeIs(1));
  EXPECT_FALSE(client_->figures().broken) << "the host has not failed";
}

// --- hosts that fail

TEST_F(HttpClient, AHostThatFailsIsLeftAlone) {
  options_.failures = 3;
  options_.first_break = 1000s;
  RawHost raw;
  const std::string to = raw.url();
  raw.close();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(code_of({.url = to}), StatusCode::Unavailable);
  const Status refused = post({.url = to});
  EXPECT_EQ(refused.code(), StatusCode::Unavailable);
  EXPECT_THAT(refused.message(), HasSubstr("is left alone for a while"));
  EXPECT_EQ(client_->figures().broken, 1U);
  EXPECT_EQ(code_of({.url = url("/a")}), StatusCode::Ok) << "other hosts are not concerned";
}

TEST_F(HttpClient, AProbeThatSucceedsOpensTheWayToAHost) {
  options_.failures = 1;
  options_.first_break = 1ms;
  RawHost raw;
  const std::string to = raw.url();
  raw.close();
  EXPECT_EQ(code_of({.url = to}), StatusCode::Unavailable);
  // The host comes back.
  const auto port = static_cast<std::uint16_t>(std::strtoul(to.c_str() + to.rfind(':') + 1, nullptr, 10));
  const UniqueFd listener = std::move(listen_at("127.0.0.1", port).value());
  answers_.clear();
  run_until([&] { return post({.url = to, .timeout = 100s}).ok(); });
  EXPECT_EQ(post({.url = to}).code(), StatusCode::Unavailable) << "there is one probe at a time";
  std::optional<Peer> peer;
  run_until([&] {
    const int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) peer.emplace(UniqueFd{fd});
    return fd >= 0;
  });
  peer->say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  run_until([&] { return answers_.size() == 1; });
  EXPECT_TRUE(answers_[0].has_value());
  EXPECT_TRUE(post({.url = to}).ok());
}

TEST_F(HttpClient, RequestsThatWaitForAHostThatFailsEndWithIt) {
  options_.failures = 1;
  options_.calls_per_host = 1;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  run_until([&] { return kept_.size() == 1; });
  server_.reset();
  run_until([&] { return answers_.size() == 3; });
  std::vector<StatusCode> codes;
  for (const auto& answer : answers_) codes.push_back(answer.error().code());
  EXPECT_THAT(codes, UnorderedElementsAre(StatusCode::DeadlineExceeded, StatusCode::Unavailable, StatusCode::Unavailable))
      << "the host had the first one";
  EXPECT_EQ(client_->figures().broken, 2U);
}

TEST_F(HttpClient, HostsAboveTheLimitAreForgotten) {
  options_.failures = 1;
  options_.hosts = 2;
  options_.first_break = options_.break_time = 1000s;
  RawHost raw;
  const std::string to = raw.url();
  raw.close();
  EXPECT_EQ(code_of({.url = to}), StatusCode::Unavailable);
  EXPECT_EQ(post({.url = to}).code(), StatusCode::Unavailable);
  EXPECT_EQ(code_of({.url = url("/a")}), StatusCode::Ok);
  EXPECT_EQ(code_of({.url = url("/a", "localhost")}), StatusCode::Ok);
  EXPECT_TRUE(post({.url = to}).ok()) << "the third host took its place";
}

TEST_F(HttpClient, AHostInLineIsNotForgotten) {
  options_.calls = options_.hosts = 1;
  ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  ASSERT_TRUE(post({.url = url("/a", "localhost"), .timeout = 1ms}).ok());
  run_until([&] { return answers_.size() == 1; });  // Its only request was late, and it is in line still.
  ASSERT_TRUE(post({.url = url("/a", "[::ffff:127.0.0.1]"), .timeout = 100s}).ok());
  run_until([&] { return kept_.size() == 1; });
  kept_.clear();
  run_until([&] { return answers_.size() == 3; });
}

TEST(HttpBreaker, OpensAfterTheLimitOfFailuresInARow) {
  const Instant now = Instant::from_nanoseconds(1);
  Breaker breaker{limits::kHttpFailures, 1s, 30s};
  for (unsigned i = 1; i < limits::kHttpFailures; ++i) breaker.failed(now, false);
  breaker.succeeded();
  for (unsigned i = 1; i < limits::kHttpFailures; ++i) breaker.failed(now, false);
  EXPECT_EQ(breaker.admit(now), Breaker::Admission::Yes);
  breaker.failed(now, false);
  EXPECT_EQ(breaker.admit(now), Breaker::Admission::No);
}

TEST(HttpBreaker, ThePauseDoublesUpToTheLimit) {
  Instant now = Instant::from_nanoseconds(1);
  Breaker breaker{1, 1s, limits::kHttpBreakTime};
  breaker.failed(now, false);
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    breaker.failed(now, false);  // Requests that began before do not count.
    EXPECT_EQ(breaker.until() - now, pause);
    EXPECT_EQ(breaker.admit(now + pause - 1ns), Breaker::Admission::No);
    now = now + pause;
    EXPECT_EQ(breaker.admit(now), Breaker::Admission::Probe);
    EXPECT_EQ(breaker.admit(now), Breaker::Admission::No);
    breaker.abandoned();
    EXPECT_EQ(breaker.admit(now), Breaker::Admission::Probe);
    breaker.failed(now, true);
  }
  breaker.succeeded();
  EXPECT_EQ(breaker.admit(now), Breaker::Admission::Yes);
  breaker.failed(now, false);
  EXPECT_EQ(breaker.until() - now, 1s);
}

// --- ends

TEST_F(HttpClient, TheDestructorAnswersEachOpenRequest) {
  options_.calls = 2;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(post({.url = url("/keep"), .timeout = 100s}).ok());
  run_until([&] { return kept_.size() == 2; });
  Client* const ending = client_.get();
  Status last;
  ASSERT_TRUE(ending->post({.url = url("/keep")}, [&](Result<ClientAnswer>) { last = ending->post({.url = url("/keep")}, {}); }).ok());
  EXPECT_FALSE(ending->is_idle());
  client_.reset();
  ASSERT_THAT(answers_, SizeIs(4));
  for (const auto& answer : answers_) EXPECT_EQ(answer.error().code(), StatusCode::Cancelled);
  EXPECT_EQ(last.code(), StatusCode::Cancelled);
}

TEST_F(HttpClient, ALookUpDoesNotDelayTheDestructor) {
  ASSERT_TRUE(post({.url = "http://localhost:1/", .timeout = 100s}).ok());
  client_.reset();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].error().code(), StatusCode::Cancelled);
}

TEST_F(HttpClient, AReceiverMayPostAndMayThrow) {
  int received = 0;
  std::function<void(Result<ClientAnswer>)> again = [&](Result<ClientAnswer>) {
    if (++received < 10) {
      EXPECT_TRUE(client().post({.url = url("/a")}, again).ok());
    }
    throw std::runtime_error("a fault");
  };
  ASSERT_TRUE(client().post({.url = url("/a")}, again).ok());
  run_until([&] { return received == 10; });
  run_now();
  EXPECT_EQ(client_->figures().thrown, 10U);
  EXPECT_TRUE(client_->is_idle());
}

/// A mail server of one connection that takes everything. libcurl blocks this thread while it waits for the answers to the end of a message
/// and to QUIT, so these answers are sent before.
class MailServer {
 public:
  explicit MailServer(UniqueFd fd) : peer_(std::move(fd)) { peer_.say("220 here\r\n"); }
  /// Answers what the client has said.
  void serve() {
    peer_.pump();
    for (;;) {
      const std::string end = is_message_ ? "\r\n.\r\n" : "\r\n";
      const std::size_t at = peer_.heard.find(end);
      if (at == std::string::npos) return;
      const std::string said = peer_.heard.substr(0, at);
      peer_.heard.erase(0, at + end.size());
      if (std::exchange(is_message_, said == "DATA")) message = said;
      if (!is_message_) lines.push_back(said);
      if (!is_message_ && said != "QUIT" && message.empty()) peer_.say(is_refused ? "250 ok\r\n221 bye\r\n" : "250 ok\r\n");
      if (is_message_) peer_.say("354 go on\r\n250 ok\r\n221 bye\r\n");
    }
  }
  std::vector<std::string> lines;
  std::string message;
  bool is_refused = false;  // The client ends after the first answer.

 private:
  Peer peer_;
  bool is_message_ = false;
};

/// A client of mails, and a server that it may reach.
class MailClient : public HttpClient {
 protected:
  MailClient() {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    request_.url = "smtp://" + endpoint_text(address);
    request_.body = "Subject: x\r\n\r\n.a line\r\n";
    request_.mail = {.from = "r@a", .to = {"p@a", "q@a"}};
  }
  /// Sends the mail, and serves its connection.
  Result<ClientAnswer> send() {
    if (Status refused = post(request_); !refused.ok()) return failure(std::move(refused));
    run_until([this] {
      if (mails_) {
        mails_->serve();
      } else if (UniqueFd fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)}) {
        mails_.emplace(std::move(fd)).is_refused = request_.mail->needs_tls;
      }
      return !answers_.empty();
    });
    return std::move(answers_.at(0));
  }
  UniqueFd listener_ = listen_at("127.0.0.1", 0).value();
  std::optional<MailServer> mails_;
  ClientRequest request_;
};

TEST_F(MailClient, AMailIsSentWithItsReceivers) {
  const auto answer = send();
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_THAT(mails_->lines, testing::IsSupersetOf({"MAIL FROM:<r@a>", "RCPT TO:<p@a>", "RCPT TO:<q@a>"}));
  run_until([this] { return mails_->serve(), !mails_->message.empty(); });
  EXPECT_EQ(mails_->message, "Subject: x\r\n\r\n..a line") << "a line that begins with a dot has two on the way";
}

TEST_F(MailClient, ALoginThatNeedsTlsIsNotSentWithoutIt) {
  request_.mail->user = "me";
  request_.mail->password = "secret";
  request_.mail->needs_tls = true;
  EXPECT_FALSE(send().has_value());
  EXPECT_THAT(mails_->lines, Each(Not(StartsWith("AUTH"))));
  EXPECT_THAT(mails_->lines, Each(Not(StartsWith("MAIL"))));
}

TEST_F(MailClient, AMailGoesToNoWebServerAndAPostToNoMailServer) {
  ClientRequest to_mail{.url = request_.url};
  EXPECT_EQ(post(to_mail).code(), StatusCode::InvalidArgument);
  request_.url = url("/");
  EXPECT_EQ(post(request_).code(), StatusCode::InvalidArgument);
}

TEST_F(HttpClient, ARequestMayHaveNetworksOfItsOwn) {
  options_.networks = {Prefix::parse("10.0.0.0/8").value()};
  ClientRequest request{.url = url("/")};
  request.networks = kLoopback;
  EXPECT_EQ(code_of(request), StatusCode::Ok);
  EXPECT_EQ(code_of({.url = url("/")}), StatusCode::PermissionDenied) << "the connection of the other one is not used";
  options_.any_network = true;
  client_.reset();
  request.networks = {Prefix::parse("10.0.0.0/8").value()};
  EXPECT_EQ(code_of(request), StatusCode::PermissionDenied);
}

}  // namespace
}  // namespace rondo::http
