#include "managers/manager.h"

#include <utility>

#include "managers/facts.h"
#include "managers/refused.h"
#include "rondo/orch/runtime.h"

namespace rondo::managers {

std::optional<Outcome> Manager::begin(const std::string& source) {
  rows_.source_exists(source);
  const Fact read{kManagedRead, std::string{kAllTables}};
  if (!holds(read)) return Outcome::wait_for(read);
  return std::nullopt;
}

/// Settles the change that is being handled, when its row is written.
WriteDone Manager::settles(std::function<Outcome()> then) {
  return [this, ticket = current_ticket(), then = std::move(then), life = std::weak_ptr{life_}](const Status& status) {
    if (!life.expired()) settle(ticket, status.ok() ? then() : refused(status));
  };
}

Outcome Manager::put(const std::string& source, const Target& target, std::span<const Field> fields, std::function<Outcome()> then) {
  const OwnedRows::Row* const row = rows_.rows().find(target);
  if (row != nullptr && (row->leaving || row->source != source)) return Outcome::wait_for({kManagedFree, rows_.rows().owner_key(target)});
  const Status begun = rows_.rows().put(target, source, Record::make(target.key, fields), settles(std::move(then)));
  return begun.ok() ? Outcome::staged() : refused(begun);
}

void Manager::explain_made(std::string_view table, std::function<std::optional<Target>(std::string_view key)> target_of) {
  runtime().explain_state(
      table, [this, table = std::string{table}, target_of = std::move(target_of)](std::string_view key, const Record*) -> RowInPlane {
        const std::optional<Target> target = target_of(key);
        const OwnedRows::Row* const row = target ? rows_.rows().find(*target) : nullptr;
        if (row == nullptr || row->source != table + "|" + std::string{key}) return {};
        const WhyLink made = runtime().row_state(target->table, target->key);
        const std::string note = std::string{name()} + " made " + target->table + " " + target->key + " of it";
        if (made.plane == PlaneState::Installed) return {made.plane, note, {}};
        // A row that its consumer has refused for its fields, or has not taken yet, has no state.
        const PlaneState refused = made.state == WhyLink::State::Rejected ? PlaneState::Refused : PlaneState::Pending;
        return {made.plane == PlaneState::Unknown ? refused : made.plane, note, {{kMade, rows_.rows().owner_key(*target)}}};
      });
}

Outcome Manager::source_deleted(const std::string& source, const Target& target, std::function<Outcome()> then) {
  rows_.source_gone(source);
  return drop(source, target, std::move(then));
}

Outcome Manager::drop(const std::string& source, const Target& target, std::function<Outcome()> then) {
  const OwnedRows::Row* const row = rows_.rows().find(target);
  if (row == nullptr || row->source != source || row->leaving) return then();
  const Status begun = rows_.rows().drop(target, settles(std::move(then)));
  return begun.ok() ? Outcome::staged() : refused(begun);
}

}  // namespace rondo::managers
