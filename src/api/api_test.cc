// The API over HTTP end to end: a real admin server and HTTP thread on this thread's scheduler, and callers on another thread that use the
// sockets of the system or the client that `rondo --url` uses.
#include "api/api.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <fstream>

#include "admin/admin_socket_kit.h"
#include "admin/bulk_writer.h"
#include "api/dial.h"
#include "api/limits.h"
#include "api/openapi.h"
#include "http/listener.h"
#include "rondo/base/trace_context.h"

namespace rondo::api {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Moved by the caller's thread, and read by the HTTP thread.
class MovedClock final : public Clock {
 public:
  Instant now() const noexcept override { return Instant::from_nanoseconds(ns_); }
  WallTime wall_now() const noexcept override { return WallTime::from_nanoseconds(ns_); }
  void advance(Duration by) { ns_ += by.count(); }

 private:
  std::atomic<std::int64_t> ns_ = 1;
};

class Api : public AdminSocket {
 protected:
  Api() : tokens_(*Tokens::open(directory.file("tokens"))) {
    ADD_FAILURE_IF_NOT(
        commands.add({.name = "read", .effect = CommandEffect::Reads}, [](const Arguments&, Reply reply) { reply.finish(); }));
    ADD_FAILURE_IF_NOT(
        commands.add({.name = "work", .effect = CommandEffect::Works}, [](const Arguments&, Reply reply) { reply.finish(); }));
    ADD_FAILURE_IF_NOT(commands.add({.name = "wait", .effect = CommandEffect::Reads}, [this](const Arguments&, Reply reply) {
      reply.on_gone([this] { ++gone_; });
      kept_.push_back(std::move(reply));
    }));
    ADD_FAILURE_IF_NOT(commands.add({.name = "large", .effect = CommandEffect::Reads}, [](const Arguments&, Reply reply) {
      reply.stream([at = 0](Reply& page) mutable {
        while (at < 100 && !page.page_full()) page.row(json::string(limits::kApiAnswerBytes / 90, static_cast<char>('a' + at++ % 26)));
        return at < 100;
      });
    }));
    ADD_FAILURE_IF_NOT(add_token_commands(commands, tokens_, groups_, [this] {
      api_->set_tokens(tokens_.table());
      if (!tokens_.all().contains("a")) server->cut_token("a");
    }));
  }
  ~Api() override { kept_.clear(); }

  static void ADD_FAILURE_IF_NOT(const Status& status) { EXPECT_TRUE(status.ok()) << status.to_string(); }

  /// Runs 'caller' on a thread, with the servers here.
  void with_api(const std::function<void()>& caller) {
    open();
    api_ = std::make_unique<api::Api>(
        openapi_of(commands, "1.2.3"), session_clock_, [this](UniqueFd fd, const Caller& who) { server->adopt(std::move(fd), who); },
        [this](const std::string& what) { refused_.push_back(what); });
    api_->set_tokens(tokens_.table());
    http::HttpThreadOptions http;
    http.server.emplace().ask_time = 1000s;
    http.server->body_limit = [](const http::Request&) { return limits::kAdminRequestBytes; };
    auto started = http::HttpThread::start(*scheduler, http, [this](http::Request request, http::Answer answer, http::HttpGate& gate) {
      api_->handle(std::move(request), std::move(answer), gate);
    });
    ASSERT_TRUE(started.has_value()) << started.error().to_string();
    http_ = std::move(*started);
    with_caller(caller);
    http_.reset();
  }
  std::string token(const std::string& name, Role role) { return tokens_.add(name, role).value(); }

  /// Sends a request, and returns all that comes back until the end.
  std::string say(std::string_view text) const {
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(http_->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    while (!text.empty()) {
      const ssize_t sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    std::string heard;
    char buffer[65536];
    for (ssize_t got = 0; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) heard.append(buffer, static_cast<std::size_t>(got));
    return heard;
  }
  static std::string post(std::string_view command, const std::string& token, std::string_view body, std::string_view more = {}) {
    return "POST /api/v1/" + std::string{command} + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Bearer " + token +
           "\r\nContent-Type: application/json\r\n" + std::string{more} + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string{body};
  }
  static std::string body_of(const std::string& heard) { return heard.substr(std::min(heard.find("\r\n\r\n"), heard.size() - 4) + 4); }
  Remote remote(const std::string& token) const { return {.url = "http://" + http_->endpoint(), .token = token, .ca_file = {}}; }

  MovedClock session_clock_;
  const std::set<std::string> groups_{"billing"};
  Tokens tokens_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<http::HttpThread> http_;
  std::vector<std::string> refused_;
  std::vector<Reply> kept_;
  std::atomic<int> gone_{0};
};

TEST_F(Api, ACommandAnswersAsOnTheSocket) {
  const std::string secret = token("a", Role::Operator);
  with_api([&] {
    const std::string heard = say(post("echo", secret, R"({"text":"hi"})"));
    EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Type: application/json"), EndsWith(R"({"text":"hi"})")));
    EXPECT_THAT(say(post("read", secret, {})), EndsWith("\r\n\r\n{}"));
  });
}

TEST_F(Api, ACallHasTheTraceThatItsHeaderNames) {
  const std::string secret = token("a", Role::Operator);
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  std::vector<std::string> traces;
  ADD_FAILURE_IF_NOT(commands.add({.name = "traced", .effect = CommandEffect::Reads}, [&](const Arguments&, Reply reply) {
    const auto& trace = reply.caller().trace;
    traces.push_back(trace == nullptr ? "none" : trace->parent() + " " + trace->state());
    reply.finish();
  }));
  with_api([&] {
    for (const std::string& fields : std::initializer_list<std::string>{
             "", "traceparent: " + parent + "\r\n", "TraceParent:  " + parent + " \r\nTraceState: a=1\r\ntracestate: b=2\r\n",
             "traceparent: " + parent + "\r\ntracestate: " + std::string(TraceContext::kStateBytes + 1, 'a') + "\r\n",
             "traceparent: " + parent + "\r\ntraceparent: " + parent + "\r\n", "traceparent: 00-0-0-0\r\n", "traceparent:\r\n",
             "tracestate: a=1\r\n", "traceparent: ff" + parent.substr(2) + "\r\n"}) {
      EXPECT_THAT(say(post("traced", secret, {}, fields)), StartsWith("HTTP/1.1 200 ")) << fields;
    }
  });
  EXPECT_THAT(traces,
              testing::ElementsAre("none", parent + " ", parent + " a=1,b=2", parent + " ", "none", "none", "none", "none", "none"));
}

TEST_F(Api, AConnectionTakesSeveralCalls) {
  const std::string secret = token("a", Role::Operator);
  std::string request = post("echo", secret, R"({"text":"1"})");
  request.replace(request.find("Connection: close\r\n"), 19, "");
  with_api([&] {
    const std::string heard = say(request + request + post("echo", secret, R"({"text":"2"})"));
    EXPECT_THAT(heard, AllOf(HasSubstr(R"({"text":"1"}HTTP/1.1 200)"), EndsWith(R"({"text":"2"})")));
  });
}

TEST_F(Api, TheRowsOfAllPagesAreOneAnswer) {
  const std::string secret = token("a", Role::Operator);
  with_api([&] {
    const json::value answer = json::parse(body_of(say(post("count", secret, R"({"rows":5000})"))));
    const json::array& rows = answer.at("rows").as_array();
    ASSERT_EQ(rows.size(), 5000U);
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].to_number<std::size_t>(), i);
  });
}

TEST_F(Api, RowsAreEventsForThoseWhoAskForThem) {
  const std::string secret = token("a", Role::Operator);
  with_api([&] {
    const std::string heard = say(post("count", secret, R"({"rows":2})", "Accept: text/event-stream\r\n"));
    EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Type: text/event-stream"),
                             EndsWith("event: row\ndata: 0\n\nevent: row\ndata: 1\n\nevent: end\ndata: {}\n\n")));
    EXPECT_THAT(say(post("none", secret, {}, "Accept: text/event-stream\r\n")), HasSubstr("event: error\ndata: {\"code\":\"not-found\""));
  });
}

TEST_F(Api, AnAnswerAboveTheLimitIsRefusedAndItsEventsAreNot) {
  const std::string secret = token("a", Role::Viewer);
  with_api([&] {
    EXPECT_THAT(say(post("large", secret, {})), AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("text/event-stream")));
    const std::string events = say(post("large", secret, {}, "Accept: text/event-stream\r\n"));
    EXPECT_GT(events.size(), limits::kApiAnswerBytes);
    EXPECT_THAT(events.substr(events.size() - 30), EndsWith("event: end\ndata: {}\n\n"));
  });
}

TEST_F(Api, ErrorsHaveTheStatusOfTheirCode) {
  const std::string secret = token("a", Role::Operator);
  with_api([&] {
    EXPECT_THAT(say(post("ecko", secret, {})), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("not-found"), HasSubstr("echo")));
    EXPECT_THAT(say(post("echo", secret, {})), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("'text' is missing")));
    for (const char* const body :
         {"[]", "{", "1", R"({"text":"x","id":2})", R"({"text":"x","command":"read"})", R"({"text":"x","text":"y"})"})
      EXPECT_THAT(say(post("echo", secret, body)), StartsWith("HTTP/1.1 400 ")) << body;
    std::string other = post("echo", secret, R"({"text":"x"})");
    other.replace(other.find("application/json"), 16, "text/plain");
    EXPECT_THAT(say(other), StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(say("GET" + post("echo", secret, {}).substr(4)), StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(say(post("a/b", secret, {})), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(say("GET" + post("connect", secret, {}).substr(4)), StartsWith("HTTP/1.1 426 "));
  });
}

TEST_F(Api, WithoutATokenNobodyCallsAnything) {
  const std::string secret = token("a", Role::Admin);
  with_api([&] {
    for (const std::string& wrong :
         {std::string{}, secret + "x", secret.substr(1), std::string(5000, 'x'), secret + "\r\nAuthorization: Bearer " + secret}) {
      for (const char* const path : {"read", "connect", "openapi.json", "nothing"}) {
        const std::string heard = say(post(path, wrong, {}));
        EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer"))) << path;
        EXPECT_THAT(heard, Not(HasSubstr(secret)));
      }
    }
    std::string none = post("read", secret, {});
    none.replace(none.find("Authorization"), 13, "X-Nothing----");
    EXPECT_THAT(say(none), AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("a token is missing")));
  });
  EXPECT_THAT(refused_, Not(testing::IsEmpty()));
}

TEST_F(Api, ARoleAllowsItsCommandsAlone) {
  const std::string viewer = token("viewer", Role::Viewer);
  const std::string worker = token("worker", Role::Worker);
  const std::string oper = token("operator", Role::Operator);
  const std::string admin = token("admin", Role::Admin);
  const auto allows = [&](const std::string& secret) {
    std::string allowed;
    for (const char* const command : {"read", "work", "echo", "tokens"}) {
      const std::string heard = say(post(command, secret, command == std::string{"echo"} ? R"({"text":"x"})" : ""));
      EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 ") || heard.starts_with("HTTP/1.1 403 ")) << heard;
      if (heard.starts_with("HTTP/1.1 200 ")) allowed += command + std::string{" "};
    }
    return allowed;
  };
  with_api([&] {
    EXPECT_EQ(allows(viewer), "read ");
    EXPECT_EQ(allows(worker), "work ");
    EXPECT_EQ(allows(oper), "read work echo ");
    EXPECT_EQ(allows(admin), "read work echo tokens ");
    const Result<std::unique_ptr<AdminClient>> client = api::connect(remote(viewer), 100s);
    ASSERT_TRUE(client.has_value());
    EXPECT_EQ((*client)->call("echo", {{"text", "x"}}).error().code(), StatusCode::PermissionDenied);
    BulkWriter writer(**client, {}, {});
    EXPECT_TRUE(writer.begin("T").ok());
    EXPECT_TRUE(writer.row(BulkOp::Set, "k", {}).ok());
    static_cast<void>(writer.end());  // The refusal may be here already.
    EXPECT_FALSE(writer.finish().has_value());
  });
  EXPECT_TRUE(rows.empty());
}

TEST_F(Api, AClientThatLeavesEndsItsCall) {
  const std::string secret = token("a", Role::Viewer);
  with_api([&] {
    for (const char* const accept : {"", "Accept: text/event-stream\r\n"}) {
      const int before = gone_;
      {
        const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(http_->port());
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        const std::string request = post("wait", secret, {}, accept);
        ASSERT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
        // Another call that is answered: the first one is under way, or will be.
        ASSERT_THAT(say(post("read", secret, {})), StartsWith("HTTP/1.1 200 "));
      }
      while (gone_ == before) ASSERT_THAT(say(post("read", secret, {})), StartsWith("HTTP/1.1 200 "));
    }
  });
}

TEST_F(Api, TheDescriptionNamesEachCommandAndItsArguments) {
  const std::string secret = token("a", Role::Viewer);
  with_api([&] {
    const std::string heard = say("GET" + post("openapi.json", secret, {}).substr(4));
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 "));
    const json::value description = json::parse(body_of(heard));
    EXPECT_EQ(description.at("info").at("version"), "1.2.3");
    const json::value& echo = description.at("paths").at("/api/v1/echo").at("post");
    const json::value& schema = echo.at("requestBody").at("content").at("application/json").at("schema");
    EXPECT_EQ(schema.at("properties").at("text").at("type"), "string");
    EXPECT_EQ(schema.at("required"), json::array{"text"});
  });
}

// What a browser sends. Its page is at http://h unless a field says something else.
class Browser : public Api {
 protected:
  static constexpr std::string_view kOwn = "Origin: http://h\r\nSec-Fetch-Site: same-origin\r\n";

  /// The fields with the secrets of a session, "COOKIE|KEY".
  static std::string fields_of(std::string_view session) {
    const std::size_t bar = session.find('|');
    return "Cookie: rondo_session=" + std::string{session.substr(0, bar)} +
           "\r\nRondo-Session-Key: " + std::string{session.substr(bar + 1)} + "\r\n";
  }
  static std::string request(std::string_view line, std::string_view session, std::string_view body = {}, std::string_view more = kOwn) {
    return std::string{line} + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\n" +
           (session.empty() ? "" : fields_of(session)) + std::string{more} + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string{body};
  }
  static std::string sign_in_with(const std::string& secret, std::string_view more = kOwn) {
    return request("POST /api/v1/session", {}, R"({"token":")" + secret + R"("})", more);
  }
  /// Signs in, and returns the secrets as fields_of() takes them.
  std::string cookie(const std::string& secret) const {
    const std::string heard = say(sign_in_with(secret));
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 "));
    constexpr std::string_view kName = "\r\nSet-Cookie: rondo_session=";
    const std::size_t at = heard.find(kName);
    EXPECT_NE(at, std::string::npos) << heard;
    const std::string key{json::parse(body_of(heard)).at("key").as_string()};
    return heard.substr(at + kName.size(), 64) + "|" + key;
  }
  std::string read(std::string_view cookie, std::string_view more = kOwn) const {
    return say(request("POST /api/v1/read", cookie, {}, more));
  }
  std::string who(std::string_view cookie, std::string_view more = {}) const {
    return say(request("GET /api/v1/session", cookie, {}, more));
  }
  /// A connection on which 'text' was sent.
  UniqueFd begin(const std::string& text) const {
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(http_->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    return fd;
  }
};

TEST_F(Browser, SignsInWithATokenAndHasACookieInItsPlace) {
  const std::string secret = tokens_.add("a", Role::Viewer, "billing").value();
  const std::string free = token("free", Role::Viewer);
  with_api([&] {
    const std::string heard = say(sign_in_with(secret));
    EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("; Path=/; HttpOnly; SameSite=Strict\r\n"),
                             HasSubstr("Cache-Control: no-store"), HasSubstr("X-Content-Type-Options: nosniff"),
                             HasSubstr(R"({"name":"a","role":"viewer","group":"billing","key":")")));
    EXPECT_THAT(heard, Not(HasSubstr(secret)));
    const std::string session = cookie(secret);
    EXPECT_THAT(read(cookie(free)), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Cache-Control: no-store"), HasSubstr("nosniff")));
    EXPECT_THAT(who(session), EndsWith(R"({"name":"a","role":"viewer","group":"billing"})"));
    EXPECT_THAT(say(request("POST /api/v1/echo", session, R"({"text":"x"})")), StartsWith("HTTP/1.1 403 ")) << "the role is the token's";
    EXPECT_THAT(say(request("GET /api/v1/openapi.json", session)), StartsWith("HTTP/1.1 200 "));
    // Without a browser.
    EXPECT_THAT(say(sign_in_with(secret, {})), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(say("GET" + post("session", secret, {}).substr(4)), EndsWith(R"({"name":"a","role":"viewer","group":"billing"})"));
  });
}

TEST_F(Browser, SigningInNeedsAKnownTokenAndItsForm) {
  const std::string secret = token("a", Role::Viewer);
  with_api([&] {
    EXPECT_THAT(say(sign_in_with(secret + "x")), AllOf(StartsWith("HTTP/1.1 401 "), Not(HasSubstr("Set-Cookie"))));
    for (const std::string& body : {std::string{}, std::string{"{}"}, std::string{"[]"}, std::string{R"({"token":1})"},
                                    R"({"token":")" + secret + R"(","more":1})", R"({"token":")" + secret + R"(","token":"x"})"})
      EXPECT_THAT(say(request("POST /api/v1/session", {}, body)), StartsWith("HTTP/1.1 400 ")) << body;
    std::string form = sign_in_with(secret);
    form.replace(form.find("application/json"), 16, "text/plain");
    EXPECT_THAT(say(form), StartsWith("HTTP/1.1 400 "));
    for (const char* const origin : {"Origin: http://other\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"})
      EXPECT_THAT(say(sign_in_with(secret, origin)), AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("Set-Cookie")))) << origin;
    EXPECT_THAT(say(request("PUT /api/v1/session", {})), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: DELETE, GET, HEAD, POST")));
  });
  EXPECT_THAT(refused_, testing::SizeIs(4));
}

TEST_F(Browser, ARequestOfAnotherPageIsRefused) {
  const std::string secret = token("a", Role::Admin);
  with_api([&] {
    const std::string session = cookie(secret);
    for (const char* const fields :
         {"", "Origin: http://other\r\n", "Origin: https://h\r\n", "Origin: http://h\r\nSec-Fetch-Site: same-site\r\n"})
      EXPECT_THAT(read(session, fields), AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("WWW-Authenticate")))) << fields;
    EXPECT_THAT(say(request("DELETE /api/v1/session", session, {}, {})), StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(who(session, "Sec-Fetch-Site: cross-site\r\n"), StartsWith("HTTP/1.1 403 "));
    std::string form = request("POST /api/v1/read", session);
    form.replace(form.find("application/json"), 16, "text/plain");
    EXPECT_THAT(say(form), StartsWith("HTTP/1.1 400 ")) << "also without a body";
    // Programs of other ports of the host see and set cookies, and have no key.
    const std::string stolen = session.substr(0, session.find('|'));
    EXPECT_THAT(read(stolen + "|" + stolen), StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(read(session, "Cookie: rondo_session=tossed\r\n" + std::string{kOwn}), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(read("tossed|" + session.substr(session.find('|') + 1), "Cookie: rondo_session=" + stolen + "\r\n" + std::string{kOwn}),
                StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(read(session), StartsWith("HTTP/1.1 200 "));
  });
}

TEST_F(Browser, ATokenCountsAloneBesideACookieAndACookieOpensNoFrames) {
  const std::string viewer = token("viewer", Role::Viewer);
  const std::string oper = token("operator", Role::Operator);
  with_api([&] {
    const std::string session = cookie(oper);
    EXPECT_THAT(say(post("echo", oper, R"({"text":"x"})", "Cookie: rondo_session=none\r\n")), StartsWith("HTTP/1.1 200 "));
    const std::string both = fields_of(session) + std::string{kOwn};
    EXPECT_THAT(say(post("echo", viewer, R"({"text":"x"})", both)), StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(say(post("read", "wrong", {}, both)), StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(say("DELETE" + post("session", viewer, {}, both).substr(4)), StartsWith("HTTP/1.1 400 "));
    const std::string upgrade = "Upgrade: rondo-admin\r\n" + std::string{kOwn};
    EXPECT_THAT(say(request("GET /api/v1/connect", session, {}, upgrade)), StartsWith("HTTP/1.1 401 "));
  });
}

TEST_F(Browser, ASessionEndsWithItsTokenAndWhenItsUserSignsOutOrLeaves) {
  const std::string secret = token("a", Role::Viewer);
  const std::string admin = token("admin", Role::Admin);
  with_api([&] {
    EXPECT_THAT(who({}), StartsWith("HTTP/1.1 401 "));
    const std::string signed_out = cookie(secret);
    const std::string kept = cookie(secret);
    EXPECT_THAT(say(request("DELETE /api/v1/session", signed_out)), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Max-Age=0")));
    EXPECT_THAT(who(signed_out), StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(read(kept), StartsWith("HTTP/1.1 200 "));
    // Signing in again leaves no session behind.
    std::string again = sign_in_with(secret);
    again.insert(again.find("Origin"), fields_of(kept));
    EXPECT_THAT(say(again), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(who(kept), StartsWith("HTTP/1.1 401 "));
    const std::string unused = cookie(secret);
    session_clock_.advance(limits::kApiSessionIdle);
    EXPECT_THAT(who(unused), StartsWith("HTTP/1.1 401 "));
    const std::string removed = cookie(secret);
    EXPECT_THAT(say(post("token-remove", admin, R"({"name":"a"})")), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(who(removed), StartsWith("HTTP/1.1 401 "));
  });
  EXPECT_THAT(refused_, testing::IsEmpty()) << "asking is no call";
}

TEST_F(Browser, AGuessedTokenIsLoggedAlsoWhenItOnlyAsks) {
  with_api([&] { EXPECT_THAT(say("GET" + post("session", "guess", {}).substr(4)), StartsWith("HTTP/1.1 401 ")); });
  EXPECT_THAT(refused_, testing::SizeIs(1));
}

TEST_F(Browser, AStreamSendsNothingMoreWhenItsSessionHasEnded) {
  ADD_FAILURE_IF_NOT(commands.add({.name = "release", .effect = CommandEffect::Reads}, [this](const Arguments&, Reply reply) {
    if (kept_.empty()) return reply.fail({StatusCode::FailedPrecondition, "nobody waits yet"});
    kept_.back().finish();
    kept_.pop_back();
    reply.finish();
  }));
  const std::string secret = token("a", Role::Viewer);
  with_api([&] {
    for (const bool signs_out : {false, true}) {
      const std::string session = cookie(secret);
      const UniqueFd stream = begin(request("POST /api/v1/wait", session, {}, "Accept: text/event-stream\r\n" + std::string{kOwn}));
      std::string heard(1, '\0');
      ASSERT_EQ(::recv(stream.get(), heard.data(), 1, 0), 1) << "its head";
      if (signs_out) {
        ASSERT_THAT(say(request("DELETE /api/v1/session", session)), StartsWith("HTTP/1.1 200 "));
      }
      while (!say(post("release", secret, {})).starts_with("HTTP/1.1 200 ")) {
      }
      char buffer[4096];
      for (ssize_t got = 0; (got = ::recv(stream.get(), buffer, sizeof buffer, 0)) > 0;)
        heard.append(buffer, static_cast<std::size_t>(got));
      EXPECT_EQ(heard.find("event: end") == std::string::npos, signs_out) << heard;
    }
  });
}

TEST(ApiRequest, ATokenIsPrivateOverTlsAndOnThisHost) {
  const auto is_private = [](std::string peer, bool is_secure) {
    http::Request request;
    request.peer = std::move(peer);
    request.is_secure = is_secure;
    return api::Api::is_private(request);
  };
  for (const char* const peer : {"127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1"})
    EXPECT_TRUE(is_private(peer, false)) << peer;
  for (const char* const peer : {"10.0.0.1:1", "[::2]:1", "[fe80::1]:1", ""}) {
    EXPECT_FALSE(is_private(peer, false)) << peer;
    EXPECT_TRUE(is_private(peer, true)) << peer;
  }
}

TEST_F(Browser, ASessionHasSoManyStreams) {
  const std::string secret = token("a", Role::Viewer);
  with_api([&] {
    const std::string session = cookie(secret);
    const std::string stream = request("POST /api/v1/wait", session, {}, "Accept: text/event-stream\r\n" + std::string{kOwn});
    std::vector<UniqueFd> open;
    for (std::size_t i = 0; i < limits::kApiSessionStreams; ++i) {
      open.push_back(begin(stream));
      // Its head has arrived: the stream is under way.
      char byte = 0;
      ASSERT_EQ(::recv(open.back().get(), &byte, 1, 0), 1);
    }
    EXPECT_THAT(say(stream), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("streams of events")));
    EXPECT_THAT(read(session), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(read(cookie(secret)), StartsWith("HTTP/1.1 200 "));
    // A place is free again when the daemon has seen that the browser is gone.
    open.pop_back();
    while (gone_ == 0) ASSERT_THAT(read(session), StartsWith("HTTP/1.1 200 "));
    const UniqueFd another = begin(stream);
    char byte[9] = {};
    ASSERT_EQ(::recv(another.get(), byte, sizeof byte, MSG_WAITALL), static_cast<ssize_t>(sizeof byte));
    EXPECT_EQ(std::string(byte, sizeof byte), "HTTP/1.1 ");
    char status[3] = {};
    ASSERT_EQ(::recv(another.get(), status, sizeof status, MSG_WAITALL), static_cast<ssize_t>(sizeof status));
    EXPECT_EQ(std::string(status, sizeof status), "200");
  });
}

using Dial = Api;

TEST_F(Dial, TheClientOfTheSocketWorksOverHttp) {
  const std::string secret = token("a", Role::Operator);
  with_api([&] {
    const Result<std::unique_ptr<AdminClient>> client = api::connect(remote(secret), 100s);
    ASSERT_TRUE(client.has_value()) << client.error().to_string();
    EXPECT_EQ((*client)->call("echo", {{"text", "hi"}}).value().at("text"), "hi");
    EXPECT_EQ((*client)->call("count", {{"rows", 100'000}}).value().at("rows").as_array().size(), 100'000U);
    BulkWriter writer(**client, {}, {});
    ASSERT_TRUE(writer.begin("T").ok());
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(writer.row(BulkOp::Set, "key" + std::to_string(i), {}).ok());
    ASSERT_TRUE(writer.end().ok());
    const Result<BulkTotals> totals = writer.finish();
    ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
    EXPECT_EQ(totals->accepted, 20'000U);
  });
  EXPECT_EQ(rows["T"], 20'000U);
}

TEST_F(Dial, ATokenThatIsMadeOrRemovedIsToldWithItsRightsAndWithoutItsSecret) {
  const std::string admin = token("admin", Role::Admin);
  std::vector<std::string> told;
  options.on_write = [](const AdminWrite&) {};
  options.on_change = [&told] {
    return [&told](const AdminWrite& write) {
      told.push_back(std::string{write.command} + " " + std::string{write.what} + ": " + std::string{write.before.value_or("nothing")} +
                     " -> " + std::string{write.after} + " by " + write.caller.token);
    };
  };
  with_api([&] {
    EXPECT_THAT(say(post("token-add", admin, R"({"name":"b","role":"operator","group":"billing"})")), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(say(post("token-add", admin, R"({"name":"b","role":"viewer"})")), HasSubstr("there is a token"));
    EXPECT_THAT(say(post("token-add", admin, R"({"name":"c\n2026-01-01T00:00:00.000Z info","role":"worker"})")),
                HasSubstr("the name must"));
    EXPECT_THAT(say(post("token-add", admin, R"({"name":"c","role":"worker"})")), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(say(post("token-remove", admin, R"({"name":"b"})")), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(say(post("token-remove", admin, R"({"name":"b"})")), HasSubstr("no token"));
  });
  EXPECT_THAT(
      told, testing::ElementsAre("token-add b operator billing: (none) -> role=operator group=billing by admin",
                                 "token-add b viewer: nothing ->  by admin",
                                 R"(token-add c\x0a2026-01-01T00:00:00.000Z info worker: nothing ->  by admin)",
                                 "token-add c worker: (none) -> role=worker by admin",
                                 "token-remove b: role=operator group=billing -> (none) by admin", "token-remove b: nothing ->  by admin"));
}

TEST_F(Dial, ARemovedTokenEndsItsConnections) {
  const std::string secret = token("a", Role::Operator);
  const std::string admin = token("admin", Role::Admin);
  with_api([&] {
    const auto client = api::connect(remote(secret), 100s);
    ASSERT_TRUE((*client)->call("read", {}).has_value());
    EXPECT_THAT(say(post("token-remove", admin, R"({"name":"admin"})")), HasSubstr("yourself"));
    EXPECT_THAT(say(post("token-remove", admin, R"({"name":"a"})")), StartsWith("HTTP/1.1 200 "));
    const auto refused = (*client)->call("read", {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(say(post("read", secret, {})), StartsWith("HTTP/1.1 401 "));
  });
}

TEST_F(Dial, ErrorsOfTheConnectionAreThoseOfTheFirstCall) {
  with_api([&] {
    const auto unknown = api::connect(remote("rondo_wrong"), 100s);
    const auto refused = (*unknown)->call("read", {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), StatusCode::PermissionDenied);
    EXPECT_THAT(std::string{refused.error().message()}, AllOf(HasSubstr(http_->endpoint()), HasSubstr("the token is unknown")));
  });
  const UniqueFd bound = http::listen_at("127.0.0.1", 0).value();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string url = "http://" + http::endpoint_text(address);
  // It accepts, because the kernel does, and never answers.
  const auto silent = api::connect({.url = url, .token = "t", .ca_file = {}, .patience = 100ms}, 100s);
  const auto unanswered = (*silent)->call("read", {});
  ASSERT_FALSE(unanswered.has_value());
  EXPECT_EQ(unanswered.error().code(), StatusCode::Unavailable);
  // TLS with a server that speaks none, which says nothing.
  const auto mute = api::connect({.url = "https" + url.substr(4), .token = "t", .ca_file = {}, .patience = 100ms}, 100s);
  EXPECT_EQ((*mute)->call("read", {}).error().code(), StatusCode::Unavailable);
}

TEST_F(Dial, AServerThatDoesNotAnswerIsLeft) {
  const UniqueFd bound = http::listen_at("127.0.0.1", 0).value();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto client = api::connect({.url = "http://" + http::endpoint_text(address), .token = "t", .ca_file = {}, .patience = 1ms}, 100s);
  const auto left = (*client)->call("read", {});
  ASSERT_FALSE(left.has_value());
  EXPECT_EQ(left.error().code(), StatusCode::Unavailable);
  EXPECT_THAT(std::string{left.error().message()}, HasSubstr(http::endpoint_text(address)));
  EXPECT_EQ(Remote{}.patience, limits::kDialTime);
  // Destroyed while it connects: it does not wait for the time.
  static_cast<void>(api::connect({.url = "http://" + http::endpoint_text(address), .token = "t", .ca_file = {}, .patience = 1000s}, 1000s));
}

TEST(ReadRemote, AUrlThatIsNoneOrShowsTheTokenIsRefused) {
  TemporaryFolder folder;
  std::ofstream(folder.file("token")) << "rondo_abc\n";
  for (const char* const url :
       {"https://jobs.example.net", "https://jobs.example.net:8700/", "http://127.0.0.1:8700", "http://[::1]:1", "http://localhost:1"}) {
    const Result<Remote> remote = read_remote(url, folder.file("token"), {});
    EXPECT_TRUE(remote.has_value()) << url << remote.error().to_string();
    EXPECT_EQ(remote->token, "rondo_abc");
  }
  for (const char* const url : {"", "jobs", "ftp://h", "http://jobs.example.net", "http://127.0.0.1.example.net", "https://h/path",
                                "https://user@h", "https://h?x", "https://h#x", "http://10.0.0.1:1"})
    EXPECT_FALSE(read_remote(url, folder.file("token"), {}).has_value()) << url;
  std::ofstream(folder.file("none")) << "a token with\tblanks\n";
  EXPECT_FALSE(read_remote("https://h", folder.file("none"), {}).has_value());
  EXPECT_FALSE(read_remote("https://h", folder.file("absent"), {}).has_value());
  EXPECT_FALSE(read_remote("https://h", folder.file("token"), folder.file("absent")).has_value());
}

}  // namespace
}  // namespace rondo::api
