#include "api/browser.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace rondo::api {

namespace {

/// The field's value with the host that the browser knows.
std::string_view host_of(const http::Request& request);

/// Over TLS the prefix keeps cookies away that another host, or a server without TLS, has set. All ports of a host share their cookies, so
/// the name has the port: a browser may be signed in to several daemons.
std::string cookie_name(const http::Request& request) {
  const std::string_view host = host_of(request);
  const std::size_t port = host.find_last_not_of("0123456789") + 1;
  std::string name = request.is_secure ? "__Host-rondo_session" : "rondo_session";
  if (port > 0 && port < host.size() && host[port - 1] == ':') name.append("_").append(host.substr(port));
  return name;
}

/// The value of the only field of this name; an empty one, which nothing equals, if there are several.
std::optional<std::string_view> only_field(const http::Request& request, std::string_view name) {
  std::optional<std::string_view> value;
  for (const http::Field& field : request.fields) {
    if (http::equals_without_case(field.name, name)) value = value ? std::string_view{} : std::string_view{field.value};
  }
  return value;
}

std::string_view host_of(const http::Request& request) { return only_field(request, "Host").value_or(""); }

}  // namespace

std::string_view session_key(const http::Request& request) { return only_field(request, "Rondo-Session-Key").value_or(""); }

std::vector<std::string_view> session_cookies(const http::Request& request) {
  const std::string name = cookie_name(request);
  std::vector<std::string_view> found;
  for (const http::Field& field : request.fields) {
    if (!http::equals_without_case(field.name, "Cookie")) continue;
    for (std::string_view rest = field.value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view pair = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || http::trimmed(pair.substr(0, equals)) != name) continue;
      if (found.size() < kSessionCookies) found.push_back(http::trimmed(pair.substr(equals + 1)));
    }
  }
  return found;
}

http::Field set_cookie(const http::Request& request, std::string_view secret) {
  std::string value = cookie_name(request) + "=" + std::string{secret} + "; Path=/; HttpOnly; SameSite=Strict";
  if (request.is_secure) value += "; Secure";
  if (secret.empty()) value += "; Max-Age=0";
  return {"Set-Cookie", std::move(value)};
}

std::string_view why_foreign(const http::Request& request, bool may_have_no_origin) {
  const bool is_reading = request.method == "GET" || request.method == "HEAD";
  const std::optional<std::string_view> site = only_field(request, "Sec-Fetch-Site");
  const bool is_typed = is_reading && site == "none";  // In the address bar.
  if (site && site != "same-origin" && !is_typed) return "the request is from a page of another site (Sec-Fetch-Site)";
  const std::optional<std::string_view> origin = only_field(request, "Origin");
  if (!origin) {
    return is_reading || may_have_no_origin ? std::string_view{} : "the field Origin is missing, without which a cookie does not count";
  }
  const std::string own = (request.is_secure ? "https://" : "http://") + std::string{host_of(request)};
  return *origin == own ? std::string_view{} : "the request is from a page of another site (Origin)";
}

}  // namespace rondo::api
