#include "told_events.h"

#include <algorithm>
#include <string>

namespace rondo::swarm {

std::uint64_t ToldEvents::next() {
  entries_.push_back({.written_in = process_});
  return entries_.size() - 1;
}

void ToldEvents::ended(std::uint64_t number, bool is_done, bool refused) {
  Entry& entry = entries_[number];
  entry.end = is_done ? End::Done : refused ? End::Refused : End::Unknown;
  if (refused && entry.was_heard) fail(number, "was refused, and handed out");
  if (is_done) was_done(number);
}

Status ToldEvents::see(const sim::World&, const sim::Event& event) {
  if (event.kind == sim::Event::Kind::Emptied) first_ = entries_.size();
  if (event.kind != sim::Event::Kind::Begins) return {};
  ++process_;
  from_ = first_;
  // The ends of these will never be reported.
  for (std::uint64_t number = first_; number < entries_.size(); ++number) {
    if (entries_[number].end == End::Open) entries_[number].end = End::Unknown;
  }
  process_begins();
  return {};
}

Status ToldEvents::after_turn(const sim::World&) { return wrong_; }

void ToldEvents::fail(std::uint64_t number, const char* what) {
  if (wrong_.ok()) wrong_ = {StatusCode::Internal, "number " + std::to_string(number) + " " + what};
}

bool ToldEvents::is_in_order(std::uint64_t number) {
  if (number >= entries_.size()) {
    fail(number, "was never written");
  } else if (number < first_) {
    fail(number, "is of tables that are gone");
  } else if (entries_[number].end == End::Refused) {
    fail(number, "was refused, and handed out");
  } else if (number < from_) {
    fail(number, "was handed out twice, or after a later one");
  } else {
    from_ = number + 1;
    return true;
  }
  return false;
}

// --- Queue

void ToldQueue::heard(std::uint64_t number) {
  if (!is_in_order(number)) return;
  Entry& entry = entries_[number];
  if (entry.written_in != process_) ++kept_;
  if (entry.was_heard) ++again_;
  entry.was_heard = true;
  entry.heard_in = process_;
}

Status ToldQueue::at_rest(const sim::World& world) {
  for (std::uint64_t number = first_; number < entries_.size(); ++number) {
    const Entry& entry = entries_[number];
    if (entry.end == End::Done && !entry.was_heard) fail(number, "is lost");
  }
  return after_turn(world);
}

std::uint64_t ToldQueue::dealt_with() const {
  return static_cast<std::uint64_t>(std::count_if(entries_.begin() + static_cast<std::ptrdiff_t>(first_), entries_.end(),
                                                  [this](const Entry& entry) { return entry.was_heard && entry.heard_in != process_; }));
}

// --- Channel

void ToldChannel::process_begins() { excused_ = entries_.size(); }

void ToldChannel::gap() {
  ++gaps_;
  excused_ = entries_.size();
}

void ToldChannel::heard(std::uint64_t number) {
  const std::uint64_t expected = from_;
  if (!is_in_order(number)) return;
  entries_[number].was_heard = true;
  for (std::uint64_t missing = std::max(expected, excused_); missing < number; ++missing) {
    entries_[missing].was_skipped = true;
    if (entries_[missing].end == End::Done) fail(missing, "is missing, and no gap was told");
  }
}

void ToldChannel::was_done(std::uint64_t number) {
  if (entries_[number].was_skipped) fail(number, "is missing, and no gap was told");
}

Status ToldChannel::at_rest(const sim::World& world) {
  for (std::uint64_t number = std::max(from_, excused_); number < entries_.size(); ++number) {
    if (entries_[number].end == End::Done) fail(number, "is missing, and no gap was told");
  }
  return after_turn(world);
}

}  // namespace rondo::swarm
