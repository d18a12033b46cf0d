// What a file is, as far as its first bytes say: whether it can be a store is known before anything is made beside it.
#pragma once

#include <string>

#include "rondo/base/result.h"

namespace rondo::store::durable {

inline constexpr int kApplication = 0x526e646f;  // "Rndo", in the file's header.

/// FailedPrecondition: what 'path' names is a folder, no regular file, or certainly no store. Nothing is locked; but to close a file gives
/// up the locks that this process has of it, so nobody may have it open.
Status check_kind(const std::string& path);
/// That it is a database of somebody else's.
Status none_of_ours(const std::string& path);

}  // namespace rondo::store::durable
