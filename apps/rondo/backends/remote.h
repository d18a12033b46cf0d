// Connections to a daemon over HTTP.
#pragma once

#include <functional>
#include <memory>

#include "arguments/options.h"
#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// Connects with this patience, again each time that it is called, without waiting for the network: api/dial.h.
using Connect = std::function<Result<std::unique_ptr<AdminClient>>(Duration patience)>;

/// Each connection reads the token again, so that it can be replaced. Errors: those of api::read_remote(); Unimplemented, with the packages
/// that were missing, if this program was built without HTTP.
Result<Connect> open_remote(const RemoteChoice& choice);

}  // namespace rondo::cli
