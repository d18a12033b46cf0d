// Server: what a client gets, over real sockets on loopback. Method: the test gives the turns and is the client, with sockets that do not
// block. Time limits are options: short ones where a test waits for them, none elsewhere.
#include "http/server.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <vector>

#include "http/http_kit.h"
#include "http/limits.h"
#include "http/listener.h"

namespace rondo::http {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string get(std::string_view target, std::string_view fields = "") {
  return "GET " + std::string{target} + " HTTP/1.1\r\nHost: h\r\n" + std::string{fields} + "\r\n";
}
std::string post(std::string_view target, std::string_view body) {
  return "POST " + std::string{target} + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string{body};
}

class HttpServer : public Loop {
 protected:
  HttpServer() {
    options_.header_time = options_.body_time = options_.idle_time = options_.stall_time = options_.answer_time = 1000s;
    options_.linger_time = 1000s;
    options_.body_limit = [](const Request& head) { return head.target == "/large" ? std::size_t{8} << 20 : limits::kHttpBodyBytes; };
    handler_ = [this](Request request, Answer answer) { handle(std::move(request), std::move(answer)); };
  }
  void TearDown() override {
    EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
    EXPECT_EQ(scheduler_.stats().quarantined, 0U);
  }

  void open() {
    Result<std::unique_ptr<Server>> opened = Server::open(scheduler_, options_, handler_);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    server_ = std::move(*opened);
  }
  Peer connect(int receive_buffer = 0) { return Peer{server_->port(), receive_buffer}; }
  /// Connects from 127.0.0.'from' and sends 'bytes'. Returns when the server has read them.
  Peer connect_from(std::uint32_t from, std::string_view bytes = "") {
    const std::uint64_t before = figures().accepted;
    Peer peer{server_->port(), 0, from};
    peer.say(bytes);
    run_until([&] { return figures().accepted == before + 1; });
    run_now();
    return peer;
  }
  /// Fills all places with unfinished requests of one address. Expects that clients of another address connect and are answered.
  void serve_others_in_spite_of(std::string_view unfinished);
  ServerFigures figures() const { return server_->figures(); }
  /// Sends 'bytes' on a new connection and returns all that comes until the server closes it.
  std::string talk(std::string_view bytes) {
    Peer peer = connect();
    peer.say(bytes);
    run_until([&] { return peer.hears_end(); });
    return peer.heard;
  }

  void handle(Request request, Answer answer) {
    seen_.push_back(request.method + " " + request.target);
    if (request.path() == "/keep") {
      kept_.push_back(std::move(answer));
    } else if (request.path() == "/drop") {
      answer = {};
    } else if (request.path() == "/throw") {
      throw std::runtime_error("a fault");
    } else if (request.path() == "/bytes") {
      answer.send({.content_type = "text/plain", .body = std::string(std::strtoul(request.target.c_str() + 7, nullptr, 10), 'x')});
    } else if (request.path() == "/public") {
      answer.send({.body = std::string(std::strtoul(request.target.c_str() + 8, nullptr, 10), 'x'), .is_public = true});
    } else {
      answer.send({.body = request.body.empty() ? "{}" : std::to_string(request.body.size())});
    }
  }

  ServerOptions options_;
  Handler handler_;
  std::vector<std::string> seen_;
  std::vector<Answer> kept_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServer, ARequestIsAnswered) {
  open();
  Peer peer = connect();
  peer.say(get("/a"));
  run_until([&] { return peer.hears("{}"); });
  EXPECT_THAT(peer.heard, MatchesRegex("HTTP/1.1 200 OK\r\nDate: ..., .. ... .... ..:..:.. GMT\r\nContent-Type: application/json\r\n"
                                       "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n\\{\\}"));
  EXPECT_EQ(figures().requests, 1U);
  EXPECT_EQ(figures().connections, 1U);
}

TEST_F(HttpServer, AnswersAreCountedByRouteAndStatus) {
  options_.route_of = [](std::string_view path) { return path == "/a" ? std::string_view{"a"} : std::string_view{"others"}; };
  open();
  talk(get("/a?b", "Connection: close\r\n"));
  for (int i = 0; i < 2; ++i) talk(get("/drop", "Connection: close\r\n"));
  talk("nonsense\r\n\r\n");
  const std::map<std::pair<std::string_view, unsigned>, std::uint64_t> counted{{{"", 400}, 1}, {{"a", 200}, 1}, {{"others", 500}, 2}};
  EXPECT_EQ(figures().answers, counted);
}

TEST_F(HttpServer, AConnectionServesManyRequestsOneAfterAnother) {
  open();
  Peer peer = connect();
  for (std::size_t i = 1; i <= 50; ++i) {
    peer.say(post("/a", std::string(i, 'x')));
    run_until([&] { return peer.answers(200) == i; });
    EXPECT_THAT(peer.heard, EndsWith("\r\n\r\n" + std::to_string(i)));
  }
  EXPECT_EQ(figures().accepted, 1U);
}

TEST_F(HttpServer, PipelinedRequestsAreAnsweredInTheirOrder) {
  open();
  Peer peer = connect();
  peer.say(get("/keep?1") + get("/2") + get("/keep?3") + get("/4", "Connection: close\r\n") + get("/5"));
  run_until([&] { return kept_.size() == 1; });
  run_now();
  EXPECT_THAT(seen_, SizeIs(1)) << "the second request waits for the first answer";
  kept_[0].send(text_response(201, "one"));
  run_until([&] { return kept_.size() == 2; });
  kept_[1].send(text_response(202, "three"));
  run_until([&] { return peer.hears_end(); });
  EXPECT_THAT(peer.heard, MatchesRegex("HTTP/1.1 201 .*one.*HTTP/1.1 200 .*HTTP/1.1 202 .*three.*HTTP/1.1 200 .*Connection: close.*"));
  EXPECT_THAT(seen_, SizeIs(4)) << "nothing is read after a request that closes";
}

TEST_F(HttpServer, ARequestByteByByteIsAnswered) {
  open();
  Peer peer = connect();
  for (const char byte : post("/a", "hello")) {
    peer.say({&byte, 1});
    run_now();
  }
  run_until([&] { return peer.answers(200) == 1; });
}

TEST_F(HttpServer, HeadGetsTheLengthAndNoBody) {
  open();
  Peer peer = connect();
  peer.say("HEAD /bytes?1234 HTTP/1.1\r\nHost: h\r\n\r\n" + get("/a"));
  run_until([&] { return peer.answers(200) == 2; });
  EXPECT_THAT(peer.heard, HasSubstr("Content-Length: 1234\r\nConnection: keep-alive\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(HttpServer, MethodsOutsideOfTheListGet501) {
  open();
  EXPECT_THAT(talk("BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 501 Not Implemented"));
  EXPECT_TRUE(seen_.empty());
}

TEST_F(HttpServer, AnswersWithoutABodyHaveNoLength) {
  handler_ = [](Request, Answer answer) { answer.send({.status = 204, .body = "dropped"}); };
  open();
  const std::string heard = talk(get("/", "Connection: close\r\n"));
  EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 204 No Content\r\n"), EndsWith("Connection: close\r\n\r\n")));
  EXPECT_THAT(heard, Not(HasSubstr("Content-")));
}

TEST_F(HttpServer, HttpOneZeroIsClosedUnlessItAsksForMore) {
  open();
  EXPECT_THAT(talk("GET / HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close"));
  Peer peer = connect();
  peer.say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  run_until([&] { return peer.hears("Connection: keep-alive"); });
  EXPECT_FALSE(peer.is_closed);
}

TEST_F(HttpServer, ExtraFieldsAreSent) {
  handler_ = [](Request request, Answer answer) {
    answer.send({.content_type = "", .body = request.peer, .fields = {{"X-A", "1"}, {"Set-Cookie", "b=c"}}});
  };
  open();
  const std::string heard = talk(get("/", "Connection: close\r\n"));
  EXPECT_THAT(heard, AllOf(HasSubstr("\r\nX-A: 1\r\nSet-Cookie: b=c\r\n"), Not(HasSubstr("Content-Type"))));
  EXPECT_THAT(heard, HasSubstr("\r\n\r\n127.0.0.1:"));
}

TEST_F(HttpServer, AnAnswerThatCannotBeSentBecomesA500) {
  std::vector<Response> bad;
  for (const unsigned status : {0U, 100U, 199U, 600U}) bad.push_back({.status = status});
  bad.push_back({.content_type = "a\r\nSet-Cookie: b"});
  for (const Field& field :
       {Field{"A", "b\r\nC: d"}, Field{"A\r\nB", "c"}, Field{"", "c"}, Field{"Content-Length", "3"}, Field{"date", "x"}}) {
    bad.push_back({.fields = {field}});
  }
  std::size_t next = 0;
  handler_ = [&](Request, Answer answer) { answer.send(bad[next++]); };
  open();
  Peer peer = connect();
  for (std::size_t i = 0; i < bad.size(); ++i) peer.say(get("/"));
  run_until([&] { return peer.answers(500) == bad.size(); });
  EXPECT_THAT(peer.heard, Not(HasSubstr("Set-Cookie: b\r\n")));
  EXPECT_EQ(figures().unsendable, bad.size());
}

TEST_F(HttpServer, AnAnswerMayComeLaterFromAnotherTurn) {
  open();
  Peer peer = connect();
  peer.say(get("/keep"));
  run_until([&] { return kept_.size() == 1; });
  run_now();
  EXPECT_TRUE(kept_[0].is_awaited());
  TimerSource later{"later", Priority{1}, [this] { kept_[0].send(text_response(200, "late")); }};
  scheduler_.add(later);
  later.arm_at(clock_.now() + 1ms);
  run_until([&] { return peer.hears("late"); });
  EXPECT_FALSE(kept_[0].is_awaited());
  kept_[0].send(text_response(200, "again"));
  run_now();
  EXPECT_EQ(peer.answers(200), 1U);
}

TEST_F(HttpServer, ADroppedAnswerIsA500) {
  open();
  Peer peer = connect();
  peer.say(get("/drop") + get("/keep"));
  run_until([&] { return kept_.size() == 1; });
  kept_.clear();
  run_until([&] { return peer.answers(500) == 2; });
  EXPECT_EQ(figures().dropped, 2U);
}

TEST_F(HttpServer, AHandlerThatThrowsIsA500AndTheConnectionGoesOn) {
  open();
  Peer peer = connect();
  peer.say(get("/throw") + get("/a"));
  run_until([&] { return peer.answers(200) == 1; });
  EXPECT_EQ(peer.answers(500), 1U);
  EXPECT_EQ(figures().thrown, 1U);
}

TEST_F(HttpServer, AHandlerThatThrowsAfterItKeptTheAnswerIsA500) {
  handler_ = [this](Request, Answer answer) {
    kept_.push_back(std::move(answer));
    throw 7;
  };
  open();
  Peer peer = connect();
  peer.say(get("/"));
  run_until([&] { return peer.answers(500) == 1; });
  EXPECT_FALSE(kept_[0].is_awaited());
}

TEST_F(HttpServer, TheAnswerToAClientThatIsGoneIsIgnored) {
  open();
  for (const bool with_reset : {false, true}) {
    Peer peer = connect();
    peer.say(get("/keep"));
    run_until([&] { return kept_.size() == 1; });
    if (with_reset) peer.reset();
    if (!with_reset) peer.close();
    if (with_reset) {
      run_until([&] { return figures().connections == 0; });
      run_now();  // The server destroys the connection.
    }
    kept_[0].send(text_response(200, std::string(100'000, 'x')));
    run_until([&] { return figures().connections == 0; });
    kept_.clear();
  }
  EXPECT_EQ(figures().memory, 0U);
}

TEST_F(HttpServer, AnAnswerMayOutliveTheServer) {
  open();
  Peer peer = connect();
  peer.say(get("/keep") + get("/keep"));
  run_until([&] { return kept_.size() == 1; });
  server_.reset();
  EXPECT_FALSE(kept_[0].is_awaited());
  kept_[0].send(text_response(200, "late"));
  kept_.clear();
  EXPECT_TRUE(peer.hears_end());
}

TEST_F(HttpServer, AClientThatEndsItsOutputGetsItsAnswer) {
  open();
  Peer peer = connect();
  peer.say(get("/keep"));
  peer.end_output();
  run_until([&] { return kept_.size() == 1; });
  run_now();
  kept_[0].send(text_response(200, "here"));
  run_until([&] { return peer.hears_end(); });
  EXPECT_THAT(peer.heard, EndsWith("here\n"));
}

// --- malformed and large requests

TEST_F(HttpServer, AMalformedRequestIsAnsweredAndTheConnectionIsClosed) {
  open();
  const std::string begin = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& bytes :
       {begin + "Transfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabcGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
        begin + "Transfer-Encoding: identity\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
        begin + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" + get("/smuggled"),
        begin + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 9\r\n\r\n" + get("/smuggled"),
        begin + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(999, 'e') + "\r\na\r\n0\r\n\r\n" + get("/smuggled"),
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get("/smuggled"),
        "GET / HTTP/1.1\nHost: h\n\n" + get("/smuggled")}) {
    EXPECT_THAT(talk(bytes), AllOf(StartsWith("HTTP/1.1 400 Bad Request"), HasSubstr("Connection: close"))) << bytes;
  }
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(figures().refused_requests, 7U);
  EXPECT_THAT(talk(get("/", "A: " + std::string(20'000, 'a') + "\r\n")), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServer, ABodyOf5MiBIsReadWhereItsRouteAllowsIt) {
  open();
  const std::string body(5 << 20, 'x');
  Peer peer = connect();
  peer.say(post("/large", body));
  run_until([&] { return peer.hears_end() || peer.answers(200) == 1; });
  EXPECT_THAT(peer.heard, EndsWith(std::to_string(body.size())));
  run_now();
  EXPECT_LT(figures().memory, 1000U);
}

TEST_F(HttpServer, ABodyAboveTheLimitOfItsRouteIsRefused) {
  open();
  Peer peer = connect();
  peer.say(post("/small", std::string(5 << 20, 'x')));
  run_until([&] { return peer.hears_end(); });
  EXPECT_THAT(peer.heard, AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("65536 bytes, the limit of /small")));
  EXPECT_FALSE(peer.was_reset) << "a client that sends on could lose its answer";
  EXPECT_TRUE(seen_.empty());
}

TEST_F(HttpServer, AClientThatSendsOnAfterARefusalIsClosed) {
  options_.linger_time = 20ms;
  open();
  Peer peer = connect();
  peer.say("nonsense\n");
  run_until([&] { return peer.answers(400) == 1; });
  run_until([&] {
    peer.say("more");
    return figures().connections == 0;
  });
}

TEST_F(HttpServer, TheMemoryOfAllConnectionsIsBounded) {
  options_.memory = 1 << 20;
  open();
  const std::string part = "POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 700000\r\n\r\n" + std::string(600'000, 'x');
  Peer first = connect();
  first.say(part);
  run_until([&] { return first.has_sent_all() && figures().memory > 600'000; });
  Peer second = connect();
  second.say(part);
  run_until([&] { return second.hears("HTTP/1.1 503 "); });
  Peer third = connect();
  third.say(post("/a", std::string(10'000, 'x')) + get("/bytes?900000"));
  run_until([&] { return third.hears("HTTP/1.1 503 "); });
  EXPECT_EQ(third.answers(200), 1U) << "a request of usual size is always read";
  EXPECT_EQ(figures().without_memory, 2U);
  EXPECT_LE(figures().memory, (1U << 20) + 3 * 2 * limits::kHttpOwnBytes);
  first.say(std::string(100'000, 'x'));
  run_until([&] { return first.answers(200) == 1; });
}

TEST_F(HttpServer, AnswersToStrangersLeaveTheMemoryOfOthers) {
  options_.memory = options_.public_memory = 20'000'000;  // An answer needs its size twice when it begins.
  open();
  Peer stranger = connect(4096);
  stranger.say(get("/public?8000000"));
  run_until([&] { return figures().public_memory >= 8'000'000; });
  run_now();
  Peer second = connect();
  second.say(get("/public?8000000"));
  run_until([&] { return second.hears("HTTP/1.1 503 "); });
  Peer known = connect();
  known.say(get("/bytes?8000000"));
  run_until([&] { return known.answers(200) == 1; });
  EXPECT_EQ(figures().without_memory, 1U);
  stranger.reset();
  run_until([&] { return figures().public_memory < 1000; });
  Peer third = connect();
  third.say(get("/public?8000000"));
  run_until([&] { return third.answers(200) == 1; });
}

TEST_F(HttpServer, ARequestThatItsHandlerHasCountsUntilItIsAnswered) {
  options_.memory = 1 << 20;
  options_.body_limit = [](const Request&) { return std::size_t{8} << 20; };
  open();
  Peer first = connect();
  first.say(post("/keep", std::string(700'000, 'x')));
  run_until([&] { return kept_.size() == 1; });
  EXPECT_GE(figures().memory, 700'000U);
  Peer second = connect();
  second.say(post("/keep", std::string(700'000, 'x')));
  run_until([&] { return second.hears("HTTP/1.1 503 "); });
  second.close();
  kept_[0].send({});
  run_until([&] { return first.answers(200) == 1; });
  Peer third = connect();
  third.say(post("/keep", std::string(700'000, 'x')));
  run_until([&] { return kept_.size() == 2; });
  third.reset();
  run_until([&] { return figures().connections == 1; });
  run_now();
  EXPECT_LT(figures().memory, 1000U);
}

// --- slow clients

TEST_F(HttpServer, AHeaderThatTakesTooLongIsRefused) {
  options_.header_time = 20ms;
  open();
  Peer peer = connect();
  peer.say("GET / HTTP/1.1\r\n");
  run_until([&] {
    peer.say("A: b\r\n");  // Some bytes now and then do not help.
    return peer.hears_end();
  });
  EXPECT_THAT(peer.heard, AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("the header took too long")));
  EXPECT_EQ(figures().slow_requests, 1U);
}

TEST_F(HttpServer, ABodyThatTakesTooLongIsRefused) {
  options_.body_time = 20ms;
  open();
  EXPECT_THAT(talk("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na"),
              AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("the body took too long")));
}

TEST_F(HttpServer, AnIdleConnectionIsClosed) {
  options_.idle_time = 20ms;
  open();
  Peer silent = connect();
  Peer served = connect();
  served.say(get("/a"));
  run_until([&] { return silent.hears_end() && served.hears_end(); });
  EXPECT_EQ(silent.heard, "");
  EXPECT_EQ(served.answers(200), 1U);
  EXPECT_EQ(figures().idle_closed, 2U);
}

TEST_F(HttpServer, AClientThatDoesNotReadItsAnswerIsClosed) {
  options_.stall_time = 20ms;
  open();
  Peer peer = connect(4096);
  peer.say(get("/bytes?30000000"));
  run_until([&] { return figures().slow_readers == 1; });
  run_until([&] { return figures().connections == 0; });
  EXPECT_EQ(figures().memory, 0U);
}

TEST_F(HttpServer, AClientThatReadsItsAnswerTooSlowlyIsClosed) {
  options_.answer_time = 30ms;
  open();
  Peer peer = connect(4096);
  peer.say(get("/bytes?30000000"));
  run_until([&] {
    char some[1];
    static_cast<void>(::recv(peer.fd(), some, sizeof some, MSG_DONTWAIT));
    return figures().slow_readers == 1;
  });
}

TEST_F(HttpServer, ALongAnswerArrivesWhole) {
  open();
  Peer peer = connect(4096);
  peer.say(get("/bytes?5000000", "Connection: close\r\n"));
  run_until([&] { return peer.hears_end(); });
  EXPECT_THAT(peer.heard.size(), Ge(5'000'000U));
  EXPECT_FALSE(peer.was_reset);
}

// --- many clients

TEST_F(HttpServer, TheOldestIdleConnectionGivesWay) {
  options_.connections = 3;
  open();
  std::vector<Peer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(connect());
    run_until([&] { return figures().connections == peers.size(); });
    const Instant last = clock_.now();
    run_until([&] { return clock_.now() > last; });
  }
  peers[0].say(get("/a"));  // The second has been idle longest now.
  run_until([&] { return peers[0].answers(200) == 1; });
  Peer late = connect();
  late.say(get("/a"));
  run_until([&] { return late.answers(200) == 1; });
  EXPECT_TRUE(peers[1].hears_end());
  EXPECT_FALSE(peers[0].hears_end() || peers[2].hears_end());
  EXPECT_EQ(figures().gave_way, 1U);
}

TEST_F(HttpServer, AConnectionAboveTheLimitIsClosedWhileAllAreInUse) {
  options_.connections = 2;
  open();
  Peer handled = connect();
  handled.say(get("/keep"));
  Peer other = connect();
  other.say(get("/keep"));
  run_until([&] { return kept_.size() == 2; });
  Peer late = connect();
  run_until([&] { return late.hears_end(); });
  EXPECT_EQ(figures().refused_connections, 1U);
  kept_[0].send({});
  run_until([&] { return handled.answers(200) == 1; });
}

TEST_F(HttpServer, TheOldestRequestThatDoesNotArriveGivesWay) {
  options_.connections = 3;
  open();
  Peer handled = connect();
  handled.say(get("/keep"));
  Peer slow = connect();
  slow.say("G");
  run_until([&] { return kept_.size() == 1 && figures().connections == 2; });
  run_now();
  Peer slower = connect();
  slower.say("G");
  run_until([&] { return figures().connections == 3; });
  run_now();
  Peer honest = connect();
  honest.say(get("/a"));
  run_until([&] { return honest.answers(200) == 1; });
  EXPECT_TRUE(slow.hears_end());
  EXPECT_FALSE(slower.hears_end());
  EXPECT_EQ(figures().gave_way, 1U);
  EXPECT_EQ(figures().refused_connections, 0U);
}

void HttpServer::serve_others_in_spite_of(std::string_view unfinished) {
  options_.connections = 16;
  open();
  std::vector<Peer> strangers;
  while (strangers.size() < options_.connections) strangers.push_back(connect_from(2, unfinished));
  constexpr std::size_t kRounds = 20;
  constexpr std::size_t kTogether = 4;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::vector<Peer> honest;
    while (honest.size() < kTogether) honest.push_back(connect_from(1));
    for (Peer& peer : honest) {
      peer.say(get("/a", "Connection: close\r\n"));
      run_until([&] { return peer.hears_end(); });
      EXPECT_EQ(peer.answers(200), 1U) << "round " << round;
    }
    honest.clear();
    run_until([&] { return figures().connections == options_.connections - kTogether; });
    while (figures().connections < options_.connections) strangers.push_back(connect_from(2, unfinished));
  }
  EXPECT_EQ(figures().gave_way, kRounds * kTogether);
  EXPECT_EQ(figures().refused_connections, 0U);
  const std::size_t closed = static_cast<std::size_t>(std::ranges::count_if(strangers, [](Peer& peer) { return peer.hears_end(); }));
  EXPECT_EQ(closed, figures().gave_way);
}

TEST_F(HttpServer, HalfRequestsOfOneAddressGiveWayToClientsOfAnother) { serve_others_in_spite_of("GET /a HTTP/1.1\r\nHost: h\r\nX-"); }

TEST_F(HttpServer, HalfBodiesOfOneAddressGiveWayToClientsOfAnother) {
  serve_others_in_spite_of("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345");
}

TEST_F(HttpServer, ASlowUploadOutlivesTheHalfRequestsOfAnotherAddress) {
  options_.connections = 8;
  open();
  const std::string request = post("/a", "hello");
  Peer slow = connect_from(1, request.substr(0, request.size() - 1));
  std::vector<Peer> strangers;
  for (int i = 0; i < 30; ++i) strangers.push_back(connect_from(2, "GET"));
  EXPECT_EQ(figures().gave_way, 23U) << "30 and the upload have 8 places";
  slow.say("o");
  run_until([&] { return slow.answers(200) == 1; });
}

TEST_F(HttpServer, ASlowUploadOutlivesIdleConnections) {
  options_.connections = 4;
  open();
  const std::string request = post("/a", "hello");
  Peer slow = connect_from(1, request.substr(0, request.size() - 1));
  std::vector<Peer> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(connect_from(1));
  EXPECT_EQ(figures().gave_way, 17U);
  slow.say("o");
  run_until([&] { return slow.answers(200) == 1; });
}

TEST(HttpListener, AddressesThatOneClientControlsAreOneNetwork) {
  const auto network = [](const char* text) {
    sockaddr_storage address{};
    address.ss_family = std::string_view{text}.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
    void* const bytes = address.ss_family == AF_INET ? static_cast<void*>(&reinterpret_cast<sockaddr_in&>(address).sin_addr)
                                                     : static_cast<void*>(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr);
    EXPECT_EQ(::inet_pton(address.ss_family, text, bytes), 1) << text;
    return network_of(address);
  };
  EXPECT_EQ(network("2001:db8:0:1::1"), network("2001:db8:0:1:ffff::2"));
  EXPECT_NE(network("2001:db8:0:1::1"), network("2001:db8:0:2::1"));
  EXPECT_NE(network("192.0.2.1"), network("192.0.2.2"));
  EXPECT_EQ(network("192.0.2.1"), network("::ffff:192.0.2.1"));
  EXPECT_NE(network("::ffff:192.0.2.1"), network("::ffff:192.0.2.2"));
}

TEST_F(HttpServer, TwoThousandIdleConnectionsDelayNobody) {
  constexpr std::size_t kIdle = 2000;
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  if (descriptors.rlim_max < 2 * kIdle + 100) GTEST_SKIP() << "only " << descriptors.rlim_max << " descriptors are allowed here";
  const rlimit more{2 * kIdle + 100, descriptors.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &more), 0);
  options_.connections = kIdle + 1;
  open();
  std::vector<Peer> idle;
  while (idle.size() < kIdle) {
    idle.push_back(connect());
    if (idle.size() % 100 == 0) run_now();
  }
  run_until([&] { return figures().connections == kIdle; });
  run_now();
  const std::uint64_t before = scheduler_.stats().turns;
  Peer peer = connect();
  for (std::size_t i = 1; i <= 100; ++i) {
    peer.say(get("/a"));
    run_until([&] { return peer.answers(200) == i; });
  }
  EXPECT_LT(scheduler_.stats().turns - before, 1000U) << "idle connections get no turns";
  EXPECT_LT(figures().memory, kIdle * 100);
  EXPECT_EQ(figures().refused_connections + figures().gave_way, 0U);
}

/// As many as descriptors are allowed for, up to ten thousand.
TEST_F(HttpServer, AStormOfIdleConnectionsGivesWayToANewClient) {
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const rlimit all{descriptors.rlim_max, descriptors.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  const std::size_t idle_most = std::min<std::size_t>(10'000, descriptors.rlim_max - limits::kHttpConnections - 100);
  if (idle_most < 2 * limits::kHttpConnections) GTEST_SKIP() << "only " << descriptors.rlim_max << " descriptors are allowed here";
  std::cout << idle_most << " idle connections\n";
  open();
  Peer working = connect();
  std::vector<Peer> idle;
  std::size_t answered = 0;
  while (idle.size() < idle_most) {
    idle.push_back(connect());
    if (idle.size() % 100 != 0) continue;
    working.say(get("/a"));
    ++answered;
    run_until([&] { return working.answers(200) == answered && figures().accepted == idle.size() + 1; });
    EXPECT_LE(figures().connections, limits::kHttpConnections);
  }
  Peer late = connect();
  late.say(get("/a"));
  run_until([&] { return late.answers(200) == 1; });
  EXPECT_FALSE(working.hears_end()) << "it has not been idle longest";
  EXPECT_EQ(figures().gave_way, idle_most + 2 - limits::kHttpConnections);
  EXPECT_EQ(figures().refused_connections + figures().not_accepted, 0U);
  EXPECT_EQ(figures().connections, limits::kHttpConnections);
  run_now();
  EXPECT_LT(figures().memory, limits::kHttpConnections * 100);
}

TEST_F(HttpServer, WithoutDescriptorsConnectionsWait) {
  open();
  Peer known = connect();
  run_until([&] { return figures().connections == 1; });
  Peer waits = connect();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  run_until([&] { return figures().not_accepted > 0; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  waits.say(get("/a"));
  run_until([&] { return waits.answers(200) == 1; });
}

// --- begin and end

TEST_F(HttpServer, AStopAnswersWhatIsUnderWayAndClosesTheRest) {
  open();
  Peer idle = connect();
  Peer busy = connect();
  busy.say(get("/keep") + get("/never"));
  run_until([&] { return kept_.size() == 1 && figures().connections == 2; });
  bool stopped = false;
  server_->on_stopped([&] { stopped = true; });
  server_->stop();
  run_until([&] { return idle.hears_end(); });
  EXPECT_FALSE(stopped);
  kept_[0].send(text_response(200, "last"));
  run_until([&] { return busy.hears_end(); });
  EXPECT_THAT(busy.heard, AllOf(HasSubstr("last"), HasSubstr("Connection: close")));
  busy.close();
  run_until([&] { return stopped; });
  EXPECT_THAT(seen_, SizeIs(1));
}

TEST_F(HttpServer, ItListensOnIPv6) {
  options_.address = "::1";
  Result<std::unique_ptr<Server>> opened = Server::open(scheduler_, options_, handler_);
  if (!opened) GTEST_SKIP() << "no IPv6 here: " << opened.error().to_string();
  EXPECT_EQ((*opened)->endpoint(), "[::1]:" + std::to_string((*opened)->port()));
}

TEST_F(HttpServer, ABadAddressAndATakenPortAreErrors) {
  options_.address = "localhost";
  EXPECT_EQ(Server::open(scheduler_, options_, handler_).error().code(), StatusCode::InvalidArgument);
  options_.address = "127.0.0.1";
  open();
  options_.port = server_->port();
  const Result<std::unique_ptr<Server>> second = Server::open(scheduler_, options_, handler_);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message(), HasSubstr("listening at 127.0.0.1 port " + std::to_string(server_->port())));
}

TEST_F(HttpServer, ItServesAListenerThatItIsGiven) {
  UniqueFd listener = std::move(listen_at("127.0.0.1", 0).value());
  options_.listener = ::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0);
  open();
  Peer peer = connect();
  peer.say(get("/a"));
  run_until([&] { return peer.answers(200) == 1; });
  const UniqueFd unbound{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  options_.listener = ::fcntl(unbound.get(), F_DUPFD_CLOEXEC, 0);
  EXPECT_EQ(Server::open(scheduler_, options_, handler_).error().code(), StatusCode::InvalidArgument);
}

/// The service manager passes descriptors from 3 on, so a child process has the test.
TEST(HttpListener, ASocketOfTheServiceManagerIsFoundByItsName) {
  UniqueFd listener = std::move(listen_at("127.0.0.1", 0).value());
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int other = ::socket(AF_INET, SOCK_STREAM, 0);
    const int kept = ::fcntl(listener.get(), F_DUPFD, 10);
    ::dup2(other, 3);
    ::dup2(kept, 4);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "2", 1);
    ::setenv("LISTEN_FDNAMES", "other:http", 1);
    bool right = passed_socket("http") == 4 && prepare_listener(4).ok() && passed_socket("absent") == -1;
    right = right && passed_socket("") == 3 && !prepare_listener(3).ok();
    ::setenv("LISTEN_PID", "1", 1);
    right = right && passed_socket("http") == -1;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// --- another client

class HttpServerWithCurl : public HttpServer {
 protected:
  /// Runs the program curl, and gives turns meanwhile. Returns its output.
  std::optional<std::string> curl(std::vector<std::string> words) {
    if (std::system("curl --version >/dev/null 2>&1") != 0) return std::nullopt;
    words.insert(words.begin(), {"curl", "-sS", "--noproxy", "*", "--max-time", "60"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    pid_t child = 0;
    EXPECT_EQ(::posix_spawnp(&child, "curl", &actions, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string heard;
    const UniqueFd from{ends[0]};
    ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
    run_until([&] {
      char buffer[4096];
      const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
      if (got > 0) heard.append(buffer, static_cast<std::size_t>(got));
      return got == 0;
    });
    int status = 0;
    ::waitpid(child, &status, 0);
    return heard;
  }
  std::string url(std::string_view path) const { return "http://" + server_->endpoint() + std::string{path}; }
};

TEST_F(HttpServerWithCurl, CurlGetsItsAnswersAndSendsLargeBodies) {
  open();
  const std::optional<std::string> plain = curl({"-w", " %{http_code}", url("/a"), url("/b")});
  if (!plain) GTEST_SKIP() << "the program curl is not installed";
  EXPECT_EQ(*plain, "{} 200{} 200");
  EXPECT_EQ(figures().accepted, 1U) << "curl keeps its connection";
  const std::string large(3'000'000, 'x');
  const std::string file = testing::TempDir() + "http_server_body_" + std::to_string(::getpid());
  std::ofstream{file} << large;
  // A body of this size makes curl send "Expect: 100-continue" and wait for a second.
  EXPECT_EQ(curl({"--data-binary", "@" + file, url("/large")}), std::to_string(large.size()));
  EXPECT_EQ(curl({"-H", "Expect:", "-H", "Transfer-Encoding: chunked", "--data-binary", "@" + file, url("/large")}),
            std::to_string(large.size()));
  EXPECT_THAT(*curl({"-w", " %{http_code}", "-H", "Expect:", "--data-binary", "@" + file, url("/small")}), EndsWith(" 413"));
  EXPECT_THAT(*curl({"-I", url("/bytes?77")}), HasSubstr("Content-Length: 77\r\n"));
  std::remove(file.c_str());
}

}  // namespace
}  // namespace rondo::http
