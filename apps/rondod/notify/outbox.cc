#include "rondod/notify/outbox.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rondod/limits.h"

namespace rondo::daemon {

namespace {

/// Between a try that has failed and the next one.
constexpr std::array<Duration, 4> kPauses{1s, 10s, 60s, 300s};
constexpr std::size_t kUnderWay = 4;  // At one target.

}  // namespace

Outbox::Outbox(std::function<Instant()> now, Send send, GivenUp given_up)
    : now_(std::move(now)), send_(std::move(send)), given_up_(std::move(given_up)) {}

void Outbox::add(std::size_t target, Notice notice) {
  if (letters_.size() >= limits::kNotices) {
    const auto oldest = std::ranges::find_if(letters_, [](const auto& one) { return !one.second.is_under_way; });
    if (oldest != letters_.end()) letters_.erase(oldest);
    ++counted_.dropped;
  }
  letters_.emplace(++last_, Letter{.target = target, .notice = std::move(notice), .next = now_()});
}

void Outbox::poll() {
  std::map<std::uint64_t, std::size_t> due;
  const Instant now = now_();
  for (auto& [number, letter] : letters_) {
    if (letter.is_under_way || letter.next > now || under_way_[letter.target] >= kUnderWay) continue;
    letter.is_under_way = true;
    ++under_way_[letter.target];
    due.emplace(number, letter.target);
  }
  for (const auto& [number, target] : due) {
    // A copy: the call may end the letter.
    send_(target, Notice{letters_.at(number).notice}, [weak = std::weak_ptr<Outbox*>(self_), number = number](const Status& why) {
      if (const auto outbox = weak.lock()) (*outbox)->ended(number, why);
    });
  }
}

void Outbox::ended(std::uint64_t number, const Status& why) {
  const auto found = letters_.find(number);
  if (found == letters_.end() || !std::exchange(found->second.is_under_way, false)) return;
  Letter& letter = found->second;
  --under_way_[letter.target];
  if (!why.ok() && letter.tries < kPauses.size()) {
    letter.next = now_() + kPauses[letter.tries++];
    return;
  }
  const auto ended = letters_.extract(found);
  ++(why.ok() ? counted_.sent : counted_.given_up);
  if (!why.ok()) given_up_(ended.mapped().target, ended.mapped().notice, why);
}

OutboxFigures Outbox::figures() const {
  OutboxFigures copy = counted_;
  copy.waiting = letters_.size();
  return copy;
}

}  // namespace rondo::daemon
