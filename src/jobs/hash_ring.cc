#include "jobs/hash_ring.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "rondo/base/assert.h"

namespace rondo::jobs {

namespace {

constexpr unsigned kNodesOfAddress = 100;

struct Free {
  void operator()(OSSL_LIB_CTX* library) const noexcept { OSSL_LIB_CTX_free(library); }
  void operator()(EVP_MD* digest) const noexcept { EVP_MD_free(digest); }
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

}  // namespace

/// MD5 from a library context of its own: a configuration of OpenSSL that forbids MD5 has no effect on it. The hash protects nothing.
class HashRing::Md5 {
 public:
  /// The number that the first four bytes of the digest are.
  std::uint32_t operator()(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    const bool is_done = EVP_DigestInit_ex2(context_.get(), digest_.get(), nullptr) == 1 &&
                         EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1 &&
                         EVP_DigestFinal_ex(context_.get(), bytes.data(), nullptr) == 1;
    RONDO_ASSERT(is_done);  // It fails only without memory.
    return bytes[0] | std::uint32_t{bytes[1]} << 8U | std::uint32_t{bytes[2]} << 16U | std::uint32_t{bytes[3]} << 24U;
  }

 private:
  std::unique_ptr<OSSL_LIB_CTX, Free> library_{OSSL_LIB_CTX_new()};
  std::unique_ptr<EVP_MD, Free> digest_{EVP_MD_fetch(library_.get(), "MD5", nullptr)};
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

HashRing::HashRing() = default;
HashRing::~HashRing() = default;
HashRing::HashRing(HashRing&&) noexcept = default;
HashRing& HashRing::operator=(HashRing&&) noexcept = default;

std::size_t HashRing::find(std::int64_t job, std::span<const Candidate> candidates) {
  if (!md5_) md5_ = std::make_unique<Md5>();
  if (!std::ranges::equal(names_, candidates, {}, {}, &Candidate::name)) build(candidates);
  const auto first = std::ranges::lower_bound(nodes_, (*md5_)(std::to_string(job)), {}, &Node::place);
  const auto is_healthy = [candidates](const Node& node) { return candidates[node.owner].is_healthy; };
  auto found = std::find_if(first, nodes_.end(), is_healthy);
  if (found == nodes_.end()) found = std::find_if(nodes_.begin(), first, is_healthy);
  RONDO_ASSERT(found != nodes_.end() && is_healthy(*found));
  return found->owner;
}

void HashRing::build(std::span<const Candidate> candidates) {
  names_.clear();
  nodes_.clear();
  for (const Candidate& candidate : candidates) {
    const auto owner = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(candidate.name);
    const std::string node = "SHARD-" + names_.back() + "-NODE-";
    for (unsigned number = 0; number < kNodesOfAddress; ++number) nodes_.push_back({(*md5_)(node + std::to_string(number)), owner});
  }
  // A node takes an equal one of an earlier address.
  std::ranges::sort(nodes_, [](const Node& a, const Node& b) { return std::tie(a.place, b.owner) < std::tie(b.place, a.owner); });
}

}  // namespace rondo::jobs
