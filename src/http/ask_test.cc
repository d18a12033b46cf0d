// Answer::ask(): responses that are made of bytes of another side. Method: as relay_test.cc.
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

constexpr std::string_view kRequest = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";

class HttpAsk : public Loop {
 protected:
  HttpAsk() {
    options_.header_time = options_.body_time = options_.idle_time = options_.stall_time = options_.answer_time = options_.ask_time = 1000s;
    options_.linger_time = 1000s;
  }
  void TearDown() override {
    EXPECT_EQ(scheduler_.stats().sweep_rescues, 0U);
    EXPECT_EQ(scheduler_.stats().quarantined, 0U);
  }

  void open() {
    Result<std::unique_ptr<Server>> opened =
        Server::open(scheduler_, options_, [this](const Request&, Answer answer) { handle(std::move(answer)); });
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    server_ = std::move(*opened);
  }
  /// The response is what comes before a dot.
  void handle(Answer answer) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    others_.push_back(std::make_unique<Peer>(UniqueFd{ends[1]}));
    answer.ask(
        UniqueFd{ends[0]},
        [said = std::string{}](std::string_view bytes) mutable -> std::optional<Response> {
          if (bytes == "throw") throw std::runtime_error("a fault");
          if (bytes.empty()) return said == "mute" ? std::nullopt : std::optional{text_response(503, "it ended")};
          said += bytes;
          return said.ends_with('.') ? std::optional{text_response(200, said)} : std::nullopt;
        },
        text_response(504, "too late"), limit_);
  }
  /// The client of a new question, whose other side is others_.back().
  Peer begin() {
    Peer client{server_->port()};
    client.say(kRequest);
    const std::size_t before = others_.size();
    run_until([&] { return others_.size() > before; });
    return client;
  }

  ServerOptions options_;
  Duration limit_{0};
  std::vector<std::unique_ptr<Peer>> others_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpAsk, TheResponseIsMadeOfAllPiecesAndTheConnectionGoesOn) {
  open();
  Peer client = begin();
  for (const char* const piece : {"one ", "two", "."}) {
    EXPECT_FALSE(client.hears("HTTP"));
    others_.back()->say(piece);
    run_now();
  }
  run_until([&] { return client.hears("one two.\n"); });
  run_until([&] { return others_.back()->hears_end(); });
  client.say(kRequest);
  run_until([&] { return others_.size() == 2; });
  others_.back()->say("again.");
  run_until([&] { return client.hears("again.\n"); });
  EXPECT_FALSE(client.is_closed);
}

TEST_F(HttpAsk, AnEndOfTheOtherSideIsAResponseToo) {
  open();
  Peer client = begin();
  others_.back()->say("half");
  others_.back()->close();
  run_until([&] { return client.answers(503) == 1; });
  EXPECT_THAT(client.heard, EndsWith("it ended\n"));
}

TEST_F(HttpAsk, WithoutAResponseAtTheEndItIsA500) {
  open();
  Peer client = begin();
  others_.back()->say("mute");
  others_.back()->close();
  run_until([&] { return client.answers(500) == 1; });
}

TEST_F(HttpAsk, AClientThatLeavesEndsTheOtherSide) {
  open();
  Peer gone = begin();
  gone.close();
  run_until([&] { return others_.back()->hears_end(); });
  Peer half = begin();
  half.end_output();
  run_until([&] { return others_.back()->hears_end(); });
  EXPECT_EQ(server_->figures().connections, 0U);
}

TEST_F(HttpAsk, AnAnswerThatDoesNotComeIs504) {
  EXPECT_EQ(ServerOptions{}.ask_time, limits::kHttpAskTime);
  options_.ask_time = 1ms;
  open();
  Peer client = begin();
  run_until([&] { return client.answers(504) == 1; });
  EXPECT_THAT(client.heard, HasSubstr("too late"));
  EXPECT_TRUE(others_.back()->hears_end());
}

TEST_F(HttpAsk, ALimitOfTheQuestionCountsInPlaceOfTheServers) {
  limit_ = 1ms;
  open();
  Peer client = begin();
  run_until([&] { return client.answers(504) == 1; });
}

TEST_F(HttpAsk, AFunctionThatThrowsClosesTheConnection) {
  open();
  Peer client = begin();
  others_.back()->say("throw");
  run_until([&] { return client.hears_end(); });
  EXPECT_TRUE(others_.back()->hears_end());
  EXPECT_EQ(server_->figures().faults, 1U);
}

TEST_F(HttpAsk, AServerThatEndsClosesTheOtherSide) {
  open();
  Peer client = begin();
  server_.reset();
  EXPECT_TRUE(others_.back()->hears_end());
}

}  // namespace
}  // namespace rondo::http
