// Lookups of names below ".test", answered by this file, for tests. Including it replaces glibc's getaddrinfo_a for the whole program, so
// only one file of a program may include it.
#pragma once

#include <dlfcn.h>
#include <netdb.h>

#include <string_view>

namespace rondo::redis_kit {

/// ".test" is reserved for tests (RFC 6761). "both.test" has two addresses, as "localhost" has on many machines. The lookup of "never.test"
/// never ends.
inline void look_up(gaicb& request) {
  if (std::string_view{request.ar_name} == "never.test") {
    request.__return = EAI_INPROGRESS;
    return;
  }
  request.__return = ::getaddrinfo("::1", nullptr, request.ar_request, &request.ar_result);
  if (request.__return == 0) request.__return = ::getaddrinfo("127.0.0.1", nullptr, request.ar_request, &request.ar_result->ai_next);
}

}  // namespace rondo::redis_kit

/// Replaces glibc's function for the whole program.
extern "C" int getaddrinfo_a(int mode, gaicb* list[], int count, sigevent* event) {
  if (count == 1 && std::string_view{list[0]->ar_name}.ends_with(".test")) {
    rondo::redis_kit::look_up(*list[0]);
    return 0;
  }
  static const auto of_glibc = reinterpret_cast<decltype(&getaddrinfo_a)>(::dlsym(RTLD_NEXT, "getaddrinfo_a"));
  return of_glibc(mode, list, count, event);
}
