// Resources: how many objects of each kind the data plane holds, beside the room that it has for them as the operator states it. A warning
// follows when the use reaches a threshold, and its end when it falls below a lower one, so that a use near the threshold warns once. The
// two thresholds are those of SONiC's critical resource monitoring (CRM). One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rondo::switch_agent {

/// In this order everywhere.
inline constexpr std::array<std::string_view, 4> kResources{"routes", "nexthops", "groups", "neighbors"};

struct ResourceOptions {
  std::array<std::uint64_t, kResources.size()> limits{};  // 0: not known, so it has no threshold.
  unsigned high_percent = 85;                             // 1 to 100.
  unsigned low_percent = 70;                              // 0 to high_percent.
  friend bool operator==(const ResourceOptions&, const ResourceOptions&) = default;
};

class Resources {
 public:
  struct Use {
    std::string_view name;
    std::uint64_t used = 0;
    std::uint64_t limit = 0;  // 0: not known.
    bool is_high = false;     // It reached high_percent, and has not fallen below low_percent since.

    /// Rounded down; 0 if the limit is not known.
    unsigned percent() const noexcept;
  };
  /// The objects that the data plane holds, in the order of kResources.
  using Counts = std::array<std::uint64_t, kResources.size()>;

  /// 'count' is called by look(). 'on_change' is called with a use whose is_high has changed.
  Resources(ResourceOptions options, std::function<Counts()> count, std::function<void(const Use&)> on_change);

  /// Compares the present use with the thresholds.
  void look();
  /// As of the last look().
  const std::vector<Use>& uses() const noexcept { return uses_; }

 private:
  const ResourceOptions options_;
  const std::function<Counts()> count_;
  const std::function<void(const Use&)> on_change_;
  std::vector<Use> uses_;
};

}  // namespace rondo::switch_agent
