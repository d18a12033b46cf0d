// JournalRecorder: encodes each record directly into the room that its sink returns. This file and record.cc, which decodes,
// define the content of each kind.
#include "journal/recorder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "dataplane/order_digest.h"
#include "dataplane/programmer.h"
#include "journal/encode.h"
#include "journal/format.h"
#include "journal/plane_codec.h"
#include "journal/sink.h"
#include "journal/writer.h"
#include "rondo/base/assert.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"

namespace rondo {

using journal::bound_of;
using journal::count_of;
using journal::encode;
using journal::Encoder;
using journal::Kind;
using journal::kPlaceBytes;
using journal::kPolicyBytes;
using journal::kVarintBytes;
using journal::text_bound;

namespace {

/// Maximum age of the newest reading of both clocks when a turn begins.
constexpr Duration kClocksPeriod = 10ms;

}  // namespace

JournalRecorder::JournalRecorder() = default;
JournalRecorder::JournalRecorder(std::unique_ptr<JournalSink> sink, const Clock& clock) : sink_(std::move(sink)), clock_(&clock) {}
JournalRecorder::~JournalRecorder() = default;

Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(const JournalOptions& options, const Clock& clock) {
  return JournalRecorder::open(options, clock);
}

Result<std::unique_ptr<JournalRecorder>> JournalRecorder::open(const JournalOptions& options, const Clock& clock) {
  if (options.file.empty()) return std::make_unique<JournalRecorder>();
  Result<std::unique_ptr<JournalSink>> writer = journal::open_writer(options);
  if (!writer) return failure(std::move(writer).error());
  auto recorder = std::make_unique<JournalRecorder>(std::move(*writer), clock);
  recorder->files_.push_back(options.file);
  for (unsigned i = 1; i <= options.files; ++i) recorder->files_.push_back(options.file + "." + std::to_string(i));
  return recorder;
}

Journal* Journal::of(const Runtime& runtime) noexcept { return dynamic_cast<Journal*>(runtime.observer()); }

JournalStats Journal::stats_of(const Runtime& runtime) {
  const Journal* const journal = of(runtime);
  return journal != nullptr ? journal->stats() : JournalStats{};
}

JournalRecorder* JournalRecorder::of(const Runtime& runtime) noexcept {
  auto* const recorder = dynamic_cast<JournalRecorder*>(runtime.observer());
  return recorder != nullptr && recorder->on() ? recorder : nullptr;
}

std::uint32_t JournalRecorder::name(std::string_view text) {
  if (!on()) return 0;
  const auto known = names_.find(text);
  if (known != names_.end()) return known->second;
  return names_.emplace(std::string{text}, sink_->name(text)).first->second;
}

std::uint32_t JournalRecorder::kind_name(FactKind kind) {
  for (const KindName& known : kinds_) {
    if (known.kind.name().data() == kind.name().data()) return known.name;
  }
  kinds_.push_back({kind, name(kind.name())});
  return kinds_.back().name;
}

/// Puts one record of at most 'bound' bytes, its kind included, or counts a loss.
template <class Content>
void JournalRecorder::put(std::size_t bound, const Content& content) {
  const std::size_t head = journal::length_bytes(bound);
  char* const begin = sink_->room(head + bound);
  if (begin == nullptr) return;
  Encoder to(begin + head);
  content(to);
  const auto length = static_cast<std::size_t>(to.at() - begin) - head;
  journal::put_length(begin, bound, length);
  sink_->put(head + length);
}

// --- The run

void JournalRecorder::started(Instant now, const PolicySettings& policy) {
  if (!on()) return;
  recorded_time_ = read_time_ = now;
  clocks_due_ = now + kClocksPeriod;
  const WallTime wall = clock_->wall_now();
  sink_->clocks(now, wall);
  put(1 + 16 + kPolicyBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Started));
    to.fixed(static_cast<std::uint64_t>(now.nanoseconds()));
    to.fixed(static_cast<std::uint64_t>(wall.nanoseconds()));
    encode(to, policy);
  });
  is_started_ = true;
  for (const auto& [name, text] : std::exchange(early_notes_, {})) note(name, text);
}

void JournalRecorder::note(std::string_view name, std::string_view text) {
  if (!on()) return;
  if (!is_started_) {
    early_notes_.emplace_back(name, text);
    return;
  }
  put(1 + text_bound(name) + text_bound(text), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Note));
    to.text(name);
    to.text(text);
  });
}

void JournalRecorder::written_by(std::uint32_t user, std::int32_t process, std::string_view what) {
  if (!on()) return;
  put_time();
  put(1 + 2 * kVarintBytes + text_bound(what), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::WrittenBy));
    to.number(user);
    to.number(static_cast<std::uint32_t>(process));
    to.text(what);
  });
}

// --- Turns

std::uint32_t JournalRecorder::source_added(Source& source) {
  const std::uint32_t number = ++sources_;
  put(1 + kVarintBytes + 1 + text_bound(source.name()), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::SourceAdded));
    to.number(number);
    to.byte(static_cast<std::uint8_t>(source.priority().level()));
    to.text(source.name());
  });
  if (source.weight() != 1) {
    put(1 + 2 * kVarintBytes, [&](Encoder& to) {
      to.byte(static_cast<std::uint8_t>(Kind::Weight));
      to.number(number);
      to.number(source.weight());
    });
  }
  return number;
}

void JournalRecorder::policy_changed(const PolicySettings& settings) {
  put_time();
  put(1 + kPolicyBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Policy));
    encode(to, settings);
  });
}

void JournalRecorder::source_removed(std::uint32_t source) {
  put(1 + kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::SourceRemoved));
    to.number(source);
  });
}

/// Records the time of what follows, unless it is recorded already. The time does not advance in a turn.
void JournalRecorder::put_time() {
  if (turn_began_ != Instant{} || read_time_ == recorded_time_) return;
  recorded_time_ = read_time_;
  put(1 + 8, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Looked));
    to.fixed(static_cast<std::uint64_t>(recorded_time_.nanoseconds()));
  });
}

void JournalRecorder::woken(std::uint32_t source) {
  put_time();
  put(1 + kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Woken));
    to.number(source);
  });
}

void JournalRecorder::timers_fire() {
  put_time();
  put(1, [&](Encoder& to) { to.byte(static_cast<std::uint8_t>(Kind::Timers)); });
}

void JournalRecorder::turn_begins(std::uint32_t source, Instant now) {
  if (now >= clocks_due_) {
    clocks_due_ = now + kClocksPeriod;
    const WallTime wall = clock_->wall_now();
    sink_->clocks(now, wall);
    put(1 + 16, [&](Encoder& to) {
      to.byte(static_cast<std::uint8_t>(Kind::Clocks));
      to.fixed(static_cast<std::uint64_t>(now.nanoseconds()));
      to.fixed(static_cast<std::uint64_t>(wall.nanoseconds()));
    });
  }
  turn_began_ = now;
  asked_ = 0;
  put(1 + kVarintBytes + 8, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::TurnBegins));
    to.number(source);
    to.fixed(static_cast<std::uint64_t>(now.nanoseconds()));
  });
}

// Items may leave no record, so the number of the check that returned true identifies it in the turn.
void JournalRecorder::time_checked(bool is_up) {
  ++asked_;
  if (is_up) put_answer(static_cast<std::uint8_t>(Kind::TimeUp));
}

void JournalRecorder::yield_checked(bool yields) {
  ++asked_;
  if (yields) put_answer(static_cast<std::uint8_t>(Kind::Yields));
}

void JournalRecorder::put_answer(std::uint8_t kind) {
  put(1 + kVarintBytes, [&](Encoder& to) {
    to.byte(kind);
    to.number(asked_);
  });
}

void JournalRecorder::turn_ends(const Turn& turn, Instant now) {
  put(2 + 2 * kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::TurnEnds));
    to.byte(turn.backlog == Backlog::More ? 1 : 0);
    to.number(turn.items);
    to.number(count_of(now - turn_began_));
  });
  turn_began_ = Instant{};
  recorded_time_ = read_time_ = now;
}

// --- Tables

void JournalRecorder::table_added(std::uint32_t table, std::string_view name) {
  if (tables_.size() <= table) tables_.resize(table + 1);
  tables_[table] = this->name(name);
}

void JournalRecorder::row(const RowEvent& event) {
  if (!on()) return;
  const std::uint32_t table = tables_[event.table_number];
  switch (event.what) {
    case RowEvent::What::Merged: return record_changed(table, event.row, *event.change);
    case RowEvent::What::Unparked:
    case RowEvent::What::Requeued: return unparked(table, event.row, *event.change);
    case RowEvent::What::Retried: return record_retried(table, event.row, *event.change);
    case RowEvent::What::Redone: return redone(table, event.row, *event.change);
    case RowEvent::What::Ordered: return record_staged(table, event.row);
    case RowEvent::What::Done: return event.facts.empty() ? record_done(table, event.row) : done_while(table, event.row, event.facts);
    case RowEvent::What::Rejected: return rejected(table, event.row, *event.change, *event.why);
    case RowEvent::What::Parked: return record_parked(table, event.row, *event.change, event.facts);
    case RowEvent::What::Delayed: return delayed(table, event.row, *event.change, event.delay, {}, *event.why);
    case RowEvent::What::Replaced:
    case RowEvent::What::Superseded:
    case RowEvent::What::Again: return again(table, event.row);
    case RowEvent::What::StillParked: return still_parked(table, event.row, event.facts.front());
    case RowEvent::What::Taken:    // Merged follows.
    case RowEvent::What::Handled:  // Its outcome follows.
    case RowEvent::What::Refused:  // Merged was recorded; a replay refuses the change again.
    case RowEvent::What::Resolved: return;
  }
}

void JournalRecorder::record_ready(std::uint32_t table) {
  put_time();
  put(1 + kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Ready));
    to.number(table);
  });
}

void JournalRecorder::record_took(std::uint32_t table, std::size_t count, bool empty) {
  put(2 + 2 * kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Took));
    to.number(table);
    to.number(count);
    to.byte(empty ? 1 : 0);
  });
}

void JournalRecorder::gap(std::uint32_t table) {
  if (!on()) return;
  put(1 + kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Gap));
    to.number(tables_[table]);
  });
}

void JournalRecorder::put_change(std::uint8_t kind, std::uint32_t table, std::uint32_t row, const Change& change) {
  put(1 + kPlaceBytes + bound_of(change), [&](Encoder& to) {
    encode(to, static_cast<Kind>(kind), table, row);
    encode(to, change);
  });
}

void JournalRecorder::record_changed(std::uint32_t table, std::uint32_t row, const Change& change) {
  put_change(static_cast<std::uint8_t>(Kind::Changed), table, row, change);
}

void JournalRecorder::event(std::uint32_t table, const Change& event) {
  if (on()) put_change(static_cast<std::uint8_t>(Kind::Changed), table, journal::kNoRow, event);
}

// --- Outcomes

void JournalRecorder::record_done(std::uint32_t table, std::uint32_t row) {
  put(1 + kPlaceBytes, [&](Encoder& to) { encode(to, Kind::Done, table, row); });
}

void JournalRecorder::record_staged(std::uint32_t table, std::uint32_t row) {
  put(1 + kPlaceBytes, [&](Encoder& to) { encode(to, Kind::Staged, table, row); });
}

void JournalRecorder::again(std::uint32_t table, std::uint32_t row) {
  if (!on()) return;
  put(1 + kPlaceBytes, [&](Encoder& to) { encode(to, Kind::Again, table, row); });
}

void JournalRecorder::record_parked(std::uint32_t table, std::uint32_t row, const Change& change, std::span<const Fact> facts) {
  // Names first: a new name may need the sink.
  for (const Fact& fact : facts) static_cast<void>(kind_name(fact.kind));
  put(1 + kPlaceBytes + bound_of(change) + bound_of(facts), [&](Encoder& to) {
    encode(to, Kind::Parked, table, row);
    encode(to, change);
    to.number(facts.size());
    for (const Fact& fact : facts) {
      to.number(kind_name(fact.kind));
      to.text(fact.key);
    }
  });
}

void JournalRecorder::delayed(std::uint32_t table, std::uint32_t row, const Change& change, Duration delay, std::span<const Fact> facts,
                              const Status& why) {
  if (!on()) return;
  for (const Fact& fact : facts) static_cast<void>(kind_name(fact.kind));
  put(1 + kPlaceBytes + kVarintBytes + bound_of(change) + bound_of(facts) + bound_of(why), [&](Encoder& to) {
    encode(to, Kind::Delayed, table, row);
    encode(to, change);
    to.number(facts.size());
    for (const Fact& fact : facts) {
      to.number(kind_name(fact.kind));
      to.text(fact.key);
    }
    to.number(count_of(delay));
    encode(to, why);
  });
}

void JournalRecorder::rejected(std::uint32_t table, std::uint32_t row, const Change& change, const Status& why) {
  if (!on()) return;
  put(1 + kPlaceBytes + bound_of(change) + bound_of(why), [&](Encoder& to) {
    encode(to, Kind::Rejected, table, row);
    encode(to, change);
    encode(to, why);
  });
}

void JournalRecorder::still_parked(std::uint32_t table, std::uint32_t row, const Fact& fact) {
  if (!on()) return;
  const std::uint32_t kind = kind_name(fact.kind);
  put(1 + kPlaceBytes + kVarintBytes + text_bound(fact.key), [&](Encoder& to) {
    encode(to, Kind::StillParked, table, row);
    to.number(kind);
    to.text(fact.key);
  });
}

void JournalRecorder::record_retried(std::uint32_t table, std::uint32_t row, const Change& change) {
  put_change(static_cast<std::uint8_t>(Kind::Retried), table, row, change);
}

void JournalRecorder::unparked(std::uint32_t table, std::uint32_t row, const Change& change) {
  if (on()) put_change(static_cast<std::uint8_t>(Kind::Unparked), table, row, change);
}

void JournalRecorder::done_while(std::uint32_t table, std::uint32_t row, std::span<const Fact> facts) {
  if (!on()) return;
  for (const Fact& fact : facts) static_cast<void>(kind_name(fact.kind));
  put(1 + kPlaceBytes + bound_of(facts), [&](Encoder& to) {
    encode(to, Kind::DoneWhile, table, row);
    to.number(facts.size());
    for (const Fact& fact : facts) {
      to.number(kind_name(fact.kind));
      to.text(fact.key);
    }
  });
}

void JournalRecorder::redone(std::uint32_t table, std::uint32_t row, const Change& change) {
  if (on()) put_change(static_cast<std::uint8_t>(Kind::Redone), table, row, change);
}

// --- What the store answers

void JournalRecorder::record_refused(bool is_table, const Status& why) {
  put_time();
  put(1 + bound_of(why), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(is_table ? Kind::TableRefused : Kind::WriteRefused));
    encode(to, why);
  });
}

void JournalRecorder::write_ended(std::uint64_t number, const Status& end) {
  if (!on()) return;
  put_time();
  put(1 + kVarintBytes + bound_of(end), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::WriteEnded));
    to.number(number);
    encode(to, end);
  });
}

// --- Facts

void JournalRecorder::record_announced(const Fact& fact, std::size_t rows) {
  put_time();
  const std::uint32_t kind = kind_name(fact.kind);
  put(1 + 2 * kVarintBytes + text_bound(fact.key), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Announced));
    to.number(kind);
    to.text(fact.key);
    to.number(rows);
  });
}

void JournalRecorder::withdrawn(const Fact& fact) {
  if (!on()) return;
  put_time();
  const std::uint32_t kind = kind_name(fact.kind);
  put(1 + kVarintBytes + text_bound(fact.key), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Withdrawn));
    to.number(kind);
    to.text(fact.key);
  });
}

// --- The data plane

void JournalRecorder::submitted(std::size_t lane, std::span<const Operation> ops) {
  if (!on()) return;
  put_time();
  put(2 + kVarintBytes + 8, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Submitted));
    to.byte(static_cast<std::uint8_t>(lane));
    to.number(ops.size());
    to.fixed(digest_of(ops));
  });
}

void JournalRecorder::answered(std::size_t lane, std::span<const Operation> ops) {
  if (!on()) return;
  put_time();
  std::size_t failed = 0;
  std::size_t bound = 2 + 2 * kVarintBytes;
  for (const Operation& op : ops) {
    if (op.status.ok()) continue;
    ++failed;
    bound += kVarintBytes + bound_of(op.status);
  }
  put(bound, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Answered));
    to.byte(static_cast<std::uint8_t>(lane));
    to.number(ops.size());
    to.number(failed);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].status.ok()) continue;
      to.number(i);
      encode(to, ops[i].status);
    }
  });
}

void JournalRecorder::link(const LinkEvent& event) {
  if (!on()) return;
  put_time();
  put(1 + journal::bound_of(event), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Link));
    encode(to, event);
  });
}

void JournalRecorder::kernel_found(std::uint64_t objects, std::span<const NexthopEntry> nexthops) {
  if (!on()) return;
  put(1 + kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::KernelFound));
    to.number(objects);
  });
  for (const NexthopEntry& nexthop : nexthops) {
    put(1 + bound_of(nexthop), [&](Encoder& to) {
      to.byte(static_cast<std::uint8_t>(Kind::KernelNexthop));
      encode(to, nexthop);
    });
  }
}

void JournalRecorder::restart_look(bool rows_are_handled) {
  if (!on()) return;
  put_time();
  put(2, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::RestartLook));
    to.byte(rows_are_handled ? 1 : 0);
  });
}

void JournalRecorder::unwanted(std::span<const DeleteOrder> deletes) {
  if (!on()) return;
  put_time();
  put(1 + bound_of(deletes), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Unwanted));
    encode(to, deletes);
  });
}

void JournalRecorder::drifted(DriftKind kind, std::span<const DeleteOrder> objects) {
  if (!on()) return;
  put_time();
  put(2 + bound_of(objects), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Drifted));
    to.byte(static_cast<std::uint8_t>(kind));
    encode(to, objects);
  });
}

// --- Executors

void JournalRecorder::put_texts(std::uint8_t kind, std::string_view executor, std::size_t lane, std::uint64_t first,
                                const executor::Texts& texts) {
  if (!on()) return;
  put_time();
  const std::uint32_t number = name(executor);
  put(2 + 3 * kVarintBytes + texts.size() * kVarintBytes + texts.bytes.size(), [&](Encoder& to) {
    to.byte(kind);
    to.number(number);
    to.byte(static_cast<std::uint8_t>(lane));
    if (static_cast<Kind>(kind) == Kind::OrderAnswers) to.number(first);
    to.number(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) to.text(texts[i]);
  });
}

void JournalRecorder::ordered(std::string_view executor, std::size_t lane, const executor::Texts& orders) {
  put_texts(static_cast<std::uint8_t>(Kind::Ordered), executor, lane, 0, orders);
}

void JournalRecorder::order_answers(std::string_view executor, std::size_t lane, std::uint64_t first, const executor::Texts& answers) {
  put_texts(static_cast<std::uint8_t>(Kind::OrderAnswers), executor, lane, first, answers);
}

void JournalRecorder::room_changed(std::string_view executor, bool has_room) {
  if (!on()) return;
  put_time();
  const std::uint32_t number = name(executor);
  put(2 + kVarintBytes, [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::RoomChanged));
    to.number(number);
    to.byte(has_room ? 1 : 0);
  });
}

void JournalRecorder::called(std::string_view component, std::string_view call) {
  if (!on()) return;
  put_time();
  const std::uint32_t number = name(component);
  put(1 + kVarintBytes + text_bound(call), [&](Encoder& to) {
    to.byte(static_cast<std::uint8_t>(Kind::Called));
    to.number(number);
    to.text(call);
  });
}

// --- Files

Status JournalRecorder::begin() { return on() ? sink_->begin() : Status{}; }
void JournalRecorder::rotate() noexcept {
  if (on()) sink_->rotate();
}
Status JournalRecorder::flush() { return on() ? sink_->flush() : Status{}; }
JournalStats JournalRecorder::stats() const { return on() ? sink_->stats() : JournalStats{}; }

}  // namespace rondo
