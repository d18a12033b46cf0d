// Resolver: the IP address of a host name without waiting for it: numbers at once, names by glibc's own threads (getaddrinfo_a), asked
// again from a timer. One question at a time. Scheduler's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rondo/base/result.h"

namespace rondo::redis {

class Resolver {
 public:
  Resolver();
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Asks for 'host'. Forgets an earlier question.
  void ask(const std::string& host);
  /// The address, nothing while the answer is not there, or why there is none.
  Result<std::optional<std::string>> answer();

 private:
  struct Question;
  std::string ip_;
  Question* question_ = nullptr;  // Shared with glibc until it is done.
};

}  // namespace rondo::redis
