#include "http/message.h"

#include <ostream>  // Boost 1.81 uses it in string_view.hpp and does not include it.

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <ctime>

namespace rondo::http {

namespace {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_token(char c) noexcept {
  const char small = lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

bool is_in_value(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

/// The form of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT". Rondo's programs never leave the locale "C".
std::string date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  std::array<char, 64> text{};
  ::gmtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

/// True of parameters such as "; q=0.000".
bool has_no_quality(std::string_view parameters) noexcept {
  const std::size_t at = parameters.find("q=0");
  return at != std::string_view::npos && trimmed(parameters.substr(at + 3)).find_first_not_of(".0") == std::string_view::npos;
}

bool has_body(unsigned status) noexcept { return status >= 200 && status != 204 && status != 304; }

}  // namespace

bool equals_without_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool is_field(std::string_view name, std::string_view value) noexcept {
  return !name.empty() && std::ranges::all_of(name, is_token) && std::ranges::all_of(value, is_in_value);
}

const std::string* Request::field(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(fields, [name](const Field& one) { return equals_without_case(one.name, name); });
  return found == fields.end() ? nullptr : &found->value;
}

bool Request::lists(std::string_view name, std::string_view token) const noexcept {
  const std::string* const value = field(name);
  for (std::string_view rest = value == nullptr ? std::string_view{} : *value; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t end = std::min(item.find(';'), item.size());
    if (equals_without_case(trimmed(item.substr(0, end)), token) && !has_no_quality(item.substr(end))) return true;
  }
  return false;
}

Response text_response(unsigned status, std::string_view text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::string{text} + "\n"};
}

std::string why_unsendable(const Response& response, bool begins_relay) {
  const unsigned status = response.status;
  if (begins_relay && status != 101 && status != 200) return "the status " + std::to_string(status) + " begins no relay";
  if (!begins_relay && (status < 200 || status > 599)) return "the status " + std::to_string(status) + " ends no request";
  if (!is_field("Content-Type", response.content_type)) return "the content type has control characters";
  for (const Field& field : response.fields) {
    if (!is_field(field.name, field.value)) return "the field '" + field.name + "' is malformed";
    for (const char* const own : {"Content-Length", "Transfer-Encoding", "Connection", "Date", "Content-Type"}) {
      if (equals_without_case(field.name, own)) return "the field '" + field.name + "' belongs to the server";
    }
  }
  return {};
}

std::string head_of(const Response& response, After after, std::int64_t seconds) {
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(response.status));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head.append(reason.data(), reason.size()).append("\r\nDate: ").append(date(seconds));
  if (!response.content_type.empty() && has_body(response.status)) head.append("\r\nContent-Type: ").append(response.content_type);
  if (has_body(response.status) && after != After::Relay) head.append("\r\nContent-Length: ").append(std::to_string(response.body.size()));
  for (const Field& field : response.fields) head.append("\r\n").append(field.name).append(": ").append(field.value);
  const char* const connection = response.status == 101 ? "Upgrade" : after == After::Request ? "keep-alive" : "close";
  return head.append("\r\nConnection: ").append(connection).append("\r\n\r\n");
}

}  // namespace rondo::http
