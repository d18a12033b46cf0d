// Relay: what the two sides of a relay get, over real sockets. Method: the test gives the turns and is both sides: the client, and the
// program at the other end of a socket pair. Time limits are options: short ones where a test waits for them, none elsewhere.
#include "http/relay.h"

#include <gmock/gmock.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "http/http_kit.h"
#include "http/limits.h"
#include "http/server.h"

namespace rondo::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr std::string_view kUpgrade = "GET /admin HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: rondo\r\n\r\n";
constexpr std::string_view kEvents = "GET /events HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::size_t kLarge = 30'000'000;

/// One line of the other side becomes one event; "end" ends the relay.
std::optional<std::string> to_events(std::string_view bytes) {
  if (bytes.starts_with("end")) return std::nullopt;
  if (bytes.starts_with("throw")) throw std::runtime_error("a fault");
  if (bytes.starts_with("nothing")) return "";
  return "data: " + std::string{bytes} + "\n\n";
}

class HttpRelay : public Loop {
 protected:
  HttpRelay() {
    options_.header_time = options_.body_time = options_.idle_time = options_.stall_time = options_.answer_time = 1000s;
    options_.linger_time = options_.relay_beat = 1000s;
  }
  void TearDown() override {
    EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
    EXPECT_EQ(scheduler_.stats().quarantined, 0U);
  }

  void open() {
    Result<std::unique_ptr<Server>> opened =
        Server::open(scheduler_, options_, [this](Request request, Answer answer) { handle(request, std::move(answer)); });
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    server_ = std::move(*opened);
  }
  void handle(const Request& request, Answer answer) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    others_.push_back(std::make_unique<Peer>(UniqueFd{ends[1]}));
    UniqueFd other{ends[0]};
    if (request.path() == "/admin") answer.relay(Response{.status = 101, .fields = {{"Upgrade", "rondo"}}}, std::move(other));
    if (request.path() == "/events") {
      answer.relay(Response{.content_type = "text/event-stream", .body = "retry: 1\n\n"}, std::move(other), to_events);
    }
    if (request.path() == "/wrong") answer.relay(Response{.status = 404}, std::move(other));
  }
  /// The client of a new relay, whose other side is others_.back().
  Peer begin(std::string_view request, int receive_buffer = 0) {
    Peer client{server_->port(), receive_buffer};
    client.say(request);
    const std::size_t before = figures().relays;
    run_until([&] { return figures().relays > before; });
    return client;
  }
  Peer& other() { return *others_.back(); }
  ServerFigures figures() const { return server_->figures(); }

  ServerOptions options_;
  std::vector<std::unique_ptr<Peer>> others_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpRelay, AnUpgradeMovesBytesInBothDirectionsUnchanged) {
  open();
  // The client does not wait for the answer.
  Peer client = begin(std::string{kUpgrade} + "early ");
  client.say("late");
  run_until([&] { return other().hears("early late"); });
  other().say("\1binary\r\n");
  run_until([&] { return client.hears("binary\r\n"); });
  EXPECT_THAT(client.heard, MatchesRegex("HTTP/1.1 101 Switching Protocols\r\nDate: [^\r]*\r\nUpgrade: rondo\r\nConnection: Upgrade\r\n\r\n"
                                         "\1binary\r\n"));
  EXPECT_EQ(figures().relays, 1U);
  EXPECT_EQ(figures().connections, 1U);
}

TEST_F(HttpRelay, LargeStreamsArriveWholeInBothDirections) {
  open();
  Peer client = begin(kUpgrade);
  std::string large;
  while (large.size() < 3'000'000) large += std::to_string(large.size()) + " ";
  client.say(large);
  other().say(large);
  run_until([&] {
    client.pump();
    other().pump();
    return client.heard.size() > large.size() && other().heard.size() >= large.size();
  });
  EXPECT_EQ(other().heard, large);
  EXPECT_THAT(client.heard, EndsWith("\r\n\r\n" + large));
  EXPECT_LT(figures().memory, 1000U) << "a relay whose sides take all holds nothing";
}

TEST_F(HttpRelay, AnEndOfTheClientsOutputEndsTheRelayAfterItsBytes) {
  open();
  Peer client = begin(kUpgrade);
  const std::string large(kLarge / 10, 'x');
  client.say(large);
  run_until([&] { return client.has_sent_all(); });
  client.end_output();
  run_until([&] { return other().hears_end(); });
  EXPECT_EQ(other().heard, large);
  run_until([&] { return client.hears_end() && figures().connections == 0; });
}

TEST_F(HttpRelay, AnEndOfTheOtherSideEndsTheClientAfterAllBytes) {
  open();
  Peer client = begin(kUpgrade, 4096);
  client.say("never read");  // The kernel makes it an error for the relay when the other side closes.
  const std::string large(kLarge / 10, 'x');
  other().say(large);
  run_until([&] {
    client.pump();
    return other().has_sent_all();
  });
  other().close();
  run_until([&] { return client.hears_end(); });
  EXPECT_THAT(client.heard, EndsWith("\r\n\r\n" + large));
  EXPECT_FALSE(client.was_reset);
}

TEST_F(HttpRelay, TheOtherSideReadsTheEndWhenTheClientIsGone) {
  open();
  for (const std::string_view request : {kUpgrade, kEvents}) {
    for (const bool with_reset : {false, true}) {
      Peer client = begin(request);
      if (with_reset) client.reset();
      if (!with_reset) client.close();
      run_until([&] { return other().hears_end(); });
      other().close();
      run_until([&] { return figures().connections == 0; });
      EXPECT_EQ(figures().relays, 0U);
      EXPECT_EQ(figures().memory, 0U);
    }
  }
}

TEST_F(HttpRelay, AClientThatIsGoneIsNoticedWhileTheOtherSideTakesNothing) {
  open();
  Peer client = begin(kUpgrade);
  client.say(std::string(kLarge, 'x'));
  run_until([&] {
    client.has_sent_all();
    return figures().memory > 1000;
  });
  client.reset();
  run_until([&] { return figures().connections == 0; });
  run_until([&] { return other().hears_end(); });
}

TEST_F(HttpRelay, AServerThatEndsClosesBothSides) {
  open();
  Peer client = begin(kUpgrade);
  server_.reset();
  EXPECT_TRUE(client.hears_end());
  EXPECT_TRUE(other().hears_end());
}

// --- converted

TEST_F(HttpRelay, BytesOfTheOtherSideAreConverted) {
  open();
  Peer client = begin(kEvents);
  client.say("dropped");
  other().say("1");
  run_until([&] { return client.hears("data: 1\n\n"); });
  other().say("nothing");
  run_now();
  other().say("2");
  run_until([&] { return client.hears("data: 2\n\n"); });
  EXPECT_THAT(client.heard, MatchesRegex("HTTP/1.1 200 OK\r\nDate: [^\r]*\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                                         "retry: 1\n\ndata: 1\n\ndata: 2\n\n"));
  EXPECT_EQ(other().heard, "");
  EXPECT_FALSE(other().is_closed);
}

TEST_F(HttpRelay, TheConversionMayEndTheRelay) {
  open();
  Peer client = begin(kEvents);
  other().say("1");
  run_until([&] { return client.hears("data: 1\n\n"); });
  other().say("end");
  run_until([&] { return client.hears_end() && other().hears_end(); });
  EXPECT_THAT(client.heard, EndsWith("data: 1\n\n"));
  EXPECT_EQ(figures().relays, 0U);
}

TEST_F(HttpRelay, AConversionThatThrowsEndsTheRelay) {
  open();
  Peer client = begin(kEvents);
  other().say("throw");
  run_until([&] { return client.hears_end() && other().hears_end(); });
  EXPECT_EQ(figures().faults, 1U);
  EXPECT_EQ(figures().relays, 0U);
}

TEST_F(HttpRelay, ASilentStreamOfEventsBeats) {
  options_.relay_beat = 5ms;
  options_.idle_time = options_.answer_time = 1ms;  // They do not apply.
  open();
  Peer events = begin(kEvents);
  Peer admin = begin(kUpgrade);
  run_until([&] { return events.hears(": \n\n: \n\n: \n\n"); });
  EXPECT_THAT(events.heard, EndsWith("retry: 1\n\n: \n\n: \n\n: \n\n"));
  EXPECT_THAT((admin.pump(), admin.heard), EndsWith("\r\n\r\n")) << "bytes that are not converted get nothing between them";
  EXPECT_EQ(figures().relays, 2U);
}

// --- limits

TEST_F(HttpRelay, ASideThatTakesNothingStopsTheOtherSide) {
  open();
  Peer client = begin(kUpgrade, 4096);
  client.say(std::string(kLarge, 'a'));
  other().say(std::string(kLarge, 'b'));
  // Until nothing moves any more: both sides have sent what fits into the kernel's buffers and the relay.
  std::uint64_t turns = 0;
  int quiet = 0;
  run_until([&] {
    if (client.has_sent_all() || other().has_sent_all()) return true;
    quiet = std::exchange(turns, scheduler_.stats().turns) == scheduler_.stats().turns ? quiet + 1 : 0;
    return quiet == 20;
  });
  EXPECT_FALSE(client.has_sent_all());
  EXPECT_FALSE(other().has_sent_all());
  EXPECT_LT(figures().memory, 2 * limits::kHttpRelayBytes + 1000);
  run_until([&] {
    client.pump();
    other().pump();
    return other().heard.size() == kLarge && client.heard.size() > kLarge;
  });
}

TEST_F(HttpRelay, AClientThatTakesNothingIsClosed) {
  options_.stall_time = 20ms;
  open();
  Peer client = begin(kEvents, 4096);
  other().say(std::string(kLarge, 'x'));
  run_until([&] {
    other().has_sent_all();
    return figures().slow_readers == 1;
  });
  run_until([&] { return figures().connections == 0; });
  EXPECT_TRUE(other().hears_end());
  EXPECT_EQ(figures().memory, 0U);
}

TEST_F(HttpRelay, WithoutMemoryARelayThatHoldsMoreThanItsShareEnds) {
  options_.memory = 1;
  open();
  Peer client = begin(kEvents, 4096);
  other().say("1");
  run_until([&] { return client.hears("data: 1\n\n"); });
  run_until([&] {
    other().say(std::string(1'000'000, 'x'));
    return figures().connections == 0;
  });
  EXPECT_EQ(figures().without_memory, 1U);
}

// --- what begins none, and the stop

TEST_F(HttpRelay, AHeadThatCannotBeSentBeginsNone) {
  open();
  Peer client{server_->port()};
  client.say("GET /wrong HTTP/1.1\r\nHost: h\r\n\r\n");
  run_until([&] { return client.answers(500) == 1; });
  EXPECT_THAT(client.heard, HasSubstr("the status 404 begins no relay"));
  EXPECT_TRUE(other().hears_end());
  EXPECT_EQ(figures().unsendable, 1U);
  client.say(kUpgrade);
  run_until([&] { return client.answers(101) == 1; });
}

TEST_F(HttpRelay, ToHeadOnlyTheHeadIsSent) {
  open();
  Peer client{server_->port()};
  client.say("HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n");
  run_until([&] { return client.hears_end(); });
  EXPECT_THAT(client.heard, EndsWith("Connection: close\r\n\r\n"));
  EXPECT_THAT(client.heard, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_TRUE(other().hears_end());
}

TEST_F(HttpRelay, AStopEndsRelaysAfterTheBytesThatTheyHold) {
  options_.linger_time = 1ms;
  open();
  Peer silent = begin(kUpgrade);
  Peer client = begin(kEvents, 4096);
  other().say(std::string(kLarge, 'x'));
  run_until([&] {
    other().has_sent_all();
    return figures().memory > 1000;
  });
  bool has_stopped = false;
  server_->on_stopped([&] { has_stopped = true; });
  server_->stop();
  run_until([&] { return silent.hears_end() && others_[0]->hears_end(); });
  EXPECT_FALSE(has_stopped);
  run_until([&] { return client.hears_end() && has_stopped; });
  EXPECT_FALSE(client.was_reset);
  EXPECT_THAT(client.heard, EndsWith("x\n\n"));
  EXPECT_FALSE(other().has_sent_all());
}

TEST_F(HttpRelay, AServerThatStopsBeginsNone) {
  open();
  std::vector<Answer> kept;
  server_ = std::move(Server::open(scheduler_, options_, [&](Request, Answer answer) { kept.push_back(std::move(answer)); }).value());
  Peer client{server_->port()};
  client.say(kUpgrade);
  run_until([&] { return kept.size() == 1; });
  server_->stop();
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  Peer far{UniqueFd{ends[1]}};
  kept[0].relay(Response{.status = 101}, UniqueFd{ends[0]});
  run_until([&] { return client.hears_end(); });
  EXPECT_THAT(client.heard, HasSubstr("HTTP/1.1 503 "));
  EXPECT_TRUE(far.hears_end());
  // The client is gone: the other side is closed, too.
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  Peer late{UniqueFd{ends[1]}};
  kept[0].relay(Response{.status = 101}, UniqueFd{ends[0]});
  EXPECT_TRUE(late.hears_end());
}

}  // namespace
}  // namespace rondo::http
