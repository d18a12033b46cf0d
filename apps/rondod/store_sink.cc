#include "rondod/store_sink.h"

#include <algorithm>
#include <utility>

#include "rondo/admin/suggest.h"

namespace rondo::daemon {

Status check_table(const Store& store, std::string_view table) {
  const std::vector<TableSpec> tables = store.tables();
  std::vector<std::string_view> names;
  for (const TableSpec& spec : tables) names.push_back(spec.name);
  if (std::ranges::find(names, table) != names.end()) return {};
  return Status{Code::NotFound, "no table '" + std::string{table} + "'" + did_you_mean(table, names)};
}

Status StoreSink::begin(std::string_view table) {
  table_ = std::string{table};
  on_the_way_.reset();
  done_ = {};
  if (failures_.waits_for_disk(table)) {
    on_the_way_ = std::make_shared<OnTheWay>();
    done_ = [frame = on_the_way_](const Status& end) {
      --frame->under_way;
      if (!end.ok() && frame->failed++ == 0) frame->first = end;
      frame->settle_if_known();
    };
  } else {
    done_ = failures_.listener(table);
  }
  return check_table(store_, table);
}

Status StoreSink::row(BulkOp op, std::string_view key, std::span<const BulkField> fields) {
  if (op == BulkOp::Delete) return write(Change::remove(key));
  fields_.clear();
  for (const BulkField& field : fields) fields_.push_back({field.name, field.value});
  if (Status checked = check_record(key, fields_); !checked.ok()) return checked;
  return write(Change::set(key, std::span<const Field>{fields_}));
}

void StoreSink::OnTheWay::settle_if_known() {
  if (under_way == 0 && settled) std::exchange(settled, {})(failed, first);
}

void StoreSink::when_settled(Settled settled) {
  if (on_the_way_ == nullptr) return settled(0, Status{});
  const std::shared_ptr<OnTheWay> frame = std::exchange(on_the_way_, nullptr);
  done_ = {};
  frame->settled = std::move(settled);
  frame->settle_if_known();
}

Status StoreSink::write(Change change) {
  if (!watchers_.traces()) return accept(std::move(change));
  Status written = accept(change);
  if (written.ok()) watchers_.written(table_, change);
  return written;
}

Status StoreSink::accept(Change change) {
  Status accepted = store_.write(table_, std::move(change), done_);
  if (accepted.ok() && on_the_way_ != nullptr) ++on_the_way_->under_way;
  return accepted;
}

}  // namespace rondo::daemon
