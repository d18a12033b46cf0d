#include "managers/managed_rows.h"

#include <algorithm>
#include <utility>

#include "managers/facts.h"
#include "managers/priorities.h"
#include "managers/refused.h"
#include "rondo/orch/runtime.h"

namespace rondo::managers {

namespace {
/// How often it checks, after the start, whether the tables have been read.
constexpr Duration kLook = 20ms;
/// The same while the safety stop holds a deletion.
constexpr Duration kLookHeld = 1s;

/// A Set of a route replaces the whole route, so a field that another program has added changes it. Ports and interfaces have fields of
/// other programs, such as oper_status.
bool is_whole(std::string_view table) { return table == "ROUTE_TABLE"; }

Record owner_record(const std::string& name, const ManagedRow& row) {
  return Record::make(name, {{kSourceField, row.source}, {kFieldsField, row.fields}});
}
}  // namespace

ManagedRows::ManagedRows(Runtime& runtime, ManagedBook& book, std::vector<std::string> tables, ManagersOptions options)
    : Orch(runtime, "managed-rows", kManagers),
      book_(book),
      tables_(std::move(tables)),
      options_(std::move(options)),
      timer_("managed-rows", kManagers, [this] { on_timer(); }),
      check_("managed-rows check", kManagers, runtime.store(), check_options()),
      calls_(runtime.scheduler(), "managers", [this](std::string_view call) { return repeat(call); }) {
  consume(kManagedTable, this, &ManagedRows::set, &ManagedRows::remove, {.kind = TableKind::Watched});
  provide(kManagedRead, [this](std::string_view) { return managed_read_; });
  provide(kConfigRead, [this](std::string_view) { return config_read_; });
  provide(kMayDelete, [this](std::string_view) { return may_delete_; });
  provide(kManagedFree, [this](std::string_view target) { return book_.find(target) == nullptr; });
  provide(kMade, [this](std::string_view target) { return book_.find(target) != nullptr; });
  runtime.explain(kMade, [](std::string_view target) {
    const std::size_t colon = target.find(':');
    return FactOrigin{std::string{target.substr(0, colon)}, std::string{target.substr(colon + 1)}, ""};
  });
  runtime.explain(kManagedRead, [](std::string_view) { return FactOrigin{"", "", "MANAGED_ROWS has not been read yet"}; });
  runtime.explain(kConfigRead, [](std::string_view) { return FactOrigin{"", "", "CONFIG_DB has not been read completely yet"}; });
  runtime.explain(kMayDelete, [this](std::string_view) {
    return FactOrigin{
        "", "", config_read_ ? "the safety stop holds it: `rondo health` has the numbers" : "CONFIG_DB has not been read completely yet"};
  });
  runtime.explain(kManagedFree, [this](std::string_view target) {
    const ManagedRow* const row = book_.find(target);
    return FactOrigin{"", "", row == nullptr ? "" : std::string{target} + " is made from " + row->source};
  });
  book_.on_free([this](const std::string& target) { announce({kManagedFree, target}); });
}

void ManagedRows::on_added() {
  if (calls_.is_replayed()) return;
  runtime().scheduler().add(timer_);
  timer_.arm_at(runtime().scheduler().now() + kLook);
  check_.start(runtime().scheduler());
}

bool ManagedRows::has_read(const std::vector<std::string>& tables) {
  const std::vector<ConsumerStats> consumers = runtime().consumers();
  return std::ranges::all_of(tables, [&consumers](const std::string& table) {
    const auto found = std::ranges::find(consumers, table, &ConsumerStats::table);
    return found != consumers.end() && found->caught_up && found->queued == 0;
  });
}

void ManagedRows::on_timer() {
  if (!managed_read_ && has_read({std::string{kManagedTable}}) && (!options_.may_begin || options_.may_begin())) {
    begins(kManagedRead);
  } else if (managed_read_ && !config_read_ && has_read(tables_)) {
    begins(kConfigRead);
  }
  if (config_read_ && may_delete()) return begins(kMayDelete);
  timer_.arm_at(runtime().scheduler().now() + (config_read_ ? kLookHeld : kLook));
}

void ManagedRows::begins(const FactKind& fact) {
  calls_.record(fact.name());
  (fact == kManagedRead ? managed_read_ : fact == kConfigRead ? config_read_ : may_delete_) = true;
  announce({fact, std::string{kAllTables}});
}

bool ManagedRows::repeat(std::string_view call) {
  for (const FactKind& fact : {kManagedRead, kConfigRead, kMayDelete}) {
    if (fact.name() != call) continue;
    begins(fact);
    return true;
  }
  return false;
}

bool ManagedRows::may_delete() const { return !options_.may_delete || options_.may_delete(book_.stale(), book_.size()); }

Outcome ManagedRows::set(std::string_view key, const Fields& fields) {
  const std::string name{key};
  ManagedRow* row = book_.find(name);
  if (row != nullptr && row->here) return Outcome::done();  // Written by this process.
  const std::string source{fields.find(kSourceField).value_or("")};
  if (source.empty() || key.find(':') == std::string_view::npos) {
    return Outcome::reject({StatusCode::InvalidArgument, "is not a row that a manager wrote"});
  }
  if (row == nullptr) row = &book_.add(name);
  row->source = source;
  row->fields = std::string{fields.find(kFieldsField).value_or("")};
  row->stored = true;
  const Fact allowed{kMayDelete, std::string{kAllTables}};
  if (!holds(allowed)) return Outcome::wait_for(allowed);
  if (book_.has_source(source) || row->leaving) return Outcome::done();
  return sweep(name);
}

/// Deletes a row of an earlier process, and then the record of its owner.
Outcome ManagedRows::sweep(const std::string& name) {
  const std::size_t colon = name.find(':');
  book_.find(name)->leaving = true;
  const Status begun = write(name.substr(0, colon), Change::remove(name.substr(colon + 1)),
                             [this, name, ticket = current_ticket(), life = std::weak_ptr{life_}](const Status& status) {
                               if (life.expired()) return;
                               if (!status.ok()) {
                                 book_.find(name)->leaving = false;
                                 return settle(ticket, refused(status));
                               }
                               static_cast<void>(write(kManagedTable, Change::remove(name)));  // If it is lost, the next start deletes it.
                               book_.erase(name);
                               settle(ticket, Outcome::done());
                             });
  if (begun.ok()) return Outcome::staged();
  book_.find(name)->leaving = false;
  return refused(begun);
}

Outcome ManagedRows::remove(std::string_view key) {
  const ManagedRow* const row = book_.find(key);
  if (row == nullptr) return Outcome::done();
  if (!row->here) {
    book_.erase(std::string{key});
    return Outcome::done();
  }
  // Another program deleted it, while the row of CONFIG_DB is there.
  if (row->leaving || !row->stored) return Outcome::done();
  const Status written = write(kManagedTable, Change::set(key, {{kSourceField, row->source}, {kFieldsField, row->fields}}));
  return written.ok() ? Outcome::done() : refused(written);
}

RowCheckOptions ManagedRows::check_options() {
  return {.page = [this](std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) { page_of_rows(cursor, max, rows); },
          .is_current = [this](const OwnRow& row) { return is_current(row); },
          .repair = [this](const OwnRow& row, const Record& found) { repair(row, found); }};
}

/// Of each row also its owner.
void ManagedRows::page_of_rows(std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) const {
  for (const auto& [name, row] : book_.rows_behind(cursor)) {
    if (rows.size() + 2 > max) return;
    cursor = name;
    if (!row.content || row.leaving) continue;
    const std::string table = name.substr(0, name.find(':'));
    rows.push_back({table, name.substr(table.size() + 1), row.content, is_whole(table)});
    rows.push_back({std::string{kManagedTable}, name, owner_record(name, row)});
  }
  cursor.clear();
}

bool ManagedRows::is_current(const OwnRow& row) const {
  const bool is_owner = row.table == kManagedTable;
  const std::string name = is_owner ? row.key : row.table + ":" + row.key;
  const ManagedRow* const now = book_.find(name);
  if (now == nullptr || !now->content || now->leaving) return false;
  return is_owner ? owner_record(name, *now).content_hash() == row.content.content_hash() : now->content.is_copy_of(row.content);
}

/// What the store refuses is written after the next comparison.
void ManagedRows::repair(const OwnRow& row, const Record& found) {
  const bool has_more =
      found && std::ranges::any_of(found.fields(), [&row](const Field& field) { return !row.content.fields().contains(field.name); });
  if (row.is_whole && has_more && !write(row.table, Change::remove(row.key)).ok()) return;
  static_cast<void>(write(row.table, Change{ChangeOp::Set, row.content}));
}

}  // namespace rondo::managers
