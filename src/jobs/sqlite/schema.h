// The versions of a database of jobs: which one it has, and which one this program makes.
#pragma once

#include <cstddef>
#include <string>

#include "jobs/sqlite/database.h"
#include "rondo/base/result.h"

namespace rondo::jobs::sqlite {

/// The version that this program makes.
std::size_t newest_version() noexcept;
/// Returns the version of a database. FailedPrecondition for one of a later version, or of another program.
Result<std::size_t> version_of(Database& database, const std::string& path);

}  // namespace rondo::jobs::sqlite
