// Resolver: the IP address of a host name without waiting for it: numbers at once, names by glibc's own threads (getaddrinfo_a), asked
// again from a timer. A name may have several addresses: one is given at a time, and the next when that one does not serve. Scheduler's
// thread.
#pragma once

#include <cstddef>
#include <map>
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

  /// Asks for 'host'. answer() is about that one from here on.
  void ask(const std::string& host);
  /// The address does not serve: the answer to the next question about the same host is its next one, round and round.
  void next() { ++turn_; }
  /// The address, nothing while the answer is not there, or why there is none.
  Result<std::optional<std::string>> answer();
  /// How many the last answer was chosen from; 1 before there was one.
  std::size_t addresses() const noexcept { return addresses_; }

 private:
  struct Question;
  static bool is_open(Question& question);
  static void drop(Question* question);

  std::string host_;
  std::size_t turn_ = 0;
  std::size_t addresses_ = 1;
  /// By host; shared with glibc until they are done. One that was given up may be asked again before that.
  std::map<std::string, Question*> questions_;
};

}  // namespace rondo::redis
