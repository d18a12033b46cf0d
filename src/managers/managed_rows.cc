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
}  // namespace

ManagedRows::ManagedRows(Runtime& runtime, std::vector<std::string> tables, ManagersOptions options)
    : Orch(runtime, "managed-rows", kManagers),
      tables_(std::move(tables)),
      options_(std::move(options)),
      timer_("managed-rows", kManagers, [this] { on_timer(); }),
      rows_(runtime.scheduler(), runtime.store(), row_options()),
      calls_(runtime.scheduler(), "managers", [this](std::string_view call) { return repeat(call); }) {
  consume(kManagedTable, this, &ManagedRows::set, &ManagedRows::remove, {.kind = TableKind::Watched});
  provide(kManagedRead, [this](std::string_view) { return managed_read_; });
  provide(kConfigRead, [this](std::string_view) { return config_read_; });
  provide(kMayDelete, [this](std::string_view) { return may_delete_; });
  provide(kManagedFree, [this](std::string_view target) { return rows_.find(rows_.name_of(target)) == nullptr; });
  provide(kMade, [this](std::string_view target) { return rows_.find(rows_.name_of(target)) != nullptr; });
  runtime.explain(kMade, [this](std::string_view target) {
    const Target row = rows_.name_of(target);
    return FactOrigin{row.table, row.key, ""};
  });
  runtime.explain(kManagedRead, [](std::string_view) { return FactOrigin{"", "", "MANAGED_ROWS has not been read yet"}; });
  runtime.explain(kConfigRead, [](std::string_view) { return FactOrigin{"", "", "CONFIG_DB has not been read completely yet"}; });
  runtime.explain(kMayDelete, [this](std::string_view) {
    return FactOrigin{
        "", "", config_read_ ? "the safety stop holds it: `rondo health` has the numbers" : "CONFIG_DB has not been read completely yet"};
  });
  runtime.explain(kManagedFree, [this](std::string_view target) {
    const OwnedRows::Row* const row = rows_.find(rows_.name_of(target));
    return FactOrigin{"", "", row == nullptr ? "" : std::string{target} + " is made from " + row->source};
  });
}

void ManagedRows::on_added() {
  if (calls_.is_replayed()) return;
  runtime().scheduler().add(timer_);
  timer_.arm_at(runtime().scheduler().now() + kLook);
  rows_.start_check();
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

bool ManagedRows::may_delete() const {
  if (!options_.may_delete) return true;
  const auto is_stale = [this](const auto& row) { return !row.second.here && !sources_.contains(row.second.source); };
  return options_.may_delete(static_cast<std::uint64_t>(std::ranges::count_if(rows_.rows(), is_stale)), rows_.rows().size());
}

/// A row of an earlier process whose source is gone is deleted.
Outcome ManagedRows::set(std::string_view key, const Fields& fields) {
  const Target target = rows_.name_of(key);
  if (fields.find(kSourceField).value_or("").empty() || target.key.empty()) {
    return Outcome::reject({StatusCode::InvalidArgument, "is not a row that a manager wrote"});
  }
  const OwnedRows::Row* const row = rows_.adopt(key, fields);
  if (row == nullptr || row->here || row->leaving) return Outcome::done();  // Written or deleted by this process.
  const Fact allowed{kMayDelete, std::string{kAllTables}};
  if (!holds(allowed)) return Outcome::wait_for(allowed);
  if (sources_.contains(row->source)) return Outcome::done();
  const Status begun = rows_.drop(target, [this, ticket = current_ticket(), life = std::weak_ptr{life_}](const Status& status) {
    if (!life.expired()) settle(ticket, status.ok() ? Outcome::done() : refused(status));
  });
  return begun.ok() ? Outcome::staged() : refused(begun);
}

Outcome ManagedRows::remove(std::string_view key) {
  const Status stored = rows_.owner_taken(key);
  return stored.ok() ? Outcome::done() : refused(stored);
}

OwnedRowsOptions ManagedRows::row_options() {
  // A Set of a route replaces the whole route, so a field that another program has added changes it. Ports and interfaces have fields of
  // other programs, such as oper_status.
  return {
      .name = "managed-rows",
      .priority = kManagers,
      .freed =
          [this](const Target& target) {
            announce({kManagedFree, rows_.owner_key(target)});
          },
      .owners = std::string{kManagedTable},
      .separator = ':',
      .replaces = true,
      .is_whole = [](std::string_view table) { return table == "ROUTE_TABLE"; },
      .write = [this](std::string_view table, Change change, WriteDone done) { return write(table, std::move(change), std::move(done)); }};
}

}  // namespace rondo::managers
