// Fuzzes the parser of HTTP requests. The first byte chooses how the rest is split into pieces. For any input: the pieces do not change
// what is read; every request stays within the limits and has exactly one meaning for a reader that knows only RFC 9112; a refusal has a
// status and a reason; and after a refusal nothing more is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/limits.h"
#include "http/request_parser.h"

namespace {

using namespace rondo;
using http::RequestParser;
using Progress = RequestParser::Progress;

constexpr std::size_t kBody = 1000;

void must_hold(bool condition) {
  if (!condition) std::abort();
}

std::size_t fields_named(const http::Request& request, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(request.fields, [name](const http::Field& field) { return http::equals_without_case(field.name, name); }));
}

void check(const http::Request& request) {
  must_hold(!request.method.empty() && (request.target.front() == '/' || request.target == "*"));
  must_hold(request.body.size() <= kBody && request.fields.size() <= limits::kHttpFields);
  for (const http::Field& field : request.fields) must_hold(http::is_field(field.name, field.value));
  const std::size_t lengths = fields_named(request, "Content-Length");
  const std::size_t encodings = fields_named(request, "Transfer-Encoding");
  must_hold(lengths + encodings <= 1 && fields_named(request, "Host") <= 1);
  if (encodings == 1) must_hold(request.is_http_11 && *request.field("Transfer-Encoding") == "chunked");
  if (lengths == 1) must_hold(std::strtoull(request.field("Content-Length")->c_str(), nullptr, 10) == request.body.size());
  if (lengths + encodings == 0) must_hold(request.body.empty());
}

/// What was read, as text.
std::string read_all(std::string_view bytes, std::size_t piece) {
  const http::BodyLimit limit = [](const http::Request&) { return kBody; };
  RequestParser parser{limit};
  std::string read;
  while (!bytes.empty()) {
    const std::size_t taken = parser.put(bytes.substr(0, piece));
    must_hold(taken <= std::min(piece, bytes.size()));
    bytes.remove_prefix(taken);
    if (parser.progress() == Progress::Refused) {
      must_hold(parser.refusal().status >= 400 && !parser.refusal().why.empty());
      must_hold(parser.put("GET / HTTP/1.1\r\nHost: h\r\n\r\n") == 0);
      return read + std::to_string(parser.refusal().status) + parser.refusal().why;
    }
    must_hold(taken > 0);
    if (parser.progress() != Progress::Done) continue;
    const http::Request request = parser.take();
    check(request);
    read += request.method + request.target + request.body + "\n";
  }
  must_hold(parser.held() < 8 * limits::kHttpHeaderBytes + 64 * limits::kHttpFields + 4 * kBody);
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  must_hold(read_all(bytes, std::size_t{1} + data[0]) == read_all(bytes, SIZE_MAX));
  return 0;
}
