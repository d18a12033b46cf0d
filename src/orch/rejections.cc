#include "orch/rejections.h"

#include <algorithm>
#include <utility>

#include "orch/parked.h"
#include "rondo/base/limits.h"

namespace rondo {

namespace {

const std::string& no_longer_kept() {
  static const std::string kText = "the reason is no longer kept; write the row again to see it";
  return kText;
}

template <class Keys>
void erase(Keys& keys, std::string_view key) {
  if (const auto found = keys.find(key); found != keys.end()) keys.erase(found);
}

}  // namespace

bool Rejections::keep(std::string_view key, Status named, std::string text) {
  erase(keys_, key);
  const bool drops = kept_.size() >= limits::kRejectionsKept && !kept_.contains(key);
  // Any stored reason may be dropped: an operator with so many rejections fixes their common cause.
  if (drops) keys_.insert(std::move(kept_.extract(kept_.begin()).key()));
  kept_.insert_or_assign(std::string{key}, Rejection{++last_, std::move(named), std::move(text)});
  return drops;
}

void Rejections::forget(std::string_view key) {
  erase(kept_, key);
  erase(keys_, key);
}

const std::string* Rejections::text_of(std::string_view key) const {
  if (const auto it = kept_.find(key); it != kept_.end()) return &it->second.text;
  return keys_.contains(key) ? &no_longer_kept() : nullptr;
}

bool Rejections::is_of_kernel(std::string_view key) const {
  const auto it = kept_.find(key);
  return it != kept_.end() && it->second.named.origin_errno() != 0;
}

const Status* Rejections::newest() const {
  const auto it = std::ranges::max_element(kept_, {}, [](const auto& entry) { return entry.second.number; });
  return it == kept_.end() ? nullptr : &it->second.named;
}

std::vector<RejectedRow> Rejections::rows(const std::optional<std::string>& after, std::size_t max) const {
  std::vector<RejectedRow> found;
  auto kept = after ? kept_.upper_bound(*after) : kept_.begin();
  auto key = after ? keys_.upper_bound(*after) : keys_.begin();
  while (found.size() < max && (kept != kept_.end() || key != keys_.end())) {
    if (key == keys_.end() || (kept != kept_.end() && kept->first < *key)) {
      found.push_back({kept->first, kept->second.text});
      ++kept;
    } else {
      found.push_back({*key++, no_longer_kept()});
    }
  }
  return found;
}

}  // namespace rondo
