// HashRing: the consistent hash of xxl-job. Each address has 100 nodes on a ring of 32-bit numbers, and a job belongs to the address of the
// first node at or behind its own number. Router uses it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jobs/candidate.h"

namespace rondo::jobs {

/// A node of an address is H("SHARD-<address>-NODE-<i>") with i = 0..99, a job H("<id>"); H is the number that the first four bytes of the
/// MD5 are, the lowest byte first. If nodes of two addresses are equal, they belong to the last one in order.
class HashRing {
 public:
  HashRing();
  ~HashRing();
  HashRing(HashRing&&) noexcept;
  HashRing& operator=(HashRing&&) noexcept;

  /// Returns the index of the candidate of a job: the owner of the first node whose owner is healthy. At least one must be. Builds the ring
  /// when the names differ from those of the last call: 100 MD5 a candidate. Else O(candidates), and O(nodes) with unhealthy candidates.
  std::size_t find(std::int64_t job, std::span<const Candidate> candidates);

 private:
  class Md5;
  struct Node {
    std::uint32_t place;
    std::uint32_t owner;  // Its index.
  };
  void build(std::span<const Candidate> candidates);

  std::unique_ptr<Md5> md5_;
  std::vector<std::string> names_;
  std::vector<Node> nodes_;  // Sorted by place, equal ones from the last owner to the first.
};

}  // namespace rondo::jobs
