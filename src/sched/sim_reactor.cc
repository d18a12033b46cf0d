#include "sched/sim_reactor.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rondo {

void SimReactor::make_ready(int fd) { report(fd, false); }

void SimReactor::make_error(int fd) {
  const auto entry = watches_.find(fd);
  if (entry == watches_.end()) return;
  entry->second.in_error = true;
  report(fd, true);
}

void SimReactor::clear_error(int fd) {
  if (const auto entry = watches_.find(fd); entry != watches_.end()) entry->second.in_error = false;
}

void SimReactor::report(int fd, bool error) {
  const auto entry = watches_.find(fd);
  if (entry == watches_.end()) return;
  for (ReactorEvent& event : pending_) {
    if (event.fd != fd || event.watch != entry->second.number) continue;
    event.error = event.error || error;  // Like the kernel: one report of a descriptor, with all its events.
    return;
  }
  pending_.push_back({entry->second.source, fd, entry->second.number, error});
}

void SimReactor::at(Instant when, std::function<void()> what) {
  planned_.push_back({when, ++sequence_, std::move(what)});
  std::push_heap(planned_.begin(), planned_.end(), later);
}

Instant SimReactor::next_planned() const noexcept { return planned_.empty() ? Instant::never() : planned_.front().when; }

void SimReactor::happen() {
  while (next_planned() <= clock_.now()) {
    std::pop_heap(planned_.begin(), planned_.end(), later);
    const std::function<void()> what = std::move(planned_.back().what);
    planned_.pop_back();
    what();
  }
}

Status SimReactor::watch(int fd, Interest interest, Source& source) {
  expect_here(source);
  if (Status bad = check("watch", fd, interest); !bad.ok()) return bad;
  const auto [entry, is_new] = watches_.try_emplace(fd);
  if (!is_new) return Status{StatusCode::AlreadyExists, "watch of descriptor " + std::to_string(fd) + ": it is watched already"};
  entry->second.source = &source;
  entry->second.number = ++watch_number_;
  return {};
}

Status SimReactor::rewatch(int fd, Interest interest) {
  if (!watches_.contains(fd)) return Status{StatusCode::NotFound, "rewatch of descriptor " + std::to_string(fd) + ": it is not watched"};
  return check("rewatch", fd, interest);
}

void SimReactor::forget(int fd) {
  watches_.erase(fd);
  std::erase_if(pending_, [fd](const ReactorEvent& event) { return event.fd == fd; });
}

void SimReactor::forget_all(const Source& source) {
  std::erase_if(watches_, [&source](const auto& entry) { return entry.second.source == &source; });
  std::erase_if(pending_, [&source](const ReactorEvent& event) { return event.source == &source; });
}

Result<std::size_t> SimReactor::poll(Instant deadline, std::span<ReactorEvent> events) {
  ++polls_;
  happen();
  if (deadline > clock_.now() && pending_.empty() && !interrupted_) {
    const Instant until = std::min(deadline, next_planned());
    if (until != Instant::never()) {
      ++waits_;
      clock_.advance_to(until);
      happen();
    }
  }
  if (deadline > Instant{}) interrupted_ = false;
  const std::size_t count = std::min(pending_.size(), events.size());
  std::copy_n(pending_.begin(), count, events.begin());
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

bool SimReactor::is_current(const ReactorEvent& event) const noexcept {
  const auto entry = watches_.find(event.fd);
  return entry != watches_.end() && entry->second.number == event.watch;
}

bool SimReactor::is_in_error(const ReactorEvent& event) const noexcept {
  return is_current(event) && watches_.find(event.fd)->second.in_error;
}

}  // namespace rondo
