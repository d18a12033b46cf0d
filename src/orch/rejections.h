// Rejections: the rows of a table whose newest change was rejected. It stores the reasons of a limited number of rows and the keys of all
// others. So the count is exact, and a rejected row is never reported as done. One thread.
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

namespace rondo {

struct RejectedRow;

class Rejections {
 public:
  /// Stores the reason of 'key': 'text' for people, 'named' with table and key. Returns true if it dropped another key's reason because of
  /// limits::kRejectionsKept.
  bool keep(std::string_view key, Status named, std::string text);
  void forget(std::string_view key);

  std::size_t size() const noexcept { return kept_.size() + keys_.size(); }
  bool empty() const noexcept { return size() == 0; }
  /// Returns the reason of 'key', or a text that it is no longer stored; null if 'key' is not rejected.
  const std::string* text_of(std::string_view key) const;
  /// True if the reason of 'key' is stored and came from a system call of the kernel.
  bool is_of_kernel(std::string_view key) const;
  /// The newest stored reason, with table and key; null if there is none.
  const Status* newest() const;
  /// Returns at most 'max' rows in the order of their keys, those behind 'after'.
  std::vector<RejectedRow> rows(const std::optional<std::string>& after, std::size_t max) const;

 private:
  struct Rejection {
    std::uint64_t number;  // Counts all rejections, in their order.
    Status named;
    std::string text;
  };
  std::map<std::string, Rejection, std::less<>> kept_;
  std::set<std::string, std::less<>> keys_;  // Rejected keys whose reason was dropped.
  std::uint64_t last_ = 0;
};

}  // namespace rondo
