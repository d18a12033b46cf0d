#include "managers/row_check.h"

#include <algorithm>
#include <utility>

namespace rondo::managers {

namespace {

/// What differs, for people; empty: nothing.
std::string difference(const OwnRow& row, const Record& found) {
  if (!found) return "deleted";
  const Fields fields = row.content.fields();
  for (const Field& field : fields) {
    const auto value = found.fields().find(field.name);
    if (!value) return "without the field " + std::string{field.name};
    if (*value != field.value) return std::string{field.name} + "=" + std::string{*value} + " in place of " + std::string{field.value};
  }
  if (!row.is_whole) return {};
  for (const Field& field : found.fields()) {
    if (!fields.contains(field.name)) return "with the field " + std::string{field.name};
  }
  return {};
}

}  // namespace

RowCheck::RowCheck(std::string name, Priority priority, Store& store, RowCheckOptions options)
    : store_(store), options_(std::move(options)), timer_(std::move(name), priority, [this] { tick(); }) {}

void RowCheck::start(Scheduler& scheduler) {
  scheduler_ = &scheduler;
  scheduler.add(timer_);
  timer_.arm_at(scheduler.now() + kPeriod);
}

void RowCheck::tick() {
  if (unanswered_ == 0) {  // A slow store gets no second page.
    const std::vector<OwnRow> again = std::exchange(differ_, {});
    for (const OwnRow& row : again) read(row, true);
    std::vector<OwnRow> rows;
    options_.page(cursor_, kPage, rows);
    for (OwnRow& row : rows) read(std::move(row), false);
  }
  timer_.arm_at(scheduler_->now() + kPeriod);
}

void RowCheck::read(OwnRow row, bool is_second) {
  ++unanswered_;
  const std::string table = row.table;
  const std::string key = row.key;
  store_.get(table, key, [this, row = std::move(row), is_second, life = std::weak_ptr{life_}](const Result<Record>& found) mutable {
    if (life.expired()) return;
    --unanswered_;
    const bool is_other_type = !found && found.error().code() == StatusCode::FailedPrecondition;
    if (found || (is_other_type && options_.writes_over_types)) compare(std::move(row), found, is_second);
  });
}

void RowCheck::compare(OwnRow row, const Result<Record>& found, bool is_second) {
  std::string what = found ? difference(row, *found) : "of another type";
  if (what.empty() || !options_.is_current(row)) return;
  if (!is_second) {
    const bool is_known =
        std::ranges::any_of(differ_, [&row](const OwnRow& other) { return other.table == row.table && other.key == row.key; });
    if (!is_known) differ_.push_back(std::move(row));
    timer_.arm_at(scheduler_->now() + kSecondRead);
    return;
  }
  if (found) {
    ++repaired_;
    newest_ = row.table + " " + row.key + ": " + std::move(what);
  }
  options_.repair(row, found ? *found : Record{});
}

}  // namespace rondo::managers
