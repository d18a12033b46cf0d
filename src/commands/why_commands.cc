// The commands that explain waits: why, parked.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "commands/answers.h"
#include "commands/context.h"
#include "commands/long_waits.h"
#include "commands/row_state.h"
#include "commands/store_sink.h"
#include "commands/watchers.h"
#include "orch/parked.h"
#include "rondo/admin/limits.h"
#include "store/table_rules.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

std::string_view state_name(WhyLink::State state) {
  switch (state) {
    case WhyLink::State::Absent: return "absent";
    case WhyLink::State::Queued: return "queued";
    case WhyLink::State::InFlight: return "in-flight";
    case WhyLink::State::Parked: return "parked";
    case WhyLink::State::Rejected: return "rejected";
    case WhyLink::State::Unknown: return "unknown";
  }
  return "absent";
}

/// The links of an answer for which no change is pending: the store has more information, namely whether its table has the row.
class WhyAnswer : public std::enable_shared_from_this<WhyAnswer> {
 public:
  WhyAnswer(Context& context, Why why, Reply reply)
      : runtime_(context.runtime),
        store_(runtime_.store()),
        why_(std::move(why)),
        standby_for_(context.standby_for()),
        reply_(std::move(reply)) {
    if (!why_.chain.empty()) claim_ = context.claim_of(why_.chain.front().table, why_.chain.front().key);
  }

  /// Queries the store for each of them, one after the other, then answers.
  void go_on() {
    while (next_ < why_.chain.size() && is_explained(why_.chain[next_]) && !may_have_lost_its_row()) ++next_;
    if (next_ == why_.chain.size()) return finish();
    const WhyLink& link = why_.chain[next_];
    get_row(store_, link.table, link.key, reply_, [self = shared_from_this()](const Result<Record>& record) {
      self->note(record);
      ++self->next_;
      self->go_on();
    });
  }

 private:
  static bool is_explained(const WhyLink& link) {
    return link.state != WhyLink::State::Absent || link.plane != PlaneState::Unknown || link.table.empty();
  }

  /// True for the row asked about if its object is there, and a store of another process could have lost the row meanwhile.
  bool may_have_lost_its_row() const {
    const WhyLink& link = why_.chain[next_];
    if (next_ != 0 || link.state != WhyLink::State::Absent || link.table.empty()) return false;
    const auto size = store_.size(link.table);
    return size && !size->rows;
  }

  void note(const Result<Record>& record) {
    WhyLink& link = why_.chain[next_];
    if (is_explained(link)) {
      if (record && !*record) {
        link.note += std::string{link.note.empty() ? "" : "; "} +
                     "the store does not have this row any more: another client deleted it without a message to the table's channel, and "
                     "the next start removes what it asked for";
      }
      return;
    }
    link.note = link.origin_note.empty() ? "" : link.origin_note + "; ";
    if (!record && record.error().code() != StatusCode::NotFound) {  // A table that the store does not know has no such row.
      const bool has_answer = record.error().code() == StatusCode::FailedPrecondition;  // The key is of another type.
      if (!has_answer) unknown_.insert(next_);
      link.note += (has_answer ? "" : "the store could not be asked about this row: ") + std::string{record.error().message()};
      return;
    }
    const bool has_row = record && *record;
    if (has_row && !standby_for_.empty()) {  // Only the process that consumes the table knows what became of the row.
      link.state = WhyLink::State::Queued;
      link.note += "its consumer has not read all rows of its table yet";
      return;
    }
    if (has_row) {
      done_.insert(next_);
      const WhyLink known = runtime_.row_state(link.table, *record);
      if (known.plane != PlaneState::Unknown) {
        link.plane = known.plane;
        link.state = known.state;
        link.note += known.note;
        link.facts = known.facts;
        link.missing = known.missing;
        link.provider = known.provider;
        return;
      }
      if (!known.plane_error.empty()) {
        done_.erase(next_);
        unknown_.insert(next_);
        link.note += known.plane_error;
        return;
      }
      if (next_ == 0 && is_unexplained(link)) {
        done_.erase(next_);
        link.note +=
            "the table has the row, and its consumer knows nothing of it: no consumer was notified, as when a row is written by HSET "
            "alone, without the message to the table's channel; it is read at the next start";
        return;
      }
      link.note += next_ == 0 ? "its consumer owes nothing for this row" : "but the fact that it should make true does not hold";
      return;
    }
    if (next_ == 0 && !link.origin_note.empty()) {  // The first link has no fact as its origin: its Orch has said what became of the row.
      link.note = link.origin_note;
      if (!link.note.starts_with("no such")) ended_.insert(next_);  // Otherwise the Orch knows of no such row.
      return;
    }
    const auto size = store_.size(link.table);
    if (size && size->staged > 0 && !is_consumed(link.table)) {
      link.note += "no Orch of this program consumes the table; keys that wait in it: " + std::to_string(size->staged);
      return;
    }
    link.note += "no such row was written";
    if (size && size->staged > 0) {
      link.note += " (or it is among the " + counted(size->staged, "row") + " of this table not taken yet)";
    }
  }

  bool is_consumed(std::string_view table) const {
    const std::vector<ConsumerStats> consumers = runtime_.consumers();
    return std::ranges::find(consumers, table, &ConsumerStats::table) != consumers.end();
  }

  /// True if the Orch of the table tells the state of each row that it has taken, and tells none of this one. Rows of a table in this
  /// process reach their consumer in any case.
  bool is_unexplained(const WhyLink& link) const {
    const auto size = store_.size(link.table);
    if (!size || size->rows) return false;
    const std::vector<ConsumerStats> consumers = runtime_.consumers();
    const auto consumer = std::ranges::find(consumers, link.table, &ConsumerStats::table);
    return consumer != consumers.end() && consumer->caught_up && consumer->plane.has_value();
  }

  /// A row that its consumer has settled may be one that the consumer does not take.
  void note_standstills() {
    for (const ConsumerStats& consumer : runtime_.consumers()) {
      std::string still = standstill_text(consumer);
      if (!consumer.quarantine.empty()) {
        still = "the consumer of the table is quarantined and takes no more changes: " + consumer.quarantine;
      } else if (still.empty()) {
        still = hold_text(consumer);
      }
      if (still.empty()) continue;
      for (WhyLink& link : why_.chain) {
        if (link.table == consumer.table && link.state == WhyLink::State::Absent) link.note += (link.note.empty() ? "" : "; ") + still;
      }
    }
  }

  void finish() {
    note_standstills();
    if (!standby_for_.empty() && !why_.chain.empty()) {
      std::string& note = why_.chain.front().note;
      note = standby_note(standby_for_) + (note.empty() ? "" : "; ") + note;
    }
    if (!claim_.note.empty()) {
      std::string& note = why_.chain.front().note;
      note += (note.empty() ? "" : "; ") + claim_.note;
    }
    json::array chain;
    for (std::size_t i = 0; i < why_.chain.size(); ++i) {
      const WhyLink& link = why_.chain[i];
      const bool is_done = link.state == WhyLink::State::Absent && (done_.contains(i) || link.plane != PlaneState::Unknown);
      // Its Orch keeps it for a later time, without an unsettled change.
      const bool is_kept = is_done && link.plane == PlaneState::Waiting;
      const bool has_ended = link.state == WhyLink::State::Absent && ended_.contains(i);
      const bool is_unknown = link.state == WhyLink::State::Absent && unknown_.contains(i);
      const std::string_view state = is_kept      ? "parked"
                                     : is_done    ? "done"
                                     : has_ended  ? "ended"
                                     : is_unknown ? "unknown"
                                                  : state_name(link.state);
      json::object row{{"table", text(link.table)},       {"key", text(link.key)},   {"state", json::string{state}},
                       {"facts", facts_json(link.facts)}, {"missing", link.missing}, {"provider", text(link.provider)},
                       {"note", sentence(link.note)},     {"parent", link.parent}};
      if (link.plane != PlaneState::Unknown) row["plane"] = json::string{to_string(link.plane)};
      if (link.op) row["op"] = json::string{to_string(*link.op)};
      if (link.fact) row["fact"] = fact_json(*link.fact);
      if (link.any_of > 1) row["any_of"] = link.any_of;
      chain.push_back(std::move(row));
    }
    reply_.finish(json::object{{"chain", std::move(chain)}, {"cycle", why_.cycle}, {"cut_short", why_.cut_short}});
  }

  Runtime& runtime_;
  Store& store_;
  Why why_;
  const std::string standby_for_;
  RowClaim claim_;
  Reply reply_;
  std::size_t next_ = 0;
  std::set<std::size_t> done_;     // Links whose rows the store has and for which no change is pending.
  std::set<std::size_t> unknown_;  // Links whose rows the store could not be asked about.
  std::set<std::size_t> ended_;    // Links whose rows are over, such as runs of jobs: their Orch says how they ended.
};

void command_why(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  if (Status known = check_table(context.runtime.store(), table); !known.ok()) return reply.fail(known);
  context.with_key(table, arguments.text("key"), reply, [of = context.weak_from_this(), table, reply](const std::string& key) {
    const std::shared_ptr<Context> alive = of.lock();
    if (alive != nullptr) std::make_shared<WhyAnswer>(*alive, alive->runtime.why(table, key), reply)->go_on();
  });
}

json::object row_json(const ParkedRow& row) {
  return {{"table", text(row.table)},
          {"key", text(row.key)},
          {"op", json::string{to_string(row.op)}},
          {"facts", facts_json(row.facts)},
          {"waited_ms", microseconds(row.waited) / 1000.0},
          {"retry_in_ms", microseconds(row.retry_in) / 1000.0},
          {"why", sentence(row.why)}};
}

json::object fact_row(const ParkedFact& parked) {
  json::object row = fact_json(parked.fact);
  row["table"] = text(parked.table);
  row["rows"] = parked.rows;
  row["has_provider"] = parked.has_provider;
  row["provider"] = text(parked.provider);
  row["oldest_ms"] = microseconds(parked.oldest) / 1000.0;
  return row;
}

/// Few at a time: a row may wait for many facts, and the turn's time is checked between them.
constexpr std::size_t kParkedStep = 8;

constexpr std::size_t kParkedSteps = limits::kAdminPageRows / kParkedStep;

/// Lists the parked rows of a table.
void list_parked(Runtime& runtime, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  if (Status known = check_table(runtime.store(), table); !known.ok()) return reply.fail(known);
  const auto until = until_of(runtime.clock(), arguments);
  if (!until) return reply.fail(until.error());
  const auto from = store::parse_cursor(arguments.text("cursor"));
  if (!from) return reply.fail(from.error());
  reply.stream([&runtime, table, left = until->count, place = *from](Reply& page) mutable {
    for (std::size_t steps = 0; steps < kParkedSteps && place != kNoPlace && !page.page_full(); ++steps) {
      std::uint32_t behind = place;
      const auto rows = parked_rows(runtime, table, std::clamp<std::uint64_t>(left, 1, kParkedStep), behind);
      if (left == 0 && !rows.empty()) {  // There is one more.
        page.finish({{"next", std::to_string(place)}});
        return false;
      }
      for (const ParkedRow& row : rows) page.row(row_json(row));
      left -= rows.size();
      place = behind;
    }
    return place != kNoPlace;
  });
}

void command_parked(Context& context, const Arguments& arguments, Reply reply) {
  Runtime& runtime = context.runtime;
  if (arguments.has("table")) return list_parked(runtime, arguments, std::move(reply));
  if (arguments.has("count") || arguments.has("cursor"))
    return reply.fail(Status{StatusCode::InvalidArgument, "'count' and 'cursor' need a 'table'"});
  reply.stream([&runtime, place = std::uint32_t{0}](Reply& page) mutable {
    // A step visits at most a page of places, even if all are empty.
    for (std::size_t steps = 0; steps < kParkedSteps && place != kNoPlace && !page.page_full(); ++steps) {
      for (const ParkedFact& fact : parked_facts(runtime, kParkedStep, place)) page.row(fact_row(fact));
    }
    return place != kNoPlace;
  });
}

/// The tables whose rejected rows are listed, and the progress.
struct RejectedPlace {
  std::vector<std::string> tables;
  std::size_t table = 0;
  std::optional<std::string> after = {};

  /// The cursor of this place, which has a table: the length of the table's name, the table, and the key if there is one.
  std::string cursor() const { return std::to_string(tables[table].size()) + ":" + tables[table] + after.value_or(std::string{}); }
  /// Goes to the place of a cursor. InvalidArgument for another text.
  Status go_to(std::string_view cursor) {
    std::size_t size = 0;
    const auto [stop, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), size);
    const std::string_view names = cursor.substr(static_cast<std::size_t>(stop - cursor.data()));
    if (error != std::errc{} || !names.starts_with(':') || size > names.size() - 1)
      return {StatusCode::InvalidArgument, quoted(cursor) + " is not a cursor of rejected rows"};
    const std::string_view name = names.substr(1, size);
    table = static_cast<std::size_t>(std::ranges::lower_bound(tables, name) - tables.begin());
    const std::string_view key = names.substr(1 + size);
    if (!key.empty() && table < tables.size() && tables[table] == name) after = key;
    return {};
  }
};

/// Few at a time, because the turn's time is checked between them.
constexpr std::size_t kRejectedStep = 32;

void command_rejected(Context& context, const Arguments& arguments, Reply reply) {
  Runtime& runtime = context.runtime;
  RejectedPlace place;
  if (arguments.has("table")) {
    place.tables.push_back(arguments.text("table"));
    if (Status known = check_table(runtime.store(), place.tables.front()); !known.ok()) return reply.fail(known);
  } else {
    for (const ConsumerStats& stats : runtime.consumers()) {
      if (stats.rejected_rows != 0) place.tables.push_back(stats.table);
    }
    std::ranges::sort(place.tables);
  }
  const auto until = until_of(runtime.clock(), arguments);
  if (!until) return reply.fail(until.error());
  if (const std::string cursor = arguments.text("cursor"); !cursor.empty()) {
    if (Status bad = place.go_to(cursor); !bad.ok()) return reply.fail(bad);
  }
  reply.stream([&runtime, place, left = until->count](Reply& page) mutable {
    while (place.table < place.tables.size() && !page.page_full()) {
      const std::string& table = place.tables[place.table];
      const auto rows = rejected_rows(runtime, table, std::clamp<std::uint64_t>(left, 1, kRejectedStep), place.after);
      if (left == 0 && !rows.empty()) {  // There is one more.
        page.finish({{"next", text(place.cursor())}});
        return false;
      }
      left -= rows.size();
      for (const RejectedRow& row : rows)
        page.row(json::object{{"table", text(table)}, {"key", text(row.key)}, {"why", sentence(row.why)}});
      place.after = rows.empty() ? std::nullopt : std::optional{rows.back().key};
      if (rows.empty()) ++place.table;
    }
    return place.table < place.tables.size();
  });
}

}  // namespace

void add_why_commands(StandardAdder& commands) {
  commands.add({"why", "Explain what a row waits for, down to the missing facts", {table_argument(), key_argument()}, CommandEffect::Reads},
               command_why);
  const std::vector<ArgumentSpec> of_list{optional("table", ArgumentKind::Text, "Only rows of this table"),
                                          optional("count", ArgumentKind::Integer, "At most so many"), cursor_argument()};
  commands.add({"parked", "List awaited facts, or the waiting rows of a table", of_list, CommandEffect::Reads}, command_parked);
  commands.add({"rejected", "List the rejected rows with their reasons", of_list, CommandEffect::Reads}, command_rejected);
}

}  // namespace rondo::commands
