// Replay: runs production code and compares each record that it makes with the next recorded one. Input from outside is given first
// (feed()): a StandIn does in its turn what a foreign source did in the record. Anything else is the first difference.
#include "rondo/replay/replay.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "journal/recorder.h"
#include "journal/sink.h"
#include "orch/runtime_view.h"
#include "replay/limits.h"
#include "replay/replay_impl.h"
#include "rondo/base/assert.h"
#include "rondo/replay/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::replay {

/// The sink of a replay's journal.
class Replay::Impl::Comparison final : public JournalSink {
 public:
  explicit Comparison(Impl& impl) : impl_(impl) {}

  char* room(std::size_t bytes) override {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return scratch_.data();
  }
  void put(std::size_t bytes) override { impl_.compare({scratch_.data(), bytes}); }
  std::uint32_t name(std::string_view text) override {
    const journal::Names& names = impl_.reader->names();
    const std::uint32_t known = names.find(text);
    return known != 0 ? known : names.size() + ++strange_;
  }
  void clocks(Instant, WallTime) override {}

 private:
  Impl& impl_;
  std::vector<char> scratch_;
  std::uint32_t strange_ = 0;
};

// --- The comparison

std::string Replay::Impl::words(std::string_view bytes) const {
  JournalRecord decoded;
  if (!journal::decode(bytes, decoded)) return "a record that is none";
  std::string text = to_string(decoded, reader->names());
  const auto source = sources.find(decoded.source);
  if (source != sources.end()) text.append(" '").append(source->second->name()).append("'");
  return text;
}

void Replay::Impl::differ(std::string came) {
  if (over()) return;
  if (reader->at_end()) return end();
  different = true;
  report.record = reader->passed() + 1;
  report.expected = words(reader->peek().bytes());
  report.came = std::move(came);
}

/// Returns the parts of a record that its text form omits.
std::string rest_of(std::string_view bytes) {
  JournalRecord decoded;
  if (journal::decode(bytes, decoded) && decoded.kind == Kind::TurnEnds) return ", after " + std::to_string(decoded.span.count()) + " ns";
  std::string text = ", bytes";
  for (const char byte : bytes) {
    char hex[4];
    std::snprintf(hex, sizeof hex, " %02x", static_cast<unsigned char>(byte));
    text += hex;
  }
  return text;
}

void Replay::Impl::differ_from(std::string_view came) {
  if (over()) return;
  const std::string_view expected = reader->peek().bytes();
  const std::string rest = rest_of(expected);
  differ(words(came));
  if (report.came != report.expected) return;
  report.came += rest_of(came);
  report.expected += rest;
}

void Replay::Impl::refuse(std::size_t ahead) {
  if (over()) return;
  different = true;
  report.record = reader->passed() + ahead + 1;
  report.expected = words(reader->peek(ahead).bytes());
  report.came = "nothing: what cannot be read cannot be given";
}

/// The run's own sources are removed, so the run is over. Destructors remove the rest, and may submit their last operations to executors.
/// Other records that follow were not compared.
void Replay::Impl::check_rest() {
  const auto is_of_end = [](Kind kind) {
    return kind == Kind::SourceRemoved || kind == Kind::Ordered || kind == Kind::Woken || kind == Kind::Looked || kind == Kind::Called;
  };
  while (!reader->at_end() && is_of_end(reader->kind())) skip();
  if (reader->at_end()) return;
  different = true;
  report.record = reader->passed() + 1;
  report.expected = words(reader->peek().bytes());
  report.came = "not compared: a source of the run's own was removed before, as at its end";
}

/// True if 'bytes' record a reading of the clock at the present time, which feed() applied before and which is recorded again.
bool Replay::Impl::is_recorded_time(std::string_view bytes) const {
  JournalRecord decoded;
  return bytes.size() > 1 && static_cast<Kind>(bytes[1]) == Kind::Looked && journal::decode(bytes, decoded) && decoded.time == time;
}

/// True if 'bytes' record a note, and the next record is one of the same name.
bool Replay::Impl::is_other_note(std::string_view bytes) {
  JournalRecord decoded;
  return reader->kind() == Kind::Note && journal::decode(bytes, decoded) && decoded.kind == Kind::Note && decoded.name == record(0).name;
}

void Replay::Impl::pass() {
  const Kind kind = reader->kind();
  if (kind == Kind::TurnBegins) {
    in_turn = true;
    checks = 0;
    in_own_turn = !stand_ins.contains(record(0).source);
    turn_began = time;
  } else if (kind == Kind::TurnEnds) {
    ++report.turns;
    time = turn_end();
    in_turn = in_own_turn = false;
  } else if (journal::is_outcome(kind)) {
    ++report.outcomes;
  }
  reader->advance();
}

void Replay::Impl::compare(std::string_view came) {
  if (over()) return;
  if (const ReadRecord& next = reader->peek(); next.bytes() == came && next.kind != Kind::Looked) return pass();
  compare_with_rest(came);
}

/// Called if the record differs from the record reader's next one.
void Replay::Impl::compare_with_rest(std::string_view came) {
  if (is_recorded_time(came)) return;
  std::string kept;  // A copy, because feeding makes records in the same buffer.
  for (;;) {
    if (reader->at_end()) return end();
    if (reader->peek().bytes() == came) return pass();
    if (kept.empty()) {
      kept = came;
      came = kept;
    }
    if (is_other_note(came) || !feed()) return differ_from(came);
  }
}

// --- Inputs from outside

JournalRecord Replay::Impl::record(std::size_t ahead) {
  JournalRecord decoded;
  if (over() || !journal::decode(reader->peek(ahead).bytes(), decoded)) decoded.kind = Kind::Lost;
  return decoded;
}

Kind Replay::Impl::kind(std::size_t ahead) { return over() ? Kind::Lost : reader->peek(ahead).kind; }

/// Wakes sources outside the replay that were woken in a turn of ours, such as a row tap's. Called before a check returns, because the
/// recorded answer follows these wakes.
void Replay::Impl::feed_wakes() {
  if (!in_own_turn || waking) return;
  while (!over() && reader->kind() == Kind::Woken && stand_ins.contains(record(0).source) && feed()) {
  }
}

void Replay::Impl::take_effect(std::string_view table) {
  const bool was_effect = std::exchange(is_effect, true);
  while (kind() == Kind::Ready && table_of(record(0)) == table && feed()) {
  }
  is_effect = was_effect;
}

Instant Replay::Impl::now() {
  feed_wakes();
  if (in_turn && kind() == Kind::TurnEnds) return turn_end();  // The reading of the clock that ends a turn.
  // A source of the program's own is woken between turns, as at its start: the scheduler charges turns from this reading on.
  if (!in_turn && kind() == Kind::Looked) feed();
  return time;
}

WallTime Replay::Impl::wall() {
  if (kind() == Kind::Clocks) wall_time = record(0).wall;
  return wall_time;
}

/// Applies the record reader's next record if it is an input from outside. Returns false if production code must make the record, or at the
/// end. An input may make records before which further inputs are applied; in a genuine run these nest a few times.
bool Replay::Impl::feed() {
  if (over() || feed_depth >= limits::kReplayNesting) return false;
  const std::uint64_t before = reader->passed();
  ++feed_depth;
  const bool given = give();
  --feed_depth;
  return given &&
         (reader->passed() != before || over());  // Only if the record reader has advanced, so that a caller that repeats until false ends.
}

bool Replay::Impl::give() {
  switch (reader->kind()) {
    case Kind::Looked:
      if (in_turn) return false;
      time = std::max(time, record(0).time);
      if (journal != nullptr) journal->clock_read(time);  // The following inputs from outside arrived at this time.
      skip();
      return true;
    case Kind::SourceAdded: return feed_source();
    case Kind::SourceRemoved: return remove_stand_in();
    case Kind::Woken: return feed_wake();
    case Kind::Ready:
      // In a turn of ours a table becomes ready because the turn wrote it or requeued a row of it: see take_effect().
      return (!in_own_turn || is_effect) && store != nullptr && store->become_ready(table_of(record(0)));
    case Kind::Timers: return fire_timers();
    case Kind::Policy: return change_policy();
    case Kind::Answered: return wait_for_answers(programmer);
    case Kind::OrderAnswers: {
      const auto executor = executors.find(table_of(record(0)));
      return executor != executors.end() && wait_for_answers(executor->second);
    }
    case Kind::Called: return repeat_call();
    case Kind::WriteEnded: {
      const JournalRecord ended_write = record(0);
      return !in_own_turn && store != nullptr && store->end_write(ended_write.count, ended_write.why);
    }
    case Kind::Note:  // The program that replays does not make it.
      if (in_turn) return false;
      skip();
      return true;
    case Kind::WrittenBy:
    case Kind::WriteRefused:  // A refusal to an outside caller, which does not write in a replay.
      if (in_own_turn) return false;
      skip();
      return true;
    case Kind::Link: return in_turn && !in_own_turn && plane.pass_on(record(0).link);
    case Kind::Drifted: return in_turn && !in_own_turn && plane.pass_on_drift(record(0));
    default: return false;
  }
}

/// Adds the sources that were added before it first, so that it gets its recorded number.
void Replay::Impl::number(Source& source) {
  while (&source != adding && !over()) {
    const JournalRecord next = record(0);
    if (next.kind == Kind::SourceAdded && next.name == source.name() && next.priority == source.priority().level()) break;
    if (!feed()) break;
  }
  sources[++sources_added] = &source;
}

bool Replay::Impl::feed_source() {
  // Production sources are added by their owners.
  if (adding != nullptr || scheduler == nullptr) return false;
  add_stand_in();
  return true;
}

/// The policy is changed outside of the Orchs, in a turn of a source outside the replay.
bool Replay::Impl::change_policy() {
  if (scheduler == nullptr || in_own_turn) return false;
  const std::shared_ptr<const PolicySettings> settings = record(0).policy;
  if (settings == nullptr) return false;
  const std::uint64_t before = reader->passed();
  scheduler->set_policy(std::move(make_policy(*settings).value()));
  return reader->passed() != before;
}

/// Returns the Orch of the program that must have made the recorded source but did not; empty if there is none. Orch::every() and
/// Orch::observe() name their sources so.
std::string Replay::Impl::orch_without(std::string_view source) const {
  constexpr std::string_view kTimer = " timer";
  std::string_view orch;
  if (source.ends_with(kTimer)) orch = source.substr(0, source.size() - kTimer.size());
  if (const std::size_t end = source.find(" observes "); end != source.npos) orch = source.substr(0, end);
  return runtime != nullptr && RuntimeView(*runtime).had_orch(orch) ? std::string{orch} : std::string{};
}

/// A stand-in must not take the place of a source of the program's Orchs.
void Replay::Impl::check_given(const std::string& name, const GivenSource& given) {
  const std::string orch = orch_without(name);
  if (orch.empty() || (different && report.record <= given.record)) return;
  different = true;
  report.record = given.record;
  report.expected = given.words;
  report.came = "nothing: the Orch '" + orch + "' does not make this source";
}

void Replay::Impl::add_stand_in() {
  const JournalRecord next = record(0);
  const auto given =
      given_sources.try_emplace(std::string{next.name}, GivenSource{reader->passed() + 1, words(reader->peek().bytes())}).first;
  check_given(given->first, given->second);
  if (over()) return;
  auto source = std::make_unique<StandIn>(std::string{next.name}, Priority{std::min(next.priority, limits::kPriorities - 1)},
                                          [this] { return stand_in_turn(); });
  if (const JournalRecord weight = record(1); weight.kind == Kind::Weight) source->set_weight(static_cast<std::uint32_t>(weight.count));
  StandIn& reference = *source;
  stand_ins.emplace(next.source, std::move(source));
  adding = &reference;
  scheduler->add(reference);
  adding = nullptr;
}

bool Replay::Impl::remove_stand_in() {
  const auto leaving = stand_ins.find(record(0).source);
  if (leaving == stand_ins.end() && in_turn) return false;
  if (leaving == stand_ins.end()) return ended = is_leaving = true;
  std::unique_ptr<StandIn> source = std::move(leaving->second);
  stand_ins.erase(leaving);
  scheduler->remove(*source);
  removed.push_back(std::move(source));
  return true;
}

/// Sources outside the replay are woken by inputs. So are production sources between turns, by another thread or a descriptor.
bool Replay::Impl::feed_wake() {
  const std::uint32_t number = record(0).source;
  const auto source = sources.find(number);
  if (source == sources.end() || (in_own_turn && !stand_ins.contains(number))) return false;
  const std::uint64_t before = reader->passed();
  const bool was_waking = std::exchange(waking, true);  // wake() reads the time.
  source->second->wake();
  waking = was_waking;
  return reader->passed() != before;
}

/// Between turns: the scheduler polls. Returns false if the record reader did not advance.
bool Replay::Impl::poll() {
  const std::uint64_t before = reader->passed();
  polling = true;
  scheduler->poll();
  polling = false;
  return reader->passed() != before;
}

bool Replay::Impl::fire_timers() {
  if (giving_turn || polling || scheduler == nullptr) return false;
  if (poll() || over()) return true;
  // The expired timers were not ours. The wheels advance too, because the number of polls for a later burst depends on their time.
  for (TimerWheel* const wheel : {&scheduler->timers(), &scheduler->bulk_timers()}) {
    wheel->expire(scheduler->now(), limits::kTimersPerTurn);
  }
  skip();
  return true;
}

bool Replay::Impl::wait_for_answers(Source* executor) {
  if (giving_turn || polling || executor == nullptr) return false;
  executor->wake_from_any_thread();
  return poll();
}

/// The call was made by a program outside of the replay. Made again, it records itself, and that is compared.
bool Replay::Impl::repeat_call() {
  const JournalRecord called = record(0);
  const auto component = callers.find(table_of(called));
  const std::string call{called.text};  // A copy, because the record is passed before the call has ended.
  return component != callers.end() && component->second(call);
}

bool Replay::Impl::is_next_call(std::string_view component, std::string_view call) {
  if (kind() != Kind::Called) return false;
  const JournalRecord called = record(0);
  return table_of(called) == component && called.text == call;
}

Turn Replay::Impl::stand_in_turn() {
  Turn turn;
  while (!over() && reader->kind() != Kind::TurnEnds) {
    if (reader->kind() == Kind::TimeUp || reader->kind() == Kind::Yields) {
      skip();
    } else if (!feed()) {
      differ("nothing: what a source of another's did cannot be repeated");
    }
  }
  if (over()) return turn;
  const JournalRecord end = record(0);
  turn.items = static_cast<std::uint32_t>(end.count);
  turn.backlog = end.flag ? Backlog::More : Backlog::Empty;
  return turn;
}

bool Replay::Impl::next(std::size_t& lane, std::size_t& count) {
  constexpr std::uint64_t kMost = 1'000'000;  // A genuine record has no larger count.
  if (kind() != Kind::Answered) return false;
  const JournalRecord answered = record(0);
  if (answered.count > kMost) return false;
  lane = answered.lane;
  count = static_cast<std::size_t>(answered.count);
  return true;
}

void Replay::Impl::answer(std::span<Operation> orders) {
  for (JournalRecord::Failure& failure : record(0).failures) {
    if (failure.order < orders.size()) orders[static_cast<std::size_t>(failure.order)].status = std::move(failure.status);
  }
}

bool Replay::Impl::next(std::string_view executor, std::size_t& lane, std::uint64_t& first, std::vector<std::string_view>& answers) {
  if (kind() != Kind::OrderAnswers || table_of(record(0)) != executor) return false;
  JournalRecord answered = record(0);
  lane = answered.lane;
  first = answered.first;
  answers = std::move(answered.texts);
  return true;
}

bool Replay::Impl::next_room(std::string_view executor, bool& has_room) {
  if (kind() != Kind::RoomChanged || table_of(record(0)) != executor) return false;
  has_room = record(0).flag;
  return true;
}

Backlog Replay::Impl::backlog() {
  // The callbacks of answers may have written tables, which become ready before the turn ends.
  while (kind() != Kind::TurnEnds && feed()) {
  }
  return kind() == Kind::TurnEnds && record(0).flag ? Backlog::More : Backlog::Empty;
}

// --- The run

/// Reproduces the next record between turns. Returns false at the end, or at a difference.
bool Replay::Impl::step() {
  if (reader->at_end()) ended = true;
  if (over()) return false;
  switch (reader->kind()) {
    case Kind::Clocks:
    case Kind::TurnBegins:
      time = std::max(time, record(0).time);
      giving_turn = true;
      if (!scheduler->turn()) differ("nothing: no source was ready");
      giving_turn = false;
      break;
    default:
      if (!feed()) differ("nothing: this happened outside of what a replay can repeat");
  }
  return !over();
}

Replay::Replay(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Replay::~Replay() = default;

Result<std::unique_ptr<Replay>> Replay::open(const std::vector<std::string>& files, unsigned run) {
  Result<std::unique_ptr<RecordReader>> reader = RecordReader::open(files, run);
  if (!reader) return failure(std::move(reader).error());
  auto impl = std::make_unique<Impl>(std::move(*reader));
  const JournalRecord start = impl->record(0);
  if (start.kind != Kind::Started) return failure(StatusCode::DataLoss, "the run does not begin with its start");
  impl->time = impl->began = std::max(start.time, Instant{});  // The times of a forged run may be negative, or decrease.
  impl->wall_time = start.wall;
  impl->policy = *start.policy;
  for (std::size_t ahead = 1;; ++ahead) {
    const JournalRecord record = impl->record(ahead);
    if (record.kind == Kind::Note) impl->notes.emplace(record.name, record.text);
    if (record.kind == Kind::KernelFound) impl->objects_found = record.count;
    if (record.kind == Kind::KernelNexthop) impl->nexthops_found.push_back(record.nexthop);
    if (record.kind == Kind::TurnBegins || impl->reader->peek(ahead).size == 0) break;
  }
  return std::unique_ptr<Replay>{new Replay(std::move(impl))};
}

const std::vector<DamagedPart>& damaged_parts(const Replay& replay) noexcept { return replay.impl_->reader->damage(); }

std::vector<std::string> Replay::damage() const {
  std::vector<std::string> texts;
  for (const DamagedPart& part : damaged_parts(*this)) {
    texts.push_back(part.file + ": " + part.reason + ": " + std::to_string(part.bytes) + " bytes at offset " + std::to_string(part.offset));
  }
  return texts;
}

void Replay::grant_tables() noexcept { impl_->tables_are_granted = true; }

std::optional<std::string> Replay::note(std::string_view name) const {
  const auto found = impl_->notes.find(name);
  return found == impl_->notes.end() ? std::nullopt : std::optional{found->second};
}

RuntimeOptions Replay::runtime_options() {
  Impl& impl = *impl_;
  RuntimeOptions options;
  options.policy = impl.policy;
  options.clock = &impl.clock;
  options.reactor = &impl.reactor;
  options.log_rejects = false;
  options.store = [&impl](Scheduler& scheduler) {
    impl.scheduler = &scheduler;
    auto store = std::make_unique<ReplayStore>(impl, impl.tables_are_granted);
    impl.store = store.get();
    return store;
  };
  impl.journal = new JournalRecorder(std::make_unique<Impl::Comparison>(impl), impl.clock);
  options.observer.reset(impl.journal);
  options.replayed = &impl.replayed;
  return options;
}

DataPlane& Replay::plane() noexcept { return impl_->plane; }
RecordedAnswers& Replay::answers() noexcept { return *impl_; }
RecordedRestart& Replay::restart() noexcept { return *impl_; }

std::uint64_t Replay::records() const noexcept { return impl_->reader->records(); }

ReplayReport Replay::run(Runtime& runtime, const OnRecords& on_records) {
  Impl& impl = *impl_;
  RONDO_EXPECT(&runtime.scheduler() == impl.scheduler, "Replay::run was given a runtime that was not made of Replay::runtime_options");
  impl.runtime = &runtime;
  for (const auto& [name, given] : impl.given_sources) impl.check_given(name, given);
  std::uint64_t next_report = on_records ? kReportEach : UINT64_MAX;
  while (impl.step()) {
    if (impl.reader->passed() < next_report) continue;
    on_records(impl.reader->passed());
    next_report = impl.reader->passed() + kReportEach;
  }
  impl.report.records = impl.reader->passed();
  if (impl.is_leaving) impl.check_rest();
  impl.report.recorded = impl.time - impl.began;
  impl.report.reading_pauses = impl.reader->pauses();
  if (!impl.different && !impl.reader->gap().empty()) {
    impl.different = true;
    impl.report.record = impl.report.records + 1;
    impl.report.expected = "a whole record: " + impl.reader->gap();
    impl.report.came = "not compared";
  }
  impl.report.same = !impl.different;
  for (const auto& [name, given] : impl.given_sources) impl.report.given_sources.push_back(name);
  // Sources are destroyed before the scheduler; their records are not compared any more.
  impl.ended = true;
  impl.stand_ins.clear();
  impl.removed.clear();
  return impl.report;
}

}  // namespace rondo::replay
