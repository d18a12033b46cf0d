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
  if (change.op() == ChangeOp::Delete && knows_gone(change.key())) {
    const std::uint32_t known = rows_.find(change.key(), change.record().key_hash());
    if (known == rows_.kNone) return;
    if (!rows_[known].told) return gone(known);
  }
  const std::uint32_t id = rows_.find_or_add(change.key(), change.record().key_hash()).id;
  Row& row = rows_[id];
  row.newest = change.record();
  row.deleted = change.op() == ChangeOp::Delete;
  if (row.in == In::Waiting) return;
  leave(id);
  append(id, In::Waiting);
}

void WatchedView::begin_read() {
  ++round_;
  checked_ = 0;
}

void WatchedView::read(Record record) {
  const std::uint32_t id = rows_.find_or_add(record.key(), record.key_hash()).id;
  Row& row = rows_[id];
  row.newest = std::move(record);
  row.deleted = false;
  row.round = round_;
  if (first_rows_known_ && !first_read_ended_ && !row.told && row.in == In::None) row.told = row.newest;
  if (row.told && same_fields(row.told.fields(), row.newest.fields())) {
    row.newest = row.told;  // Share one record for both.
    if (!row.again) leave(id);
  } else if (row.in == In::None) {
    append(id, In::Held);
    if (!first_read_ended_) {
      row.first = true;
      ++first_left_;
    }
  }
}

void WatchedView::requeue(std::string_view key) {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  if (id == rows_.kNone || rows_[id].in != In::None || rows_[id].deleted) return;
  rows_[id].again = true;
  append(id, In::Waiting);
}

bool WatchedView::end_read(std::size_t max) {
  const bool ended = end_round(max);
  first_read_ended_ = first_read_ended_ || ended;
  return ended;
}

bool WatchedView::end_round(std::size_t max) {
  std::size_t done = 0;
  for (; done < max && checked_ < rows_.end_id(); ++done, ++checked_) {
    const Row& row = rows_[checked_];
    if (row.newest && row.round != round_) gone(checked_);
  }
  for (; done < max && held_.size > 0; ++done) {
    const std::uint32_t id = held_.first;
    leave(id);
    append(id, In::Waiting);
  }
  return checked_ >= rows_.end_id() && held_.size == 0;
}

void WatchedView::gone(std::uint32_t id) {
  Row& row = rows_[id];
  settle_first(row);
  row.again = false;
  if (!row.told) {
    leave(id);
    rows_.erase(id, row.newest.key_hash());
    return;
  }
  row.newest = Record::make(row.told.key(), {});
  row.deleted = true;
  if (row.in == In::Waiting) return;
  leave(id);
  append(id, In::Waiting);
}

bool WatchedView::knows_gone(std::string_view key) const {
  const std::string wanted{key};
  return gone_.contains(wanted) || gone_before_.contains(wanted);
}

void WatchedView::keep_gone(std::string_view key) {
  if (gone_.size() >= kGoneKept) gone_before_ = std::exchange(gone_, {});
  gone_.emplace(key);
}

void WatchedView::resync(std::span<const Record> rows) {
  begin_read();
  for (const Record& row : rows) read(row);
  end_read(SIZE_MAX);
}

void WatchedView::append(std::uint32_t id, In in) {
  Chain& chain = this->chain(in);
  Row& row = rows_[id];
  row.in = in;
  row.next = rows_.kNone;
  row.previous = chain.last;
  (chain.size == 0 ? chain.first : rows_[chain.last].next) = id;
  chain.last = id;
  ++chain.size;
}

void WatchedView::leave(std::uint32_t id) {
  Row& row = rows_[id];
  if (row.in == In::None) return;
  Chain& chain = this->chain(row.in);
  (chain.first == id ? chain.first : rows_[row.previous].next) = row.next;
  (chain.last == id ? chain.last : rows_[row.next].previous) = row.previous;
  --chain.size;
  row.in = In::None;
}

std::size_t WatchedView::take(std::size_t max, std::vector<Change>& out) {
  std::size_t taken = 0;
  for (; taken < max && waiting_.size > 0; ++taken) {
    const std::uint32_t id = waiting_.first;
    Row& row = rows_[id];
    leave(id);
    settle_first(row);
    row.again = false;
    if (row.deleted) {
      Record gone = std::move(row.newest);
      rows_.erase(id, gone.key_hash());
      keep_gone(gone.key());
      out.emplace_back(ChangeOp::Delete, std::move(gone));
    } else {
      row.told = row.newest;
      out.emplace_back(ChangeOp::Set, row.newest);
    }
  }
  return taken;
}

}  // namespace rondo::store
