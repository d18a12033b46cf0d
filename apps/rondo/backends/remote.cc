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
  if (const Result<api::Remote> now = api::read_remote(choice.url, choice.token_file, choice.ca_file); !now) return failure(now.error());
  return Connect{[choice](Duration patience) -> Result<std::unique_ptr<AdminClient>> {
    const Result<api::Remote> remote = api::read_remote(choice.url, choice.token_file, choice.ca_file);
    return remote ? api::connect(*remote, patience) : failure(remote.error());
  }};
}

#else

Result<Connect> open_remote(const RemoteChoice&) {
  return failure(StatusCode::Unimplemented,
                 "this rondo was built without HTTP (missing: libcurl4-openssl-dev, libsqlite3-dev or libssl-dev)");
}

#endif

}  // namespace rondo::cli
