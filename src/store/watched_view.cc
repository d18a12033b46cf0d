#include "store/watched_view.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

namespace rondo::store {

bool same_fields(const Fields& a, const Fields& b) {
  constexpr std::size_t kFewFields = 32;
  if (a.size() != b.size()) return false;
  if (b.size() <= kFewFields) {
    for (const Field field : a) {
      if (b.find(field.name) != field.value) return false;
    }
    return true;
  }
  boost::unordered_flat_map<std::string_view, std::string_view> values;
  values.reserve(b.size());
  for (const Field field : b) values.emplace(field.name, field.value);
  for (const Field field : a) {
    const auto found = values.find(field.name);
    if (found == values.end() || found->second != field.value) return false;
  }
  return true;
}

void WatchedView::changed(const Change& change) {
  const std::uint32_t id = rows_.find_or_add(change.key(), change.record().key_hash()).id;
  Row& row = rows_[id];
  row.newest = change.record();
  row.deleted = change.op() == Op::Delete;
  if (!row.waits) append(id);
}

void WatchedView::append(std::uint32_t id) {
  rows_[id].waits = true;
  rows_[id].next = rows_.kNone;
  if (first_ == rows_.kNone) {
    first_ = id;
  } else {
    rows_[last_].next = id;
  }
  last_ = id;
  ++waiting_;
}

void WatchedView::forget_chain() {
  for (std::uint32_t id = first_; id != rows_.kNone; id = rows_[id].next) rows_[id].waits = false;
  first_ = last_ = rows_.kNone;
  waiting_ = 0;
}

void WatchedView::resync(std::span<const Record> read) {
  forget_chain();
  std::vector<std::uint32_t> ids;
  ids.reserve(read.size());
  for (const Record& record : read) {
    ids.push_back(rows_.find_or_add(record.key(), record.key_hash()).id);
    Row& row = rows_[ids.back()];
    row.newest = record;
    row.deleted = false;
    row.seen = true;
  }
  for (std::uint32_t id = 0; id < rows_.end_id(); ++id) {
    Row& row = rows_[id];
    if (!row.newest || std::exchange(row.seen, false)) continue;
    if (row.told) {
      row.newest = Record::make(row.told.key(), {});
      row.deleted = true;
      append(id);
    } else {
      rows_.erase(id, row.newest.key_hash());
    }
  }
  for (const std::uint32_t id : ids) {
    const Row& row = rows_[id];
    if (!row.told || !same_fields(row.told.fields(), row.newest.fields())) append(id);
  }
}

std::size_t WatchedView::take(std::size_t max, std::vector<Change>& out) {
  std::size_t taken = 0;
  for (; taken < max && first_ != rows_.kNone; ++taken) {
    const std::uint32_t id = first_;
    Row& row = rows_[id];
    first_ = row.next;
    row.waits = false;
    if (row.deleted) {
      Record gone = std::move(row.newest);
      rows_.erase(id, gone.key_hash());
      out.emplace_back(Op::Delete, std::move(gone));
    } else {
      row.told = row.newest;
      out.emplace_back(Op::Set, row.newest);
    }
  }
  if (first_ == rows_.kNone) last_ = rows_.kNone;
  waiting_ -= taken;
  return taken;
}

}  // namespace rondo::store
