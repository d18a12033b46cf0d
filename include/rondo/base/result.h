// Result<T>: a T, or the Status that explains why there is none. An alias of tl::expected, whose member names are those of std::expected.
// It will become the standard type when the toolchain has it (ADR 0002).
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "rondo/base/status.h"

namespace rondo {

template <class T>
using Result = tl::expected<T, Status>;

/// Makes the failure value of a function that returns Result<T>: `return failure(StatusCode::NotFound, "no port named 'x'");`
inline tl::unexpected<Status> failure(Status status) { return tl::unexpected<Status>(std::move(status)); }
inline tl::unexpected<Status> failure(StatusCode code, std::string message) {
  return tl::unexpected<Status>(Status{code, std::move(message)});
}

}  // namespace rondo
