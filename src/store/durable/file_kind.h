// Checks the kind of a file by its first bytes, before the store creates anything beside it.
#pragma once

#include <string>

#include "rondo/base/result.h"

namespace rondo::store::durable {

inline constexpr int kApplication = 0x526e646f;  // "Rndo", in the file's header.

/// FailedPrecondition: 'path' is a folder, not a regular file, or certainly not a store. Takes no lock. The caller must not have the file
/// open: closing a file releases all locks that this process holds on it.
Status check_kind(const std::string& path);
/// The error for a database of another application.
Status none_of_ours(const std::string& path);

}  // namespace rondo::store::durable
