// Resolver: looks up the IP address of a host name without blocking. A numeric address is returned immediately. A name is resolved by
// glibc's own threads (getaddrinfo_a), and a timer polls for the result. If a name has several addresses, one is used at a time, and the
// next one after a failure. Scheduler's thread.
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

  /// Starts a lookup of 'host'. answer() then refers to this host.
  void ask(const std::string& host);
  /// Call this if the address does not work: the next lookup of the same host returns its next address, in rotation.
  void next() { ++turn_; }
  /// The address; nothing while the lookup runs; or the error.
  Result<std::optional<std::string>> answer();
  /// The number of addresses in the last answer; 1 before the first answer.
  std::size_t addresses() const noexcept { return addresses_; }

 private:
  struct Question;
  static bool is_open(Question& question);
  static void drop(Question* question);

  std::string host_;
  std::size_t turn_ = 0;
  std::size_t addresses_ = 1;
  /// By host; glibc shares a question until it is done. A host whose lookup was given up may be looked up again before that.
  std::map<std::string, Question*> questions_;
};

}  // namespace rondo::redis
