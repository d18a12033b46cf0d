#include "orch/owned_rows.h"

#include <algorithm>
#include <utility>

namespace rondo {

namespace {

using State = OwnedRows::Row::State;

/// The value of kFieldsField.
std::string names_of(const Fields& fields) {
  std::vector<std::string_view> names;
  for (const Field field : fields) names.push_back(field.name);
  std::ranges::sort(names);
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ",").append(name);
  return text.empty() ? "NULL" : text;  // SONiC's sign for a row without fields.
}

/// A field of 'found' that 'wanted' has not; empty: none.
std::string_view further_field(const Fields& wanted, const Fields& found) {
  for (const Field field : found) {
    if (!wanted.contains(field.name)) return field.name;
  }
  return {};
}

/// What 'found' lacks of 'wanted', for people; empty: nothing.
std::string lack(const Fields& wanted, const Fields& found) {
  for (const Field field : wanted) {
    const auto value = found.find(field.name);
    if (!value) return "without the field " + std::string{field.name};
    if (*value != field.value) return std::string{field.name} + "=" + std::string{*value} + " in place of " + std::string{field.value};
  }
  return {};
}

}  // namespace

OwnedRows::OwnedRows(Scheduler& scheduler, Store& store, OwnedRowsOptions options)
    : scheduler_(scheduler),
      store_(store),
      options_(std::move(options)),
      retry_timer_(options_.name + " again", options_.priority, [this] { retry(); }),
      check_timer_(options_.name + " check", options_.priority, [this] { check(); }) {}

const OwnedRows::Row* OwnedRows::find(const RowName& name) const {
  const auto found = rows_.find(name);
  return found == rows_.end() ? nullptr : &found->second;
}

// --- writing

void OwnedRows::set(const RowName& name, std::string_view source, Record content) {
  const Row* const row = find(name);
  const bool is_set = row != nullptr && row->content && !row->leaving && row->state != State::Unknown;
  if (is_set && lack(content.fields(), row->content.fields()).empty()) return;
  if (const Status begun = put(name, source, std::move(content), {}); !begun.ok()) refuse(name, begun);
}

void OwnedRows::remove(const RowName& name) {
  const Row* const row = find(name);
  if (row == nullptr || (row->leaving && row->state == State::UnderWay)) return;
  if (const Status begun = drop(name, {}); !begun.ok()) refuse(name, begun);
}

Status OwnedRows::put(const RowName& name, std::string_view source, Record content, WriteDone done) {
  Row& row = rows_[name];
  row.source = source;
  row.content = std::move(content);
  row.here = true;
  row.leaving = false;
  if (!options_.replaces) row.fields = names_of(row.content.fields());
  return write(name, row, done);
}

Status OwnedRows::drop(const RowName& name, WriteDone done) {
  Row& row = rows_[name];
  row.leaving = true;
  return write(name, row, done);
}

/// 'is_users': the user learns its end.
Status OwnedRows::send(std::string_view table, Change change, WriteDone done, bool is_users) {
  return is_users && options_.write ? options_.write(table, std::move(change), std::move(done))
                                    : store_.write(table, std::move(change), std::move(done));
}

RowName OwnedRows::name_of(std::string_view owner_key) const {
  const std::size_t end = owner_key.find(options_.separator);
  const bool is_any = options_.tables.empty() || std::ranges::find(options_.tables, owner_key.substr(0, end)) != options_.tables.end();
  if (end == std::string_view::npos || !is_any) return {};
  return {std::string{owner_key.substr(0, end)}, std::string{owner_key.substr(end + 1)}};
}

Record OwnedRows::owner_record(const RowName& name, const Row& row) const {
  const Field fields[] = {{kSourceField, row.source}, {kFieldsField, row.fields}};
  return Record::make(owner_key(name), std::span{fields}.first(row.fields.empty() ? 1 : 2));
}

Status OwnedRows::write(const RowName& name, Row& row, const WriteDone& done) {
  row.newest = ++writes_;
  row.state = State::UnderWay;
  Status begun;
  if (row.leaving) {
    if (options_.owners.empty()) reports_.note_delete(name.key, scheduler_.now());
    begun = send(name.table, Change::remove(name.key), answered(name, row, done), bool{done});
  } else if (options_.owners.empty() || row.stored) {
    begun = write_row(name, row, done);
  } else {
    const auto stored = [this, name, number = row.newest, done, life = std::weak_ptr{life_}](const Status& status) {
      if (life.expired()) return;
      status.ok() ? owner_stored(name, number, done) : ended(name, number, status.with_context("its owner in " + options_.owners), done);
    };
    begun = send(options_.owners, Change{ChangeOp::Set, owner_record(name, row)}, stored, bool{done});
  }
  if (begun.ok()) return {};
  row.state = State::Unknown;
  if (done) row.leaving = false;
  return begun;
}

/// A Set leaves the fields that it does not name, so a row with other fields is deleted first. Both reach the consumer together.
Status OwnedRows::write_row(const RowName& name, Row& row, const WriteDone& done) {
  if (row.fields != names_of(row.content.fields())) {
    if (Status refused = send(name.table, Change::remove(name.key), {}, bool{done}); !refused.ok()) return refused;
  }
  return send(name.table, Change{ChangeOp::Set, row.content}, answered(name, row, done), bool{done});
}

void OwnedRows::owner_stored(const RowName& name, std::uint64_t number, const WriteDone& done) {
  const auto row = rows_.find(name);
  if (row != rows_.end()) row->second.stored = true;
  if (row == rows_.end() || row->second.newest != number) return done ? done({}) : void();  // A later write of the row goes on.
  if (const Status begun = write_row(name, row->second, done); !begun.ok()) ended(name, number, begun, done);
}

WriteDone OwnedRows::answered(const RowName& name, const Row& row, const WriteDone& done) {
  return [this, name, number = row.newest, done, life = std::weak_ptr{life_}](const Status& status) {
    if (!life.expired()) ended(name, number, status, done);
  };
}

/// After a refusal the content is not known, whatever became of other writes of the row.
void OwnedRows::ended(const RowName& name, std::uint64_t number, const Status& status, const WriteDone& done) {
  const auto found = rows_.find(name);
  if (found != rows_.end() && !status.ok()) {
    found->second.state = State::Unknown;
    if (!done) return refuse(name, status);
    found->second.leaving = false;
  } else if (found != rows_.end() && number == found->second.newest) {
    Row& row = found->second;
    refused_.erase(name);
    row.state = State::Written;
    if (row.leaving) {
      forget(found);
    } else if (std::string names = names_of(row.content.fields()); names != row.fields) {
      row.fields = std::move(names);  // If this write is lost, the next process deletes the row before it sets it.
      if (!options_.owners.empty()) static_cast<void>(store_.write(options_.owners, Change{ChangeOp::Set, owner_record(name, row)}));
    }
  }
  if (done) done(status);
}

void OwnedRows::forget(Rows::iterator row) {
  const RowName name = row->first;
  if (row->second.stored) {
    reports_.note_delete(owner_key(name), scheduler_.now());
    static_cast<void>(store_.write(options_.owners, Change::remove(owner_key(name))));  // If it is lost, the next start deletes it.
  }
  rows_.erase(row);
  if (options_.freed) options_.freed(name);
}

// --- what the store refused

void OwnedRows::refuse(const RowName& name, const Status& why) {
  ++refused_count_;
  Refused& row = refused_[name];
  row.wait = std::clamp(2 * row.wait, kFirstWait, kLastWait);
  row.due = scheduler_.now() + row.wait;
  row.why = why;
  if (retry_timer_.scheduler() == nullptr) scheduler_.add(retry_timer_);
  if (!retry_timer_.is_armed() || row.due < retry_at_) retry_timer_.arm_at(retry_at_ = row.due);
}

void OwnedRows::retry() {
  const Instant now = scheduler_.now();
  std::vector<RowName> due;
  retry_at_ = Instant::never();
  for (const auto& [name, refused] : refused_) {
    if (refused.due <= now && due.size() < kPage) {
      due.push_back(name);
    } else {
      retry_at_ = std::min(retry_at_, std::max(refused.due, now));
    }
  }
  if (retry_at_ != Instant::never()) retry_timer_.arm_at(retry_at_);
  for (const RowName& name : due) {
    const auto row = rows_.find(name);
    if (row == rows_.end()) {
      refused_.erase(name);
    } else if (const Status begun = write(name, row->second, {}); !begun.ok()) {
      refuse(name, begun);
    }
  }
}

std::string OwnedRows::trouble() const {
  if (refused_.empty()) return {};
  const auto& [name, row] = *refused_.begin();
  return "that are refused and tried again: " + std::to_string(refused_.size()) + "; the first of them: " + owner_key(name) + ": " +
         std::string{row.why.message()};
}

// --- rows of an earlier run, and what other programs do

const OwnedRows::Row* OwnedRows::adopt(std::string_view owner, const Fields& fields) {
  const RowName name = name_of(owner);
  if (name.key.empty() || reports_.is_changed(owner) || reports_.awaits_delete(owner, scheduler_.now())) return nullptr;
  const auto [place, is_new] = rows_.try_emplace(name);
  Row& row = place->second;
  if (row.here) return &row;
  row.source = fields.find(kSourceField).value_or("");
  row.fields = fields.find(kFieldsField).value_or("");
  row.stored = true;
  if (is_new && options_.again) options_.again(name);
  return &row;
}

void OwnedRows::adopt(const std::string& cursor, std::function<void(const Status&)> done) {
  reports_.begin_page();
  const auto read = [this, done = std::move(done), life = std::weak_ptr{life_}](const Result<RowPage>& page) {
    if (life.expired()) return;
    const Status end = !page                     ? page.error()
                       : reports_.is_page_void() ? Status{StatusCode::Unavailable, "the rows changed while they were read"}
                                                 : Status{};
    if (end.ok()) {
      for (const Record& owner : page->rows) adopt(owner.key(), owner.fields());
    }
    reports_.end_page();
    end.ok() && !page->next.empty() ? adopt(page->next, done) : done(end);
  };
  store_.scan_written(options_.owners, cursor, kPage, read);
}

Status OwnedRows::owner_taken(std::string_view key) {
  if (reports_.take_delete(key, scheduler_.now())) return {};
  const auto found = rows_.find(name_of(key));
  if (found == rows_.end()) return {};
  const auto& [name, row] = *found;
  if (row.here) {
    return row.stored && !row.leaving ? send(options_.owners, Change{ChangeOp::Set, owner_record(name, row)}, {}, true) : Status{};
  }
  found->second.stored = false;
  forget(found);
  return {};
}

void OwnedRows::taken(const RowName& name, const Change& change, bool is_ours) {
  const auto found = rows_.find(name);
  if (change.op() == ChangeOp::Delete) {
    if (reports_.take_delete(name.key, scheduler_.now()) || found == rows_.end() || found->second.leaving) return;
    rows_.erase(found);
  } else if (!is_ours) {
    if (found == rows_.end()) return;
    rows_.erase(found);
  } else if (reports_.awaits_delete(name.key, scheduler_.now())) {
    return;  // The Set is older than the Delete that follows.
  } else {
    Row& row = found == rows_.end() ? rows_[name] : found->second;
    if (row.leaving || (row.content && lack(row.content.fields(), change.fields()).empty())) return;
    row.content = change.record();
    row.state = State::Written;
  }
  refused_.erase(name);
  options_.again(name);
}

void OwnedRows::rows_were_lost() {
  reports_.note_all_changed();
  repaired_ += rows_.size();
  refused_.clear();
  for (const auto& [name, row] : std::exchange(rows_, {})) options_.again(name);
}

// --- the comparison

void OwnedRows::start_check() {
  scheduler_.add(check_timer_);
  check_timer_.arm_at(scheduler_.now() + kPeriod);
}

void OwnedRows::check() {
  reports_.forget_old(scheduler_.now());
  if (unanswered_ == 0) {  // A slow store gets no second page.
    for (Look& look : std::exchange(differ_, {})) read(std::move(look));
    const std::size_t rows_max = options_.owners.empty() ? kPage : kPage / 2;
    auto row = rows_.upper_bound(cursor_);
    for (std::size_t i = 0; i < rows_max && row != rows_.end(); ++i, ++row) {
      cursor_ = row->first;
      if (row->second.state != State::Written) continue;
      read({.name = row->first, .write = row->second.newest});
      if (!options_.owners.empty()) read({.name = row->first, .is_owner = true, .write = row->second.newest});
    }
    if (row == rows_.end()) cursor_ = {};
  }
  check_timer_.arm_at(scheduler_.now() + kPeriod);
}

void OwnedRows::read(Look look) {
  ++unanswered_;
  const std::string table = look.is_owner ? options_.owners : look.name.table;
  const std::string key = look.is_owner ? owner_key(look.name) : look.name.key;
  store_.get(table, key, [this, look = std::move(look), life = std::weak_ptr{life_}](const Result<Record>& found) {
    if (life.expired()) return;
    --unanswered_;
    compare(look, found);
  });
}

void OwnedRows::compare(const Look& look, const Result<Record>& found) {
  const Row* const row = find(look.name);
  if (row == nullptr || row->state != State::Written || row->newest != look.write) return;  // It changes.
  const std::string what = difference(look, *row, found);
  if (what.empty()) return;
  if (look.is_second) return repair(look, *row, found, what);
  const auto is_it = [&look](const Look& other) { return other.name == look.name && other.is_owner == look.is_owner; };
  if (std::ranges::none_of(differ_, is_it)) {
    differ_.push_back(look);
    differ_.back().is_second = true;
  }
  check_timer_.arm_at(scheduler_.now() + kSecondRead);
}

/// For people; empty: nothing.
std::string OwnedRows::difference(const Look& look, const Row& row, const Result<Record>& found) const {
  if (!found) return found.error().code() == StatusCode::FailedPrecondition && options_.writes_over_types ? "of another type" : "";
  if (!*found) return "deleted";
  if (options_.yields) return {};
  const Record wanted = look.is_owner ? owner_record(look.name, row) : row.content;
  std::string what = lack(wanted.fields(), found->fields());
  if (!what.empty() || look.is_owner || !is_whole(look.name.table)) return what;
  const std::string_view further = further_field(wanted.fields(), found->fields());
  return further.empty() ? std::string{} : "with the field " + std::string{further};
}

void OwnedRows::repair(const Look& look, const Row& row, const Result<Record>& found, const std::string& what) {
  const RowName place = look.is_owner ? RowName{options_.owners, owner_key(look.name)} : look.name;
  if (found) {
    ++repaired_;
    last_repair_ = place.table + " " + place.key + ": " + what;
  }
  const bool has_more =
      found && *found && !look.is_owner && is_whole(look.name.table) && !further_field(row.content.fields(), found->fields()).empty();
  Status begun = has_more ? store_.write(place.table, Change::remove(place.key)) : Status{};
  if (begun.ok()) {
    const Record content = look.is_owner ? owner_record(look.name, row) : row.content;
    begun = store_.write(place.table, Change{ChangeOp::Set, content}, answered(look.name, row, {}));
  }
  if (!begun.ok()) ended(look.name, row.newest, begun, {});
}

}  // namespace rondo
