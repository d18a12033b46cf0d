#include "switch_agent/resources.h"

#include <utility>

namespace rondo::switch_agent {

unsigned Resources::Use::percent() const noexcept {
  if (limit == 0) return 0;
  // Without an overflow for any count: no data plane has 2^57 objects.
  return static_cast<unsigned>(used / limit * 100 + used % limit * 100 / limit);
}

Resources::Resources(ResourceOptions options, std::function<Counts()> count, std::function<void(const Use&)> on_change)
    : options_(options), count_(std::move(count)), on_change_(std::move(on_change)) {
  for (std::size_t i = 0; i < kResources.size(); ++i) uses_.push_back({.name = kResources[i], .limit = options_.limits[i]});
}

void Resources::look() {
  const Counts counts = count_();
  for (std::size_t i = 0; i < kResources.size(); ++i) {
    Use& use = uses_[i];
    use.used = counts[i];
    if (use.limit == 0) continue;
    const bool was_high = use.is_high;
    use.is_high = use.percent() >= options_.high_percent || (was_high && use.percent() >= options_.low_percent);
    if (use.is_high != was_high) on_change_(use);
  }
}

}  // namespace rondo::switch_agent
