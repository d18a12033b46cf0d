// The table of sessions with a clock that the test moves, and what a request of a browser says about its page.
#include "api/sessions.h"

#include <gmock/gmock.h>

#include "api/browser.h"
#include "rondo/sched/sim_clock.h"

namespace rondo::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Sessions : public testing::Test {
 protected:
  SessionSecrets begin(const std::string& token = "digest") { return sessions_.begin(token).value(); }
  const api::Sessions::Session* find(const SessionSecrets& secrets) { return sessions_.find(secrets.cookie, secrets.key); }

  SimClock clock_;
  api::Sessions sessions_{clock_};
};

TEST_F(Sessions, ASecretOf256BitsFindsItsToken) {
  const SessionSecrets one = begin("one");
  const SessionSecrets other = begin("other");
  EXPECT_EQ(one.cookie.size(), 64U);
  EXPECT_EQ(one.key.size(), 64U);
  EXPECT_NE(one.cookie, other.cookie);
  EXPECT_NE(one.key, one.cookie);
  ASSERT_NE(find(one), nullptr);
  EXPECT_EQ(find(one)->token, "one");
  EXPECT_EQ(find(other)->token, "other");
  for (const std::string& wrong : {std::string{}, one.cookie.substr(1), one.cookie + "0", std::string(64, '0'), std::string(5000, 'x')})
    EXPECT_EQ(sessions_.find(wrong, one.key), nullptr) << wrong;
}

TEST_F(Sessions, ACookieWithoutItsKeyFindsNone) {
  const SessionSecrets one = begin();
  const SessionSecrets other = begin();
  for (const std::string& wrong : {std::string{}, other.key, one.cookie, one.key + "0", one.key.substr(1)})
    EXPECT_EQ(sessions_.find(one.cookie, wrong), nullptr) << wrong;
  EXPECT_NE(find(one), nullptr);
}

TEST_F(Sessions, OneThatEndedIsNotFoundAndItsStreamsAreOver) {
  const SessionSecrets secret = begin();
  const std::shared_ptr<Usage> usage = find(secret)->usage;
  EXPECT_GT(usage->until, clock_.now());
  sessions_.end("unknown");
  sessions_.end(secret.cookie);
  EXPECT_EQ(find(secret), nullptr);
  EXPECT_LE(usage->until, clock_.now());
  EXPECT_EQ(sessions_.size(), 0U);
}

TEST_F(Sessions, OneEndsWithoutCallsAndInAnyCaseAfterAWeek) {
  const SessionSecrets used = begin();
  const SessionSecrets unused = begin();
  clock_.advance(limits::kApiSessionIdle - 1ns);
  EXPECT_NE(find(used), nullptr);
  clock_.advance(1ns);
  EXPECT_EQ(find(unused), nullptr);
  const Instant end = clock_.now() - limits::kApiSessionIdle + limits::kApiSessionTime;
  for (; clock_.now() + 1h < end; clock_.advance(1h)) ASSERT_NE(find(used), nullptr);
  clock_.advance_to(end - 1ns);
  ASSERT_NE(find(used), nullptr);
  EXPECT_EQ(find(used)->usage->until, end);
  clock_.advance(1ns);
  EXPECT_EQ(find(used), nullptr);
}

TEST_F(Sessions, TheOneUnusedForTheLongestTimeGivesWay) {
  const SessionSecrets first = begin();
  clock_.advance(1s);
  const SessionSecrets second = begin();
  clock_.advance(1s);
  for (std::size_t i = 2; i < limits::kApiSessions; ++i) begin();
  clock_.advance(1s);
  EXPECT_NE(find(first), nullptr);
  begin();
  EXPECT_EQ(sessions_.size(), limits::kApiSessions);
  EXPECT_NE(find(first), nullptr);
  EXPECT_EQ(find(second), nullptr);
}

TEST_F(Sessions, ATokenWithManyEndsNoSessionOfAnotherOne) {
  const SessionSecrets other = begin("other");
  clock_.advance(1s);
  for (std::size_t i = 0; i < 2 * limits::kApiSessions; ++i) begin("many");
  EXPECT_EQ(sessions_.size(), limits::kApiSessions);
  EXPECT_NE(find(other), nullptr);
}

TEST_F(Sessions, ThoseWhoseTimeIsOverGiveWayFirst) {
  for (std::size_t i = 1; i < limits::kApiSessions; ++i) begin();
  clock_.advance(limits::kApiSessionIdle);
  const SessionSecrets kept = begin();
  begin();
  EXPECT_EQ(sessions_.size(), 2U);
  EXPECT_NE(find(kept), nullptr);
}

TEST_F(Sessions, APlaceIsFreeAgainWhenItsCallHasEnded) {
  const std::shared_ptr<Usage> usage = find(begin())->usage;
  for (const auto& [is_stream, most] : {std::pair{true, limits::kApiSessionStreams}, std::pair{false, limits::kApiSessionCalls}}) {
    std::vector<Place> places;
    for (std::size_t i = 0; i < most; ++i) places.push_back(place_in(usage, is_stream).value());
    Place copy = places.back();
    const Result<Place> refused = place_in(usage, is_stream);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), StatusCode::ResourceExhausted);
    EXPECT_THAT(std::string{refused.error().message()}, HasSubstr(std::to_string(most)));
    places.pop_back();
    EXPECT_FALSE(place_in(usage, is_stream).has_value()) << "a copy holds the place";
    copy.reset();
    EXPECT_TRUE(place_in(usage, is_stream).has_value());
  }
}

http::Request request_of(std::string method, std::vector<http::Field> fields, bool is_secure = false) {
  http::Request request;
  request.method = std::move(method);
  request.fields = std::move(fields);
  request.fields.push_back({"Host", "h:1"});
  request.is_secure = is_secure;
  return request;
}

TEST(SessionCookies, ThoseOfTheNameAreFoundAmongOthers) {
  const auto cookies = [](std::vector<http::Field> fields, bool is_secure = false) {
    const http::Request request = request_of("GET", std::move(fields), is_secure);
    std::vector<std::string> found;
    for (const std::string_view one : session_cookies(request)) found.emplace_back(one);
    return found;
  };
  EXPECT_THAT(cookies({}), IsEmpty());
  EXPECT_THAT(cookies({{"Cookie", "a=1; rondo_session_1=x;b"}}), ElementsAre("x"));
  EXPECT_THAT(cookies({{"cookie", "rondo_session_1=x=y"}}), ElementsAre("x=y"));
  EXPECT_THAT(cookies({{"Cookie", "Rondo_session_1=x; xrondo_session_1=x; rondo_session_1; rondo_session=x; rondo_session_2=x"}}),
              IsEmpty());
  // Another port of the host may have set more of them.
  EXPECT_THAT(cookies({{"Cookie", "rondo_session_1=x; rondo_session_1=y"}}), ElementsAre("x", "y"));
  EXPECT_THAT(cookies({{"Cookie", "rondo_session_1=x"}, {"Cookie", "rondo_session_1=y"}}), ElementsAre("x", "y"));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "rondo_session_1=x; ";
  EXPECT_THAT(cookies({{"Cookie", many}}), SizeIs(kSessionCookies));
  // What came without TLS does not count over TLS, nor the other way round.
  EXPECT_THAT(cookies({{"Cookie", "__Host-rondo_session_1=s; rondo_session_1=p"}}, true), ElementsAre("s"));
  EXPECT_THAT(cookies({{"Cookie", "__Host-rondo_session_1=s; rondo_session_1=p"}}), ElementsAre("p"));
}

TEST(SessionCookies, TheKeyIsThatOfOneField) {
  EXPECT_EQ(session_key(request_of("GET", {})), "");
  EXPECT_EQ(session_key(request_of("GET", {{"rondo-session-key", "k"}})), "k");
  EXPECT_EQ(session_key(request_of("GET", {{"Rondo-Session-Key", "k"}, {"Rondo-Session-Key", "k"}})), "");
}

TEST(SessionCookies, NoScriptAndNoOtherSiteHasIt) {
  const http::Field plain = set_cookie(request_of("POST", {}), "x");
  EXPECT_EQ(plain.name, "Set-Cookie");
  EXPECT_EQ(plain.value, "rondo_session_1=x; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(set_cookie(request_of("POST", {}, true), "x").value, "__Host-rondo_session_1=x; Path=/; HttpOnly; SameSite=Strict; Secure");
  EXPECT_EQ(set_cookie(request_of("POST", {}), {}).value, "rondo_session_1=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
}

TEST(SessionCookies, ARequestOfAnotherPageIsForeign) {
  const auto is_own = [](const std::string& method, std::vector<http::Field> fields, bool is_secure = false) {
    return why_foreign(request_of(method, std::move(fields), is_secure), false).empty();
  };
  for (const char* const method : {"POST", "DELETE"}) {
    EXPECT_TRUE(is_own(method, {{"Origin", "http://h:1"}}));
    EXPECT_TRUE(is_own(method, {{"origin", "http://h:1"}, {"sec-fetch-site", "same-origin"}}));
    EXPECT_TRUE(is_own(method, {{"Origin", "https://h:1"}}, true));
    EXPECT_FALSE(is_own(method, {}));
    EXPECT_FALSE(is_own(method, {{"Sec-Fetch-Site", "same-origin"}}));
    EXPECT_FALSE(is_own(method, {{"Origin", "http://h:1"}}, true));
    for (const char* const origin : {"https://h:1", "http://h:2", "http://h", "http://h:11", "http://H:1", "http://h:1/", "null", ""})
      EXPECT_FALSE(is_own(method, {{"Origin", origin}})) << origin;
    EXPECT_FALSE(is_own(method, {{"Origin", "http://h:1"}, {"Origin", "http://h:1"}}));
    for (const char* const site : {"cross-site", "same-site", "none", ""})
      EXPECT_FALSE(is_own(method, {{"Origin", "http://h:1"}, {"Sec-Fetch-Site", site}})) << site;
  }
  for (const char* const site : {"same-origin", "none"}) EXPECT_TRUE(is_own("GET", {{"Sec-Fetch-Site", site}})) << site;
  for (const char* const site : {"cross-site", "same-site", ""}) EXPECT_FALSE(is_own("GET", {{"Sec-Fetch-Site", site}})) << site;
  EXPECT_TRUE(is_own("GET", {}));
  EXPECT_FALSE(is_own("GET", {{"Origin", "http://other"}}));
  EXPECT_THAT(why_foreign(request_of("POST", {}), true), IsEmpty());
  EXPECT_THAT(why_foreign(request_of("POST", {{"Origin", "http://other"}}), true), Not(IsEmpty()));
}

}  // namespace
}  // namespace rondo::api
