// RequestParser: reads HTTP/1.1 and HTTP/1.0 requests out of a stream of bytes, without a socket. Boost.Beast's parser reads the elements;
// this class gives it whole elements only, and refuses before and after what Beast of Boost 1.81 accepts: two framings of one body, an
// encoding other than chunked, chunks in HTTP/1.0, trailers, and lines without a limit. docs/adr/0029-http.md.
//
// Refused are also: a second Host, Content-Length or Transfer-Encoding, a request of HTTP/1.1 without Host, control characters, a CR or LF
// without the other, folded lines, a target that is no path, and a Content-Length that is not digits alone.
// "Expect: 100-continue" is ignored: RFC 9110 lets the server read the body without it, and the client sends the body after a short wait.
// Any other expectation gets 417.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace rondo::http {

/// Returns the most bytes of the body of a request, of which all but the body was read.
using BodyLimit = std::function<std::size_t(const Request& head)>;

/// Why a request is refused: the status of the answer, and a text that names the part of the request and the place.
struct Refusal {
  unsigned status = 0;
  std::string why;
};

/// One connection's requests, one after another. Not thread-safe. Costs no memory between two requests.
class RequestParser {
 public:
  enum class Progress : std::uint8_t {
    Start,    // No byte of a request was read.
    Head,     // A part of the request line and the header was read.
    Body,     // The header was read.
    Done,     // take() returns the request.
    Refused,  // Nothing more is read: see refusal().
  };

  /// 'body_limit' must outlive the parser; empty: limits::kHttpBodyBytes for each request. 'peer' is that of each request.
  explicit RequestParser(const BodyLimit& body_limit, std::string peer = {});
  ~RequestParser();

  /// Request::is_secure of requests whose header ends from now on.
  void set_secure(bool is_secure) noexcept { is_secure_ = is_secure; }
  /// Reads from the front of 'bytes' to the end of a request at most, and returns how many bytes it took: all, unless Done or Refused.
  /// O(bytes). An exception of the limit's function leaves it; the parser can then only be destroyed.
  std::size_t put(std::string_view bytes);
  Progress progress() const noexcept { return progress_; }
  /// Valid when Refused.
  const Refusal& refusal() const noexcept { return refusal_; }
  /// Returns the request and begins the next one. Only when Done (assert).
  Request take();
  /// Drops the current request and its memory.
  void clear();
  /// Memory held for the current request, in bytes.
  std::size_t held() const noexcept;

 private:
  class Beast;
  enum class Part : std::uint8_t { Line, ChunkLine, Body };

  std::size_t take_head(std::string_view bytes);
  std::size_t take_chunk_line(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  const char* wrong_with(char byte) const noexcept;
  bool end_of_line();
  void parse_head();
  void parse_chunk_line();
  bool give(std::string_view element, std::string_view what);
  void refuse(unsigned status, std::string why);

  const BodyLimit& body_limit_;
  const std::string peer_;
  bool is_secure_ = false;
  Progress progress_ = Progress::Start;
  Part part_ = Part::Line;
  std::string element_;         // The header, or the lines before a chunk, as far as they were read.
  std::size_t line_begin_ = 0;  // Where the current line of 'element_' begins.
  bool skipped_line_ = false;   // An empty line before the request was ignored.
  bool after_chunk_ = false;    // The current line must be the empty one that ends a chunk.
  bool last_chunk_ = false;     // The line of the last chunk was read.
  std::uint64_t left_ = 0;      // Bytes to come of the body, or of the chunk.
  Refusal refusal_;
  std::unique_ptr<Beast> beast_;  // From the end of the header to the end of the request.
};

}  // namespace rondo::http
