// RouteBook's rows as the tables hold them: rows of an earlier run, differences from what was written, rows that FPM did not write, and
// writes that the store refused after it had accepted them.
#include <algorithm>
#include <utility>

#include "fpm/route_book.h"

namespace rondo::fpm {

namespace {

/// Rows of refused writes that one call queues: some milliseconds.
constexpr std::size_t kRepeated = 16'384;

enum class Kind : std::uint8_t {
  Ours,     // As the book writes rows.
  Changed,  // Names a group of FPM, and has what FPM does not write.
  Other,
};

bool drops(std::string_view group) { return group == "fpm:blackhole" || group == "fpm:unreachable" || group == "fpm:prohibit"; }

/// Judges a row by itself, without the book: this is done for each change of a route.
Kind kind_of(const Fields& fields) {
  std::string_view group;
  bool black = false;
  std::size_t known = 0;
  for (const Field field : fields) {
    if (field.name == "nexthop_group") {
      group = field.value;
    } else if (field.name == "blackhole") {
      black = field.value == "true";
    } else if (field.name != "protocol" && field.name != "prefsrc") {
      continue;
    }
    ++known;
  }
  if (!group.starts_with(kOwned)) return Kind::Other;
  return known == fields.size() && black == drops(group) ? Kind::Ours : Kind::Changed;
}

}  // namespace

/// The route with this row; kNone also if the key is not spelt as the book spells it.
std::uint32_t RouteBook::find_key(std::string_view key) const {
  const std::size_t name = key.starts_with("Vrf") ? key.find(':') : 0;
  if (name == std::string_view::npos) return RowIndex::kNone;
  const std::uint16_t vrf = vrfs_.find(key.substr(0, name));
  const Result<Prefix> prefix = Prefix::parse(key.substr(name == 0 ? 0 : name + 1));
  if (!prefix || vrf == VrfSlots::kNone) return RowIndex::kNone;
  const std::uint32_t place = find(vrf, *prefix);
  return place != RowIndex::kNone && key_of(routes_[place]) == key ? place : RowIndex::kNone;
}

bool RouteBook::is_in_conflict(std::string_view key) const {
  if (conflicts_.empty()) return false;
  const std::uint32_t place = find_key(key);
  return place != RowIndex::kNone && conflicts_.contains(place);
}

bool RouteBook::owns_route(std::string_view key) const {
  const std::uint32_t place = find_key(key);
  return place != RowIndex::kNone && routes_[place].written != HopSets::kNone;
}

// --- readings

void RouteBook::begin_reading() {
  ++reading_;
  judged_ = UINT32_MAX;
  judges_others_ = false;
  others_unknown_ = 0;
  sets_.begin_reading(reading_);
}

void RouteBook::read_group(const Record& row) {
  if (row.key().starts_with(kOwned)) sets_.read(row);
}

void RouteBook::read_route(const Record& row) {
  const std::string_view group = row.fields().find("nexthop_group").value_or("");
  const std::uint32_t place = find_key(row.key());
  if (place == RowIndex::kNone || routes_[place].written == HopSets::kNone) {
    if (reports_.is_changed(row.key())) return;
    if (group.starts_with(kOwned)) return adopt(row, group);
    if (!note_other(row.key())) ++others_unknown_;
    return;
  }
  Route& route = routes_[place];
  if (std::exchange(route.reading, reading_) == reading_) return;  // It was written since the reading began.
  if (!is_as_written(route, row.fields())) repair(place);
}

void RouteBook::end_reading() {
  judged_ = 0;
  judges_others_ = true;
  judged_other_.clear();
  reports_.forget_old(now_);
  sets_.end_reading();
}

bool RouteBook::is_as_written(const Route& route, const Fields& fields) const {
  return kind_of(fields) == Kind::Ours && fields.find("nexthop_group") == sets_.name(route.written) &&
         fields.find("protocol").value_or("") == protocol_name(route.written_protocol) &&
         (fields.find("blackhole") == "true") == route.black && fields.find("prefsrc").value_or("") == source_text(route.written_source);
}

/// Takes over a row of an earlier run, or one whose Delete the store refused.
void RouteBook::adopt(const Record& row, std::string_view group) {
  const std::size_t name = row.key().starts_with("Vrf") ? row.key().find(':') : 0;
  if (name == std::string_view::npos) return;
  const Result<Prefix> prefix = Prefix::parse(row.key().substr(name == 0 ? 0 : name + 1));
  const std::uint16_t vrf = prefix ? vrfs_.of_name(row.key().substr(0, name)) : VrfSlots::kNone;
  if (vrf == VrfSlots::kNone) return;
  const bool is_new = find(vrf, *prefix) == RowIndex::kNone;
  const std::uint32_t place = find_or_add(vrf, *prefix);
  Route& route = routes_[place];
  if (key_of(route) != row.key() || route.written != HopSets::kNone) return;
  if (const auto other = others_.find(row.key()); other != others_.end()) others_.erase(other);
  conflicts_.erase(place);
  route.written = sets_.find_or_add_name(group);
  route.loss = losses_;
  sets_.refer(route.written);
  route.black = row.fields().find("blackhole").value_or("false") == "true";
  const Result<IpAddress> source = IpAddress::parse(row.fields().find("prefsrc").value_or(""));
  route.written_source = source && *source != IpAddress{} ? sources_.refer(*source) : Sources::kNone;
  route.differs = kind_of(row.fields()) != Kind::Ours || row.fields().find("prefsrc").value_or("") != source_text(route.written_source);
  route.reading = reading_;
  const std::string_view protocol = row.fields().find("protocol").value_or("");
  for (unsigned number = 0; number < 256; ++number) {
    if (protocol_name(static_cast<std::uint8_t>(number)) != protocol) continue;
    route.written_protocol = static_cast<std::uint8_t>(number);
    if (number != 4) break;  // Two numbers are called static; FRR uses the higher one.
  }
  if (!is_new) return queue(place);
  route.aim = Aim::Row;
  set_protocol(route, route.written_protocol);
  set_source(route, sources_.address(route.written_source));
  route.session = session_ - 1;
  ++stale_;
  vrfs_.add_stale(route.vrf, route.protocol);
}

void RouteBook::judge(std::size_t most) {
  for (std::size_t i = 0; i < most && judged_ < routes_.limit(); ++i, ++judged_) {
    const Route& route = routes_[judged_];
    if (route.used && route.written != HopSets::kNone && route.reading != reading_) repair(judged_);
  }
  if (judged_ >= routes_.limit() && judges_others_) judge_others(most);
}

void RouteBook::judge_others(std::size_t most) {
  auto other = others_.lower_bound(judged_other_);
  for (std::size_t i = 0; i < most && other != others_.end(); ++i) {
    const std::string key = other->first;
    const bool is_there = other->second == reading_;
    ++other;
    if (!is_there) forget_other(key);
  }
  judges_others_ = other != others_.end();
  if (judges_others_) judged_other_ = other->first;
}

// --- changes that the consumers take

bool RouteBook::route_taken(const Change& change) {
  const bool was_removed = settle_removed(&change);
  if (change.op() == ChangeOp::Delete) return delete_taken(change.key()) || was_removed;
  const Kind kind = kind_of(change.fields());
  if (kind == Kind::Ours) return was_removed;
  const std::uint32_t place = find_key(change.key());
  if (place != RowIndex::kNone && routes_[place].written != HopSets::kNone) {
    repair(place);
  } else if (kind == Kind::Other) {
    reports_.note_change(change.key());
    note_other(change.key());
  }
  return true;
}

bool RouteBook::group_taken(const Change& change) {
  if (!change.key().starts_with(kOwned)) return false;
  const bool was_removed = settle_removed(&change);
  if (change.op() == ChangeOp::Delete) return delete_taken(change.key()) || was_removed;
  sets_.taken(change);
  return was_removed || sets_.has_repairs();
}

/// Returns whether another program has deleted the row.
bool RouteBook::delete_taken(std::string_view key) {
  if (!others_.contains(key) && reports_.take_delete(key, now_)) return false;
  reports_.note_removed(key);
  return true;
}

/// A Delete that was not followed by a Set: was the row ours? Returns whether there was one.
bool RouteBook::settle_removed(const Change* next) {
  if (!reports_.has_removed()) return false;
  const std::optional<std::string> key = reports_.take_removed(next);
  if (!key) return true;
  if (key->starts_with(kOwned)) {
    sets_.removed(*key);
  } else if (others_.contains(*key)) {
    forget_other(*key);
  } else if (const std::uint32_t place = find_key(*key); place != RowIndex::kNone) {
    repair(place);
  }
  return true;
}

/// The row is not as it was written. A row of a session that has ended is written again when zebra sends its route.
void RouteBook::repair(std::uint32_t place) {
  Route& route = routes_[place];
  if (route.aim == Aim::NoRow || route.written == HopSets::kNone || std::exchange(route.differs, true)) return;
  ++figures_.repaired;
  figures_.last_repaired = key_of(route);
  if (route.session == session_) queue(place);
}

/// False: there is no room.
bool RouteBook::note_other(std::string_view key) {
  if (const auto known = others_.find(key); known != others_.end()) {
    known->second = reading_;
    return true;
  }
  if (others_.size() >= options_.other_rows_max) return false;
  others_.emplace(key, reading_);
  return true;
}

/// zebra's route takes the place of the row that went.
void RouteBook::forget_other(std::string_view key) {
  others_.erase(others_.find(key));
  const std::uint32_t place = conflicts_.empty() ? RowIndex::kNone : find_key(key);
  if (place != RowIndex::kNone && conflicts_.erase(place) > 0 && routes_[place].session == session_) queue(place);
}

// --- writes that the store refused later

WriteDone RouteBook::set_ended(std::uint32_t place) {
  if (!hears_ends_) return {};
  return [ends = ends_, place](const Status& end) {
    if (end.ok() || ends->book == nullptr) return;
    ends->book->note_refusal(end);
    if (!std::exchange(ends->book->routes_[place].refused, true)) ends->book->refused_.push_back(place);
  };
}

WriteDone RouteBook::delete_ended(const std::string& key) {
  if (!hears_ends_) return {};
  return [ends = ends_, key](const Status& end) {
    if (end.ok() || ends->book == nullptr) return;
    ends->book->note_refusal(end);
    const std::uint32_t place = ends->book->find_key(key);
    if (place == RowIndex::kNone) {
      ends->book->refused_deletes_ = true;
    } else if (!std::exchange(ends->book->routes_[place].refused, true)) {
      ends->book->refused_.push_back(place);
    }
  };
}

void RouteBook::note_refusal(const Status& why) {
  ++figures_.refused_later;
  figures_.refusal = why.to_string();
}

bool RouteBook::repeat_refused() {
  for (std::size_t left = std::min(kRepeated, refused_.size()); left > 0; --left) {
    const std::uint32_t place = refused_.back();
    refused_.pop_back();
    Route& route = routes_[place];
    route.refused = false;
    if (!route.used) continue;
    if (route.aim == Aim::NoRow || route.written == HopSets::kNone) {
      refused_deletes_ = true;  // The refused write may be a Delete, and the row be there.
      continue;
    }
    route.differs = true;
    if (route.session == session_) queue(place);
  }
  const bool groups = sets_.repeat_refused();
  return std::exchange(refused_deletes_, false) || groups;
}

}  // namespace rondo::fpm
