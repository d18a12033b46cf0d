// RequestParser: which requests are read, and which are refused with what. Method: tables of bytes, each given at once, byte by byte and in
// pieces. Goal: every shape of request smuggling that Beast of Boost 1.81 lets through is refused, and each limit holds to the byte.
#include "http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "http/limits.h"

namespace rondo::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Progress = RequestParser::Progress;

const BodyLimit kNoRoutes = {};

/// Gives 'bytes' in pieces of at most 'piece'. Returns how many bytes were taken.
std::size_t put_in_pieces(RequestParser& parser, std::string_view bytes, std::size_t piece) {
  std::size_t taken = 0;
  while (taken < bytes.size() && parser.progress() != Progress::Done && parser.progress() != Progress::Refused) {
    taken += parser.put(bytes.substr(taken, piece));
  }
  return taken;
}

Request read(std::string_view bytes, std::size_t piece = SIZE_MAX) {
  RequestParser parser{kNoRoutes};
  EXPECT_EQ(put_in_pieces(parser, bytes, piece), bytes.size());
  EXPECT_EQ(parser.progress(), Progress::Done) << parser.refusal().why << " in " << bytes;
  return parser.progress() == Progress::Done ? parser.take() : Request{};
}

Refusal refusal_of(std::string_view bytes, std::size_t piece = SIZE_MAX) {
  RequestParser parser{kNoRoutes};
  put_in_pieces(parser, bytes, piece);
  EXPECT_EQ(parser.progress(), Progress::Refused) << bytes;
  return parser.refusal();
}

std::string post(std::string_view fields, std::string_view body = "") {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + std::string{fields} + "\r\n" + std::string{body};
}

TEST(RequestParser, ARequestIsReadInAnyPieces) {
  const std::string bytes = "POST /a/b?c=d HTTP/1.1\r\nHost: h:80\r\nx-Name:  two words \r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Request request = read(bytes, piece);
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/a/b?c=d");
    EXPECT_EQ(request.path(), "/a/b");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(request.keep_alive);
    ASSERT_NE(request.field("X-NAME"), nullptr);
    EXPECT_EQ(*request.field("X-NAME"), "two words");
    EXPECT_EQ(request.field("absent"), nullptr);
  }
}

TEST(RequestParser, AChunkedBodyIsReadInAnyPieces) {
  const std::string bytes = post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n1;a=b\r\n \r\n005\r\nworld\r\n0\r\n\r\n");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(read(bytes, piece).body, "hello world");
}

TEST(RequestParser, ABodyMayHaveAnyBytes) {
  const std::string body{"\0\r\n\r\n\xff\n", 7};
  EXPECT_EQ(read(post("Content-Length: 7\r\n", body)).body, body);
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "7\r\n" + body + "\r\n0\r\n\r\n"), 1).body, body);
}

TEST(RequestParser, PipelinedRequestsAreReadOneByOne) {
  const std::string bytes = post("Content-Length: 1\r\n", "a") + "\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n" +
                            post("Transfer-Encoding: chunked\r\n", "1\r\nb\r\n0\r\n\r\n");
  RequestParser parser{kNoRoutes};
  std::vector<std::string> seen;
  for (std::string_view rest = bytes; !rest.empty();) {
    rest.remove_prefix(parser.put(rest));
    ASSERT_EQ(parser.progress(), Progress::Done) << parser.refusal().why;
    const Request request = parser.take();
    seen.push_back(request.target + request.body);
  }
  EXPECT_THAT(seen, ElementsAre("/xa", "/y", "/xb"));
  EXPECT_EQ(parser.progress(), Progress::Start);
  EXPECT_EQ(parser.held(), std::string{}.capacity()) << "no memory is held between requests";
}

TEST(RequestParser, KeepAliveFollowsTheVersionAndTheField) {
  EXPECT_TRUE(read("GET / HTTP/1.1\r\nHost: h\r\n\r\n").keep_alive);
  EXPECT_FALSE(read("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").keep_alive);
  EXPECT_FALSE(read("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(read("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
}

TEST(RequestParser, AnExpectationOf100ContinueIsIgnored) {
  EXPECT_EQ(read(post("Expect: 100-continue\r\nContent-Length: 1\r\n", "a")).body, "a");
  EXPECT_EQ(refusal_of(post("Expect: tea\r\n")).status, 417U);
}

struct Malformed {
  std::string bytes;
  unsigned status;
  std::string why;
};

/// What Beast of Boost 1.81 accepts, and what other programs read in another way.
std::vector<Malformed> bodies_of_two_meanings() {
  return {
      // What Beast of Boost 1.81 accepts.
      {post("Transfer-Encoding: gzip\r\nContent-Length: 3\r\n", "abc"), 400, "the only encoding here is 'chunked'"},
      {post("Content-Length: 3\r\nTransfer-Encoding: gzip\r\n", "abc"), 400, "Transfer-Encoding"},
      {post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding: identity\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding: Chunked\r\n", "0\r\n\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding:\r\n", "0\r\n\r\n"), 400, "the only encoding here is 'chunked'"},
      {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"), 400, "header byte"},
      {post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400, "header field 2, Transfer-Encoding"},
      {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400, "header byte"},
      {post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "abc"), 400, "header byte"},
      {post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc"), 400, "header byte"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0 has no such field"},
      {post("Transfer-Encoding: chunked\r\n", "0\r\nConnection: close\r\n\r\n"), 400, "a trailer, which is not supported"},
      {post("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\nContent-Length: 9\r\n\r\n"), 400, "chunk at body byte 1, byte 0: a trailer"},
      {post("Transfer-Encoding: chunked\r\n", "1;" + std::string(300, 'e') + "\r\na\r\n0\r\n\r\n"), 400, "the line is too long"},
      {post("Transfer-Encoding: chunked\r\n", "0;" + std::string(300, 'e') + "\r\n\r\n"), 400, "the line is too long"},
      {post("Transfer-Encoding: chunked\r\n", "1;a\nb\r\na\r\n0\r\n\r\n"), 400, "an LF without CR"},
      // Two lengths, and numbers that other programs read in another way.
      {post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400, "header field 3, Content-Length: the field is there twice"},
      {post("Content-Length: 3\r\ncontent-length: 4\r\n", "abcd"), 400, "header byte"},
      {post("Content-Length: 3, 3\r\n", "abc"), 400, "the value is not a number in digits"},
      {post("Content-Length: +3\r\n", "abc"), 400, "header byte 27"},
      {post("Content-Length: -1\r\n"), 400, "header byte 27"},
      {post("Content-Length: 0x3\r\n", "abc"), 400, "header byte 27"},
      {post("Content-Length: 3 3\r\n", "abc"), 400, "header byte 27"},
      {post("Content-Length:\r\n", "abc"), 400, "header byte 27"},
      {post("Content-Length: 18446744073709551617\r\n", "abc"), 400, "header byte 27"},
      {post("Content-Length : 3\r\n", "abc"), 400, "header byte 27"},
      {post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400, "header byte 27"},
      // Chunks whose size is none, or is wrong.
      {post("Transfer-Encoding: chunked\r\n", "x\r\n"), 400, "chunk at body byte 0"},
      {post("Transfer-Encoding: chunked\r\n", "\r\n"), 400, "chunk at body byte 0"},
      {post("Transfer-Encoding: chunked\r\n", "0x1\r\na\r\n0\r\n\r\n"), 400, "chunk at body byte 0"},
      {post("Transfer-Encoding: chunked\r\n", " 1\r\na\r\n0\r\n\r\n"), 400, "chunk at body byte 0"},
      {post("Transfer-Encoding: chunked\r\n", "-1\r\na\r\n"), 400, "chunk at body byte 0"},
      {post("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n"), 400, "the chunk is longer than its size"},
      {post("Transfer-Encoding: chunked\r\n", "2\r\na\r\n0\r\n\r\n"), 400, "chunk at body byte 2, byte 0: an LF without CR"},
      {post("Transfer-Encoding: chunked\r\n", "1\na\r\n0\r\n\r\n"), 400, "an LF without CR"},
      {post("Transfer-Encoding: chunked\r\n", "11111111111111111\r\na\r\n"), 400, "chunk at body byte 0"},
      {post("Transfer-Encoding: chunked\r\n", "1;=x\r\na\r\n0\r\n\r\n"), 400, "chunk at body byte 0"},
  };
}

std::vector<Malformed> malformed_headers() {
  const std::string nul{"\0", 1};
  return {
      // Bytes and lines.
      {"GET / HTTP/1.1\nHost: h\n\n", 400, "header byte 14: an LF without CR"},
      {"GET / HTTP/1.1\rHost: h\r\r", 400, "header byte 15: a CR without LF"},
      {post("A: b\rContent-Length: 3\r\n", "abc"), 400, "a CR without LF"},
      {post("A: b\nContent-Length: 3\r\n", "abc"), 400, "an LF without CR"},
      {post("A: b" + nul + "\r\n"), 400, "header byte 31: a control character"},
      {post("A: \x1b[2J\r\n"), 400, "a control character"},
      {post("A: b\x7f\r\n"), 400, "a control character"},
      {post("A: b\r\n c\r\n"), 400, "a folded line"},
      {post("A: b\r\n\tc\r\n"), 400, "a folded line"},
      {"GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400, "a folded line"},
      {post("no colon\r\n"), 400, "header byte 27"},
      {post(": nameless\r\n"), 400, "header byte 27"},
      {post("a b: c\r\n"), 400, "header byte 27"},
      {post("\x80: c\r\n"), 400, "header byte 27"},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400, "two empty lines"},
      {"\x16\x03\x01\x02", 400, "header byte 0: a control character"},  // TLS.
      // The request line.
      {"GET\r\n\r\n", 400, "header byte"},
      {"GET /\r\n\r\n", 400, "header byte"},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 400, "header byte"},
      {"GET / HTTP/1.2\r\nHost: h\r\n\r\n", 400, "header byte"},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400, "header byte"},
      {"GET / http/1.1\r\nHost: h\r\n\r\n", 400, "header byte"},
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400, "header byte"},
      {"GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, "header byte"},
      {" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400, "header byte"},
      {"PRI * HTTP/2.0\r\n\r\n", 400, "header byte"},
      {"GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "a byte that is not ASCII"},
      {"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, "the target is no path"},
      {"GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400, "the target is no path"},
      // Hosts.
      {"GET / HTTP/1.1\r\n\r\n", 400, "the header has no Host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "header field 2, Host: the field is there twice"},
      {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400, "header field 2, host: the field is there twice"},
      {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400, "the value is no host"},
      {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400, "the value is no host"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "the value is no host"},
      // Limits.
      {post("A: " + std::string(limits::kHttpHeaderBytes, 'a') + "\r\n"), 431, "are longer than 16384 bytes"},
      {"GET /" + std::string(limits::kHttpHeaderBytes, 'a') + " HTTP/1.1\r\n", 431, "are longer than 16384 bytes"},
      {post("Content-Length: 65537\r\n"), 413, "the body is longer than 65536 bytes, the limit of /x"},
      {post("Transfer-Encoding: chunked\r\n", "10001\r\n"), 413, "the body is longer than 65536 bytes"},
      {post("Transfer-Encoding: chunked\r\n", "1\r\na\r\nffffffffffffffff\r\n"), 413, "the body is longer"},
      // Methods.
      {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501, "the method is not known here"},
      {"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 501, "the method is not known here"},
      {"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 501, "the method is not known here"},
      {"get / HTTP/1.1\r\nHost: h\r\n\r\n", 501, "the method is not known here"},
  };
}

TEST(RequestParser, MalformedRequestsAreRefusedWithThePlace) {
  std::vector<Malformed> all = bodies_of_two_meanings();
  std::ranges::move(malformed_headers(), std::back_inserter(all));
  for (const Malformed& one : all) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, SIZE_MAX}) {
      const Refusal refusal = refusal_of(one.bytes, piece);
      EXPECT_EQ(refusal.status, one.status) << one.bytes << ": " << refusal.why;
      EXPECT_THAT(refusal.why, HasSubstr(one.why)) << one.bytes;
    }
  }
}

TEST(RequestParser, AHeaderOfTheLimitIsReadAndALongerOneIsRefused) {
  const std::size_t rest = post("A: \r\n").size();
  read(post("A: " + std::string(limits::kHttpHeaderBytes - rest, 'a') + "\r\n"));
  EXPECT_EQ(refusal_of(post("A: " + std::string(limits::kHttpHeaderBytes - rest + 1, 'a') + "\r\n")).status, 431U);
}

TEST(RequestParser, AsManyFieldsAsTheLimitAreReadAndOneMoreIsRefused) {
  std::string fields;
  for (std::size_t i = 1; i < limits::kHttpFields; ++i) fields += "A: b\r\n";
  EXPECT_EQ(read(post(fields)).fields.size(), limits::kHttpFields);
  const Refusal refusal = refusal_of(post(fields + "A: b\r\n"));
  EXPECT_EQ(refusal.status, 431U);
  EXPECT_THAT(refusal.why, HasSubstr("at most 100 fields"));
}

TEST(RequestParser, AChunkLineOfTheLimitIsReadAndALongerOneIsRefused) {
  const auto with_line = [](std::size_t bytes) {
    return post("Transfer-Encoding: chunked\r\n", "1;" + std::string(bytes - 4, 'e') + "\r\na\r\n0\r\n\r\n");
  };
  EXPECT_EQ(read(with_line(limits::kHttpChunkLine)).body, "a");
  EXPECT_EQ(refusal_of(with_line(limits::kHttpChunkLine + 1)).status, 400U);
}

TEST(RequestParser, TheLimitOfABodyDependsOnItsHead) {
  const BodyLimit limit = [](const Request& head) { return head.target == "/large" ? std::size_t{100'000} : std::size_t{0}; };
  RequestParser large{limit};
  EXPECT_EQ(large.put("POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n"), 57U);
  EXPECT_EQ(large.progress(), Progress::Body);
  large.put(std::string(100'000, 'x'));
  EXPECT_EQ(large.progress(), Progress::Done);
  RequestParser none{limit};
  none.put("POST /none HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(none.refusal().status, 413U);
  const BodyLimit of_secret = [](const Request& head) {
    const std::string* const secret = head.field("secret");
    return secret != nullptr && *secret == "x" && head.method == "POST" && head.peer == "here" ? std::size_t{5} : std::size_t{0};
  };
  for (const bool knows : {true, false}) {
    RequestParser parser{of_secret, "here"};
    parser.put(std::string{"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nSecret: "} + (knows ? "x" : "y") + "\r\n\r\n");
    EXPECT_EQ(parser.progress(), knows ? Progress::Body : Progress::Refused);
  }
  RequestParser bodyless{limit};
  bodyless.put("POST /none HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(bodyless.progress(), Progress::Done);
}

TEST(RequestParser, NothingIsTakenAfterTheEndOfARequest) {
  RequestParser parser{kNoRoutes};
  const std::string bytes = post("Content-Length: 3\r\n", "abcGET");
  EXPECT_EQ(parser.put(bytes), bytes.size() - 3);
  EXPECT_EQ(parser.put("more"), 0U);
  EXPECT_EQ(parser.take().body, "abc");
}

}  // namespace
}  // namespace rondo::http
