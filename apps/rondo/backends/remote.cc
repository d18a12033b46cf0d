// See remote.h. CMakeLists.txt defines RONDO_WITH_HTTP if this build has the component.
#include "backends/remote.h"

#ifdef RONDO_WITH_HTTP
#include "api/dial.h"
#endif

namespace rondo::cli {

#ifdef RONDO_WITH_HTTP

Result<Connect> open_remote(const RemoteChoice& choice) {
  if (choice.token_file.empty())
    return failure(StatusCode::InvalidArgument, "a URL needs a token file: rondo token-add makes a token on the daemon's host");
  Result<api::Remote> remote = api::read_remote(choice.url, choice.token_file, choice.ca_file);
  if (!remote) return failure(remote.error());
  return Connect{[remote = *std::move(remote)](Duration patience) { return api::connect(remote, patience); }};
}

#else

Result<Connect> open_remote(const RemoteChoice&) {
  return failure(StatusCode::Unimplemented,
                 "this rondo was built without HTTP (missing: libcurl4-openssl-dev, libsqlite3-dev or libssl-dev)");
}

#endif

}  // namespace rondo::cli
