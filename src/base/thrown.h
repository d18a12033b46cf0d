// thrown_by(): an exception of a function of the user as a Status that says whose function it was. contained() calls such a function.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

/// Internal: "WHO threw: TEXT".
inline Status thrown_by(std::string_view who, const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return {StatusCode::Internal, std::string{who} + " threw: " + error.what()};
  } catch (...) {
    return {StatusCode::Internal, std::string{who} + " threw something that is no std::exception"};
  }
}

/// Returns what 'call' returns, or thrown_by() if it throws.
template <class Call>
Status contained(std::string_view who, Call&& call) {
  try {
    return call();
  } catch (...) {
    return thrown_by(who, std::current_exception());
  }
}

}  // namespace rondo
