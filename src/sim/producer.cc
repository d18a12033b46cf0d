#include "sim/producer.h"

#include <utility>

#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo::sim {

Producer::Row& Producer::row(std::string_view table, std::string_view key) {
  Table& of = tables_[table];
  auto found = of.rows.find(key);
  if (found == of.rows.end()) {
    if (of.name.empty()) of.name = tables_.name_of(table);
    found = of.rows.try_emplace(std::string{key}).first;
    found->second.table = &of;
    found->second.key = found->first;
  }
  return found->second;
}

void Producer::set(std::string_view table, std::string_view key, std::span<const Field> fields) {
  Row& written = row(table, key);
  Record record = Record::make(key, fields);
  written.wanted = Record::merged(written.wanted, record);
  if (!written.unsure) write(written, Change{ChangeOp::Set, std::move(record)});
}

void Producer::remove(std::string_view table, std::string_view key) {
  Row& written = row(table, key);
  written.wanted = Record{};
  if (!written.unsure) write(written, Change::remove(key));
}

void Producer::write(Row& row, Change change) {
  Runtime& runtime = world_.runtime();
  if (!std::exchange(row.table->is_declared, true)) static_cast<void>(runtime.table(row.table->name));
  // A store that ends with its process reports no more ends.
  const Status accepted = runtime.store().write(row.table->name, std::move(change), [this, &row](const Status& end) {
    --under_way_;
    --row.under_way;
    if (!end.ok()) doubt(row, end);
  });
  if (accepted.ok()) {
    ++under_way_;
    ++row.under_way;
  } else {
    doubt(row, accepted);
  }
}

void Producer::doubt(Row& row, const Status& why) {
  row.why = why;
  if (!std::exchange(row.unsure, true)) unsure_.push_back(&row);
  if (std::exchange(retries_, true)) return;
  const auto soon = static_cast<std::int64_t>(world_.random().between(100'000, 5'000'000));
  world_.after(Duration{soon}, [this] { retry(); });
}

void Producer::retry() {
  retries_ = false;
  for (Row* const row : std::exchange(unsure_, {})) {
    row->unsure = false;
    if (row->under_way > 0) {
      doubt(*row, Status{row->why});  // It is written when all answers have arrived.
      continue;
    }
    if (deletes_first_ || !row->wanted) write(*row, Change::remove(row->key));
    // A refused Delete leaves the row unsure; the Set would have no effect.
    if (row->wanted && !row->unsure) write(*row, Change{ChangeOp::Set, row->wanted});
  }
}

std::string Producer::doubted() const {
  if (unsure_.empty()) return {};
  const Row& row = *unsure_.front();
  return quoted(row.table->name) + " " + quoted(row.key) + ": " + row.why.to_string();
}

bool Producer::is_confirmed(std::string_view table, std::string_view key) {
  const Row& asked = row(table, key);
  return !asked.unsure && asked.under_way == 0;
}

void Producer::process_ended(bool all) {
  under_way_ = 0;
  for (auto& [name, table] : tables_) {
    table.is_declared = false;
    for (auto& [key, row] : table.rows) {
      const bool is_lost = row.under_way > 0 || (all && row.wanted);
      row.under_way = 0;
      if (is_lost) doubt(row, {StatusCode::Unavailable, "its process ended"});
    }
  }
}

}  // namespace rondo::sim
