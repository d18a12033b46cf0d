#include "managers/manager.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "managers/facts.h"
#include "managers/refused.h"
#include "rondo/orch/runtime.h"

namespace rondo::managers {

namespace {

std::string names_of(const Fields& fields) {
  std::vector<std::string_view> names;
  for (const Field field : fields) names.push_back(field.name);
  std::ranges::sort(names);
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ",").append(name);
  return text.empty() ? "NULL" : text;  // SONiC's sign for a row without fields.
}

}  // namespace

struct Manager::Put {
  Target target;
  std::string name;
  std::string source;
  Record row;
  std::string fields;
  Ticket ticket;
  std::function<Outcome()> then;
};

Manager::Manager(Runtime& runtime, std::string name, Priority priority, ManagedBook& book)
    : Orch(runtime, std::move(name), priority), book_(book) {}

WriteDone Manager::guarded(std::function<void(const Status&)> done) const {
  return [done = std::move(done), life = std::weak_ptr{life_}](const Status& status) {
    if (!life.expired()) done(status);
  };
}

std::optional<Outcome> Manager::begin(const std::string& source) {
  book_.source_exists(source);
  const Fact read{kManagedRead, std::string{kAllTables}};
  if (!holds(read)) return Outcome::wait_for(read);
  return std::nullopt;
}

Outcome Manager::put(const std::string& source, const Target& target, std::span<const Field> fields, std::function<Outcome()> then) {
  const std::string name = target.name();
  ManagedRow* row = book_.find(name);
  if (row != nullptr && (row->leaving || row->source != source)) return Outcome::wait_for({kManagedFree, name});
  Record wanted = Record::make(target.key, fields);
  if (row == nullptr) row = &book_.add(name);
  row->source = source;
  row->here = true;
  row->content = {};
  std::string names = names_of(wanted.fields());
  const auto put = std::make_shared<Put>(Put{target, name, source, std::move(wanted), std::move(names), current_ticket(), std::move(then)});
  const Status begun = row->stored ? write_row(put) : write_owner(put);
  return begun.ok() ? Outcome::staged() : refused(begun);
}

Status Manager::write_owner(const std::shared_ptr<Put>& put) {
  return write(kManagedTable, Change::set(put->name, {{kSourceField, put->source}}), guarded([this, put](const Status& status) {
                 Status begun = status;
                 if (status.ok()) {
                   book_.find(put->name)->stored = true;
                   begun = write_row(put);
                 }
                 if (!begun.ok()) settle(put->ticket, refused(begun));
               }));
}

/// A Set leaves the fields that it does not name, so a row with other fields is deleted first. Both reach the consumer together.
Status Manager::write_row(const std::shared_ptr<Put>& put) {
  ManagedRow& row = *book_.find(put->name);
  if (row.fields != put->fields) {
    if (Status refused = write(put->target.table, Change::remove(put->target.key)); !refused.ok()) return refused;
  }
  return write(put->target.table, Change{ChangeOp::Set, put->row},
               guarded([this, put](const Status& status) { row_written(*put, status); }));
}

void Manager::row_written(const Put& put, const Status& status) {
  if (!status.ok()) return settle(put.ticket, refused(status));
  ManagedRow& row = *book_.find(put.name);
  if (row.fields != put.fields) {
    row.fields = put.fields;  // If this write is lost, the next process deletes the row before it sets it.
    static_cast<void>(write(kManagedTable, Change::set(put.name, {{kSourceField, put.source}, {kFieldsField, put.fields}})));
  }
  row.content = put.row;
  settle(put.ticket, put.then());
}

void Manager::explain_made(std::string_view table, std::function<std::optional<Target>(std::string_view key)> target_of) {
  runtime().explain_state(
      table, [this, table = std::string{table}, target_of = std::move(target_of)](std::string_view key, const Record*) -> RowInPlane {
        const std::optional<Target> target = target_of(key);
        const ManagedRow* const row = target ? book_.find(target->name()) : nullptr;
        if (row == nullptr || row->source != table + "|" + std::string{key}) return {};
        const WhyLink made = runtime().row_state(target->table, target->key);
        const std::string note = std::string{name()} + " made " + target->table + " " + target->key + " of it";
        if (made.plane == PlaneState::Installed) return {made.plane, note, {}};
        // A row that its consumer has refused for its fields, or has not taken yet, has no state.
        const PlaneState refused = made.state == WhyLink::State::Rejected ? PlaneState::Refused : PlaneState::Pending;
        return {made.plane == PlaneState::Unknown ? refused : made.plane, note, {{kMade, target->name()}}};
      });
}

Outcome Manager::source_deleted(const std::string& source, const Target& target, std::function<Outcome()> then) {
  book_.source_gone(source);
  return drop(source, target, std::move(then));
}

Outcome Manager::drop(const std::string& source, const Target& target, std::function<Outcome()> then) {
  const std::string name = target.name();
  ManagedRow* const row = book_.find(name);
  if (row == nullptr || row->source != source || row->leaving) return then();
  row->here = row->leaving = true;
  const Status begun = write(target.table, Change::remove(target.key),
                             guarded([this, name, then = std::move(then), ticket = current_ticket()](const Status& status) {
                               if (!status.ok()) {
                                 book_.find(name)->leaving = false;
                                 return settle(ticket, refused(status));
                               }
                               static_cast<void>(write(kManagedTable, Change::remove(name)));  // If it is lost, the next start deletes it.
                               book_.erase(name);
                               settle(ticket, then());
                             }));
  if (begun.ok()) return Outcome::staged();
  row->leaving = false;
  return refused(begun);
}

}  // namespace rondo::managers
