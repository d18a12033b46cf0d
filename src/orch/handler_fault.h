// Converts an exception of a handler into a Status: ResourceExhausted if memory is short, else Internal. Shared by the sources that call
// handlers. O(1), any thread.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "rondo/base/limits.h"
#include "rondo/base/status.h"
#include "rondo/base/text.h"

namespace rondo {

inline Status status_of_exception(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return Status{StatusCode::ResourceExhausted, "out of memory"};
  } catch (const std::exception& error) {
    return Status{StatusCode::Internal, "the handler threw: " + shorten(error.what(), limits::kReasonBytes)};
  } catch (...) {
    return Status{StatusCode::Internal, "the handler threw something that is no std::exception"};
  }
}

/// 'why' with a message of at most limits::kReasonBytes.
inline Status with_short_reason(const Status& why) {
  if (why.message().size() <= limits::kReasonBytes + 3) return why;
  return Status{why.code(), shorten(why.message(), limits::kReasonBytes), why.origin_errno()};
}

}  // namespace rondo
