// See front.h. CMakeLists.txt defines RONDO_WITH_HTTP if this build has the component.
#include "rondod/http/front.h"
#ifdef RONDO_WITH_HTTP
#include "rondod/http/http_front.h"
#endif

namespace rondo::daemon {

#ifdef RONDO_WITH_HTTP

Status check_http_build() { return {}; }

Status check_front(const Config& config) { return config.http.enabled ? check_http_front(config) : Status{}; }

Result<std::unique_ptr<Front>> open_front(const Config& config, Runtime& runtime, Log& log) {
  if (!config.http.enabled) return std::unique_ptr<Front>{};
  auto front = HttpFront::open(config, runtime, log);
  if (!front) return failure(front.error());
  return std::unique_ptr<Front>{*std::move(front)};
}

#else

Status check_http_build() {
  return {StatusCode::Unimplemented, "this rondod was built without HTTP (missing: libcurl4-openssl-dev, libsqlite3-dev or libssl-dev)"};
}

Status check_front(const Config&) { return {}; }  // check_http_build() has the reason.

Result<std::unique_ptr<Front>> open_front(const Config& config, Runtime&, Log&) {
  if (!config.http.enabled) return std::unique_ptr<Front>{};
  return failure(check_http_build());
}

#endif

}  // namespace rondo::daemon
