// FailedAgent: what the constructor of an agent throws when the runtime has no place for it. Caught in Agents::add; nobody else sees it.
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
