// Rejections: the rows of a table whose newest change was rejected. The reasons of some of them are kept, and of all others the keys, so
// that the count is the count and a rejected row is never taken for one that is done. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/orch/runtime.h"

namespace rondo {

class Rejections {
 public:
  /// The reason of 'key' from now on: 'text' for people, 'named' with table and key. True if another key's reason was dropped for it, as
  /// limits::kRejectionsKept asks for.
  bool keep(std::string_view key, Status named, std::string text);
  void forget(std::string_view key);

  std::size_t size() const noexcept { return kept_.size() + keys_.size(); }
  bool empty() const noexcept { return size() == 0; }
  /// The reason of 'key', or that it is no longer kept; null if 'key' is not rejected.
  const std::string* text_of(std::string_view key) const;
  /// Whether the reason of 'key' is kept and came from a call of the kernel.
  bool is_of_kernel(std::string_view key) const;
  /// The newest reason that is kept, with table and key; null if none is.
  const Status* newest() const;
  /// In the order of the keys, those behind 'after', at most 'max'.
  std::vector<RejectedRow> rows(const std::optional<std::string>& after, std::size_t max) const;

 private:
  struct Rejection {
    std::uint64_t number;  // Of all, in their order.
    Status named;
    std::string text;
  };
  std::map<std::string, Rejection, std::less<>> kept_;
  std::set<std::string, std::less<>> keys_;  // Those whose reason was dropped.
  std::uint64_t last_ = 0;
};

}  // namespace rondo
