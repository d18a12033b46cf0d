// The command `turns`: who had the newest turns. Turns are recorded from the first call until limits::kTurnRecordKept after the last one.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "commands/context.h"
#include "rondo/sched/scheduler.h"
#include "sched/limits.h"
#include "sched/turn_record.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

constexpr std::int64_t kCountDefault = 1000;

/// An answer: entries and the names of their sources, copied in the turn of the call. Later turns and removed sources do not change it.
struct TurnPages {
  std::vector<RecordedTurn> turns;
  std::unordered_map<std::uint64_t, std::string> names;
  Instant started;  // Times count from here.
  json::object result;
  std::size_t sent = 0;

  json::object row(const RecordedTurn& turn) const {
    return {{"sequence", turn.sequence},
            {"source", text(names.at(turn.source))},
            {"priority", turn.priority.level()},
            {"start_us", microseconds(turn.start - started)},
            {"span_us", microseconds(turn.end - turn.start)},
            {"ran_us", microseconds(turn.ran)},
            {"turns", turn.turns},
            {"items", turn.items},
            {"waited_us", microseconds(turn.waited)},
            {"more", turn.more}};
  }
};

void find_names(Scheduler& scheduler, const TurnRecord& record, TurnPages& pages) {
  for (const RecordedTurn& turn : pages.turns) pages.names.try_emplace(turn.source, record.name_of_removed(turn.source));
  scheduler.for_each_source([&pages](const Source& source) {
    if (const auto found = pages.names.find(source.number()); found != pages.names.end()) found->second = source.name();
  });
}

/// Returns the number of turns after 'since' that come before those of 'turns'.
std::uint64_t missed_turns(const std::vector<RecordedTurn>& turns, std::uint64_t since, std::uint64_t newest) {
  const std::uint64_t before = turns.empty() ? newest : turns.front().sequence - turns.front().turns;
  return before - std::min(before, since);
}

void send_pages(const std::shared_ptr<TurnPages>& pages, Reply reply) {
  while (pages->sent < pages->turns.size()) {
    if (!reply.page_full()) {
      reply.row(pages->row(pages->turns[pages->sent++]));
      continue;
    }
    return reply.next_turn([pages](Reply r) {
      if (r.wanted()) send_pages(pages, std::move(r));
    });
  }
  reply.finish(pages->result);
}

void command_turns(Context& context, const Arguments& arguments, Reply reply) {
  const std::int64_t count = arguments.integer("count", kCountDefault);
  const std::int64_t after = arguments.integer("since", 0);
  if (count < 1 || static_cast<std::uint64_t>(count) > limits::kTurnsRecorded)
    return reply.fail(Status{StatusCode::InvalidArgument, "'count' must be from 1 to " + std::to_string(limits::kTurnsRecorded)});
  if (after < 0) return reply.fail(Status{StatusCode::InvalidArgument, "'since' must be at least 0"});
  Scheduler& scheduler = context.runtime.scheduler();
  const Instant now = context.runtime.clock().now();
  TurnRecord& record = scheduler.record_turns(now);
  const std::uint64_t newest = record.newest_sequence();
  // A number above the newest is of an earlier process.
  const bool has_since = arguments.has("since") && static_cast<std::uint64_t>(after) <= newest;
  const std::uint64_t since = has_since ? static_cast<std::uint64_t>(after) : 0;
  const auto pages = std::make_shared<TurnPages>();
  pages->started = context.started;
  pages->turns = record.newest(static_cast<std::size_t>(count), since);
  find_names(scheduler, record, *pages);
  pages->result = {{"at_us", microseconds(now - context.started)},
                   {"recorded_us", microseconds(now - record.began())},
                   {"missed", has_since ? missed_turns(pages->turns, since, newest) : 0},
                   {"next", newest}};
  reply.expect_rows();
  send_pages(pages, std::move(reply));
}

}  // namespace

void end_unread_turns(Scheduler& scheduler, Instant now) {
  const TurnRecord* const record = scheduler.turn_record();
  if (record != nullptr && !record->is_wanted(now)) scheduler.end_turn_record();
}

void add_turn_commands(StandardAdder& commands) {
  commands.add({"turns",
                "The newest turns: which source had them, and when",
                {optional("count", ArgumentKind::Integer, "The newest so many"),
                 optional("since", ArgumentKind::Integer, "Only turns after this one: `next` of the last answer")},
                CommandEffect::Reads},
               command_turns);
}

}  // namespace rondo::commands
