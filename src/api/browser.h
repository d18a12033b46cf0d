// What a request of a browser has: the cookie of its session, and from which site its page is. A browser adds the cookie to requests of any
// page, so a request with the cookie counts only if its page is the daemon's own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace rondo::api {

/// The values of the session's cookie in 'request', which must outlive them: at most kSessionCookies. Another program of the host may have
/// set more. O(fields).
std::vector<std::string_view> session_cookies(const http::Request& request);
inline constexpr std::size_t kSessionCookies = 8;
/// The value of the field Rondo-Session-Key in 'request', which must outlive it; empty if there is not exactly one.
std::string_view session_key(const http::Request& request);
/// The field Set-Cookie that gives 'secret' to the browser that sent 'request'; an empty one takes the cookie away.
http::Field set_cookie(const http::Request& request, std::string_view secret);

/// Why a request is not from a page of this daemon; empty if it is. A browser says with each POST and DELETE where its page is from
/// (Origin), and newer ones with each request (Sec-Fetch-Site). 'may_have_no_origin': other programs do not.
std::string_view why_foreign(const http::Request& request, bool may_have_no_origin);

}  // namespace rondo::api
