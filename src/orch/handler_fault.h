// Converts an exception of a handler into a Status. Shared by the sources that call handlers. O(1), any thread.
#pragma once

#include <exception>
#include <string>

#include "rondo/base/status.h"

namespace rondo {

inline Status status_of_exception(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return Status{StatusCode::Internal, std::string{"the handler threw: "} + error.what()};
  } catch (...) {
    return Status{StatusCode::Internal, "the handler threw something that is no std::exception"};
  }
}

}  // namespace rondo
