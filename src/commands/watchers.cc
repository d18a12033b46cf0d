#include "commands/watchers.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "admin/key_pattern.h"
#include "commands/answers.h"
#include "commands/change_ids.h"
#include "commands/context.h"
#include "commands/limits.h"
#include "commands/store_sink.h"
#include "orch/runtime_events.h"
#include "rondo/admin/limits.h"
#include "rondo/base/assert.h"
#include "rondo/commands/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace json = boost::json;

namespace {
constexpr Duration kLook = 100ms;
/// Bytes counted for an event beside its content.
constexpr std::size_t kEventBytes = 64;
/// Bytes counted for a line of a trace.
constexpr std::size_t kTraceBytes = 512;

json::object change_json(const Change& change) {
  json::object row{{"op", text(change.verb())}, {"key", text(change.key())}};
  if (change.record().bytes() <= limits::kWatchRowBytes) {
    row["fields"] = fields_json(change.fields());
  } else {
    row["fields"] = json::array{};
    row["bytes"] = change.record().bytes();
  }
  return row;
}
}  // namespace

/// One reader: queues events and sends them as rows of its answer, one page a turn of its connection.
class Watchers::Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  /// 'missed', the counter of all watchers, outlives it.
  Watcher(Until until, Reply reply, std::uint64_t& missed) : until_(until), reply_(std::move(reply)), missed_by_all_(missed) {
    reply_.expect_rows();
  }
  virtual ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void listen(std::unique_ptr<RowTap> tap) { tap_ = std::move(tap); }
  /// Called periodically; returns true when the watch has ended or its reader is gone.
  bool is_over(Instant now) {
    if (now >= until_.deadline) end();
    return !reply_.wanted();
  }

 protected:
  /// One event for the reader: a change, which is converted to a row in its turn, or a row.
  struct Event {
    Change change = {};
    json::object row = {};
    std::size_t bytes = 0;
    std::uint64_t missed = 0;  // If not 0, this is not an event, but the number of events missing here.
  };

  /// Counts an event that has no room as missed. Call it before push(), and before any work for the event.
  bool accepts_event() {
    if (!reply_.wanted() || accepted_ >= until_.count) return false;
    const bool has_room = events_.size() < limits::kWatchEvents && bytes_ < limits::kWatchBytes;
    missed_ += !has_room;
    missed_by_all_ += !has_room;
    return has_room;
  }
  void push(Event event) {
    if (missed_ != 0) put({.missed = std::exchange(missed_, 0)});
    ++accepted_;
    put(std::move(event));
  }
  virtual json::object row_of(const Event& event) const = 0;
  virtual json::object gap_row(std::uint64_t missed) const = 0;

 private:
  void put(Event event) {
    event.bytes += kEventBytes;
    bytes_ += event.bytes;
    events_.push_back(std::move(event));
    if (std::exchange(sending_, true)) return;
    reply_.next_turn([self = weak_from_this()](Reply) {
      if (const auto watcher = self.lock()) watcher->send_next();
    });
  }

  void send_next() {
    sending_ = false;
    while (!events_.empty() && !reply_.page_full()) {
      const Event event = std::move(events_.front());
      events_.pop_front();
      bytes_ -= event.bytes;
      reply_.row(event.missed != 0 ? gap_row(event.missed) : row_of(event));
      reported_ += event.missed == 0;
      total_missed_ += event.missed;
    }
    if (reported_ >= until_.count) return end();
    if (events_.empty() && missed_ != 0) put({.missed = std::exchange(missed_, 0)});
    if (!events_.empty() && !std::exchange(sending_, true)) {
      reply_.next_turn([self = weak_from_this()](Reply) {
        if (const auto watcher = self.lock()) watcher->send_next();
      });
    }
    reply_.flush();
  }

  /// Waiting events count as missed: the time ended before their turn.
  void end() { reply_.finish(json::object{{"events", reported_}, {"missed", total_missed_ + missed_ + events_.size()}}); }

  const Until until_;
  Reply reply_;
  std::uint64_t& missed_by_all_;
  std::unique_ptr<RowTap> tap_;
  std::deque<Event> events_;
  std::size_t bytes_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t reported_ = 0;
  std::uint64_t missed_ = 0;  // Since the newest event in the queue.
  std::uint64_t total_missed_ = 0;
  bool sending_ = false;
};

class Watchers::Watch final : public Watcher {
 public:
  Watch(std::string pattern, Until until, Reply reply, std::uint64_t& missed)
      : Watcher(until, std::move(reply), missed), all_(pattern.empty()), pattern_(std::move(pattern)) {}

  void hear(const Change& change) {
    if ((all_ || pattern_.matches(change.key())) && accepts_event()) push({.change = change, .bytes = change.record().bytes()});
  }

 private:
  json::object row_of(const Event& event) const override { return change_json(event.change); }
  json::object gap_row(std::uint64_t missed) const override {
    return {{"op", "GAP"}, {"key", ""}, {"fields", json::array{}}, {"missed", missed}};
  }

  const bool all_;
  const KeyPattern pattern_;
};

class Watchers::Trace final : public Watcher {
 public:
  Trace(Watchers& watchers, std::string table, std::string_view key, Until until, Reply reply)
      : Watcher(until, std::move(reply), watchers.missed_),
        watchers_(watchers),
        clock_(watchers.runtime_.clock()),
        start_(clock_.now()),
        table_(std::move(table)),
        ids_(watchers.runtime_.row_state(table_, key).state == WhyLink::State::InFlight) {}

  bool is_of(std::string_view table) const { return table == table_; }
  std::uint64_t newest_taken() const { return newest_taken_; }
  /// Knows the numbers of an earlier trace of the row, so that both report the same.
  void agree_with(const Trace& earlier) {
    ids_ = earlier.ids_;
    newest_taken_ = earlier.newest_taken_;
  }

  void on_written(const Change& change, std::uint64_t id) {
    if (id != 0) ids_.written(change.op(), id);
    if (accepts_event()) report("written", change_json(change), id != 0 ? ChangeIds::Ids{id} : ChangeIds::Ids{});
  }

  void hear(const RowEvent& event) {
    if (event.what == RowEvent::What::Resolved) return on_resolved(event);
    const bool waits = event.what == RowEvent::What::Parked;
    awaited_.assign(event.facts.begin(), waits ? event.facts.end() : event.facts.begin());
    const ChangeIds::Ids ids = ids_.heard(event, [&] { return watchers_.number_taken(table_, event.key, newest_taken_); });
    if (event.what == RowEvent::What::Taken) newest_taken_ = ids.back();
    if (!accepts_event()) return;
    json::object row{{"op", json::string{to_string(event.op)}}, {"key", text(event.key)}};
    if (event.what == RowEvent::What::Taken) row = change_json(*event.change);
    if (!event.facts.empty()) row["facts"] = facts_json(event.facts);
    if (event.what == RowEvent::What::Delayed) row["delay_ms"] = microseconds(event.delay) / 1000.0;
    if (event.why != nullptr) row["why"] = sentence(event.why->to_string());
    report(to_string(event.what), std::move(row), ids);
  }

 private:
  /// Any row of the table may have waited for the fact; only this row's facts are reported.
  void on_resolved(const RowEvent& event) {
    if (std::ranges::find(awaited_, event.facts.front()) == awaited_.end() || !accepts_event()) return;
    report("resolved", {{"facts", facts_json(event.facts)}, {"provider", text(event.provider)}}, ids_.waiting());
  }
  void report(std::string_view what, json::object row, const ChangeIds::Ids& ids) {
    const Instant at = clock_.now();
    row["what"] = json::string{what};
    if (!ids.empty()) row["changes"] = json::array(ids.begin(), ids.end());
    row["at_us"] = microseconds(at - start_);
    row["at"] = wall_text(at);
    push({.row = std::move(row), .bytes = kTraceBytes});
  }
  json::object row_of(const Event& event) const override { return event.row; }
  json::object gap_row(std::uint64_t missed) const override {
    const Instant now = clock_.now();
    return {{"what", "gap"}, {"at_us", microseconds(now - start_)}, {"at", wall_text(now)}, {"missed", missed}};
  }
  std::string wall_text(Instant at) const { return microsecond_text(clock_.wall_now() - (clock_.now() - at)); }

  Watchers& watchers_;
  const Clock& clock_;
  const Instant start_;
  const std::string table_;
  std::vector<Fact> awaited_;  // The facts that the row was last parked on.
  ChangeIds ids_;
  std::uint64_t newest_taken_ = 0;
};

Watchers::Watchers(Runtime& runtime, Priority priority) : runtime_(runtime), timer_("watchers", priority, [this] { check(); }) {
  runtime_.scheduler().add(timer_);
}

Watchers::~Watchers() = default;

void Watchers::add(std::shared_ptr<Watcher> watcher, Result<std::unique_ptr<RowTap>> tap) {
  RONDO_ASSERT(tap.has_value());
  watcher->listen(std::move(*tap));
  all_.push_back(std::move(watcher));
  if (!timer_.is_armed()) timer_.arm_every(kLook, runtime_.clock().now() + kLook);
}

void Watchers::watch(const std::string& table, const std::string& pattern, Until until, Reply reply) {
  const auto watcher = std::make_shared<Watch>(pattern, until, std::move(reply), missed_);
  add(watcher, runtime_.tap_taken(table, [watcher = watcher.get()](const Change& change) { watcher->hear(change); }));
}

void Watchers::trace(const std::string& table, const std::string& key, Until until, Reply reply) {
  const auto watcher = std::make_shared<Trace>(*this, table, key, until, std::move(reply));
  use_traces(table, key, [&watcher](const Trace& earlier) { watcher->agree_with(earlier); });
  traces_.emplace(key, watcher);
  add(watcher, runtime_.tap_row(table, key, [watcher = watcher.get()](const RowEvent& event) { watcher->hear(event); }));
}

template <class Use>
void Watchers::use_traces(std::string_view table, std::string_view key, const Use& use) const {
  const auto [first, last] = traces_.equal_range(key);
  for (auto trace = first; trace != last; ++trace) {
    if (const auto one = trace->second.lock(); one != nullptr && one->is_of(table)) use(*one);
  }
}

void Watchers::report_written(std::string_view table, const Change& change, std::uint64_t id) {
  use_traces(table, change.key(), [&](Trace& trace) { trace.on_written(change, id); });
}

std::uint64_t Watchers::number_taken(std::string_view table, std::string_view key, std::uint64_t newest) {
  // A trace that heard of the change before has its number already.
  std::uint64_t known = newest;
  use_traces(table, key, [&known](const Trace& trace) { known = std::max(known, trace.newest_taken()); });
  return known > newest ? known : ++changes_;
}

void Watchers::check() {
  const Instant now = runtime_.clock().now();
  std::erase_if(all_, [now](const std::shared_ptr<Watcher>& watcher) { return watcher->is_over(now); });
  std::erase_if(traces_, [](const auto& trace) { return trace.second.expired(); });
  if (all_.empty()) timer_.disarm();
}

Result<Until> until_of(const Clock& clock, const Arguments& arguments) {
  Until until;
  const std::int64_t count = arguments.integer("count", INT64_MAX);
  const std::int64_t milliseconds = arguments.integer("milliseconds", -1);
  if (count < 1) return failure(StatusCode::InvalidArgument, "'count' must be at least 1");
  if (arguments.has("milliseconds") && (milliseconds < 1 || milliseconds > 1'000'000'000)) {
    return failure(StatusCode::InvalidArgument, "'milliseconds' must be from 1 to 1000000000");
  }
  until.count = static_cast<std::uint64_t>(count);
  if (milliseconds > 0) until.deadline = clock.now() + std::chrono::milliseconds{milliseconds};
  return until;
}

namespace {

/// Checks that the rows of 'table' can be watched: an Orch of this thread takes them.
Status check_watched(Context& context, std::string_view table) {
  if (Status known = check_table(context.runtime.store(), table); !known.ok()) return known;
  auto tap = context.runtime.tap(table, [](const RowEvent&) {});
  return tap ? Status{} : tap.error();
}

void command_watch(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  const std::string pattern = arguments.text("pattern");
  if (Status watched = check_watched(context, table); !watched.ok()) return reply.fail(watched);
  if (pattern.size() > limits::kPatternBytes)
    return reply.fail(
        Status{StatusCode::InvalidArgument, "the pattern is longer than " + std::to_string(limits::kPatternBytes) + " bytes"});
  const auto until = until_of(context.runtime.clock(), arguments);
  if (!until) return reply.fail(until.error());
  context.watchers.watch(table, pattern, *until, std::move(reply));
}

void command_trace(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  if (Status watched = check_watched(context, table); !watched.ok()) return reply.fail(watched);
  const auto until = until_of(context.runtime.clock(), arguments);
  if (!until) return reply.fail(until.error());
  context.with_key(table, arguments.text("key"), reply,
                   [of = context.shared_from_this(), table, until = *until, reply](const std::string& key) {
                     of->watchers.trace(table, key, until, reply);
                   });
}

}  // namespace

void add_watch_commands(StandardAdder& commands) {
  const ArgumentSpec count = optional("count", ArgumentKind::Integer, "End after so many");
  const ArgumentSpec time = optional("milliseconds", ArgumentKind::Integer, "End after this time");
  commands.add({"watch",
                "Changes of a table as its consumer takes them, until the caller goes",
                {table_argument(), optional("pattern", ArgumentKind::Text, "Only keys that match: * and ?"), count, time},
                CommandEffect::Reads},
               command_watch);
  commands.add({"trace", "What happens to a row from now on", {table_argument(), key_argument(), count, time}, CommandEffect::Reads},
               command_trace);
}

}  // namespace rondo::commands
