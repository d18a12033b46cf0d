#include "sched/turn_record.h"

#include <algorithm>
#include <new>
#include <unordered_set>

namespace rondo {

namespace {
/// A turn joins an entry if it begins at most this long after its end, and the entry then lasts at most so long.
constexpr Duration kPause = 1ms;
constexpr Duration kTogether = 10ms;
}  // namespace

RecordedTurn& TurnRecord::next_entry() noexcept {
  if (entries_.size() < limits::kTurnsRecorded) return entries_.emplace_back();
  RecordedTurn& oldest = entries_[oldest_];
  oldest_ = (oldest_ + 1) % limits::kTurnsRecorded;
  return oldest;
}

void TurnRecord::add(const Source& source, const Turn& turn, Instant start, Instant end) noexcept {
  const Duration waited = start - source.ready_since();
  const bool more = turn.backlog == Backlog::More;
  ++newest_;
  const bool joins =
      open_ != nullptr && open_->source == source.number() && start - open_->end <= kPause && end - open_->start <= kTogether;
  if (!joins) {
    open_ = &next_entry();
    *open_ = {newest_, source.number(), start, end, end - start, waited, turn.items, 1, source.priority(), more};
    return;
  }
  open_->sequence = newest_;
  open_->end = end;
  open_->ran += end - start;
  open_->waited = std::max(open_->waited, waited);
  open_->items += turn.items;
  open_->more = more;
  ++open_->turns;
}

void TurnRecord::keep_name(const Source& source) noexcept {
  if (source.stats().turns == 0 && !source.is_running()) return;
  try {
    if (removed_.size() >= 2 * limits::kTurnsRecorded) {  // At most half of them have turns in the ring.
      std::unordered_set<std::uint64_t> recorded;
      for (const RecordedTurn& entry : entries_) recorded.insert(entry.source);
      std::erase_if(removed_, [&recorded](const auto& one) { return !recorded.contains(one.first); });
    }
    removed_.emplace(source.number(), source.name());
  } catch (const std::bad_alloc&) {
    // The turns of the source are shown without its name.
  }
}

std::vector<RecordedTurn> TurnRecord::newest(std::size_t count, std::uint64_t since) {
  open_ = nullptr;
  const auto entry = [this](std::size_t place) -> const RecordedTurn& { return entries_[(oldest_ + place) % entries_.size()]; };
  std::size_t first = entries_.size();
  while (first > 0 && entries_.size() - first < count && entry(first - 1).sequence > since) --first;
  std::vector<RecordedTurn> found;
  found.reserve(entries_.size() - first);
  for (; first < entries_.size(); ++first) found.push_back(entry(first));
  return found;
}

std::string_view TurnRecord::name_of_removed(std::uint64_t source) const {
  const auto found = removed_.find(source);
  return found == removed_.end() ? std::string_view{} : std::string_view{found->second};
}

}  // namespace rondo
