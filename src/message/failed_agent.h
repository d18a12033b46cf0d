// FailedAgent: the exception of an agent's constructor when the runtime has no place for it. Agents::add catches it, so it reaches no
// other code.
#pragma once

#include <exception>
#include <utility>

#include "rondo/base/status.h"

namespace rondo::message {

class FailedAgent final : public std::exception {
 public:
  explicit FailedAgent(Status status) : why(std::move(status)) {}
  const char* what() const noexcept override { return "there is no place for an agent"; }
  const Status why;
};

}  // namespace rondo::message
