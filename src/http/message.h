// Request and Response: an HTTP request that a client sent, and what is sent back. Values without a thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::http {

/// A header field. Names are compared without case.
struct Field {
  std::string name;
  std::string value;
};

bool equals_without_case(std::string_view a, std::string_view b) noexcept;
/// Without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text) noexcept;
/// True if 'name' is a token of HTTP and 'value' has no control characters except tabs: the pair is safe in a header.
bool is_field(std::string_view name, std::string_view value) noexcept;

struct Request {
  std::string method;
  std::string target;      // Unchanged: a path that begins with '/' and may have a query, or "*".
  bool is_http_11 = true;  // Otherwise HTTP/1.0.
  bool keep_alive = true;  // The client can send another request on the connection.
  std::vector<Field> fields;
  std::string body;
  std::string peer;        // "127.0.0.1:4242" or "[::1]:4242".
  bool is_secure = false;  // It came over TLS.

  /// The target up to '?'.
  std::string_view path() const noexcept { return std::string_view{target}.substr(0, target.find('?')); }
  /// The value of the first field of this name, or null. O(fields).
  const std::string* field(std::string_view name) const noexcept;
  /// True if the first field of this name is a list separated by commas that has 'token', and not with the quality 0 ("gzip;q=0").
  bool lists(std::string_view name, std::string_view token) const noexcept;
};

/// What the handler answers. The server adds Date, Content-Length and Connection.
struct Response {
  unsigned status = 200;                          // From 200 to 599; of a relay 101 or 200.
  std::string content_type = "application/json";  // Empty: the answer has no such field.
  std::string body = {};
  std::vector<Field> fields = {};
  bool is_public = false;  // Sent to every caller, signed in or not: it counts against ServerOptions::public_memory.
};

/// A short plain text.
Response text_response(unsigned status, std::string_view text);
/// What follows on the connection after a response.
enum class After : std::uint8_t { Request, Close, Relay };

/// Which part of 'response' cannot be sent: its status, or a field that is malformed or belongs to the server. Empty if it can be sent.
std::string why_unsendable(const Response& response, bool begins_relay = false);

/// The bytes before the body. 'seconds' is the time since 1970, for the field Date. 'response' can be sent (why_unsendable).
std::string head_of(const Response& response, After after, std::int64_t seconds);

}  // namespace rondo::http
