// The content of each kind of record; decodes what recorder.cc encodes.
#include "journal/record.h"
#include "sched/executor_texts.h"

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "journal/plane_codec.h"
#include "rondo/base/limits.h"

namespace rondo::journal {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(kLastKind) + 1> kKindNames{"",
                                                                                           "started",
                                                                                           "note",
                                                                                           "lost",
                                                                                           "clocks",
                                                                                           "source added",
                                                                                           "source removed",
                                                                                           "looked",
                                                                                           "timers",
                                                                                           "woken",
                                                                                           "turn begins",
                                                                                           "turn ends",
                                                                                           "time is up",
                                                                                           "ready",
                                                                                           "took",
                                                                                           "gap",
                                                                                           "changed",
                                                                                           "done",
                                                                                           "staged",
                                                                                           "parked",
                                                                                           "delayed",
                                                                                           "rejected",
                                                                                           "again",
                                                                                           "still parked",
                                                                                           "retried",
                                                                                           "unparked",
                                                                                           "announced",
                                                                                           "withdrawn",
                                                                                           "submitted",
                                                                                           "answered",
                                                                                           "link",
                                                                                           "kernel found",
                                                                                           "policy",
                                                                                           "yields",
                                                                                           "weight",
                                                                                           "kernel next hop",
                                                                                           "restart look",
                                                                                           "unwanted",
                                                                                           "write refused",
                                                                                           "write ended",
                                                                                           "done while",
                                                                                           "redone",
                                                                                           "table refused",
                                                                                           "ordered",
                                                                                           "order answers",
                                                                                           "room changed",
                                                                                           "written by",
                                                                                           "drifted",
                                                                                           "called"};

std::uint32_t number32(Decoder& from) { return static_cast<std::uint32_t>(from.number()); }

Instant instant(Decoder& from) { return Instant::from_nanoseconds(static_cast<std::int64_t>(from.fixed())); }

void read_fields(Decoder& from, std::vector<Field>& fields) {
  const std::uint64_t count = from.number();
  // Each field has at least two bytes, so a false count ends soon.
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    const std::string_view name = from.text();
    fields.push_back({name, from.text()});
  }
}

void read_change(Decoder& from, JournalRecord& record) {
  record.op = static_cast<ChangeOp>(from.byte());
  if (record.op == ChangeOp::Event) record.name = from.text();
  record.text = from.text();
  read_fields(from, record.fields);
}

void read_facts(Decoder& from, JournalRecord& record) {
  const std::uint64_t count = from.number();
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    const std::uint32_t kind = number32(from);
    record.facts.push_back({kind, from.text()});
  }
}

Status read_status(Decoder& from) {
  const auto code = static_cast<StatusCode>(std::min<std::uint8_t>(from.byte(), static_cast<std::uint8_t>(StatusCode::Internal)));
  const auto origin = static_cast<int>(number32(from));
  const std::string_view message = from.text();
  return code == StatusCode::Ok ? Status{} : Status{code, std::string{message}, origin};
}

void read_answers(Decoder& from, JournalRecord& record) {
  record.lane = from.byte();
  record.count = from.number();
  const std::uint64_t failed = from.number();
  for (std::uint64_t i = 0; i < failed && from.ok(); ++i) {
    const std::uint64_t order = from.number();
    record.failures.push_back({order, read_status(from)});
  }
}

void read_texts(Decoder& from, JournalRecord& record) {
  record.table = number32(from);
  record.lane = from.byte();
  if (record.kind == Kind::OrderAnswers) record.first = from.number();
  record.count = from.number();
  // Each text has at least one byte, so a false count ends soon.
  for (std::uint64_t i = 0; i < record.count && from.ok(); ++i) record.texts.push_back(from.text());
}

void read_place(Decoder& from, JournalRecord& record) {
  record.table = number32(from);
  record.row = number32(from);
}

void read_clocks(Decoder& from, JournalRecord& record) {
  record.time = instant(from);
  record.wall = WallTime::from_nanoseconds(static_cast<std::int64_t>(from.fixed()));
}

void read_outcome(Decoder& from, JournalRecord& record) {
  read_place(from, record);
  switch (record.kind) {
    case Kind::Changed:
    case Kind::Retried:
    case Kind::Redone:
    case Kind::Unparked: return read_change(from, record);
    case Kind::DoneWhile: return read_facts(from, record);
    case Kind::Parked: read_change(from, record); return read_facts(from, record);
    case Kind::Delayed:
      read_change(from, record);
      read_facts(from, record);
      record.span = Duration{static_cast<std::int64_t>(from.number())};
      record.why = read_status(from);
      return;
    case Kind::Rejected:
      read_change(from, record);
      record.why = read_status(from);
      return;
    case Kind::StillParked: {
      const std::uint32_t kind = number32(from);
      record.facts.push_back({kind, from.text()});
      return;
    }
    default: return;
  }
}

/// Returns null if the policy is malformed; then the record is malformed too.
std::shared_ptr<const PolicySettings> read_policy(Decoder& from) {
  PolicySettings settings;
  settings.name = static_cast<PolicySettings::Name>(from.byte());
  const std::uint8_t bits = from.byte();
  settings.in_items = (bits & 1U) != 0;
  settings.one_way = (bits & 2U) != 0;
  settings.item_by_item = (bits & 4U) != 0;
  settings.tie = static_cast<Tie>(from.byte());
  settings.batch = number32(from);
  settings.turn = Duration{static_cast<std::int64_t>(from.number())};
  for (std::int64_t& budget : settings.budgets) {
    const std::uint64_t told = from.number();
    budget = told == 0 ? PolicySettings::kInfinite : static_cast<std::int64_t>(std::min<std::uint64_t>(told, kTimeMost));
  }
  if (!from.ok() || bits > 7 || !resolve_policy(settings)) return nullptr;
  return std::make_shared<const PolicySettings>(settings);
}

void read_turn(Decoder& from, JournalRecord& record) {
  switch (record.kind) {
    case Kind::Started:
      read_clocks(from, record);
      record.policy = read_policy(from);
      return;
    case Kind::Note:
      record.name = from.text();
      record.text = from.text();
      return;
    case Kind::Clocks: return read_clocks(from, record);
    case Kind::SourceAdded:
      record.source = number32(from);
      record.priority = from.byte();
      record.name = from.text();
      return;
    case Kind::Looked: record.time = instant(from); return;
    case Kind::TimeUp:
    case Kind::Yields: record.count = from.number(); return;
    case Kind::Policy: record.policy = read_policy(from); return;
    case Kind::Weight:
      record.source = number32(from);
      record.count = from.number();
      return;
    case Kind::SourceRemoved:
    case Kind::Woken: record.source = number32(from); return;
    case Kind::TurnBegins:
      record.source = number32(from);
      record.time = instant(from);
      return;
    case Kind::TurnEnds:
      record.flag = from.byte() != 0;
      record.count = from.number();
      record.span = Duration{static_cast<std::int64_t>(from.number())};
      return;
    default: return;
  }
}

void read_content(Decoder& from, JournalRecord& record) {
  switch (record.kind) {
    case Kind::Lost:
    case Kind::KernelFound: record.count = from.number(); return;
    case Kind::Ready:
    case Kind::Gap: record.table = number32(from); return;
    case Kind::Took:
      record.table = number32(from);
      record.count = from.number();
      record.flag = from.byte() != 0;
      return;
    case Kind::Announced:
    case Kind::Withdrawn: {
      const std::uint32_t kind = number32(from);
      record.facts.push_back({kind, from.text()});
      if (record.kind == Kind::Announced) record.count = from.number();
      return;
    }
    case Kind::Submitted:
      record.lane = from.byte();
      record.count = from.number();
      record.digest = from.fixed();
      return;
    case Kind::Answered: return read_answers(from, record);
    case Kind::Link: record.link = read_link(from); return;
    case Kind::KernelNexthop: record.nexthop = read_nexthop(from); return;
    case Kind::RestartLook: record.flag = from.byte() != 0; return;
    case Kind::Unwanted: record.orders = read_deletes(from); return;
    case Kind::Drifted:
      record.drift = read_drift_kind(from);
      record.orders = read_deletes(from);
      return;
    case Kind::WriteRefused:
    case Kind::TableRefused: record.why = read_status(from); return;
    case Kind::WriteEnded:
      record.count = from.number();
      record.why = read_status(from);
      return;
    case Kind::Ordered:
    case Kind::OrderAnswers: return read_texts(from, record);
    case Kind::WrittenBy:
      record.user = number32(from);
      record.count = from.number();
      record.text = from.text();
      return;
    case Kind::RoomChanged:
      record.table = number32(from);
      record.flag = from.byte() != 0;
      return;
    case Kind::Called:
      record.table = number32(from);
      record.text = from.text();
      return;
    default: return record.kind == Kind::Changed || record.is_outcome() ? read_outcome(from, record) : read_turn(from, record);
  }
}

}  // namespace

std::string Names::of(std::uint32_t number) const {
  if (number == 0 || number > texts_.size() || texts_[number - 1].empty()) return "#" + std::to_string(number);
  return texts_[number - 1];
}

std::uint32_t Names::find(std::string_view text) const noexcept {
  const auto found = std::ranges::find(texts_, text);
  return found == texts_.end() ? 0 : static_cast<std::uint32_t>(found - texts_.begin() + 1);
}

bool Names::add(std::uint64_t first, std::string_view payload) {
  // Each table and each kind of fact has a name; a journal never has more than this. A forged number must not allocate memory for the gap
  // below it.
  constexpr std::uint64_t kMost = 1'000'000;
  Decoder from(payload);
  for (std::uint64_t number = first; !from.at_end(); ++number) {
    const std::string_view text = from.text();
    if (!from.ok() || number == 0 || number > kMost) return false;
    if (texts_.size() < number) texts_.resize(static_cast<std::size_t>(number));
    texts_[static_cast<std::size_t>(number) - 1] = std::string{text};
  }
  return true;
}

bool JournalRecord::has_change() const noexcept {
  switch (kind) {
    case Kind::Changed:
    case Kind::Parked:
    case Kind::Delayed:
    case Kind::Rejected:
    case Kind::Retried:
    case Kind::Redone:
    case Kind::Unparked: return true;
    default: return false;
  }
}

bool decode(std::string_view bytes, JournalRecord& record) {
  record = JournalRecord{};
  if (first_record(bytes).size() != bytes.size() || bytes.empty()) return false;
  Decoder from(bytes);
  from.number();
  const std::uint8_t kind = from.byte();
  if (kind > static_cast<std::uint8_t>(kLastKind) || kKindNames[kind].empty()) return false;
  record.kind = static_cast<Kind>(kind);
  read_content(from, record);
  const auto is_time = [](std::int64_t ns) { return ns > -kTimeMost && ns < kTimeMost; };
  const bool in_range =
      is_time(record.time.nanoseconds()) && is_time(record.wall.nanoseconds()) && record.span >= Duration{0} &&
      is_time(record.span.count()) && record.op <= ChangeOp::Event && record.lane < limits::kExecutorLanes &&
      (record.lane <= static_cast<unsigned>(OrderLane::Bulk) || (record.kind != Kind::Submitted && record.kind != Kind::Answered)) &&
      ((record.kind != Kind::Policy && record.kind != Kind::Started) || record.policy != nullptr) &&
      (record.kind != Kind::Weight || (record.count >= 1 && record.count <= limits::kWeightMost));
  return from.ok() && from.at_end() && in_range;
}

bool decode_change(std::string_view bytes, RecordedChange& change) {
  Decoder from(bytes);
  const std::uint64_t length = from.number();
  if (length != from.left() || from.byte() != static_cast<std::uint8_t>(Kind::Changed)) return false;
  from.number();  // The table.
  from.number();  // The row.
  change.op = static_cast<ChangeOp>(from.byte());
  change.verb = change.op == ChangeOp::Event ? from.text() : std::string_view{};
  change.key = from.text();
  change.fields.clear();
  read_fields(from, change.fields);
  return from.ok() && from.at_end() && change.op <= ChangeOp::Event;
}

// --- In words

std::string_view to_string(Kind kind) noexcept { return kKindNames[static_cast<std::size_t>(kind)]; }

namespace {

std::string fact_text(const JournalRecord::Fact& fact, const Names& names) { return names.of(fact.kind) + ":" + std::string{fact.key}; }

std::string change_text(const JournalRecord& record, const Names& names) {
  std::string text = names.of(record.table);
  text.append(" ").append(record.text).append(" ").append(record.op == ChangeOp::Event ? record.name : to_string(record.op));
  for (const Field& field : record.fields) text.append(" ").append(field.name).append("=").append(field.value);
  return text;
}

std::string facts_text(const JournalRecord& record, const Names& names) {
  std::string text;
  for (const JournalRecord::Fact& fact : record.facts) text.append(text.empty() ? "" : ", ").append(fact_text(fact, names));
  return text;
}

std::string orders_text(const JournalRecord& record) {
  std::string text = counted(record.count, "order") + ", " + (record.lane == static_cast<unsigned>(OrderLane::Urgent) ? "urgent" : "bulk");
  for (const JournalRecord::Failure& failure : record.failures) {
    text.append("; ").append(std::to_string(failure.order)).append(": ").append(failure.status.to_string());
  }
  return text;
}

/// Text of a codec's bytes: printable text unchanged, other bytes in hexadecimal; at most kShown bytes.
std::string bytes_text(std::string_view bytes) {
  constexpr std::size_t kShown = 64;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes.substr(0, kShown)) {
    const auto value = static_cast<unsigned char>(byte);
    if (value >= 0x20 && value != 0x7F && byte != '\\') {
      text += byte;
    } else {
      text.append("\\x").append(1, kDigits[value >> 4U]).append(1, kDigits[value & 15U]);
    }
  }
  return bytes.size() > kShown ? text + "..." : text;
}

/// The first few texts, and their number.
std::string texts_text(const JournalRecord& record, const Names& names) {
  constexpr std::size_t kShown = 4;
  std::string text = names.of(record.table) + ", lane " + std::to_string(record.lane) + ", " + counted(record.count, "operation");
  for (std::size_t i = 0; i < std::min(record.texts.size(), kShown); ++i) {
    std::string_view bytes = record.texts[i];
    Status status;
    text += i == 0 ? ": " : ", ";
    if (record.kind == Kind::OrderAnswers && executor::take_status(bytes, status)) text += status.to_string() + (bytes.empty() ? "" : " ");
    text += bytes_text(bytes);
  }
  return record.texts.size() > kShown ? text + ", ..." : text;
}

std::string link_text(const LinkEvent& link) {
  return link.name + (link.removed ? " is gone" : link.admin_up ? " is up" : " is down") + (link.carrier ? " with carrier" : "");
}

std::string nexthop_text(const NexthopEntry& nexthop) {
  std::string text = std::to_string(nexthop.id.value());
  if (nexthop.members.empty())
    return text + " to " + nexthop.gateway.to_string() + " on port " + std::to_string(nexthop.port.value()) +
           (nexthop.onlink ? " onlink" : "");
  text += ", a group of";
  for (const GroupMember& member : nexthop.members) text.append(" ").append(std::to_string(member.nexthop.value()));
  return text;
}

/// The first few orders, and their number.
std::string unwanted_text(const std::vector<DeleteOrder>& orders) {
  constexpr std::size_t kShown = 4;
  std::string text = counted(orders.size(), "order");
  for (std::size_t i = 0; i < std::min(orders.size(), kShown); ++i)
    text.append(i == 0 ? ": " : ", ").append(to_string(order_of(orders[i])));
  return orders.size() > kShown ? text + ", ..." : text;
}

/// The first few objects, named by the orders that would delete them, and their number.
std::string objects_text(const std::vector<DeleteOrder>& objects) {
  constexpr std::size_t kShown = 4;
  std::string text = counted(objects.size(), "object");
  for (std::size_t i = 0; i < std::min(objects.size(), kShown); ++i) text.append(i == 0 ? ": " : ", ").append(object_name(objects[i]));
  return objects.size() > kShown ? text + ", ..." : text;
}

std::string content_text(const JournalRecord& record, const Names& names) {
  switch (record.kind) {
    case Kind::Note: return std::string{record.name} + " " + std::string{record.text};
    case Kind::Lost: return counted(record.count, "record");
    case Kind::SourceAdded:
      return std::to_string(record.source) + " " + std::string{record.name} + ", priority " + std::to_string(record.priority);
    case Kind::SourceRemoved:
    case Kind::Woken:
    case Kind::TurnBegins: return "source " + std::to_string(record.source);
    case Kind::TurnEnds: return counted(record.count, "item") + (record.flag ? ", more" : "");
    case Kind::Ready:
    case Kind::Gap: return names.of(record.table);
    case Kind::Took: return std::to_string(record.count) + " of " + names.of(record.table);
    case Kind::Changed:
    case Kind::Retried:
    case Kind::Redone:
    case Kind::Unparked: return change_text(record, names);
    case Kind::Parked: return change_text(record, names) + " on " + facts_text(record, names);
    case Kind::Delayed: return change_text(record, names) + " for " + std::to_string(record.span / 1us) + " us: " + record.why.to_string();
    case Kind::Rejected: return change_text(record, names) + ": " + record.why.to_string();
    case Kind::Done:
    case Kind::Staged:
    case Kind::Again: return names.of(record.table) + " row " + std::to_string(record.row);
    case Kind::DoneWhile:
    case Kind::StillParked: return names.of(record.table) + " row " + std::to_string(record.row) + " on " + facts_text(record, names);
    case Kind::Announced: return facts_text(record, names) + " for " + counted(record.count, "row");
    case Kind::Withdrawn: return facts_text(record, names);
    case Kind::Submitted:
    case Kind::Answered: return orders_text(record);
    case Kind::Link: return link_text(record.link);
    case Kind::KernelFound: return counted(record.count, "object");
    case Kind::Policy: return describe(*record.policy);
    case Kind::Weight: return std::to_string(record.count) + " of source " + std::to_string(record.source);
    case Kind::KernelNexthop: return nexthop_text(record.nexthop);
    case Kind::RestartLook: return record.flag ? "the rows of before have come" : "rows are yet to come";
    case Kind::Unwanted: return unwanted_text(record.orders);
    case Kind::Drifted: return std::string{to_string(record.drift)} + ", " + objects_text(record.orders);
    case Kind::WriteRefused:
    case Kind::TableRefused: return record.why.to_string();
    case Kind::WriteEnded: return "number " + std::to_string(record.count) + ": " + record.why.to_string();
    case Kind::Ordered:
    case Kind::OrderAnswers: return texts_text(record, names);
    case Kind::Called: return names.of(record.table) + ": " + std::string{record.text};
    case Kind::RoomChanged: return names.of(record.table) + (record.flag ? " has room" : " has no room");
    case Kind::WrittenBy:
      return "user " + std::to_string(record.user) + " process " + std::to_string(record.count) + ": " + std::string{record.text};
    case Kind::Yields:
    case Kind::TimeUp: return record.count == 0 ? std::string{} : "at question " + std::to_string(record.count);
    case Kind::Started:
    case Kind::Clocks:
    case Kind::Looked:
    case Kind::Timers: return {};
  }
  return {};
}

}  // namespace

std::string to_string(const JournalRecord& record, const Names& names) {
  std::string text{to_string(record.kind)};
  const std::string content = content_text(record, names);
  return content.empty() ? text : text.append(" ").append(content);
}

}  // namespace rondo::journal
