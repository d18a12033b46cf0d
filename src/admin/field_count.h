// The maximum number of fields of a row in a request, in JSON or in a bulk write.
#pragma once

#include <cstddef>
#include <string>

#include "rondo/admin/limits.h"
#include "rondo/base/status.h"

namespace rondo {

/// InvalidArgument beyond limits::kAdminRowFields.
inline Status check_field_count(std::size_t fields) {
  if (fields <= limits::kAdminRowFields) return {};
  return {StatusCode::InvalidArgument, "a row of " + std::to_string(fields) + " fields: a request takes " +
                                           std::to_string(limits::kAdminRowFields) + " of one row at most; write it in parts"};
}

}  // namespace rondo
