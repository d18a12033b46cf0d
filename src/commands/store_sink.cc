#include "commands/store_sink.h"

#include <algorithm>
#include <utility>

#include "admin/suggest.h"
#include "base/thrown.h"
#include "rondo/base/text.h"

namespace rondo::commands {

namespace {
/// Names the function in the error, if one throws.
constexpr std::string_view kFunctions = "a function of StandardCommandsOptions";
}  // namespace

Status check_table(const Store& store, std::string_view table) {
  const std::vector<TableSpec> tables = store.tables();
  std::vector<std::string_view> names;
  for (const TableSpec& spec : tables) names.push_back(spec.name);
  if (std::ranges::find(names, table) != names.end()) return {};
  return Status{StatusCode::NotFound, "no table '" + std::string{table} + "'" + did_you_mean(table, names)};
}

Status check_written_table(Runtime& runtime, std::string_view table) {
  const Status known = check_table(runtime.store(), table);
  return known.ok() ? runtime.check_reserved(table) : known;
}

Status check_claim(const RowClaim& claim, std::string_view table, std::string_view key) {
  if (claim.owner.empty()) return {};
  return Status{StatusCode::FailedPrecondition,
                "the row " + escape_text(key) + " of " + std::string{table} + " was not written: " + claim.owner};
}

Status not_yet_written(const Status& why) { return why.with_context("accepted and tried again, but not on the disk yet"); }

Status StoreSink::begin(std::string_view table) {
  return contained(kFunctions, [&] { return begin_table(table); });
}

Status StoreSink::begin_table(std::string_view table) {
  table_ = std::string{table};
  canonical_key_ = canonical_key_of_ ? canonical_key_of_(table) : nullptr;
  row_ = 0;
  on_the_way_.reset();
  done_ = {};
  const WriteAnswer when = failures_.answer_of(table);
  if (WriteFailures::waits_for_end(when)) {
    on_the_way_ = std::make_shared<OnTheWay>();
    on_the_way_->unwritten.refused = WriteFailures::refuses(when);
    done_ = [frame = on_the_way_, count = failures_.counter()](const Status& end) {
      if (frame->unwritten.refused) count(end);
      frame->end(end);
    };
  }
  return check_written_table(runtime_, table);
}

Status StoreSink::row(BulkOp op, std::string_view key, std::span<const BulkField> fields) {
  const std::uint64_t number = row_++;
  const auto take_row = [&] { return contained(kFunctions, [&] { return take(op, key, fields); }); };
  if (on_the_way_ == nullptr) return take_row();
  const std::size_t keys_before = on_the_way_->keys.size();
  on_the_way_->keys.append(key);
  on_the_way_->rows.push_back({number, on_the_way_->keys.size()});
  Status taken = take_row();
  if (!taken.ok()) {
    on_the_way_->keys.resize(keys_before);
    on_the_way_->rows.pop_back();
  }
  return taken;
}

Status StoreSink::take(BulkOp op, std::string_view key, std::span<const BulkField> fields) {
  const std::optional<std::string> canonical = canonical_key_ != nullptr ? canonical_key_(key) : std::nullopt;
  if (canonical) key = *canonical;
  if (claim_of_) {
    if (Status claimed = check_claim(claim_of_(table_, key), table_, key); !claimed.ok()) return claimed;
  }
  if (op == BulkOp::Delete) return write(Change::remove(key));
  fields_.clear();
  for (const BulkField& field : fields) fields_.push_back({field.name, field.value});
  if (Status checked = check_record(key, fields_); !checked.ok()) return checked;
  return write(Change::set(key, std::span<const Field>{fields_}));
}

void StoreSink::OnTheWay::end(const Status& status) {
  if (!status.ok() && unwritten.rows++ == 0) {
    const std::size_t key_begin = ended == 0 ? 0 : rows[ended - 1].key_end;
    unwritten.first_row = rows[ended].number;
    unwritten.first_key = keys.substr(key_begin, rows[ended].key_end - key_begin);
    unwritten.first = unwritten.refused ? status : not_yet_written(status);
  }
  ++ended;
  settle_if_known();
}

void StoreSink::OnTheWay::settle_if_known() {
  if (ended == rows.size() && settled) std::exchange(settled, {})(unwritten);
}

void StoreSink::when_settled(Settled settled) {
  if (on_the_way_ == nullptr) return settled({});
  const std::shared_ptr<OnTheWay> frame = std::exchange(on_the_way_, nullptr);
  done_ = {};
  frame->settled = std::move(settled);
  frame->settle_if_known();
}

Status StoreSink::write(Change change) {
  if (!watchers_.is_traced(change.key())) return accept(std::move(change));
  Status written = accept(change);
  if (written.ok()) watchers_.written(table_, change);
  return written;
}

Status StoreSink::accept(Change change) { return store_.write(table_, std::move(change), done_); }

}  // namespace rondo::commands
