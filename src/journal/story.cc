#include "journal/story.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/counted.h"
#include "journal/walk.h"

namespace rondo::journal {

namespace {

constexpr std::string_view kResolved = "resolved";
constexpr std::string_view kAnnounced = "announced";

std::string_view what_of(Kind kind) {
  switch (kind) {
    case Kind::Changed: return "taken";
    case Kind::Staged: return "ordered";
    case Kind::DoneWhile: return "done";
    default: return to_string(kind);
  }
}

class Story {
 public:
  Story(std::string_view table, std::string_view key) : table_(table), key_(key) {}

  void follow(const JournalWalk& walk) {
    const JournalRecord& record = walk.record();
    if (walk.run() != std::exchange(run_, walk.run())) {
      waits_.clear();
      queued_.clear();
      began_.reset();
    }
    if (record.kind == Kind::Started)
      began_ = StoryEvent{walk.time(), walk.wall(), walk.run(), {}, std::string{kRunBegan}, describe(*record.policy), {}, {}};
    if (walk.missing() > 0) {
      add(walk, "missing", counted(walk.missing(), "record"));
      waits_.clear();
      queued_.clear();
    }
    switch (record.kind) {
      case Kind::Announced: return announce(walk);
      case Kind::Ready: return queue(walk);
      case Kind::Took: return take_from_queue(walk);
      default: break;
    }
    if (record.kind != Kind::Changed && !record.is_outcome()) return;
    if (walk.key() != key_ || (!table_.empty() && walk.table() != table_)) return;
    add(walk, std::string{what_of(record.kind)}, detail_of(walk));
    events_.back().queued_at_most = queued_for(walk);
    remember(walk);
  }
  std::vector<StoryEvent> take() { return std::move(events_); }

 private:
  /// The facts that the row of a table waits for.
  struct Wait {
    std::set<std::string> facts;
    std::set<std::string> announced;    // Those announced since the row began to wait.
    std::optional<std::size_t> newest;  // Index in events_ of the newest announcement, which may have resolved the wait.
  };
  /// Changes that wait to be taken from a table.
  struct Queue {
    std::optional<Instant> since;        // Since when it has had such changes without a break.
    std::optional<Instant> taken_since;  // The value of 'since' for the changes that were taken last.
  };

  void add(const JournalWalk& walk, std::string what, std::string detail) {
    // A new run has no state of the earlier one: its rows are taken and parked anew.
    if (!events_.empty() && events_.back().run != walk.run()) {
      events_.push_back(
          began_ ? *began_
                 : StoryEvent{walk.time(), walk.wall(), walk.run(), {}, std::string{kRunBegan}, "its beginning is missing", {}, {}});
    }
    events_.push_back({walk.time(), walk.wall(), walk.run(), walk.table(), std::move(what), std::move(detail), walk.turn_of(), {}});
  }

  static std::string fact_text(const JournalWalk& walk, const JournalRecord::Fact& fact) {
    return walk.names().of(fact.kind) + ":" + std::string{fact.key};
  }

  /// The table had no changes to take before.
  void queue(const JournalWalk& walk) {
    Queue& queue = queued_[walk.table()];
    if (!queue.since) queue.since = walk.time();
  }

  void take_from_queue(const JournalWalk& walk) {
    Queue& queue = queued_[walk.table()];
    queue.taken_since = queue.since;
    if (walk.record().flag) queue.since.reset();
  }

  std::optional<Duration> queued_for(const JournalWalk& walk) const {
    const auto queue = queued_.find(walk.table());
    if (walk.record().kind != Kind::Changed || queue == queued_.end() || !queue->second.taken_since) return std::nullopt;
    return walk.time() - *queue->second.taken_since;
  }

  static std::string detail_of(const JournalWalk& walk) {
    const JournalRecord& record = walk.record();
    std::string text;
    const auto append = [&text](std::string_view part) { text.append(text.empty() ? "" : " ").append(part); };
    if (record.has_change()) append(record.op == ChangeOp::Event ? record.name : to_string(record.op));
    if (record.kind == Kind::Changed) {
      for (const Field& field : record.fields) append(std::string{field.name} + "=" + std::string{field.value});
    }
    if (record.kind == Kind::Delayed) append("for " + std::to_string(record.span / 1us) + " us");
    if (!record.facts.empty() && record.kind != Kind::DoneWhile) append("waits for");
    if (record.kind == Kind::DoneWhile) append("while");
    for (std::size_t i = 0; i < record.facts.size(); ++i) append((i > 0 ? "and " : "") + fact_text(walk, record.facts[i]));
    if (!record.why.ok()) append(record.why.to_string());
    return text;
  }

  /// Stores the facts that the row waits for from now on.
  void remember(const JournalWalk& walk) {
    const JournalRecord& record = walk.record();
    Wait& wait = waits_[walk.table()];
    // The row is handled again because all its facts held, and the newest announcement ended the wait.
    if (record.kind == Kind::Retried && wait.newest) events_[*wait.newest].what = kResolved;
    if (record.kind != Kind::Changed && record.kind != Kind::StillParked) wait = {};
    if (record.kind == Kind::DoneWhile) return;
    for (const JournalRecord::Fact& fact : record.facts) {
      wait.facts.insert(fact_text(walk, fact));
      wait.announced.erase(fact_text(walk, fact));
    }
    if (record.kind == Kind::StillParked) wait.newest.reset();
  }

  /// An announcement resolves a row that waits for this fact alone. A row that waits for several facts may be checked now, and the journal
  /// does not contain which of them is missing. Its next record shows the result.
  void announce(const JournalWalk& walk) {
    const JournalRecord& record = walk.record();
    const std::string fact = fact_text(walk, record.facts.front());
    for (auto& [table, wait] : waits_) {
      if (!wait.facts.contains(fact) || !wait.announced.insert(fact).second) continue;
      const bool frees = wait.facts.size() == 1 && record.count > 0;
      add(walk, std::string{frees ? kResolved : kAnnounced}, fact + " was announced, for " + counted(record.count, "row"));
      events_.back().table = table;
      wait.newest = events_.size() - 1;
    }
  }

  const std::string_view table_;
  const std::string_view key_;
  std::uint64_t run_ = 0;
  std::optional<StoryEvent> began_;    // The beginning of the run, if it is recorded.
  std::map<std::string, Wait> waits_;  // By table.
  std::map<std::string, Queue> queued_;
  std::vector<StoryEvent> events_;
};

}  // namespace

std::vector<StoryEvent> story_of(JournalWalk& walk, std::string_view table, std::string_view key) {
  Story story(table, key);
  while (walk.next()) story.follow(walk);
  return story.take();
}

Duration time_between(const StoryEvent& before, const StoryEvent& after) noexcept {
  if (before.run == after.run) return after.time - before.time;
  // A damaged or forged head may contain any value, so the difference is unsigned.
  const auto from = static_cast<std::uint64_t>(before.wall.nanoseconds());
  return Duration{static_cast<std::int64_t>(static_cast<std::uint64_t>(after.wall.nanoseconds()) - from)};
}

}  // namespace rondo::journal
