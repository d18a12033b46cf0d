// The console as answers to requests: which path has which file, the fields that keep the page to itself, and what is compressed. The
// expected texts are the files of web/dist, read by the test.
#include "console/console.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fstream>
#include <sstream>

namespace rondo::console {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

http::Request request_of(std::string path, std::vector<http::Field> fields = {}, std::string method = "GET") {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(path);
  request.fields = std::move(fields);
  return request;
}

std::string field_of(const http::Response& response, std::string_view name) {
  std::string value;
  for (const http::Field& field : response.fields) {
    if (field.name == name) value += field.value;
  }
  return value;
}

/// Tests run in the folder of the project.
std::string file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream("web/dist/" + name).rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::string unpacked(const std::string& gzip) {
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(std::size_t{64} << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  ::inflateEnd(&stream);
  return text;
}

class ConsolePage : public testing::Test {
 protected:
  http::Response get(std::string path, std::vector<http::Field> fields = {}) const {
    return console_.answer(request_of(std::move(path), std::move(fields)));
  }
  const Console console_;
};

TEST_F(ConsolePage, EachFileHasItsPathAndType) {
  for (const auto& [path, name, type] : {std::tuple{"/console/", "index.html", "text/html; charset=utf-8"},
                                         std::tuple{"/console/console.js", "console.js", "text/javascript; charset=utf-8"},
                                         std::tuple{"/console/console.css?1", "console.css", "text/css; charset=utf-8"},
                                         std::tuple{"/console/icon.svg", "icon.svg", "image/svg+xml"}}) {
    const http::Response response = get(path);
    EXPECT_EQ(response.status, 200U) << path;
    EXPECT_EQ(response.content_type, type);
    EXPECT_TRUE(response.body == file(name)) << name;
  }
}

TEST_F(ConsolePage, ItsAnswersTakeNoMemoryFromSignedInCallers) {
  for (const char* const path : {"/", "/console/", "/console/console.js"})
    EXPECT_TRUE(console_.answer(request_of(path, {})).is_public) << path;
}

TEST_F(ConsolePage, EachOtherPathIsThePage) {
  // Keys of rows have dots. There are no folders behind the paths: the dots lead nowhere.
  for (const char* const path : {"/console/jobs", "/console/tables/ROUTE_TABLE/10.1.0.0%2F16", "/console/a.b/c", "/console/jobs?at=1.js",
                                 "/console/none.js", "/console/..", "/console/../../etc/passwd", "/console/console.js/x.y"})
    EXPECT_TRUE(get(path).body == file("index.html")) << path;
}

TEST_F(ConsolePage, TheRootLeadsToThePage) {
  for (const char* const path : {"/", "/console"}) {
    EXPECT_TRUE(Console::serves(path));
    EXPECT_EQ(get(path).status, 302U);
    EXPECT_EQ(field_of(get(path), "Location"), "/console/");
  }
  for (const char* const path : {"/api/v1/read", "/consoles", "/index.html", ""}) EXPECT_FALSE(Console::serves(path)) << path;
}

TEST_F(ConsolePage, NothingElseMayLoadOrFrameIt) {
  for (const char* const path : {"/", "/console/", "/console/console.js", "/console/none.js"}) {
    const http::Response response = get(path);
    EXPECT_EQ(field_of(response, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
              "form-action 'none'; frame-ancestors 'none'");
    EXPECT_EQ(field_of(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(field_of(response, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(field_of(response, "Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(field_of(response, "X-Frame-Options"), "DENY");
    EXPECT_EQ(field_of(response, "Cache-Control"), "no-cache");
    EXPECT_EQ(http::why_unsendable(response), "");
  }
}

TEST_F(ConsolePage, ABrowserThatAcceptsItGetsGzip) {
  const http::Response response = get("/console/", {{"accept-encoding", "deflate, GZIP;q=0.5, br"}});
  EXPECT_EQ(field_of(response, "Content-Encoding"), "gzip");
  EXPECT_EQ(field_of(response, "Vary"), "Accept-Encoding");
  EXPECT_EQ(unpacked(response.body), file("index.html"));
  for (const char* const refused : {"", "br", "gzip;q=0", "gzip; q=0.000", "xgzip"}) {
    EXPECT_EQ(field_of(get("/console/", {{"Accept-Encoding", refused}}), "Content-Encoding"), "") << refused;
  }
}

TEST_F(ConsolePage, ABrowserThatHasTheFileGetsNoBody) {
  const std::string tag = field_of(get("/console/"), "ETag");
  EXPECT_THAT(tag, StartsWith("W/\""));
  EXPECT_NE(tag, field_of(get("/console/console.js"), "ETag"));
  for (const std::string& known : {tag, "\"x\", " + tag}) {
    const http::Response response = get("/console/", {{"If-None-Match", known}, {"Accept-Encoding", "gzip"}});
    EXPECT_EQ(response.status, 304U);
    EXPECT_THAT(response.body, IsEmpty());
    EXPECT_EQ(field_of(response, "ETag"), tag);
  }
  EXPECT_EQ(get("/console/", {{"If-None-Match", "\"x\""}}).status, 200U);
}

TEST_F(ConsolePage, OtherMethodsAreRefused) {
  // The server does not send the body of an answer to HEAD.
  EXPECT_EQ(console_.answer(request_of("/console/", {}, "HEAD")).body, file("index.html"));
  for (const char* const method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    const http::Response response = console_.answer(request_of("/console/", {}, method));
    EXPECT_EQ(response.status, 405U) << method;
    EXPECT_EQ(field_of(response, "Allow"), "GET, HEAD");
  }
}

}  // namespace
}  // namespace rondo::console
